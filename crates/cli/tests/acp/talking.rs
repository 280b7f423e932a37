//! Prompts, answers, thoughts, plans, modes, models, commands.

use std::path::Path;

use charla_testkit::{Failure, Reply, Script};
use serde_json::{Value, json};

use crate::editor::{Raw, edit, new, place, prompt, shell};
use crate::place::{Place, server};

#[test]
fn an_answer_streams_with_its_thoughts_and_says_how_it_ended() {
    let model = server(Script::new([Reply::new().thought("hm, hm").text("Hello there.").chunk(4)]));
    let place = place(&model);
    let seen = edit(&place, &json!({"steps": [new(&place), prompt("hi")]}));
    assert_eq!(seen.0["greeting"]["protocolVersion"], 1, "{seen:#?}");
    assert_eq!(seen.0["greeting"]["agentCapabilities"]["loadSession"], true);
    assert_eq!(seen.0["greeting"]["authMethods"], json!([]));
    assert_eq!(seen.result(1)["stopReason"], "end_turn", "{seen:#?}");
    assert_eq!(seen.text("agent_message_chunk"), "Hello there.");
    assert_eq!(seen.text("agent_thought_chunk"), "hm, hm");
    assert_eq!(seen.updates("session_info_update")[0]["title"], "hi");
    assert_eq!(seen.0["code"], 0);
}

#[test]
fn an_editor_of_another_version_is_told_ours() {
    let model = server(Script::always(Reply::new().text("ok")));
    let seen = edit(&place(&model), &json!({"version": 7, "steps": []}));
    assert_eq!(seen.0["greeting"]["protocolVersion"], 1);
}

