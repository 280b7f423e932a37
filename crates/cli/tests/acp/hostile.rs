//! Clients that are broken, or worse.

use charla_testkit::{Reply, Script};
use serde_json::json;

use crate::editor::{Raw, place, shell};
use crate::place::server;

#[test]
fn garbage_is_answered_and_hurts_nobody() {
    let model = server(Script::always(Reply::new().text("ok")));
    let place = place(&model);
    let mut client = Raw::start(&place);
    for (line, code) in [
        ("{", -32700),
        ("\u{0}\u{1}", -32700),
        ("7", -32600),
        ("[]", -32600),
        ("{}", -32600),
        (r#"{"id":1,"method":"session/new","params":{}}"#, -32600),
    ] {
        client.say(line);
        assert_eq!(client.hear()["error"]["code"], code, "{line}");
    }
    let huge = format!(r#"{{"id":2,"method":"{}"}}"#, "x".repeat(17 * 1024 * 1024));
    client.say(&huge);
    let refused = client.hear();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(2), &json!(-32600)), "{refused}");
    client.say(r#"{"id":true,"method":"session/list"}"#);
    assert_eq!(client.hear()["error"]["code"], -32600);
    client.ask(3, "initialize", json!({"protocolVersion": "one", "clientCapabilities": 7}));
    assert_eq!(client.answer(3)["result"]["protocolVersion"], 1);
    for nonsense in [
        r#"{"id":9,"result":{}}"#,
        r#"{"id":"x","error":7}"#,
        r#"{"method":"session/cancel"}"#,
        r#"{"method":"session/cancel","params":{"sessionId":"nowhere"}}"#,
        r#"{"method":"$/cancel_request","params":{"requestId":{}}}"#,
        r#"{"method":"no/such"}"#,
        "",
    ] {
        client.say(nonsense);
    }
    let requests = [
        ("no/such", json!({}), -32601),
        ("session/prompt", json!({"sessionId": "nowhere", "prompt": []}), -32602),
        ("session/prompt", json!({"sessionId": 7}), -32602),
        ("session/prompt", json!(null), -32602),
        ("session/new", json!([]), -32602),
        ("session/set_mode", json!({"sessionId": "nowhere", "modeId": "yolo"}), -32602),
        ("session/close", json!({"sessionId": "nowhere"}), -32602),
        ("session/list", json!({"cursor": "x"}), -32602),
    ];
    for ((method, params, code), id) in requests.into_iter().zip(10..) {
        client.ask(id, method, params);
        assert_eq!(client.answer(id)["error"]["code"], code, "{method}");
    }
    for (method, id) in [("session/load", 30), ("session/resume", 31), ("session/delete", 32)] {
        client.ask(
            id,
            method,
            json!({"sessionId": "../../etc/passwd", "cwd": place.work(), "mcpServers": []}),
        );
        assert!(client.answer(id)["error"]["code"].is_number(), "{method}");
    }
    client.leave();
}

#[test]
fn two_prompts_at_once_are_one_too_many() {
    let model = server(Script::new([shell("touch made"), "Done.".into()]));
    let place = place(&model);
    let (mut client, session) = Raw::in_session(&place);
    client.prompt(3, &session, "go");
    let question = client.wait_for("session/request_permission");
    client.prompt(4, &session, "and more");
    assert_eq!(client.answer(4)["error"]["code"], -32600);
    let no = json!({"outcome": {"outcome": "selected", "optionId": "reject"}});
    client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": no}).to_string());
    assert_eq!(client.answer(3)["result"]["stopReason"], "end_turn");
    client.leave();
}

#[test]
fn a_session_that_is_closed_over_a_prompt_ends_it_as_cancelled_and_keeps_its_question() {
    let model = server(Script::new([shell("touch made"), "Done.".into()]));
    let place = place(&model);
    let (mut client, session) = Raw::in_session(&place);
    client.prompt(3, &session, "go");
    client.wait_for("session/request_permission");
    client.ask(4, "session/close", json!({"sessionId": session}));
    let mut answers = Vec::new();
    while answers.len() < 2 {
        answers.extend(Some(client.hear()).filter(|message| message.get("method").is_none()));
    }
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers[0]["result"]["stopReason"], "cancelled", "{answers:?}");
    assert_eq!(answers[1]["result"], json!({}), "{answers:?}");
    client.ask(5, "session/load", json!({"sessionId": session, "cwd": place.work(), "mcpServers": []}));
    client.wait_for("session/request_permission");
    assert_eq!(place.read("made"), None);
    client.leave();
}

#[test]
fn an_answer_that_is_none_allows_nothing() {
    for answer in [
        json!({"result": {"outcome": {"outcome": "selected"}}}),
        json!({"result": {"outcome": "selected", "optionId": "proceed_once"}}),
        json!({"result": {"outcome": {"outcome": "allowed", "optionId": "proceed_once"}}}),
        json!({"result": null}),
        json!({"error": {"code": -32601, "message": "no such method"}}),
    ] {
        let model = server(Script::new([shell("touch made"), "Done.".into()]));
        let place = place(&model);
        let (mut client, session) = Raw::in_session(&place);
        client.prompt(3, &session, "go");
        let question = client.wait_for("session/request_permission");
        let mut message = answer.clone();
        message["id"] = question["id"].clone();
        client.say(&message.to_string());
        assert_eq!(client.answer(3)["result"]["stopReason"], "end_turn", "{answer}");
        assert_eq!(place.read("made"), None, "{answer}");
        client.leave();
    }
}

#[test]
fn an_editor_that_goes_away_leaves_nothing_running() {
    let model = server(Script::new([shell("echo $$ > pid; exec sleep 600")]));
    let place = place(&model);
    let (mut client, session) = Raw::in_session(&place);
    client.prompt(3, &session, "go");
    let question = client.wait_for("session/request_permission");
    let yes = json!({"outcome": {"outcome": "selected", "optionId": "proceed_once"}});
    client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": yes}).to_string());
    loop {
        if client.wait_for("session/update")["params"]["update"]["status"] == "in_progress" {
            break;
        }
    }
    client.leave();
    if let Some(pid) = place.read("pid") {
        assert!(!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists(), "{pid}");
    }
    let (_, journal) = place.journals().pop().unwrap();
    assert!(journal.contains(r#""end":"cancelled""#), "{journal}");
}

#[test]
fn a_cancel_right_behind_its_prompt_is_not_lost() {
    let model = server(Script::new([Reply::new().text("once upon").chunk(4).stall()]));
    let place = place(&model);
    let (mut client, session) = Raw::in_session(&place);
    client.prompt(3, &session, "go");
    client.say(
        &json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}).to_string(),
    );
    assert_eq!(client.answer(3)["result"]["stopReason"], "cancelled");
    client.leave();
}

#[test]
fn what_was_asked_before_the_editor_stopped_writing_is_answered() {
    let model = server(Script::always(Reply::new().text("ok")));
    let place = place(&model);
    for _ in 0..4 {
        let mut client = Raw::start(&place);
        client.ask(1, "initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}));
        client.ask(2, "session/new", json!({"cwd": place.work(), "mcpServers": []}));
        client.stop_writing();
        assert_eq!(client.answer(1)["result"]["protocolVersion"], 1);
        assert!(client.answer(2)["result"]["sessionId"].is_string());
        client.leave();
        let (mut client, session) = Raw::in_session(&place);
        client.prompt(3, &session, "hello");
        client.stop_writing();
        let answer = client.answer(3);
        assert!(answer["result"]["stopReason"].is_string(), "{answer}");
        client.leave();
    }
}
