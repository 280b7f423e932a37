use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use charla_proto::{Confinement, RunContext, ToolErrorKind};
use serde_json::json;

use crate::bench::{Bench, pipe};

#[tokio::test]
async fn globs_find_files_recent_ones_first() {
    let bench = Bench::new();
    let age = |path: &str, hours: u64| {
        let file = std::fs::File::options().write(true).open(bench.root.join(path)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(hours * 3600)).unwrap();
    };
    for (path, hours) in
        [("src/new.rs", 1), ("src/newer.rs", 0), ("src/deep/old_b.rs", 50), ("src/old_a.rs", 40)]
    {
        bench.write(path, "");
        age(path, hours);
    }
    bench.write("src/x.py", "");
    bench.write("target/t.rs", "");
    bench.write(".gitignore", "target\n");
    bench.write(".git/hook.rs", "");
    let text = bench.ok("glob", json!({"pattern": "**/*.rs"})).await;
    let found: Vec<String> =
        text.lines().skip(1).map(|line| line.replace(&format!("{}/", bench.root.display()), "")).collect();
    assert_eq!(found, ["src/newer.rs", "src/new.rs", "src/deep/old_b.rs", "src/old_a.rs"]);
    let ok = async |args| bench.ok("glob", args).await.lines().count() - 1;
    assert_eq!(ok(json!({"pattern": "src/*.rs"})).await, 3);
    assert_eq!(ok(json!({"pattern": "*.{rs,py}", "dir_path": "src"})).await, 4);
    assert_eq!(ok(json!({"pattern": "SRC/*.RS"})).await, 3);
    assert_eq!(ok(json!({"pattern": "SRC/*.RS", "case_sensitive": true})).await, 0);
    assert_eq!(ok(json!({"pattern": "src/deep/*.rs", "case_sensitive": true})).await, 1);
    assert_eq!(ok(json!({"pattern": "**/*.rs", "respect_git_ignore": false})).await, 5);
    let absolute = bench.root.join("src/*.py");
    assert_eq!(ok(json!({"pattern": absolute})).await, 1);
    for pattern in ["../*", "/etc/*", "src/[", "a\0b"] {
        assert_eq!(
            bench.err("glob", json!({"pattern": pattern})).await.kind,
            ToolErrorKind::InvalidArgs,
            "{pattern}"
        );
    }
}

#[tokio::test]
async fn searches_never_leave_through_links() {
    let bench = Bench::new();
    bench.write("../other/found.txt", "needle");
    symlink("../other", bench.root.join("out")).unwrap();
    symlink(".", bench.root.join("loop")).unwrap();
    let args = json!({"pattern": "out/*.txt", "case_sensitive": true});
    assert!(bench.ok("glob", args).await.starts_with("No files match"));
    assert!(bench.ok("grep_search", json!({"pattern": "needle"})).await.starts_with("No matches"));
    let plan = bench.plan("grep_search", json!({"pattern": "needle", "dir_path": "out"})).await;
    assert!(plan.title.contains("outside the workspace"), "{}", plan.title);
}

#[tokio::test]
async fn grep_finds_lines_with_numbers() {
    let bench = Bench::new();
    bench.write("a.rs", "fn one() {}\nfn two() {}\nlet x = 1;\r\n");
    bench.write("sub/b.py", "def one(): pass\n");
    bench.write("bin", b"fn one\0\0");
    bench.write(".gitignore", "skipped\n");
    bench.write("skipped", "fn one");
    bench.write(".git/x", "fn one");
    bench.write(".env", "one=fn one");
    let text = bench.ok("grep_search", json!({"pattern": "FN \\w+\\(", "context": 0})).await;
    assert!(text.starts_with("2 match(es) for"), "{text}");
    assert!(text.contains("File: a.rs\nL1: fn one() {}\nL2: fn two() {}"), "{text}");
    assert!(text.contains("1 file(s) that may hold secrets were left out"), "{text}");
    let grep = async |args| bench.ok("grep_search", args).await;
    assert!(grep(json!({"pattern": "FN", "case_sensitive": true})).await.starts_with("No matches"));
    assert!(
        grep(json!({"pattern": "one()", "fixed_strings": true, "names_only": true}))
            .await
            .contains("\na.rs\nsub/b.py")
    );
    assert!(!grep(json!({"pattern": "one", "include_pattern": "*.py"})).await.contains("a.rs"));
    assert!(!grep(json!({"pattern": "fn", "exclude_pattern": "two", "context": 0})).await.contains("two"));
    assert!(grep(json!({"pattern": "1;$"})).await.contains("L3: let x = 1;"));
    assert!(
        grep(json!({"pattern": "fn one", "no_ignore": true, "names_only": true})).await.contains("skipped")
    );
    assert!(grep(json!({"pattern": "fn two", "dir_path": "a.rs"})).await.contains("L2: fn two"));
    assert!(grep(json!({"pattern": "one", "dir_path": ".env"})).await.contains("L1: one=fn one"));
}

