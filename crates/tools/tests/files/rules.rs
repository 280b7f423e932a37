//! A rule about paths holds for every tool, file by file, however the path is spelled.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use charla_core::policy::{RuleBook, RuleFile, Scope, Tier};
use charla_proto::{ApprovalMode, FileJudge, Policy, Preview, Verdict};
use serde_json::{Value, json};

use crate::bench::{Bench, run_judged, words};

/// Only files that are denied have it, in their names or in what they hold.
const CANARY: &str = "canary";

fn workspace() -> Bench {
    let bench = Bench::new();
    bench.write("open/a.txt", "needle\n");
    bench.write("secrets/canary.txt", "needle canary\n");
    bench.write("secrets/deep/canary2.txt", "needle canary\n");
    symlink("secrets", bench.root.join("lnk")).unwrap();
    symlink("secrets/canary.txt", bench.root.join("open/b.txt")).unwrap();
    bench
}

pub fn book(bench: &Bench, rules: &str) -> Arc<RuleBook> {
    let scope = Scope { roots: vec![bench.root.clone()], ..Scope::default() };
    let file = RuleFile { tier: Tier::User, name: "own.toml".into(), text: rules.into() };
    Arc::new(RuleBook::new(scope, &[file]).unwrap())
}

const DENY: &str = "[[rule]]\ntool = \"*\"\npath = \"secrets/**\"\ndecision = \"deny\"\n";

/// What a model is told of a call in this mode, or that it is asked about or denied.
pub async fn call(
    bench: &Bench,
    book: &Arc<RuleBook>,
    mode: ApprovalMode,
    tool: &str,
    args: Value,
) -> (&'static str, String) {
    let judge = FileJudge::new(book.clone(), tool, mode);
    let prepared = match bench.prepare_judged(tool, args, judge.clone()).await {
        Ok(prepared) => prepared,
        Err(error) => return ("error", error.to_string()),
    };
    match book.judge(prepared.plan(), mode) {
        Verdict::Deny { .. } => return ("denied", String::new()),
        Verdict::Ask { .. } => return ("asked", String::new()),
        Verdict::Allow { .. } => {}
    }
    let output = run_judged(prepared, judge).await;
    let error = output.error.as_ref().map(ToString::to_string).unwrap_or_default();
    ("ran", format!("{}{error}{:?}", words(&output), output.display))
}

#[tokio::test]
async fn a_rule_about_the_name_of_a_link_holds_wherever_the_link_leads() {
    let bench = workspace();
    let rules = DENY.replace("secrets/**", "**/lnk/**");
    let book = book(&bench, &rules);
    for (tool, args) in [
        ("read_file", json!({"file_path": "lnk/canary.txt"})),
        ("read_many_files", json!({"include": ["lnk/canary.txt"]})),
        ("write_file", json!({"file_path": "lnk/canary.txt", "content": "x"})),
        ("replace", json!({"file_path": "lnk/canary.txt", "old_string": "a", "new_string": "b"})),
        ("grep_search", json!({"pattern": "a", "dir_path": "lnk/canary.txt"})),
    ] {
        let (became, told) = call(&bench, &book, ApprovalMode::Yolo, tool, args).await;
        assert_eq!(became, "denied", "{tool}: {told}");
    }
    symlink("..", bench.root.join("open/lnk")).unwrap();
    for folder in ["lnk", "./lnk/", "lnk/deep", "open/lnk/secrets", "lnk/../secrets/../lnk"] {
        for (tool, args) in [
            ("read_many_files", json!({"include": [folder]})),
            ("read_many_files", json!({"include": [format!("{folder}/**")]})),
            ("grep_search", json!({"pattern": "needle", "dir_path": folder})),
            ("grep_search", json!({"pattern": "needle", "dir_path": folder, "names_only": true})),
            ("glob", json!({"pattern": "**/*.txt", "dir_path": folder})),
            ("glob", json!({"pattern": format!("{folder}/**"), "case_sensitive": true})),
            ("list_directory", json!({"dir_path": folder})),
        ] {
            let (_, told) = call(&bench, &book, ApprovalMode::Yolo, tool, args).await;
            assert!(!told.contains(CANARY), "{tool} in {folder}: {told}");
        }
    }
    let by_itself = json!({"file_path": "secrets/canary.txt"});
    assert_eq!(call(&bench, &book, ApprovalMode::Yolo, "read_file", by_itself).await.0, "ran");
}

