//! Where hooks come from, and which of them run.

use super::*;

#[test]
fn hooks_of_a_workspace_run_once_it_is_trusted_and_are_told_of_before() {
    let server = server(Script::always("Done."));
    let hooks = json!({ "hooks": at("BeforeAgent", "touch ran; cat > /dev/null") }).to_string();
    let place = Place::with_server(&server).workspace_settings(&hooks);
    let run = place.run(&["-m", MODEL, "-p", "go"]);
    assert_eq!((run.code, place.read("ran")), (Some(0), None), "{}", run.err);
    assert!(run.err.contains("`hooks.BeforeAgent` is ignored: this workspace is not trusted"), "{}", run.err);
    let list = place.run(&["hooks", "list"]);
    assert!(list.out.contains("BeforeAgent touch ran") && list.out.contains("not trusted"), "{}", list.out);
    assert_eq!(place.run(&["trust", "--yes"]).code, Some(0));
    let run = place.run(&["-m", MODEL, "-p", "go"]);
    assert_eq!((run.code, place.read("ran").as_deref()), (Some(0), Some("")), "{}", run.err);
    let list = place.run(&["hooks", "list", "--json"]);
    let list: Value = serde_json::from_str(&list.out).unwrap();
    assert_eq!(list[0]["standing"], "runs");
    assert!(list[0]["source"].as_str().unwrap().ends_with("work/.charla/settings.json"), "{list}");
}

#[test]
fn hooks_of_both_files_run_and_the_same_one_once() {
    let server = server(Script::always("Done."));
    let hook = |name: &str| json!({ "command": format!("cat > /dev/null; echo {name} >> ran") });
    let of = |hooks: &[Value]| {
        json!({ "hooks": { "BeforeAgent": [{ "sequential": true, "hooks": hooks }] } }).to_string()
    };
    let place = Place::with_server(&server)
        .settings(&of(&[hook("both"), hook("mine")]))
        .workspace_settings(&of(&[hook("both"), hook("theirs")]));
    assert_eq!(place.run(&["trust", "--yes"]).code, Some(0));
    let run = place.run(&["-m", MODEL, "-p", "go"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(place.read("ran").as_deref(), Some("both\nmine\ntheirs\n"));
}

#[test]
fn a_hook_that_is_switched_off_does_not_run() {
    let hooks = json!({"BeforeAgent": [{"hooks": [{"name": "off", "command": "echo off >> ran"}, {"command": "cat > /dev/null; echo on >> ran"}]}]});
    for (config, ran) in [(json!({"disabled": ["off"]}), Some("on\n")), (json!({"enabled": false}), None)] {
        let server = server(Script::always("Done."));
        let settings = json!({ "hooks": hooks, "hooksConfig": config }).to_string();
        let place = Place::with_server(&server).settings(&settings);
        let run = place.run(&["-m", MODEL, "-p", "go"]);
        assert_eq!((run.code, place.read("ran").as_deref()), (Some(0), ran), "{}", run.err);
        assert!(place.run(&["hooks", "list"]).out.contains("(disabled)"));
    }
}

#[test]
fn a_hook_gets_the_users_variables_and_no_key() {
    let server = server(Script::always("Done."));
    let place = place(&server, &at("BeforeAgent", "env > variables; cat > /dev/null")).variable("PLAIN", "x");
    let run = place.run(&["-m", MODEL, "-p", "go"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let variables = place.read("variables").unwrap();
    let work = place.work().canonicalize().unwrap().display().to_string();
    for line in
        ["PLAIN=x".to_owned(), format!("GEMINI_PROJECT_DIR={work}"), format!("CLAUDE_PROJECT_DIR={work}")]
    {
        assert!(variables.lines().any(|known| known == line), "{line}: {variables}");
    }
    assert!(!variables.contains("key-"), "{variables}");
}

#[test]
fn an_event_that_is_none_is_told_of() {
    let server = server(Script::always("Done."));
    let place = place(&server, &at("BeforeEverything", "touch ran"));
    let run = place.run(&["-m", MODEL, "-p", "go"]);
    assert_eq!((run.code, place.read("ran")), (Some(0), None));
    assert!(run.err.contains("hooks of `BeforeEverything` never run"), "{}", run.err);
}

#[test]
fn a_session_that_is_gone_on_with_says_so() {
    let server = server(Script::always("Done."));
    let place =
        place(&server, &json!({"SessionStart": [{"matcher": "resume", "hooks": [{"command": keeps("")}]}]}));
    place.run(&["-m", MODEL, "-p", "go"]);
    assert!(seen(&place).is_empty());
    place.run(&["-m", MODEL, "--resume", "-p", "go"]);
    assert_eq!(seen(&place)[0]["source"], "resume");
}

#[test]
fn a_guard_whose_matcher_is_not_understood_guards_every_tool_and_is_told_of() {
    let script = [
        Reply::new().call("write_file", json!({"file_path": "made", "content": "x"})),
        Reply::new().text("Done."),
    ];
    let server = server(Script::new(script));
    let no = says(&json!({"decision": "deny", "reason": "not through me"}));
    let hooks =
        json!({"BeforeTool": [{"matcher": "^(?!read_file$)", "hooks": [{"name": "guard", "command": no}]}]});
    let place = place(&server, &hooks);
    let run = place.run(&["-m", MODEL, "--approval-mode", "yolo", "-p", "go"]);
    assert_eq!((run.code, place.read("made")), (Some(0), None), "{}", run.err);
    assert!(server.requests()[1].body.to_string().contains("not through me"));
    assert!(run.err.contains("the matcher `^(?!read_file$)` of BeforeTool hooks"), "{}", run.err);
    let list = place.run(&["hooks", "list"]);
    assert!(list.out.contains("for every tool: its matcher is not understood"), "{}", list.out);
    let list: Value = serde_json::from_str(&place.run(&["hooks", "list", "--json"]).out).unwrap();
    assert_eq!(list[0]["unreadableMatcher"], true);
    let doctor = place.run(&["doctor"]);
    assert!(doctor.out.contains("for every tool: its matcher is not understood"), "{}", doctor.out);
}
