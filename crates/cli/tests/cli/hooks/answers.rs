//! Several hooks at one point: order, and what their answers come to.

use super::*;

/// A group of hooks.
fn group(sequential: bool, commands: &[String]) -> Value {
    let hooks: Vec<Value> = commands.iter().map(|command| json!({ "command": command })).collect();
    json!([{ "sequential": sequential, "hooks": hooks }])
}

#[test]
fn the_strictest_decision_holds_and_words_are_joined() {
    let answers = [
        json!({"decision": "allow", "reason": "all-is-well"}),
        json!({"decision": "deny", "reason": "first no", "systemMessage": "one"}),
        json!({"decision": "ask", "reason": "not-so-sure"}),
        json!({"decision": "block", "reason": "second no", "systemMessage": "two"}),
    ];
    let commands: Vec<String> = answers.iter().map(says).collect();
    let (run, server, _) =
        run([writes("x"), "Done.".into()], &json!({"BeforeTool": group(false, &commands)}));
    assert_eq!(run.code, Some(0), "{}", run.err);
    let asked = asked(&server, 1);
    assert!(asked.contains(r"first no\\nsecond no") || asked.contains(r"first no\nsecond no"), "{asked}");
    assert!(!asked.contains("all-is-well") && !asked.contains("not-so-sure"), "{asked}");
    for message in ["Hook system message: one", "Hook system message: two"] {
        assert!(run.err.contains(message), "{}", run.err);
    }
}

#[test]
fn contexts_of_several_hooks_are_all_told() {
    let context = |text: &str| says(&json!({"hookSpecificOutput": {"additionalContext": text}}));
    for sequential in [false, true] {
        let hooks = json!({"BeforeAgent": group(sequential, &[context("the first"), context("the second")])});
        let (_, server, _) = run(["Done."], &hooks);
        let asked = asked(&server, 0);
        assert!(asked.contains("the first") && asked.contains("the second"), "{asked}");
    }
}

#[test]
fn hooks_at_once_run_at_once() {
    // Each waits for the other: one after the other, neither would end.
    let commands = [
        format!("mkfifo a b; touch ready; {}", "cat > /dev/null; echo x > a; read word < b; echo '{}'"),
        format!("until [ -e ready ]; do sleep 0.01; done; {}", "read word < a; echo x > b; echo '{}'"),
    ];
    let (run, _, _) = run(["Done."], &json!({"BeforeAgent": group(false, &commands)}));
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{}", run.err);
    assert!(!run.err.contains("too long"), "{}", run.err);
}

#[test]
fn hooks_in_turn_run_in_order_and_see_what_was_changed() {
    let to = |content: &str| {
        let args = json!({"file_path": "a.txt", "content": content});
        keeps(&format!(
            "sleep 0.05; echo {content} >> order; {}",
            says(&json!({"hookSpecificOutput": {"tool_input": args}}))
        ))
    };
    let hooks = json!({"BeforeTool": group(true, &[to("one"), to("two"), keeps("echo three >> order")])});
    let (run, _, place) = run([writes("mine"), "Done.".into()], &hooks);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let given: Vec<Value> =
        seen(&place).into_iter().map(|input| input["tool_input"]["content"].clone()).collect();
    assert_eq!(given, ["mine", "one", "two"]);
    assert_eq!(place.read("order").as_deref(), Some("one\ntwo\nthree\n"));
    assert_eq!(place.read("a.txt").as_deref(), Some("two"));
}

#[test]
fn in_turn_nobody_is_asked_after_a_no() {
    let deny = says(&json!({"decision": "deny", "reason": "no"}));
    let hooks = json!({"BeforeTool": group(true, &[deny, keeps("")])});
    let (run, _, place) = run([writes("x"), "Done.".into()], &hooks);
    assert_eq!((run.code, seen(&place).len()), (Some(0), 0), "{}", run.err);
}

#[test]
fn an_answer_may_come_on_the_other_output() {
    let answer = shell_quote(&json!({"decision": "deny", "reason": "on stderr"}).to_string());
    let (_, server, _) =
        run([writes("x"), "Done.".into()], &at("BeforeTool", &format!("cat > /dev/null; echo {answer} >&2")));
    assert!(asked(&server, 1).contains("Tool execution blocked: on stderr"));
}

#[test]
fn what_a_hook_takes_out_of_an_answer_is_told_nowhere() {
    let hook = json!({"AfterModel": [{"hooks": [{"command":
        r#"sed -E 's/.*/{"hookSpecificOutput":{"llm_response":{"text":"Your card is [card]."}}}/'"#}]}]});
    let server = server(Script::new(["Your card is 4111111111111111."]));
    let place = place(&server, &hook);
    let run = place.run(&["-m", MODEL, "-p", "go", "--output-format", "stream-json"]);
    let lines: Vec<String> = run.lines().iter().map(Value::to_string).collect();
    assert!(lines.iter().any(|line| line.contains("\"hook_ran\"")));
    assert!(lines.iter().any(|line| line.contains("[card]")));
    assert!(!lines.iter().any(|line| line.contains("4111111111111111")), "{lines:#?}");
}

#[test]
fn what_ran_is_told_line_by_line() {
    let hook = json!({"BeforeTool": [{"matcher": "write_.*", "hooks": [{"name": "guard", "command": says(&json!({"decision": "allow"}))}]}]});
    let server = server(Script::new([writes("x"), "Done.".into()]));
    let place = place(&server, &hook);
    let arguments = ["-m", MODEL, "--approval-mode", "yolo", "-p", "go", "--output-format", "stream-json"];
    let ran: Vec<Value> =
        place.run(&arguments).lines().into_iter().filter(|line| line["type"] == "hook_ran").collect();
    assert_eq!(ran.len(), 1);
    let ran = &ran[0];
    assert_eq!((&ran["hook_event_name"], &ran["hook_name"]), (&json!("BeforeTool"), &json!("guard")));
    assert_eq!(
        (&ran["exit_code"], &ran["success"], &ran["stdout"]),
        (&json!(0), &json!(true), &json!("{\"decision\":\"allow\"}"))
    );
    let input: Value = serde_json::from_str(ran["hook_input"].as_str().unwrap()).unwrap();
    assert_eq!(input["tool_name"], "write_file");
}