#[tokio::test]
async fn a_denied_folder_is_shown_by_no_tool_in_no_spelling() {
    let bench = workspace();
    let book = book(&bench, DENY);
    let root = bench.root.display().to_string();
    let folders = [
        "secrets".to_owned(),
        "./secrets/../secrets".to_owned(),
        "lnk".to_owned(),
        "open/../lnk".to_owned(),
        format!("{root}/secrets"),
        "secrets/deep".to_owned(),
        "SECRETS".to_owned(),
        ".".to_owned(),
        root.clone(),
    ];
    let mut calls: Vec<(&str, Value)> = Vec::new();
    for folder in &folders {
        for file in [format!("{folder}/canary.txt"), format!("{folder}/deep/canary2.txt")] {
            calls.push(("read_file", json!({"file_path": file})));
            calls.push(("read_many_files", json!({"include": [file]})));
            calls.push(("grep_search", json!({"pattern": "needle", "dir_path": file})));
            if [".", &root, "SECRETS"].contains(&folder.as_str()) {
                continue;
            }
            calls.push(("replace", json!({"file_path": file, "old_string": "needle", "new_string": "x"})));
            calls.push(("write_file", json!({"file_path": file, "content": "x"})));
        }
        let include = [folder.clone(), format!("{folder}/*"), format!("{folder}/**/*.txt"), "**".to_owned()];
        calls.extend(include.map(|include| ("read_many_files", json!({"include": [include]}))));
        calls.push(("list_directory", json!({"dir_path": folder})));
        calls.push(("grep_search", json!({"pattern": "needle", "dir_path": folder})));
        let names = json!({"pattern": "needle", "dir_path": folder, "names_only": true});
        calls.push(("grep_search", names));
        calls.push(("glob", json!({"pattern": "**/*", "dir_path": folder})));
        calls.push(("glob", json!({"pattern": format!("{folder}/**"), "case_sensitive": true})));
    }
    calls.push(("grep_search", json!({"pattern": "needle"})));
    calls.push(("read_file", json!({"file_path": "open/b.txt"})));
    for mode in [ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Yolo] {
        for (tool, args) in &calls {
            // What is not denied by name (there is no `./canary.txt`) says no more than what it was given.
            let given = args.to_string().matches(CANARY).count();
            let (how, told) = call(&bench, &book, mode, tool, args.clone()).await;
            let shown = told.matches(CANARY).count();
            assert!(how != "ran" || given > 0 || shown == 0, "{tool} {args} {mode}: {told}");
            assert!(!told.contains("needle canary"), "{tool} {args} {mode}: {told}");
        }
    }
    assert_eq!(bench.bytes("secrets/canary.txt"), b"needle canary\n");
    assert_eq!(bench.bytes("secrets/deep/canary2.txt"), b"needle canary\n");
}

/// Before the call is judged, neither an error nor what a person would be shown tells anything of a file that is denied.
#[tokio::test]
async fn preparing_tells_nothing_of_a_denied_file() {
    let bench = Bench::new();
    let text = "needle canary\nsecond canary line\n".repeat(3);
    bench.write("secrets/text.txt", &text);
    bench.write("secrets/crlf.txt", text.replace('\n', "\r\n"));
    bench.write("secrets/latin.txt", b"canary \xe4\xf6\n".repeat(20));
    bench.write("secrets/bytes.bin", [0_u8, 1, 2, 77].repeat(1000));
    bench.write("secrets/placeholder.txt", "// ... rest of the code ...\n");
    std::fs::File::create(bench.root.join("secrets/large.txt")).unwrap().set_len(30_000_000).unwrap();
    std::fs::create_dir(bench.root.join("secrets/folder")).unwrap();
    crate::bench::pipe(&bench.root.join("secrets/pipe"));
    symlink("secrets", bench.root.join("lnk")).unwrap();
    let names = "text.txt crlf.txt latin.txt bytes.bin placeholder.txt large.txt folder pipe gone.txt";
    let edits = [
        json!({"old_string": "needle canari", "new_string": "x"}),
        json!({"old_string": "canary", "new_string": "x"}),
        json!({"old_string": "", "new_string": "x"}),
        json!({"old_string": "canary", "new_string": "\u{4e2d}", "allow_multiple": true}),
    ];
    let texts = ["x", "\u{4e2d}", "a\n// ... rest of the code ...\nb"].map(|text| json!({"content": text}));
    let kinds = [("replace", edits.as_slice()), ("write_file", texts.as_slice())];
    let book = book(&bench, DENY);
    for (folder, mode) in [("secrets", ApprovalMode::Default), ("lnk", ApprovalMode::Yolo)] {
        for (tool, args) in kinds.iter().flat_map(|(tool, all)| all.iter().map(move |args| (*tool, args))) {
            let mut titles = Vec::new();
            for name in names.split(' ') {
                let mut args = args.clone();
                args["file_path"] = format!("{folder}/{name}").into();
                let judge = FileJudge::new(book.clone(), tool, mode);
                let prepared = bench.prepare_judged(tool, args.clone(), judge).await;
                let prepared = prepared.unwrap_or_else(|error| panic!("{tool} {args}: {error}"));
                assert_eq!(prepared.plan().preview, Preview::None, "{tool} {args}");
                assert!(prepared.changes().is_empty(), "{tool} {args}");
                assert!(matches!(book.judge(prepared.plan(), mode), Verdict::Deny { .. }), "{tool} {args}");
                titles.push(prepared.plan().title.replace(name, ""));
            }
            titles.dedup();
            assert_eq!(titles.len(), 1, "{tool} {args}: {titles:?}");
        }
    }
}

