//! Questions: every outcome, cancelling, answers from elsewhere, editors that go away.

use charla_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::editor::{Raw, edit, new, place, prompt, shell};
use crate::place::server;

#[test]
fn what_is_allowed_runs_and_what_is_not_does_not() {
    for (answer, runs, goes_on, asks) in [
        ("proceed_once", true, true, 2),
        ("proceed_always", true, true, 1),
        ("proceed_always_tool", true, true, 1),
        ("proceed_always_and_save", true, true, 1),
        ("reject", false, true, 2),
        ("stop", false, false, 1),
        ("cancel", false, false, 1),
        ("no-such-answer", false, true, 2),
    ] {
        let again = [shell("touch made"), shell("touch made"), "Done.".into()];
        let model = server(Script::new(again));
        let place = place(&model);
        let seen = edit(&place, &json!({"answers": [answer, answer], "steps": [new(&place), prompt("go")]}));
        assert_eq!(place.read("made").is_some(), runs, "{answer}: {seen:#?}");
        assert_eq!(seen.list("asked").len(), asks, "{answer}: {seen:#?}");
        let ended = if goes_on { "end_turn" } else { "cancelled" };
        assert_eq!(seen.result(1)["stopReason"], ended, "{answer}: {seen:#?}");
        let status = if runs { "completed" } else { "failed" };
        assert_eq!(seen.call()["status"], status, "{answer}: {seen:#?}");
        let saved = place.home().join("policies/auto-saved.toml").exists();
        assert_eq!(saved, answer == "proceed_always_and_save", "{answer}");
    }
}

#[test]
fn a_question_shows_all_that_would_happen() {
    let model = server(Script::new([shell("touch made && echo ```"), "Done.".into()]));
    let place = place(&model);
    let seen = edit(&place, &json!({"answers": ["proceed_once"], "steps": [new(&place), prompt("go")]}));
    let asked = &seen.list("asked")[0];
    let card = asked["toolCall"]["content"][0]["content"]["text"].as_str().unwrap();
    assert!(card.contains("touch made && echo ```") && card.contains("asked by"), "{card}");
    assert!(card.starts_with("````"), "{card}");
    assert_eq!(asked["toolCall"]["rawInput"]["command"], "touch made && echo ```");
    assert_eq!(asked["toolCall"]["kind"], "execute");
    let kinds: Vec<&Value> = asked["options"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert!(kinds.contains(&&json!("allow_once")) && kinds.contains(&&json!("reject_once")), "{asked}");
}

#[test]
fn an_editor_with_forms_says_why_and_answers_the_model() {
    let forms = json!({"elicitation": {"form": {}}});
    let model = server(Script::new([shell("touch made"), "Understood.".into()]));
    let place = place(&model);
    let steps = [new(&place), prompt("go")];
    let plan = json!({"capabilities": forms, "answers": ["reject_with_reason"], "form": {"reason": "use mkdir"}, "steps": steps});
    let seen = edit(&place, &plan);
    assert_eq!(seen.result(1)["stopReason"], "end_turn", "{seen:#?}");
    assert!(model.requests()[1].body.to_string().contains("use mkdir"), "{seen:#?}");

    let question = json!({"questions": [
        {"question": "Which one?", "header": "Choice", "type": "choice", "options": [
            {"label": "red", "description": "warm"}, {"label": "blue", "description": "cold"},
        ]},
    ]});
    for (capabilities, answer) in [(forms, "red"), (json!({}), "blue")] {
        let model = server(Script::new([Reply::new().call("ask_user", question.clone()), "Good.".into()]));
        let place = crate::editor::place(&model);
        let steps = [new(&place), prompt("go")];
        let plan = json!({"capabilities": capabilities, "answers": ["choice blue"], "form": {"answer1": "red"}, "steps": steps});
        let seen = edit(&place, &plan);
        let told = model.requests()[1].body.to_string();
        assert!(told.contains(answer), "{told} {seen:#?}");
    }
}

#[test]
fn a_cancelled_turn_ends_as_such_and_its_history_is_whole() {
    for (reply, on) in [
        (shell("touch made"), "permission"),
        (Reply::new().text("once upon").chunk(4).stall(), "agent_message_chunk"),
    ] {
        let model = server(Script::new([reply, "Again.".into()]));
        let place = place(&model);
        let mut first = prompt("go");
        first["cancelOn"] = json!(on);
        let seen = edit(&place, &json!({"steps": [new(&place), first, prompt("more")]}));
        assert_eq!(seen.result(1)["stopReason"], "cancelled", "{on}: {seen:#?}");
        assert_eq!(seen.result(2)["stopReason"], "end_turn", "{on}: {seen:#?}");
        assert_eq!(place.read("made"), None);
        assert!(seen.text("agent_message_chunk").ends_with("Again."), "{on}: {seen:#?}");
    }
}

#[test]
fn an_answer_from_elsewhere_closes_the_question() {
    let model = server(Script::new([shell("touch made"), "Done.".into()]));
    let place = place(&model);
    let (mut client, session) = Raw::in_session(&place);
    client.prompt(3, &session, "go");
    let question = client.wait_for("session/request_permission");
    let listed = place.run(&["approvals"]);
    let approval = listed.out.split_whitespace().find(|word| word.contains(':')).unwrap().to_owned();
    place.run(&["approvals", "answer", &approval, "yes"]);
    let taken_back = client.wait_for("$/cancel_request");
    assert_eq!(taken_back["params"]["requestId"], question["id"]);
    assert_eq!(client.answer(3)["result"]["stopReason"], "end_turn");
    assert!(place.read("made").is_some());
    client.leave();
}

#[test]
fn a_question_outlives_the_editor_that_was_asked() {
    let model = server(Script::new([shell("touch made"), "Done.".into()]));
    let place = place(&model);
    edit(&place, &json!({"answers": ["leave"], "steps": [new(&place), prompt("go")]}));
    assert_eq!(place.read("made"), None);
    let (session, journal) = place.journals().pop().unwrap();
    assert!(!journal.contains("approval_answered") && !journal.contains("turn_ended"), "{journal}");

    // Another editor loads the session: it is shown what was said, and asked.
    let mut client = Raw::greeted(&place);
    client.ask(2, "session/load", json!({"sessionId": session, "cwd": place.work(), "mcpServers": []}));
    let replayed = client.wait_for("session/update");
    assert_eq!(replayed["params"]["update"]["sessionUpdate"], "user_message_chunk");
    let question = client.wait_for("session/request_permission");
    let yes = json!({"outcome": {"outcome": "selected", "optionId": "proceed_once"}});
    client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": yes}).to_string());
    loop {
        let update = &client.wait_for("session/update")["params"]["update"];
        if update["sessionUpdate"] == "agent_message_chunk" {
            assert_eq!(update["content"]["text"], "Done.");
            break;
        }
    }
    client.leave();
    assert!(place.read("made").is_some());
}
