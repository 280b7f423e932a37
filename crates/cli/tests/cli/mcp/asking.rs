//! What servers ask while a call of theirs runs: words of the person, answers of the model.

use charla_testkit::{Reply, Script, Server, Usage};
use serde_json::{Value, json};

use super::{ask, call, entry, place_with, with};
use crate::place::{Place, Run, server};

const MODEL: &str = "openai/gpt-test";
const SAMPLING: &str = "s__sampling/createMessage";

fn place(model: &Server) -> Place {
    let place = place_with(model, |place| with(entry(place, "asking"), "timeout", json!(60_000)));
    place.variable("TERM", "dumb").variable("NO_COLOR", "1")
}

/// A run at a terminal, where the call itself is allowed.
fn at_terminal(place: &Place, tool: &str, talk: &[(&str, &str)]) -> Run {
    place.run_on_terminal(&["-m", MODEL, "-p", "go", "--allowed-tools", tool], talk)
}

/// What the model is told of the call, without the marks of JSON in JSON.
fn told(model: &Server, request: usize) -> String {
    model.requests()[request].body.to_string().replace('\\', "")
}

fn tokens(prompt: u64, output: u64) -> Usage {
    Usage { prompt, output, ..Usage::default() }
}

fn facts(place: &Place, kind: &str) -> Vec<Value> {
    let journals = place.journals();
    let lines = journals.iter().flat_map(|(_, text)| text.lines());
    let records = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["kind"] == kind).collect()
}

#[test]
fn a_form_is_filled_in_by_the_person_and_what_does_not_fit_is_asked_again() {
    let model = server(Script::new([call("s__form", json!({})), "Done.".into()]));
    let place = place(&model);
    let talk = [
        ("your words> ", "Ann\n"),
        ("your words> ", "old\n"),
        ("or your own words> ", "2\n"),
        ("y or n> ", "y\n"),
        ("your words> ", "\n"),
        ("is a whole number", ""),
        ("your words> ", "Ann\n"),
        ("your words> ", "42\n"),
        ("or your own words> ", "2\n"),
        ("y or n> ", "y\n"),
        ("your words> ", "\n"),
    ];
    let run = at_terminal(&place, "s__form", &talk);
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert!(run.out.contains("The MCP server s asks: Who are you?"), "{}", run.out);
    let content =
        r#"{"action": "accept", "content": {"name": "Ann", "age": 42, "color": "b", "sure": true}}"#;
    assert!(told(&model, 1).contains(content), "{}", told(&model, 1));
    assert_eq!(facts(&place, "call_asked").len(), 2);
    let answers = facts(&place, "approval_answered");
    assert!(answers.iter().all(|answer| answer["outcome"]["outcome"] == "answers"), "{answers:?}");
}

