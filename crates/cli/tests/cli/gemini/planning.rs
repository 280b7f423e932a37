use serde_json::{Value, json};

use super::{Stage, call, say};

fn write(path: &str) -> Value {
    call("write_file", json!({"file_path": path, "content": "# Plan\n"}))
}

#[test]
fn plan_mode_writes_plans_and_nothing_else() {
    let rows = [
        (json!({}), ".charla/plans/a.md", true),
        (json!({"general": {"plan": {"directory": "plans"}}}), "plans/a.md", true),
        (json!({"general": {"plan": {"directory": "plans"}}}), "a.md", false),
        (json!({}), "a.md", false),
    ];
    for (settings, path, written) in rows {
        let stage = Stage::new(&settings);
        let run = stage.run(&[write(path), say("Done.")], &["--approval-mode=plan", "-p", "plan it"]);
        assert_eq!((run.code, stage.place.read(path).is_some()), (Some(0), written), "{path}: {}", run.err);
        assert_eq!(stage.calls()[0].2, written, "{path}");
    }
}

#[test]
fn plan_mode_runs_nothing_and_offers_nothing_that_runs() {
    let stage = Stage::plain();
    let answers =
        [super::shell("echo hi > a"), call("read_file", json!({"file_path": "f.txt"})), say("Done.")];
    let stage = stage.file("f.txt", "text");
    let run = stage.run(&answers, &["--approval-mode=plan", "-p", "x"]);
    assert_eq!((run.code, stage.place.read("a")), (Some(0), None), "{}", run.err);
    assert!(run.err.contains(r#"Tool "run_shell_command" not found"#), "{}", run.err);
    let success: Vec<bool> = stage.calls().into_iter().map(|(.., success)| success).collect();
    assert_eq!(success, [false, true]);
}

#[test]
fn only_what_may_run_is_declared() {
    let rules = "[[rule]]\ntoolName = 'run_shell_command'\ncommandPrefix = 'ls -F'\ndecision = 'allow'\n";
    let declared = |arguments: &[&str]| -> Vec<String> {
        let server = crate::place::server(charla_testkit::Script::always("Done."));
        let stage = Stage::plain().file("rules.toml", rules);
        let place = stage.place.variable("GOOGLE_GEMINI_BASE_URL", &server.url());
        let run = place.run(&[arguments, &["-p", "x"]].concat());
        assert_eq!(run.code, Some(0), "{}", run.err);
        let request = server.requests()[0].clone();
        assert_eq!(
            (request.key.as_deref(), request.body["contents"][0]["role"].as_str()),
            (Some("key-1"), Some("user"))
        );
        let tools = request.body["tools"][0]["functionDeclarations"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let has = |tools: &[String], name: &str| tools.iter().any(|tool| tool == name);
    let planning = declared(&["--approval-mode=plan"]);
    assert!(has(&planning, "read_file") && !has(&planning, "run_shell_command"), "{planning:?}");
    let unasked = declared(&["--approval-mode=default"]);
    assert!(has(&unasked, "read_file") && !has(&unasked, "write_file"), "{unasked:?}");
    let all = declared(&["--approval-mode=yolo"]);
    assert!(has(&all, "write_file") && has(&all, "run_shell_command"), "{all:?}");
    assert!(has(&declared(&["--policy", "rules.toml"]), "run_shell_command"));
}

#[test]
fn the_default_mode_comes_from_the_settings() {
    let stage =
        Stage::new(&json!({"general": {"defaultApprovalMode": "plan", "plan": {"directory": "plans"}}}));
    let run = stage.run(&[write("plans/a.md"), write("b.md"), say("Done.")], &["-p", "x"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(stage.place.read("plans/a.md").is_some() && stage.place.read("b.md").is_none(), "{}", run.err);
}

#[test]
fn plan_mode_is_entered_and_left_where_that_is_allowed() {
    let stage = Stage::new(&json!({
        "general": {"plan": {"directory": "plans"}},
        "tools": {"allowed": ["enter_plan_mode", "exit_plan_mode", "run_shell_command(touch)"]},
    }));
    let enter = call("enter_plan_mode", json!({"reason": "it is large"}));
    let leave = call("exit_plan_mode", json!({"plan_filename": "a.md"}));
    let touch = |file: &str| super::shell(&format!("touch {file}"));
    let answers =
        [enter, touch("early"), leave.clone(), write("plans/a.md"), leave, touch("late"), say("Done.")];
    let run = stage.run(&answers, &["--approval-mode=default", "-p", "x"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{}", run.err);
    let calls: Vec<(String, bool)> =
        stage.calls().into_iter().map(|(name, _, success)| (name, success)).collect();
    let calls: Vec<(&str, bool)> = calls.iter().map(|(name, success)| (name.as_str(), *success)).collect();
    let expected = [
        ("enter_plan_mode", true),
        ("run_shell_command", false),
        ("exit_plan_mode", false),
        ("write_file", true),
        ("exit_plan_mode", true),
        ("run_shell_command", true),
    ];
    assert_eq!(calls, expected, "{}", run.err);
    assert!(stage.place.read("early").is_none() && stage.place.read("late").is_some());
}

#[test]
fn another_model_plans_where_one_is_named_for_it() {
    let settings = |model: Value| {
        json!({
            "model": model, "general": {"plan": {"directory": "plans"}},
            "tools": {"allowed": ["enter_plan_mode", "exit_plan_mode"]},
        })
    };
    let enter = call("enter_plan_mode", json!({"reason": "it is large"}));
    let leave = call("exit_plan_mode", json!({"plan_filename": "a.md"}));
    let whole = [enter, write("plans/a.md"), leave.clone(), say("Done.")];
    let planned = [write("plans/a.md"), leave, say("Done.")];
    let (flash, pro) = ("gemini-2.5-flash", "gemini-2.5-pro");
    let auto = || settings(json!({"name": "auto-gemini-2.5"}));
    let mut unrouted = auto();
    unrouted["general"]["plan"]["modelRouting"] = false.into();
    let rows: [(Value, &str, &[Value], &[&str]); 4] = [
        (auto(), "default", &whole, &[flash, pro, pro, flash]),
        (auto(), "plan", &planned, &[pro, pro, flash]),
        (settings(json!({"name": flash})), "plan", &planned, &[flash; 3]),
        (unrouted, "default", &whole, &[flash; 4]),
    ];
    for (settings, mode, answers, expected) in rows {
        let stage = Stage::new(&settings);
        let run = stage.run(answers, &["--approval-mode", mode, "-p", "x"]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{settings} {mode}: {}", run.err);
        let asked: Vec<String> = stage
            .events("api_request")
            .iter()
            .map(|asked| asked["model"].as_str().unwrap().rsplit('/').next().unwrap().to_owned())
            .collect();
        assert_eq!(asked, expected, "{settings} {mode}");
    }
}

#[test]
fn nobody_leaves_plan_mode_unasked() {
    let stage = Stage::new(&json!({"general": {"plan": {"directory": "plans"}}}));
    let leave = call("exit_plan_mode", json!({"plan_filename": "a.md"}));
    let enter = call("enter_plan_mode", json!({}));
    const NOT_FOUND: &str = "Error executing tool TOOL: Tool \"TOOL\" not found";
    const DENIED: &str = "Error executing tool TOOL: Tool execution denied by policy";
    let rows = [("plan", NOT_FOUND), ("default", NOT_FOUND), ("yolo", DENIED)];
    for (mode, said) in rows {
        let answers = [write("plans/a.md"), leave.clone(), enter.clone(), say("Done.")];
        let run = stage.run(&answers, &["--approval-mode", mode, "-p", "x"]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        for tool in ["exit_plan_mode", "enter_plan_mode"] {
            assert!(run.err.contains(&said.replace("TOOL", tool)), "{mode}: {}", run.err);
        }
    }
}