/// Where a rule asks, the person is shown the change, and the model is not told why it does not fit.
#[tokio::test]
async fn preparing_tells_the_model_nothing_of_a_file_that_is_asked_about() {
    let bench = workspace();
    let book = book(&bench, &DENY.replace("deny", "ask"));
    let prepared = async |old: &str| {
        let args = json!({"file_path": "secrets/canary.txt", "old_string": old, "new_string": "x"});
        let judge = FileJudge::new(book.clone(), "replace", ApprovalMode::Default);
        bench.prepare_judged("replace", args, judge).await.unwrap()
    };
    assert_eq!(prepared("neddle canari").await.plan().preview, Preview::None);
    assert!(matches!(prepared("needle").await.plan().preview, Preview::Diff { .. }));
    let told = run_judged(prepared("neddle canari").await, FileJudge::default()).await.error.unwrap();
    assert!(told.to_string().contains("needle canary"), "{told}");
}

#[tokio::test]
async fn files_that_rules_leave_out_are_counted() {
    let bench = workspace();
    let told = async |book: &Arc<RuleBook>, tool: &str, args: Value| {
        call(&bench, book, ApprovalMode::Default, tool, args).await
    };
    for decision in ["deny", "ask"] {
        let book = book(&bench, &DENY.replace("deny", decision));
        let rule = "left out by the rule user own.toml#1";
        for (tool, args, count) in [
            ("read_many_files", json!({"include": ["**"]}), 2),
            ("grep_search", json!({"pattern": "needle"}), 2),
            ("glob", json!({"pattern": "**/*.txt"}), 2),
            ("list_directory", json!({"dir_path": "lnk"}), 2),
        ] {
            let (how, text) = told(&book, tool, args).await;
            let note = format!("{count} file(s) were {rule}");
            assert!(how == "ran" && text.contains(&note), "{decision} {tool}: {how} {text}");
            assert!(tool == "list_directory" || text.contains("open/a.txt"), "{tool}: {text}");
        }
    }
}

#[tokio::test]
async fn what_is_allowed_by_name_is_read_though_it_looks_secret() {
    let bench = Bench::new();
    bench.write("conf/dev.env", "needle=1\n");
    let search = json!({"pattern": "needle"});
    let strict = book(&bench, "");
    let (_, text) = call(&bench, &strict, ApprovalMode::Yolo, "grep_search", search.clone()).await;
    assert!(text.contains("1 file(s) that may hold secrets were left out"), "{text}");
    let allowing = book(&bench, "[[rule]]\ntool = \"*\"\npath = \"conf/*\"\ndecision = \"allow\"\n");
    let (_, text) = call(&bench, &allowing, ApprovalMode::Default, "grep_search", search).await;
    assert!(text.contains("needle=1"), "{text}");
    // Its name is no secret.
    let (_, text) = call(&bench, &strict, ApprovalMode::Default, "glob", json!({"pattern": "**"})).await;
    assert!(text.contains("conf/dev.env"), "{text}");
}
