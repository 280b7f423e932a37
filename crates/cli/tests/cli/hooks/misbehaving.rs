//! Hooks that fail, hang, shout or die: a session goes on, and soon.

use super::*;

/// One hook at every event at once.
fn everywhere(hook: &Value) -> Value {
    EVENTS
        .iter()
        .map(|event| (event.to_string(), json!([{ "hooks": [hook] }])))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn no_way_of_failing_holds_a_session_up() {
    let rows = [
        ("takes too long", "sleep 1000", "took too long"),
        (
            "takes too long and does not listen",
            "trap '' TERM INT; sleep 1000 & wait; sleep 1000",
            "took too long",
        ),
        ("crashes", "kill -SEGV $$", "ended by a signal"),
        ("kills its group", "kill -9 0", "ended by a signal"),
        ("is not there", "/nowhere/hook; exit 1", "No such file"),
        ("fails", "echo broken >&2; exit 1", "Warning: broken"),
        ("says nothing", "exit 1", "exit code 1"),
        ("talks", "echo hello there", "hello there"),
        ("gives garbage", "echo '{\"decision\": '", "{\"decision\":"),
        (
            "gives other types",
            "echo '{\"decision\": null, \"reason\": [], \"continue\": \"no\", \"hookSpecificOutput\": 3}'",
            "",
        ),
        ("gives no object", "echo '[1, 2]'", "[1, 2]"),
        ("does not read", "exec <&-; echo '{}'", ""),
        (
            "leaves something behind that holds its output",
            "sleep 1000 & echo '{\"systemMessage\": \"left\"}'",
            "left",
        ),
        ("shouts", "head -c 100000000 /dev/zero | tr '\\0' x", "xxx"),
        ("prints what is no text", "printf '\\0\\033[2J\\377\\376 odd'", "odd"),
    ];
    for (name, command, told) in rows {
        let hook = json!({ "command": command, "timeout": if command.contains("sleep 1000") && !told.contains("left") { 300 } else { 60000 } });
        let (run, server, place) = run([writes("x"), "Done.".into()], &everywhere(&hook));
        assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{name}: {}", run.err);
        assert!(run.err.contains(told), "{name}: {}", run.err);
        assert!(!run.err.contains('\u{1b}') && !run.err.contains('\0'), "{name}: {:?}", run.err);
        assert!(run.err.len() < 500_000, "{name}: {}", run.err.len());
        assert_eq!(place.read("a.txt").as_deref(), Some("x"), "{name}");
        assert!(server.problems().is_empty(), "{name}");
    }
}

/// A run with a hook `guard` at this event that decides this.
fn decided(event: &str, decision: &Value) -> (Run, Server, Place) {
    let command = says(&json!({ "decision": decision }));
    let hooks = json!({ event: [{ "hooks": [{ "name": "guard", "command": command }] }] });
    run([writes("x"), "Done.".into()], &hooks)
}

#[test]
fn a_decision_that_means_nothing_is_no_yes() {
    for decision in
        [json!("reject"), json!("no"), json!(7), json!(false), json!(["deny"]), json!({"deny": 1})]
    {
        let (run, _, place) = decided("BeforeTool", &decision);
        assert_eq!((run.code, place.read("a.txt")), (Some(0), None), "{decision}: {}", run.err);
        let told =
            format!("the hook `guard` decided {decision}, which is none of allow, deny, block and ask");
        assert!(run.err.contains(&told), "{decision}: {}", run.err);
    }
    let (run, server, _) = decided("AfterTool", &json!("reject"));
    assert!(asked(&server, 1).contains("Tool result blocked"), "{}", run.err);
    // Where a no stops nothing, or has the turn go on, the word is told and that is all.
    let (run, server, place) = decided("AfterAgent", &json!("reject"));
    assert_eq!((server.requests().len(), place.read("a.txt").as_deref()), (2, Some("x")), "{}", run.err);
    assert!(run.err.contains("it means nothing here"), "{}", run.err);
}

#[test]
fn a_decision_is_read_whatever_its_letters() {
    for (decision, runs) in [
        (json!(null), true),
        (json!(""), true),
        (json!("approve"), true),
        (json!("Allow"), true),
        (json!("DENY"), false),
        (json!(" Block "), false),
        (json!("Ask"), false),
    ] {
        let (run, _, place) = decided("BeforeTool", &decision);
        assert_eq!(place.read("a.txt").is_some(), runs, "{decision}: {}", run.err);
        assert!(!run.err.contains("none of allow"), "{decision}: {}", run.err);
    }
}

#[test]
fn nothing_of_a_hook_outlives_it() {
    let (run, _, place) = run(["Done."], &at("BeforeAgent", "sleep 1000 & echo $! > left; echo '{}'"));
    assert_eq!(run.code, Some(0), "{}", run.err);
    let left = place.read("left").unwrap();
    // Killed, it may still wait for whoever inherits it to take note.
    let stat = || std::fs::read_to_string(format!("/proc/{}/stat", left.trim())).unwrap_or_default();
    let until = std::time::Instant::now() + crate::place::PATIENCE;
    while !(stat().is_empty() || stat().contains(") Z ")) {
        assert!(std::time::Instant::now() < until, "{}", stat());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_failing_hook_does_not_stop_one_that_works_beside_it() {
    let deny = says(&json!({"decision": "deny", "reason": "theirs"}));
    for (other, written) in [("exit 1".to_owned(), true), (deny, false)] {
        let hooks = json!({"BeforeTool": [{"hooks": [{"command": "exit 1", "name": "broken"}, {"command": keeps(""), "name": "works"}]},
                                          {"hooks": [{"command": other}]}]});
        let (run, _, place) = run([writes("x"), "Done.".into()], &hooks);
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert_eq!((seen(&place).len(), place.read("a.txt").is_some()), (1, written), "{}", run.err);
    }
}

#[test]
fn a_session_killed_during_a_hook_goes_on_and_does_nothing_twice() {
    let server = server(Script::new([shell("echo ran >> ran"), "Done.".into()]));
    // The first one hangs until its session is killed.
    let hook = "cat >> seen; if [ ! -e hung ]; then touch hung; sleep 1000; fi; echo '{}'";
    let place = place(
        &server,
        &json!({
            "BeforeTool": [{"hooks": [{"command": hook}]}],
            "BeforeAgent": [{"hooks": [{"command": "echo agent >> agents; cat > /dev/null"}]}],
        }),
    );
    let mut child = place.spawn(&["-m", MODEL, "--approval-mode", "yolo", "-p", "go"]);
    assert!(appears(&place, "hung"));
    child.kill().unwrap();
    child.wait().unwrap();
    let run = place.run(&["-m", MODEL, "--approval-mode", "yolo", "--resume"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{}", run.err);
    assert_eq!(place.read("ran").as_deref(), Some("ran\n"));
    assert_eq!(place.read("agents").as_deref(), Some("agent\n"), "the prompt was let through before");
    assert_eq!(seen(&place).len(), 2, "the hook that never answered is asked again");
    assert_eq!(records(&place, "call_ended").len(), 1);
}

#[test]
fn a_call_that_hooks_have_let_through_is_not_asked_about_again() {
    let server = server(Script::new([shell("echo ran >> ran; touch begun; sleep 1000"), "Done.".into()]));
    let hooks = json!({"BeforeTool": [{"hooks": [{"command": keeps("")}]}], "AfterTool": [{"hooks": [{"command": keeps("")}]}]});
    let place = place(&server, &hooks);
    let mut child = place.spawn(&["-m", MODEL, "--approval-mode", "yolo", "-p", "go"]);
    assert!(appears(&place, "begun"));
    child.kill().unwrap();
    child.wait().unwrap();
    let run = place.run(&["-m", MODEL, "--approval-mode", "yolo", "--resume"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{}", run.err);
    assert_eq!((seen(&place).len(), place.read("ran").as_deref()), (1, Some("ran\n")));
    assert_eq!(records(&place, "call_ended")[0]["error"], "interrupted");
}
