//! A file that a rule of the user's closes: whatever asks for it, nothing of it is told, not even how large it is.

use std::os::unix::fs::symlink;

use charla_testkit::{Reply, Script, Server};
use serde_json::{Value, json};

use crate::place::{Place, Run, server};

/// Stands in everything that is closed.
const CANARY: &str = "CANARY-77ad";
const DENY: &str = "[[rule]]\ntool = \"*\"\npath = \"secrets/**\"\ndecision = \"deny\"\n";
/// How many lines and bytes the closed files have, as numbers that nothing else has.
const LINES: usize = 98_765;
const BYTES: usize = 1_976_543;

fn place(model: &Server) -> Place {
    let place = Place::with_server(model);
    std::fs::create_dir_all(place.home().join("policies")).unwrap();
    std::fs::write(place.home().join("policies/own.toml"), DENY).unwrap();
    let work = place.work();
    std::fs::create_dir(work.join("secrets")).unwrap();
    let mut text = format!("needle {CANARY}\n").repeat(LINES);
    text.push_str(&"x".repeat(BYTES - text.len()));
    std::fs::write(work.join("secrets/plan.txt"), &text).unwrap();
    std::fs::write(work.join("secrets/blob.bin"), vec![0; BYTES]).unwrap();
    let large = std::fs::File::create(work.join("secrets/large.txt")).unwrap();
    large.set_len(BYTES as u64 * 100).unwrap();
    symlink("secrets/plan.txt", work.join("notes.txt")).unwrap();
    symlink("secrets", work.join("lnk")).unwrap();
    place.file("README.md", "needle\n")
}

fn assert_nothing_told(place: &Place, model: &Server, run: &Run) {
    let requests = model.requests().into_iter().map(|request| request.body.to_string());
    let journals = place.journals().into_iter().map(|(_, text)| text);
    let told = requests.chain(journals).chain([run.out.clone(), run.err.clone()]);
    for told in told {
        let lines = LINES.to_string();
        for word in [CANARY.to_owned(), BYTES.to_string(), format!(" {lines}"), format!("{lines} ")] {
            let around = told.split_once(&word).map(|(before, after)| {
                let before: String = before.chars().rev().take(200).collect();
                (before.chars().rev().collect::<String>(), after.chars().take(200).collect::<String>())
            });
            assert!(around.is_none(), "{word}: {around:?}");
        }
    }
}

/// Every tool that takes a path, on a closed file in several spellings.
fn calls() -> Vec<(&'static str, Value)> {
    let mut calls = Vec::new();
    for file in
        ["secrets/plan.txt", "lnk/plan.txt", "notes.txt", "./secrets/../lnk/blob.bin", "secrets/large.txt"]
    {
        calls.extend([
            ("read_file", json!({"file_path": file})),
            ("read_file", json!({"file_path": file, "start_line": 5_000_000})),
            ("read_many_files", json!({"include": [file]})),
            ("grep_search", json!({"pattern": "needle", "dir_path": file})),
            ("replace", json!({"file_path": file, "old_string": "needel CANARI", "new_string": "x"})),
            ("replace", json!({"file_path": file, "old_string": "needle", "new_string": "x"})),
            ("replace", json!({"file_path": file, "old_string": "", "new_string": "x"})),
            (
                "replace",
                json!({"file_path": file, "old_string": "needle", "new_string": "x", "allow_multiple": true}),
            ),
            ("write_file", json!({"file_path": file, "content": "x"})),
            ("write_file", json!({"file_path": file, "content": "// ... rest of the code ..."})),
            ("list_directory", json!({"dir_path": file})),
            ("run_shell_command", json!({"command": format!("cat {file}")})),
            ("run_shell_command", json!({"command": format!("wc {file}")})),
            ("run_shell_command", json!({"command": format!("head -c 9 < {file}")})),
            ("run_shell_command", json!({"command": "cat secrets/*; cat lnk/*", "description": "x"})),
        ]);
    }
    calls.extend([
        ("read_many_files", json!({"include": ["**"]})),
        ("read_many_files", json!({"include": ["secrets", "lnk/*"]})),
        ("grep_search", json!({"pattern": "needle"})),
        ("grep_search", json!({"pattern": "needle", "dir_path": "secrets", "no_ignore": true})),
        ("glob", json!({"pattern": "**/*"})),
        ("list_directory", json!({"dir_path": "secrets"})),
        ("run_shell_command", json!({"command": "grep -rn needle ."})),
        ("run_shell_command", json!({"command": "f=plan; wc -l \"secrets/$f.txt\""})),
    ]);
    calls
}

