use serde_json::json;

use super::{Stage, call, say, shell};

/// The verdict on one command under these arguments, settings and rules: whether it ran, and what was said.
struct Row {
    rules: &'static str,
    arguments: &'static [&'static str],
    command: &'static str,
    runs: bool,
    said: &'static str,
}

const DENIED: &str = "Tool execution denied by policy";

#[test]
fn commands_run_as_rules_and_flags_say() {
    let prefix = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"ls -F\"\ndecision = \"allow\"\npriority = 100\n";
    let both = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"touch\"\ndecision = \"deny\"\npriority = 200\n\
                [[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"allow\"\npriority = 100\n";
    let wc: &[&str] = &["--allowed-tools=run_shell_command(wc)"];
    let echo: &[&str] = &["--allowed-tools=run_shell_command(echo)"];
    let all: &[&str] = &["--allowed-tools=run_shell_command"];
    let shell_tool: &[&str] = &["--allowed-tools=ShellTool(touch)"];
    let two: &[&str] = &["--allowed-tools=ShellTool(touch)", "--allowed-tools=run_shell_command(wc)"];
    let rows = [
        Row { rules: prefix, arguments: &[], command: "ls -F", runs: true, said: "" },
        Row { rules: prefix, arguments: &[], command: "touch made", runs: false, said: DENIED },
        Row { rules: both, arguments: &[], command: "touch made", runs: false, said: DENIED },
        Row {
            rules: both,
            arguments: &["--approval-mode=yolo"],
            command: "touch made",
            runs: false,
            said: DENIED,
        },
        Row { rules: both, arguments: &[], command: "mkdir made", runs: true, said: "" },
        Row { rules: "", arguments: &["--approval-mode=yolo"], command: "touch made", runs: true, said: "" },
        Row { rules: "", arguments: wc, command: "wc -l f.txt", runs: true, said: "" },
        Row { rules: "", arguments: wc, command: "node -e 1", runs: false, said: DENIED },
        Row { rules: "", arguments: echo, command: "echo \"foo\" && ls", runs: false, said: DENIED },
        Row { rules: "", arguments: echo, command: "echo \"hello\" > > file", runs: false, said: DENIED },
        Row { rules: "", arguments: all, command: "touch made", runs: true, said: "" },
        Row { rules: "", arguments: shell_tool, command: "touch made", runs: true, said: "" },
        Row { rules: "", arguments: two, command: "touch made && wc -l f.txt", runs: true, said: "" },
    ];
    for Row { rules, arguments, command, runs, said } in rows {
        let stage = Stage::plain().file("f.txt", "1\n2\n").file("rules.toml", rules);
        let policy: &[&str] = if rules.is_empty() { &[] } else { &["--policy", "rules.toml"] };
        let answers = [shell(command), say("Done.")];
        let run = stage.run(&answers, &[policy, arguments, &["-p", "x"]].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{command}: {}", run.err);
        let calls = stage.calls();
        let expected = [("run_shell_command".to_owned(), json!({"command": command}), runs)];
        assert_eq!(calls, expected, "{arguments:?} {command}: {}", run.err);
        assert!(run.err.contains(said), "{arguments:?} {command}: {}", run.err);
    }
}

#[test]
fn rules_of_the_user_and_of_the_workspace_hold() {
    let stage = Stage::plain();
    let rule = |decision: &str, prefix: &str| {
        format!(
            "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"{prefix}\"\ndecision = \"{decision}\"\npriority = 100\n"
        )
    };
    let folders = [
        stage.place.path().join("gemini-home/.gemini/policies"),
        stage.place.work().join(".gemini/policies"),
    ];
    folders.iter().for_each(|folder| std::fs::create_dir_all(folder).unwrap());
    std::fs::write(folders[0].join("mine.toml"), rule("allow", "touch")).unwrap();
    std::fs::write(folders[1].join("theirs.toml"), [rule("allow", "mkdir"), rule("deny", "echo")].concat())
        .unwrap();
    let rows = [("touch made", true), ("mkdir made-too", false), ("echo hi", false)];
    for (command, runs) in rows {
        let run = stage.run(&[shell(command), say("Done.")], &["-p", "x"]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert_eq!(stage.calls().last().unwrap().2, runs, "{command}: {}", run.err);
    }
}

#[test]
fn headless_reading_runs_and_what_would_be_asked_about_is_no_tool() {
    let stage = Stage::plain().file("f.txt", "alpha");
    let answers = [
        call("read_file", json!({"file_path": "f.txt"})),
        call("write_file", json!({"file_path": "g", "content": "x"})),
        say("Done."),
    ];
    let run = stage.run(&answers, &["--approval-mode=default", "-p", "x"]);
    assert_eq!((run.code, stage.place.read("g")), (Some(0), None), "{}", run.err);
    assert!(
        run.err.contains(r#"Error executing tool write_file: Tool "write_file" not found among those that run unasked: Not run: "#),
        "{}",
        run.err
    );
    let success: Vec<bool> = stage.calls().into_iter().map(|(.., success)| success).collect();
    assert_eq!(success, [true, false]);
}

#[test]
fn keys_that_are_not_known_make_no_rule_more_lenient() {
    let rule =
        |more: &str| format!("[[rule]]\ntoolName = 'run_shell_command'\ncommandPrefix = 'touch'\n{more}\n");
    let runs = |rules: String, arguments: &[&str]| {
        let stage = Stage::plain().file("rules.toml", &rules);
        let all = [&["--policy", "rules.toml"], arguments, &["-p", "x"]].concat();
        let run = stage.run(&[shell("touch made"), say("Done.")], &all);
        (run.code, stage.place.read("made").is_some(), run.err)
    };
    // An allowance whose bounds are not understood is none.
    let (code, made, err) = runs(rule("decision = 'allow'\ninteractive = true"), &[]);
    assert_eq!((code, made), (Some(0), false), "{err}");
    assert!(err.contains("unknown key `interactive`: it is left out"), "{err}");
    // A denial holds, before what would have come behind it.
    let denied = rule("decision = 'deny'\npriorty = 900");
    let (code, made, err) = runs(denied + &rule("decision = 'allow'\npriority = 500"), &["-y"]);
    assert_eq!((code, made), (Some(0), false), "{err}");
    assert!(
        err.contains("unknown key `priorty` (did you mean `priority`?): it denies before all others"),
        "{err}"
    );
    // A question could stand before a denial, or behind an allowance: then nothing runs.
    for rules in [
        rule("decision = 'ask_user'\nsubagent = 'x'"),
        rule("decision = 'deny'").replace("[[rule]]", "[[rules]]"),
    ] {
        let (code, made, err) = runs(rules, &["-y"]);
        assert_eq!((code, made), (Some(52), false), "{err}");
        assert!(err.contains("unknown key"), "{err}");
    }
    // What is no rule says nothing.
    let (code, made, err) = runs("version = 2\n".to_owned() + &rule("decision = 'allow'"), &[]);
    assert_eq!((code, made), (Some(0), true), "{err}");
    assert!(err.contains("`version` means nothing here"), "{err}");
}
