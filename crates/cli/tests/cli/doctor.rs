//! `charla doctor`: everything that a run stands on, in one look.

use charla_testkit::Script;
use serde_json::{Value, json};

use crate::place::{Place, server};

fn write(place: &Place, name: &str, text: &str) {
    let path = place.home().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// What is told of each thing: about what, how, and what.
fn findings(place: &Place) -> (Option<i32>, Vec<(String, String, String)>) {
    let run = place.run(&["doctor", "--json"]);
    let document: Value = serde_json::from_str(&run.out).unwrap();
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let rows = document["findings"].as_array().unwrap().iter();
    let rows: Vec<_> = rows.map(|row| (text(row, "about"), text(row, "health"), text(row, "text"))).collect();
    assert!(document["sandbox"]["landlock"].is_u64(), "{document}");
    let wrong = rows.iter().filter(|(_, health, _)| health == "wrong").count();
    assert_eq!(document["wrong"], wrong);
    (run.code, rows)
}

fn has(rows: &[(String, String, String)], about: &str, health: &str, text: &str) -> bool {
    rows.iter().any(|(a, h, t)| a == about && h == health && t.contains(text))
}

#[test]
fn what_is_set_up_is_told_and_all_is_well() {
    let model = server(Script { models: vec!["gpt-test".to_owned()], ..Script::echo() });
    let settings = json!({
        "model": {"name": "openai/gpt-test", "plan": "anthropic/claude-test"},
        "mcpServers": {"near": {"command": "sh", "args": ["-c", "touch started"], "trust": true},
                       "far": {"url": "https://user:s3cret@mcp.example.com/x"}},
        "hooks": {"SessionStart": [{"hooks": [{"name": "greets", "command": "touch hooked"}]}]},
    });
    let place = Place::with_server(&model).settings(&settings.to_string());
    write(&place, "skills/deploy/SKILL.md", "---\nname: deploy\ndescription: d\n---\nx\n");
    write(&place, "agents/reviewer.md", "---\nname: reviewer\ndescription: d\n---\nx\n");
    let (code, rows) = findings(&place);
    for (about, text) in [
        ("charla", env!("CARGO_PKG_VERSION")),
        ("settings", "home/.charla/settings.json is there"),
        ("settings", "work/.charla/settings.json is not there"),
        ("trust", "has nothing to trust"),
        ("rules", "hold"),
        ("model", "openai/gpt-test is chosen, anthropic/claude-test in plan mode"),
        ("model", "its server answers"),
        ("provider", "openai: key from"),
        ("mcp server", "near: "),
        ("mcp server", "not started"),
        ("mcp server", "far: https://"),
        ("skills", "deploy"),
        ("agents", "reviewer"),
        ("hook", "SessionStart greets"),
        ("sessions", "kept in"),
    ] {
        assert!(has(&rows, about, "ok", text), "{about} {text}: {rows:#?}");
    }
    assert_eq!(code, Some(0), "{rows:#?}");
    let all = format!("{rows:?}{}", place.run(&["doctor"]).out);
    assert!(!all.contains("s3cret") && !all.contains("key-openai"), "{all}");
    for made in ["started", "hooked"] {
        assert_eq!(place.read(made), None, "nothing is started");
    }
    assert!(place.run(&["doctor"]).out.contains("sandbox  Landlock"));
}

#[test]
fn a_hook_whose_script_is_not_there_is_told_where_hooks_are_looked_at() {
    let hooks = json!({"BeforeTool": [{"hooks": [{"name": "guard", "command": "~/none.sh"}]}]});
    let place = Place::new().settings(&json!({"hooks": hooks}).to_string());
    let (_, rows) = findings(&place);
    let told = "BeforeTool guard: cannot run, its script is not there";
    assert!(has(&rows, "hook", "wrong", told), "{rows:#?}");
    let listed = place.run(&["hooks", "list"]).out;
    assert!(
        listed.contains("(cannot run: its script is not there, or may not be run: chmod +x)"),
        "{listed}"
    );
}

#[test]
fn an_agent_that_cannot_be_used_is_told_among_the_agents() {
    let place = Place::new();
    write(&place, "agents/bad.md", "---\nname: [\n---\nx\n");
    let (_, rows) = findings(&place);
    assert!(has(&rows, "agents", "note", "bad.md"), "{rows:#?}");
    assert!(rows.iter().all(|(about, ..)| about != "skills"), "{rows:#?}");
}

#[test]
fn what_is_wrong_is_told_with_what_to_do_and_the_exit_code_says_so() {
    let broken = Place::new().settings("{\n  \"modle\": {}\n}");
    let (code, rows) = findings(&broken);
    assert_eq!(code, Some(1));
    assert!(has(&rows, "settings", "wrong", "settings.json:2:3: unknown key `modle`"), "{rows:#?}");
    assert!(has(&rows, "model", "wrong", "no model is configured"), "{rows:#?}");
    let run = broken.run(&["doctor"]);
    assert!(
        run.out.contains("GEMINI_API_KEY") && run.err.contains("things are wrong"),
        "{}{}",
        run.out,
        run.err
    );

    let settings = json!({
        "model": {"name": "openai/gpt-test"}, "retry": {"maxAttempts": 1},
        "mcpServers": {"gone": {"command": "/no/such/program"}, "unset": {"command": "sh", "args": ["$NOT_SET"]}},
    });
    let place = Place::new()
        .variable("OPENAI_API_KEY", "key-openai-1")
        .variable("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        .settings(&settings.to_string())
        .workspace_settings(r#"{"mcpServers": {"theirs": {"command": "touch", "args": ["made"]}}}"#);
    write(
        &place,
        "extensions.json",
        r#"{"lost": {"origin": "local", "place": "/x", "enabled": true, "agreed": ""}}"#,
    );
    write(&place, "policies/mine.toml", "not a rule");
    let (code, rows) = findings(&place);
    assert_eq!(code, Some(1));
    for (about, text) in [
        ("model", "openai"),
        ("mcp server", "gone cannot be used"),
        ("rules", "mine.toml"),
        ("extension", "lost"),
    ] {
        assert!(has(&rows, about, "wrong", text), "{about} {text}: {rows:#?}");
    }
    assert!(has(&rows, "trust", "ok", "is not trusted"), "{rows:#?}");
    assert!(has(&rows, "settings", "note", "`mcpServers.theirs.command` is ignored"), "{rows:#?}");
    assert!(
        !rows.iter().any(|(about, _, text)| about == "mcp server" && text.contains("theirs")),
        "{rows:#?}"
    );
}

#[test]
fn a_model_that_its_server_does_not_list_is_told() {
    let model = server(Script { models: vec!["gpt-test".to_owned()], ..Script::echo() });
    let place = Place::with_server(&model);
    let run = place.run(&["doctor", "-m", "openai/gpt-tset"]);
    let chosen = "ok     model       openai/gpt-tset is chosen\n";
    let unlisted = "note   model       its server answers and has 1 model, and gpt-tset is not among them\n";
    assert!(run.out.contains(chosen) && run.out.contains(unlisted), "{}", run.out);
    assert!(run.out.contains("did you mean `openai/gpt-test`?"), "{}", run.out);
    let run = place.run(&["doctor", "-m", "openai/zebra"]);
    assert!(run.out.contains("`charla models` lists"), "{}", run.out);
    let run = place.run(&["doctor", "-m", "openai/gpt-test"]);
    assert!(run.out.contains("ok     model       its server answers and has 1 model\n"), "{}", run.out);
}

#[test]
fn a_model_is_said_to_be_chosen_before_it_is_said_to_answer() {
    let place = Place::new()
        .variable("OPENAI_API_KEY", "key-openai-1")
        .variable("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        .settings(r#"{"retry": {"maxAttempts": 1}}"#);
    let run = place.run(&["doctor", "-m", "openai/gpt-test"]);
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert!(run.out.contains("openai/gpt-test is chosen\n"), "{}", run.out);
    assert!(!run.out.lines().any(|line| line.starts_with("ok") && line.contains("answers")), "{}", run.out);
}
