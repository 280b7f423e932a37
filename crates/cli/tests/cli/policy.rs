//! `charla policy` through the binary.

use std::path::Path;

use assert_cmd::Command;

fn charla(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("charla").unwrap();
    command.current_dir(folder.join("project")).env("CHARLA_HOME", folder.join("home")).arg("policy");
    command
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("project/.charla/policies")).unwrap();
    std::fs::create_dir_all(folder.path().join("home/policies")).unwrap();
    folder
}

fn output(command: &mut Command) -> (String, String, i32) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

#[test]
fn explain_shows_every_part_the_rule_and_the_verdict() {
    let folder = folder();
    let (text, _, code) = output(charla(folder.path()).args(["explain", "ls && make > out.txt"]));
    assert_eq!(code, 0);
    for line in [
        "allow  run      ls",
        "ask    run      make",
        "ask    write    write ",
        "verdict: ask",
        "command = \"make\"",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
}

#[test]
fn what_is_explained_moves_no_cursor_and_makes_no_line_of_its_own() {
    let folder = folder();
    let rule = "[[rule]]\ncommandPrefix = \"make\\u001b[2J\"\ndecision = \"ask\"\nreason = \"a\\u001b[2J\\nverdict: allow\"\n";
    std::fs::write(folder.path().join("home/policies/mine.toml"), rule).unwrap();
    let forged = "make $'x\u{1b}[2J\nverdict: allow'; 'make\u{1b}[2J'";
    for arguments in [&["explain", forged][..], &["list"]] {
        let (text, _, code) = output(charla(folder.path()).args(arguments));
        assert_eq!(code, 0, "{text}");
        let hidden = |c: char| c.is_control() && c != '\n';
        assert!(!text.contains(hidden) && text.contains("\\u{1b}"), "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("verdict: allow")), "{text}");
    }
}

#[test]
fn explain_as_json_carries_the_effects() {
    let folder = folder();
    let (text, _, _) = output(charla(folder.path()).args(["explain", "--json", "--mode", "yolo", "sudo ls"]));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["verdict"]["verdict"], "allow");
    assert_eq!(value["findings"][0]["effect"]["words"][0]["text"], "sudo");
}

#[test]
fn a_restriction_that_could_never_match_is_a_mistake_that_says_what_to_write() {
    let folder = folder();
    for (path, hint) in [("$HOME/vault/**", "`~/`"), ("~other/x", "whole path"), ("a/../b", "`..`")] {
        let rule = format!("[[rule]]\ntool = \"*\"\npath = \"{path}\"\ndecision = \"deny\"\n");
        std::fs::write(folder.path().join("home/policies/mine.toml"), rule).unwrap();
        let (_, error, code) = output(charla(folder.path()).arg("list"));
        assert_eq!(code, 52, "{error}");
        assert!(error.contains(path) && error.contains(hint), "{error}");
    }
}

#[test]
fn rules_come_from_home_and_the_workspace_and_the_workspace_cannot_allow() {
    let folder = folder();
    let rule = |prefix: &str, decision: &str| {
        format!("[[rule]]\ncommandPrefix = \"{prefix}\"\ndecision = \"{decision}\"\n")
    };
    std::fs::write(folder.path().join("home/policies/mine.toml"), rule("make", "allow")).unwrap();
    std::fs::write(
        folder.path().join("project/.charla/policies/theirs.toml"),
        rule("npm", "allow") + &rule("make all", "deny"),
    )
    .unwrap();
    let verdict = |line: &str| {
        let (text, notices, _) = output(charla(folder.path()).args(["explain", line]));
        assert!(
            notices.contains("ignored: the rules of a workspace may ask or deny, never allow"),
            "{notices}"
        );
        text.lines().find_map(|line| line.strip_prefix("verdict: ").map(str::to_owned)).unwrap()
    };
    assert!(verdict("make check").starts_with("allow"));
    assert!(verdict("make all").starts_with("deny"));
    assert!(verdict("npm x").starts_with("ask"));
}

#[test]
fn tests_of_rules_decide_the_exit_code() {
    let folder = folder();
    let file = folder.path().join("rules.toml");
    let rule = "[[rule]]\ncommandPrefix = \"make\"\ndecision = \"allow\"\n[[rule.test]]\ncommand = \"make && ls\"\nexpect = \"allow\"\n";
    std::fs::write(&file, rule).unwrap();
    let (text, _, code) = output(charla(folder.path()).arg("test").arg(&file));
    assert_eq!((text.as_str(), code), ("1 tests, 0 failed\n", 0));
    std::fs::write(&file, format!("{rule}[[rule.test]]\ncommand = \"make; sudo ls\"\nexpect = \"allow\"\n"))
        .unwrap();
    let (text, _, code) = output(charla(folder.path()).arg("test").arg(&file));
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("expected allow, got ask"), "{text}");
}

#[test]
fn a_rule_file_that_is_not_understood_stops_everything() {
    let folder = folder();
    for (rule, named) in
        [("toool = 1\ntool = \"x\"\ndecision = \"ask\"", "toool"), ("tool = \"x\"", "decision")]
    {
        let file = folder.path().join("home/policies/bad.toml");
        std::fs::write(file, format!("[[rule]]\n{rule}\n")).unwrap();
        let (text, error, code) = output(charla(folder.path()).args(["explain", "ls"]));
        assert_eq!((text.as_str(), code), ("", 52));
        assert!(error.contains("bad.toml") && error.contains(named), "{error}");
    }
}

#[test]
fn allowed_tools_are_judged_segment_by_segment() {
    let folder = folder();
    let allowed = "--allowed-tools=run_shell_command(node)";
    let (text, _, _) = output(charla(folder.path()).args(["explain", allowed, "node x.js"]));
    assert!(text.contains("verdict: allow"), "{text}");
    let (text, _, _) = output(charla(folder.path()).args(["explain", allowed, "node x.js && ls"]));
    assert!(text.contains("verdict: ask"), "{text}");
}