#[test]
fn no_tool_tells_anything_of_a_closed_file_in_no_mode() {
    for mode in ["default", "auto_edit", "yolo"] {
        let all = calls();
        let reply = all.iter().fold(Reply::new(), |reply, (tool, args)| reply.call(*tool, args.clone()));
        let model = server(Script::new([reply, "Done.".into()]));
        let place = place(&model);
        let arguments = ["-m", "openai/gpt-test", "-o", "stream-json", "--approval-mode", mode, "-p", "go"];
        let run = place.run(&arguments);
        assert_eq!(run.code, Some(0), "{mode}: {}", run.err);
        assert_nothing_told(&place, &model, &run);
        assert_eq!(std::fs::metadata(place.work().join("secrets/plan.txt")).unwrap().len(), BYTES as u64);
        // Each call was answered, and those about one file were refused by the rule.
        let results = run.lines().into_iter().filter(|line| line["type"] == "tool_result").count();
        assert_eq!(results, all.len(), "{mode}");
        let denied = run.lines().into_iter().filter(|line| line["error"]["type"] == "denied_by_rule").count();
        assert!(denied >= 50, "{mode}: {denied} were denied");
    }
}

#[test]
fn no_prompt_and_no_instruction_brings_a_closed_file_along() {
    let model = server(Script::new(["Done."; 6]));
    let place =
        place(&model).file("AGENTS.md", "Mind this:\n\n@secrets/plan.txt\n@notes.txt\n@lnk/plan.txt\n");
    let ask =
        |words: &str, more: &[&str]| place.run(&[&["-m", "openai/gpt-test", "-p", words], more].concat());
    let run = ask("compare @secrets/plan.txt with @lnk/plan.txt and @notes.txt", &[]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_nothing_told(&place, &model, &run);
    for name in ["secrets/plan.txt", "lnk/plan.txt", "notes.txt"] {
        let told = format!("@{name} is not attached: it is denied by the rule user");
        assert!(run.err.contains(&told), "{}", run.err);
    }
    assert!(run.err.matches("own.toml#1 denies it").count() == 3, "{}", run.err);
    let run = ask("go", &["--attach", "secrets/plan.txt"]);
    assert_ne!(run.code, Some(0));
    assert!(run.err.contains("is denied by the rule"), "{}", run.err);
    assert_nothing_told(&place, &model, &run);
    // Commands of the user's own: files that they name, and what they run.
    std::fs::create_dir_all(place.home().join("commands")).unwrap();
    let command = |name: &str, prompt: &str| {
        let text = format!("prompt = '{prompt}'\n");
        std::fs::write(place.home().join(format!("commands/{name}.toml")), text).unwrap();
    };
    command("files", "Look: @{secrets/plan.txt} @{lnk/plan.txt} @{notes.txt} @{{{args}}}");
    let run = ask("/files secrets/../secrets/plan.txt", &[]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_nothing_told(&place, &model, &run);
    for (name, line) in
        [("cat", "cat secrets/plan.txt"), ("link", "head -1 lnk/plan.txt"), ("in", "wc -l < notes.txt")]
    {
        command(name, &format!("Look: !{{{line}}}"));
        let run = ask(&format!("/{name}"), &["--approval-mode", "yolo"]);
        assert_eq!(run.code, Some(42), "{line}: {}", run.err);
        assert_nothing_told(&place, &model, &run);
    }
    // Rules of this run count, too.
    std::fs::rename(place.home().join("policies/own.toml"), place.path().join("run.toml")).unwrap();
    let run = ask("/files notes.txt", &["--policy", "../run.toml"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_nothing_told(&place, &model, &run);
    std::fs::write(place.work().join("AGENTS.md"), "").unwrap();
    let run = ask("look at @notes.txt", &["--policy", "../run.toml"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_nothing_told(&place, &model, &run);
}