#[test]
fn blocks_of_every_kind_reach_the_model() {
    let model = server(Script::new(["Seen."]));
    let place = place(&model).file("linked.txt", "text of the link");
    let link = format!("file://{}", place.work().join("linked.txt").display());
    let blocks = json!([
        {"type": "text", "text": "look at these"},
        {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="},
        {"type": "resource", "resource": {"uri": "file:///x/unsaved.rs", "text": "fn unsaved() {}"}},
        {"type": "resource_link", "name": "linked.txt", "uri": link},
    ]);
    let said = json!({"method": "session/prompt", "params": {"sessionId": "$session", "prompt": blocks}});
    let audio = json!([{"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}]);
    let unheard = json!({"method": "session/prompt", "params": {"sessionId": "$session", "prompt": audio}});
    let seen = edit(&place, &json!({"steps": [new(&place), said, unheard]}));
    assert_eq!(seen.result(1)["stopReason"], "end_turn", "{seen:#?}");
    assert_eq!(seen.result(2)["error"]["code"], -32602, "{seen:#?}");
    let asked = model.requests()[0].body.to_string();
    for part in ["look at these", "iVBORw0KGgo=", "fn unsaved() {}", "text of the link"] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
}

#[test]
fn data_that_no_provider_takes_is_refused_and_the_session_goes_on() {
    let model = server(Script::new(["Hello."]));
    let place = place(&model);
    let odd =
        json!([{"type": "text", "text": "look"}, {"type": "image", "mimeType": "image/png", "data": "!!!"}]);
    let blob =
        json!([{"type": "resource", "resource": {"uri": "x:y", "mimeType": "image/png", "blob": "AAA"}}]);
    let said =
        |blocks| json!({"method": "session/prompt", "params": {"sessionId": "$session", "prompt": blocks}});
    let seen = edit(&place, &json!({"steps": [new(&place), said(odd), said(blob), prompt("hi")]}));
    for step in [1, 2] {
        assert_eq!(seen.result(step)["error"]["code"], -32602, "{seen:#?}");
        assert!(seen.result(step)["error"]["message"].as_str().unwrap().contains("no Base64"), "{seen:#?}");
    }
    assert_eq!(seen.result(3)["stopReason"], "end_turn", "{seen:#?}");
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn an_image_that_the_provider_refuses_is_not_sent_again_and_the_session_goes_on() {
    let too_large = Failure::bad_request("image exceeds 5 MB maximum: 6222720 bytes > 5242880 bytes");
    let model = server(Script::new([Reply::from(too_large), Reply::new().text("Hello.")]));
    let place = place(&model);
    let blocks = json!([
        {"type": "text", "text": "look at this"},
        {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="},
    ]);
    let image = json!({"method": "session/prompt", "params": {"sessionId": "$session", "prompt": blocks}});
    let seen = edit(&place, &json!({"steps": [new(&place), image, prompt("and now?")]}));
    let refused = seen.result(1)["error"]["message"].as_str().unwrap();
    assert!(refused.contains("image exceeds 5 MB") && refused.contains("is not sent again"), "{seen:#?}");
    assert_eq!(seen.result(2)["stopReason"], "end_turn", "{seen:#?}");
    let [first, second] = [0, 1].map(|at| model.requests()[at].body.to_string());
    assert!(first.contains("iVBORw0KGgo="), "{first}");
    assert!(!second.contains("iVBORw0KGgo="), "{second}");
    for part in ["look at this", "image/png was left out", "and now?"] {
        assert!(second.contains(part), "{part}: {second}");
    }
}

#[test]
fn todos_are_a_plan() {
    let todos = json!({"todos": [
        {"description": "first", "status": "completed"},
        {"description": "second", "status": "in_progress"},
        {"description": "never", "status": "cancelled"},
    ]});
    let model = server(Script::new([Reply::new().call("write_todos", todos), "Planned.".into()]));
    let place = place(&model);
    let seen = edit(&place, &json!({"steps": [new(&place), prompt("plan")]}));
    let entries = &seen.updates("plan")[0]["entries"];
    assert_eq!(
        *entries,
        json!([
            {"content": "first", "priority": "medium", "status": "completed"},
            {"content": "second", "priority": "medium", "status": "in_progress"},
        ]),
        "{seen:#?}"
    );
}

#[test]
fn modes_and_models_are_chosen_and_told() {
    let model = server(Script::new([shell("touch made"), "Done.".into()]));
    let place = place(&model);
    let option = |id: &str, value: &str| json!({"method": "session/set_config_option", "params": {"sessionId": "$session", "configId": id, "value": value}});
    let mode = |mode: &str| json!({"method": "session/set_mode", "params": {"sessionId": "$session", "modeId": mode}});
    let steps = [
        new(&place),
        mode("plan"),
        option("mode", "yolo"),
        option("model", "openai/gpt-other"),
        prompt("go"),
        mode("reckless"),
        option("colour", "red"),
        option("model", "nowhere/at-all"),
    ];
    let seen = edit(&place, &json!({"steps": steps}));
    let begun = seen.result(0);
    assert_eq!(begun["modes"]["currentModeId"], "default", "{seen:#?}");
    assert_eq!(begun["configOptions"][1]["currentValue"], "openai/gpt-test");
    let told: Vec<_> =
        seen.updates("current_mode_update").iter().map(|one| one["currentModeId"].clone()).collect();
    assert_eq!(told, [json!("plan"), json!("yolo")], "{seen:#?}");
    assert_eq!(seen.result(3)["configOptions"][1]["currentValue"], "openai/gpt-other", "{seen:#?}");
    assert_eq!(seen.result(4)["stopReason"], "end_turn");
    assert_eq!(model.requests().last().unwrap().body["model"], "gpt-other");
    assert!(place.read("made").is_some() && seen.list("asked").is_empty(), "{seen:#?}");
    for step in 5..8 {
        assert_eq!(seen.result(step)["error"]["code"], -32602, "{seen:#?}");
    }
}

#[test]
fn commands_do_what_they_say() {
    let write = Reply::new().call("write_file", json!({"file_path": "a.txt", "content": "new\n"}));
    let model = server(Script::new([write, "Done.".into(), "Said.".into()]));
    let place = place(&model).file("a.txt", "old\n");
    std::fs::create_dir_all(place.home().join("commands")).unwrap();
    let own = "description = \"Greets\"\nprompt = \"say {{args}} after !{echo printed}\"";
    std::fs::write(place.home().join("commands/greet.toml"), own).unwrap();
    let steps = [new(&place), prompt("write"), prompt("/undo"), prompt("/greet hello"), prompt("/greet no")];
    let seen = edit(&place, &json!({"answers": ["proceed_once", "yes", "no"], "steps": steps}));
    let names: Vec<_> = seen.updates("available_commands_update")[0]["availableCommands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(names.contains(&"undo".to_owned()) && names.contains(&"greet".to_owned()), "{names:?}");
    assert_eq!(place.read("a.txt").unwrap(), "old\n", "{seen:#?}");
    assert!(seen.text("agent_message_chunk").contains("taken back"), "{seen:#?}");
    let requests = model.requests();
    assert_eq!(requests.len(), 3, "{seen:#?}");
    assert!(requests[2].body.to_string().contains("say hello after printed"), "{}", requests[2].body);
}

#[test]
fn prompts_of_servers_are_commands() {
    let model = server(Script::always(Reply::new().text("Said.")));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/servers/server.py");
    let servers = json!({"s": {"command": "python3", "args": [script, "plain"]}});
    let settings = json!({"model": {"name": "openai/gpt-test"}, "mcpServers": servers});
    let place = place(&model).settings(&settings.to_string());
    let (mut client, session) = Raw::in_session(&place);
    // They are told once the servers have started.
    let greet = loop {
        let update = client.wait_for("session/update")["params"]["update"].clone();
        let commands = update["availableCommands"].as_array().cloned().unwrap_or_default();
        if let Some(greet) = commands.into_iter().find(|one| one["name"] == "greet") {
            break greet;
        }
    };
    assert_eq!(
        (&greet["description"], &greet["input"]["hint"]),
        (&json!("Greets."), &json!("--who=… --how=…"))
    );
    client.prompt(3, &session, "/greet Ann");
    assert_eq!(client.answer(3)["result"]["stopReason"], "end_turn");
    let said = model.requests()[0].body.to_string();
    assert!(said.contains("Greet Ann"), "{said}");
    client.prompt(4, &session, "/greet");
    let told = loop {
        let update = client.wait_for("session/update")["params"]["update"].clone();
        if update["sessionUpdate"] == "agent_message_chunk" {
            break update["content"]["text"].as_str().unwrap().to_owned();
        }
    };
    assert!(told.contains("`who` is missing"), "{told}");
    client.answer(4);
    assert_eq!(model.requests().len(), 1);
    client.leave();
}

#[test]
fn hooks_run_in_an_editor_as_everywhere() {
    let write = Reply::new().call("write_file", json!({"file_path": "made", "content": "x"}));
    let model = server(Script::new([write, "Done.".into()]));
    let says = |answer: Value| json!([{"hooks": [{"command": format!("cat >> seen; echo '{answer}'")}]}]);
    let settings = json!({
        "model": {"name": "openai/gpt-test"}, "tools": {"approvalMode": "yolo"},
        "hooks": {
            "SessionStart": says(json!({"hookSpecificOutput": {"additionalContext": "the branch is main"}})),
            "BeforeTool": says(json!({"decision": "deny", "reason": "not in an editor"})),
        },
    });
    let place = place(&model).settings(&settings.to_string());
    let seen = edit(&place, &json!({"answers": [], "steps": [new(&place), prompt("go")]}));
    assert_eq!(place.read("made"), None, "{seen:#?}");
    let requests = model.requests();
    assert!(requests[0].body.to_string().contains("the branch is main"), "{}", requests[0].body);
    assert!(requests[1].body.to_string().contains("not in an editor"), "{}", requests[1].body);
    let inputs = place.read("seen").unwrap();
    assert!(inputs.contains("SessionStart") && inputs.contains("BeforeTool"), "{inputs}");
}

#[test]
fn a_failure_is_an_error_and_the_session_goes_on() {
    let model = server(Script::new(["Back."]).with_key("key-other"));
    let place = place(&model);
    let seen = edit(&place, &json!({"steps": [new(&place), prompt("hi")]}));
    let error = &seen.result(1)["error"];
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("openai/gpt-test: ") && message.ends_with("; check the API key"), "{seen:#?}");
}

#[test]
fn a_missing_key_says_what_to_do_in_an_editor() {
    let place = Place::new().settings(&json!({"model": {"name": "openai/gpt-test"}}).to_string());
    let seen = edit(&place, &json!({"steps": [new(&place)]}));
    let error = &seen.result(0)["error"];
    assert_eq!(error["code"], -32000, "{seen:#?}");
    let message = error["message"].as_str().unwrap();
    for part in ["set the variable OPENAI_API_KEY", "charla auth set openai, in a terminal"] {
        assert!(message.contains(part), "{message}");
    }
}