#[tokio::test]
async fn few_matches_come_with_what_is_around_them() {
    let bench = Bench::new();
    let text: String = (1..=200).map(|n| format!("line {n}\n")).collect();
    bench.write("a", &text);
    let text = bench.ok("grep_search", json!({"pattern": "line 100$"})).await;
    assert!(
        text.contains("L50- line 50\n")
            && text.contains("L100: line 100\n")
            && text.contains("L150- line 150")
    );
    assert!(!text.contains("L49-") && !text.contains("L151-"));
    let text = bench.ok("grep_search", json!({"pattern": "line 100$", "before": 1})).await;
    assert!(text.contains("L99- line 99\nL100: line 100") && !text.contains("L101"));
}

#[tokio::test]
async fn caps_are_announced() {
    let bench = Bench::new();
    for n in 0..30 {
        bench.write(&format!("f{n:02}"), "hit\n".repeat(10));
    }
    let text = bench.ok("grep_search", json!({"pattern": "hit"})).await;
    assert_eq!(text.matches(": hit").count(), 100);
    assert!(text.contains("Stopped at 100 matches"), "{text}");
    let text = bench.ok("grep_search", json!({"pattern": "hit", "total_max_matches": 7})).await;
    assert_eq!(text.matches(": hit").count(), 7);
    let text =
        bench.ok("grep_search", json!({"pattern": "hit", "total_max_matches": 7, "names_only": true})).await;
    assert!(text.starts_with("7 file(s)") && text.contains("Stopped at 7"), "{text}");
    let text = bench.ok("grep_search", json!({"pattern": "hit", "max_matches_per_file": 2})).await;
    assert_eq!(text.matches(": hit").count(), 60);
    assert!(text.contains("30 file(s) have more matches") && !text.contains("Stopped at"), "{text}");
    bench.write("wide", format!("hit {}\n", "x".repeat(9000)).repeat(90));
    let text = bench.ok("grep_search", json!({"pattern": "hit x"})).await;
    assert!(text.chars().count() < 110_000 && text.contains("The output was cut"));
}

#[tokio::test]
async fn a_pattern_that_is_none_says_what_is_wrong_with_it() {
    let bench = Bench::new();
    for pattern in ["fn (", "a\nb", "[z-a]", "(a{1000}){1000}{1000}"] {
        let error = bench.err("grep_search", json!({"pattern": pattern})).await;
        assert_eq!(error.kind, ToolErrorKind::InvalidArgs, "{pattern}");
        assert!(error.message.contains("fixed_strings"), "{error}");
    }
}

#[tokio::test]
async fn pipes_and_sockets_in_a_folder_are_passed_by() {
    let bench = Bench::new();
    pipe(&bench.root.join("pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(bench.root.join("socket")).unwrap();
    bench.write("a", "needle");
    assert!(bench.ok("grep_search", json!({"pattern": "needle"})).await.starts_with("1 match"));
    assert!(bench.ok("list_directory", json!({"dir_path": "."})).await.contains("pipe (special file)"));
    assert!(bench.ok("read_many_files", json!({"include": ["*"]})).await.contains("needle"));
}

#[tokio::test]
async fn a_cancelled_search_comes_back_at_once() {
    let bench = Bench::new();
    for n in 0..2000 {
        bench.write(&format!("d{}/f{n}", n % 20), "text\n".repeat(50));
    }
    let call = bench.prepare("grep_search", json!({"pattern": "nothing"})).await.unwrap();
    let cx = RunContext {
        cancelled: Box::pin(std::future::ready(())),
        live: Box::new(|_| ()),
        confinement: Confinement::Open,
        only_git_reads: false,
        consent: charla_proto::Consent::Named,
        files: charla_proto::FileJudge::default(),
    };
    let output = call.run(cx).await;
    assert_eq!(output.error.map(|error| error.kind), Some(ToolErrorKind::Cancelled));
}

/// A walk holds hundreds of bytes for each one of a pattern.
#[tokio::test]
async fn ignore_files_with_more_patterns_than_anybody_writes_are_passed_over() {
    let patterns = |number: usize| {
        let nasty = (0..number).map(|n| format!("**/{{a,b}}{n}*/**/x?[a-z]*\n"));
        std::iter::once("skipped.txt\n".to_owned()).chain(nasty).collect::<String>()
    };
    for (folder, number, is_read) in
        [("", 1000, true), ("", 4000, false), ("a/b/c/d/e", 300, true), ("a/b/c/d/e", 2000, false)]
    {
        let bench = Bench::new();
        bench.write("beside.txt", "x");
        let at = |name: &str| std::path::Path::new(folder).join(name).display().to_string();
        bench.write(&at("skipped.txt"), "x");
        bench.write(&at("kept.txt"), "x");
        bench.write(&at(".gitignore"), patterns(number));
        let found = bench.ok("glob", json!({"pattern": "**/*.txt"})).await;
        assert!(found.contains("beside.txt"), "{found}");
        // A folder below is left out with its files.
        assert_eq!(found.contains("kept.txt"), is_read || folder.is_empty(), "{folder} {number}: {found}");
        assert_eq!(
            found.contains("skipped.txt"),
            !is_read && folder.is_empty(),
            "{folder} {number}: {found}"
        );
    }
}