#[test]
fn an_address_is_shown_whole_and_a_no_is_a_no() {
    for (answer, action) in [("y\n", "accept"), ("n\n", "decline")] {
        let model = server(Script::new([call("s__address", json!({})), "Done.".into()]));
        let place = place(&model);
        let run = at_terminal(&place, "s__address", &[("y or n> ", answer)]);
        assert_eq!(run.code, Some(0), "{}", run.out);
        assert!(run.out.contains("https://example.com/login?a=b"), "{}", run.out);
        assert!(told(&model, 1).contains(&format!(r#""action": "{action}""#)), "{}", told(&model, 1));
    }
}

#[test]
fn with_nobody_there_a_form_is_cancelled_and_the_model_is_not_asked() {
    for (tool, said) in [
        ("s__form", r#"{"action": "cancel"}"#),
        ("s__address", r#"{"action": "cancel"}"#),
        ("s__think", "nobody is there to allow it"),
    ] {
        let model = server(Script::new([call(tool, json!({})), "Done.".into()]));
        let place = place(&model);
        let run = ask(&place, MODEL, &["--allowed-tools", tool]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        // What only a person can say is allowed by no flag.
        assert_eq!(run.err.contains("--allowed-tools TOOL"), tool == "s__think", "{tool}: {}", run.err);
        assert_eq!(model.requests().len(), 2, "{tool}");
        assert!(told(&model, 1).contains(said), "{tool}: {}", told(&model, 1));
        assert_eq!(facts(&place, "approval_answered")[0]["by"], "nobody", "{tool}");
    }
}

#[test]
fn the_model_is_asked_once_the_person_has_read_every_word_and_it_counts() {
    let model = server(Script::new([
        call("s__think", json!({})).usage(tokens(10, 5)),
        Reply::new().text("Four.").usage(tokens(7, 3)),
        Reply::new().text("Done.").usage(tokens(20, 2)),
    ]));
    let place = place(&model);
    let run = at_terminal(&place, "s__think", &[("n REASON", "y\n")]);
    assert_eq!(run.code, Some(0), "{}", run.out);
    for shown in ["The MCP server s", "at your cost", "You count.", "What is 2 and 2?"] {
        assert!(run.out.contains(shown), "{shown} is missing in {}", run.out);
    }
    let asked = &model.requests()[1].body;
    assert_eq!(asked.get("tools"), None, "{asked}");
    let text = asked.to_string();
    assert!(text.contains("What is 2 and 2?") && text.contains("not from the user"), "{text}");
    assert!(text.contains("8192"), "{text}");
    assert!(told(&model, 2).contains(r#""text": "Four.""#), "{}", told(&model, 2));
    let sampled = facts(&place, "sampled");
    assert_eq!(sampled[0]["usage"]["promptTokenCount"], 7, "{sampled:?}");
}

#[test]
fn a_no_with_a_reason_lets_the_server_go_on_without_the_model_and_a_plain_one_ends_the_turn() {
    let model = server(Script::new([call("s__think", json!({})), "Done.".into()]));
    let place = place(&model);
    let run = at_terminal(&place, "s__think", &[("n REASON", "n too dear\n")]);
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert!(told(&model, 1).contains("the user does not allow it: too dear"), "{}", told(&model, 1));
    assert_eq!(model.requests().len(), 2);
    let model = server(Script::new([call("s__think", json!({}))]));
    let place = self::place(&model);
    let run = at_terminal(&place, "s__think", &[("n REASON", "n\n")]);
    assert_eq!((run.code, model.requests().len()), (Some(130), 1), "{}", run.out);
}

#[test]
fn a_rule_may_allow_it_for_a_server_and_one_call_asks_so_often_and_no_more() {
    let answers = (0..10).map(|number| Reply::new().text(format!("answer {number}")).usage(tokens(1, 1)));
    let script = std::iter::once(call("s__think_much", json!({})).usage(tokens(100, 1)));
    let script = script.chain(answers).chain([Reply::new().text("Done.").usage(tokens(1000, 1))]);
    let model = server(Script::new(script));
    let place = place(&model);
    let allowed = ["--allowed-tools", "s__think_much", "--allowed-tools", SAMPLING];
    let run = ask(&place, MODEL, &[&allowed[..], &["--output-format", "json"]].concat());
    assert_eq!((run.code, model.requests().len()), (Some(0), 12), "{}", run.err);
    let told = told(&model, 11);
    assert!(told.contains("answer 9") && told.contains("one call may ask the model 10 times"), "{told}");
    let stats: Value = serde_json::from_str(&run.out).unwrap();
    let tokens = &stats["stats"]["models"]["openai/gpt-test"]["tokens"]["prompt"];
    assert_eq!(*tokens, 1110, "{stats:#}");
}

#[test]
fn what_servers_may_ask_is_declared_where_a_session_is() {
    let model = server(Script::new([call("s__capabilities", json!({})), "Done.".into()]));
    let place = place(&model);
    ask(&place, MODEL, &["--allowed-tools", "s__capabilities"]);
    let told = told(&model, 1);
    for capability in [r#""sampling""#, r#""elicitation": {"form": {}, "url": {}}"#, r#""roots""#] {
        assert!(told.contains(capability), "{capability}: {told}");
    }
}
