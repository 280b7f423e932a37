//! Commands in the editor's terminals: shown there, never started there.

use charla_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::editor::{Seen, edit, new, place, prompt, shell};
use crate::place::server;

/// What an editor says whose terminals show what we print; it would run commands, too.
fn screens() -> Value {
    json!({"terminal": true, "_meta": {"terminal_output": true}})
}

/// What the terminal of the first call was shown.
fn shown(seen: &Seen) -> String {
    let pieces = seen.updates("tool_call_update").into_iter();
    let pieces = pieces.filter_map(|update| update["_meta"]["terminal_output"]["data"].as_str());
    pieces.collect()
}

#[test]
fn a_terminal_shows_all_that_was_printed_and_how_it_ended() {
    let model = server(Script::new([
        shell("touch made; echo first; sleep 0.3; echo second; exit 3"),
        "Done.".into(),
    ]));
    let place = place(&model);
    let plan =
        json!({"capabilities": screens(), "answers": ["proceed_once"], "steps": [new(&place), prompt("go")]});
    let seen = edit(&place, &plan);
    let (begun, call) = (seen.updates("tool_call")[0], seen.call());
    let terminal = &call["toolCallId"];
    let info = json!({"terminal_id": terminal, "cwd": place.work()});
    assert_eq!(begun["_meta"]["terminal_info"], info, "{seen:#?}");
    // The client takes no request for a terminal: one that was made would have failed the call.
    assert_eq!(call["status"], "completed", "{seen:#?}");
    assert_eq!(shown(&seen).trim_end(), "first\nsecond", "{seen:#?}");
    assert_eq!(call["content"], json!([{"type": "terminal", "terminalId": terminal}]), "{seen:#?}");
    let exit = json!({"terminal_id": terminal, "exit_code": 3, "signal": null});
    assert_eq!(call["_meta"]["terminal_exit"], exit, "{seen:#?}");
    // The question shows the command, as ever.
    assert_eq!(seen.list("asked")[0]["toolCall"]["content"][0]["type"], "content", "{seen:#?}");
}

#[test]
fn a_loaded_session_shows_its_commands_again() {
    let model = server(Script::new([shell("echo printed"), "Done.".into()]));
    let place = place(&model);
    let load = json!({"method": "session/load", "params": {"sessionId": "$session", "cwd": place.work(), "mcpServers": []}});
    let close = json!({"method": "session/close", "params": {"sessionId": "$session"}});
    let steps = [new(&place), prompt("go"), close, load];
    let seen = edit(&place, &json!({"capabilities": screens(), "answers": ["proceed_once"], "steps": steps}));
    assert_eq!(shown(&seen).split_whitespace().collect::<Vec<_>>(), ["printed", "printed"], "{seen:#?}");
}

#[test]
fn an_editor_that_only_runs_commands_is_shown_text() {
    let model = server(Script::new([shell("echo printed"), "Done.".into()]));
    let place = place(&model);
    let plan = json!({"capabilities": {"terminal": true}, "answers": ["proceed_once"], "steps": [new(&place), prompt("go")]});
    let seen = edit(&place, &plan);
    let call = seen.call();
    assert!(call["content"][0]["content"]["text"].as_str().unwrap().contains("printed"), "{seen:#?}");
    assert!(call.get("_meta").is_none(), "{seen:#?}");
}

#[test]
fn what_is_refused_or_left_running_is_told_in_words() {
    let background = Reply::new()
        .call("run_shell_command", json!({"command": "echo up; sleep 60", "is_background": true}));
    let model = server(Script::new([shell("touch never"), background, "Done.".into()]));
    let place = place(&model);
    let answers = ["reject", "proceed_once"];
    let plan = json!({"capabilities": screens(), "answers": answers, "steps": [new(&place), prompt("go")]});
    let seen = edit(&place, &plan);
    let refused = seen.call();
    assert_eq!((&refused["status"], &refused["content"][0]["type"]), (&json!("failed"), &json!("content")));
    assert!(refused["_meta"]["terminal_exit"].is_object(), "{seen:#?}");
    let left = seen.updates("tool_call")[1];
    assert!(left.get("_meta").is_none(), "{seen:#?}");
}
