//! Sessions: loaded, resumed, listed, deleted, closed; servers that the editor hands over.

use charla_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::editor::{edit, new, place, prompt};
use crate::place::server;

fn step(method: &str, session: &str, place: &crate::place::Place) -> Value {
    let params = json!({"sessionId": session, "cwd": place.work(), "mcpServers": []});
    json!({"method": method, "params": params})
}

#[test]
fn a_session_is_listed_loaded_gone_on_with_and_deleted() {
    let read = Reply::new().thought("look first").call("read_file", json!({"file_path": "a.txt"}));
    let model = server(Script::new([read, "It says alpha.".into(), "Beta.".into(), "Gamma.".into()]));
    let place = place(&model).file("a.txt", "alpha");
    let first = edit(&place, &json!({"steps": [new(&place), prompt("what is in it?")]}));
    let session = first.result(0)["sessionId"].as_str().unwrap();

    let list = json!({"method": "session/list", "params": {}});
    let elsewhere = json!({"method": "session/list", "params": {"cwd": "/nowhere"}});
    let steps = [list.clone(), elsewhere, step("session/load", session, &place), prompt("and now?")];
    let seen = edit(&place, &json!({"steps": steps}));
    assert_eq!(seen.result(0)["sessions"][0]["sessionId"], session, "{seen:#?}");
    assert_eq!(seen.result(0)["sessions"][0]["title"], "what is in it?");
    assert!(seen.result(0)["sessions"][0]["updatedAt"].as_str().unwrap().ends_with('Z'));
    assert_eq!(seen.result(1)["sessions"], json!([]));
    assert_eq!(seen.result(2)["modes"]["currentModeId"], "default", "{seen:#?}");
    assert_eq!(seen.text("user_message_chunk"), "what is in it?");
    assert_eq!(seen.text("agent_thought_chunk"), "look first");
    assert_eq!(seen.text("agent_message_chunk"), "It says alpha.Beta.");
    assert_eq!(seen.call()["status"], "completed");
    assert_eq!(seen.call()["kind"], "read");
    assert!(model.requests()[2].body.to_string().contains("It says alpha."));

    let delete = step("session/delete", session, &place);
    let steps = [
        step("session/resume", session, &place),
        prompt("more"),
        step("session/load", session, &place),
        delete.clone(),
        step("session/close", session, &place),
        delete,
        list,
        step("session/load", session, &place),
    ];
    let seen = edit(&place, &json!({"steps": steps}));
    assert_eq!(seen.text("agent_message_chunk"), "Gamma.", "{seen:#?}");
    assert_eq!(seen.text("user_message_chunk"), "");
    // It is open: it cannot be loaded again, nor deleted.
    assert_eq!(seen.result(2)["error"]["code"], -32600, "{seen:#?}");
    assert_eq!(seen.result(3)["error"]["code"], -32600, "{seen:#?}");
    assert_eq!(seen.result(6)["sessions"], json!([]), "{seen:#?}");
    assert!(seen.result(7)["error"]["code"].is_number(), "{seen:#?}");
    assert!(place.journals().is_empty());
}

#[test]
fn servers_of_the_editor_offer_their_tools_and_ask_as_others_do() {
    let program = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let call = Reply::new().call("time__get_current_time", json!({"timezone": "Europe/Madrid"}));
    let model = server(Script::new([call, "Late.".into()]));
    let place = place(&model);
    let mut begin = new(&place);
    begin["params"]["mcpServers"] = json!([
        {"name": "time", "command": program, "args": ["-m", "mcp_server_time"], "env": []},
        {"type": "http", "name": "away", "url": "http://127.0.0.1:9/mcp", "headers": []},
        {"type": "sse", "name": "gone", "url": "http://127.0.0.1:9/sse", "headers": []},
    ]);
    let seen = edit(&place, &json!({"answers": ["proceed_always_server"], "steps": [begin, prompt("go")]}));
    assert_eq!(seen.result(1)["stopReason"], "end_turn", "{seen:#?}");
    let asked = &seen.list("asked")[0];
    let ids: Vec<&Value> = asked["options"].as_array().unwrap().iter().map(|one| &one["optionId"]).collect();
    assert!(ids.contains(&&json!("proceed_always_server")), "{asked}");
    assert!(model.requests()[1].body.to_string().contains("Madrid"), "{seen:#?}");
}

#[test]
fn folders_and_servers_that_are_none_are_refused() {
    let model = server(Script::always(Reply::new().text("ok")));
    let place = place(&model);
    let begin = |params: Value| json!({"method": "session/new", "params": params});
    let steps = [
        begin(json!({"cwd": "relative", "mcpServers": []})),
        begin(json!({"cwd": "/no/such/folder", "mcpServers": []})),
        begin(json!({"cwd": place.work(), "mcpServers": [], "additionalDirectories": ["x"]})),
        begin(json!({"cwd": place.work(), "mcpServers": [{"type": "carrier", "name": "x"}]})),
    ];
    let seen = edit(&place, &json!({"steps": steps}));
    for step in 0..4 {
        assert_eq!(seen.result(step)["error"]["code"], -32602, "{seen:#?}");
    }
    assert!(place.journals().is_empty());
}
