//! A tool conversation goes on with another model, on another wire, natively or in text, in the middle of its work.
//!
//! The server refuses what the real services refuse: calls without exactly one result, ids it cannot take, thoughts
//! and proofs of thinking that are not its own, and on OpenAI Chat calls without thoughts.

use charla_testkit::{ChatReplay, Recorded, Reply, Script, Server};
use serde_json::{Value, json};

use crate::place::{Place, Run, server};

/// Who answers, and how it calls tools.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seat {
    model: &'static str,
    mode: &'static str,
}

const SEATS: [Seat; 7] = [
    Seat { model: "openai/gpt-test", mode: "text" },
    Seat { model: "insistent/thinker", mode: "native" },
    Seat { model: "responses/gpt-5", mode: "native" },
    Seat { model: "anthropic/claude-sonnet-4-5", mode: "native" },
    Seat { model: "gemini/gemini-3-test", mode: "native" },
    Seat { model: "anthropic/claude-sonnet-4-5", mode: "text" },
    Seat { model: "gemini/gemini-3-test", mode: "text" },
];

impl Seat {
    /// Thinks and asks for a folder.
    fn calls(self, folder: &str) -> Reply {
        let thought = format!("Thinking of {folder}.");
        if self.mode == "native" {
            return Reply::new()
                .thought(thought)
                .text("Looking.")
                .call("list_directory", json!({"dir_path": folder}));
        }
        let call = json!({"tool_call": {"name": "list_directory", "arguments": {"dir_path": folder}}});
        Reply::from(format!("<think>\n{thought}\n</think>\nLooking.\n\n```json\n{call}\n```"))
    }

    fn run(self, place: &Place, more: &[&str]) -> Run {
        place.run(&[&["-m", self.model, "--tool-mode", self.mode], more].concat())
    }

    /// Goes on with the session and asks once.
    fn step(self, place: &Place, prompt: &str) -> Run {
        self.run(place, &["--resume", "--max-turns", "1", "-p", prompt])
    }
}

fn place(server: &Server) -> Place {
    let base_url = format!("{}/v1", server.url());
    let settings = json!({
        "model": {"thinking": {"budget": 2048}},
        "providers": {
            "insistent": {
                "baseUrl": base_url,
                "quirks": {"reasoningReplay": "tool_calls"},
                "models": {"thinker": {"contextWindow": 100_000}},
            },
            "responses": {"baseUrl": base_url, "wire": "openai-responses"},
        },
    });
    let place = Place::with_server(server).settings(&settings.to_string());
    for (folder, file) in [("src", "harbour.rs"), ("web", "lantern.css")] {
        std::fs::create_dir(place.work().join(folder)).unwrap();
        std::fs::write(place.work().join(folder).join(file), "\n").unwrap();
    }
    place
}

/// The requests for an answer, in order; what else the server was asked is not of interest.
fn asked(server: &Server) -> Vec<Recorded> {
    server.requests().into_iter().filter(|request| request.streaming).collect()
}

fn script(replies: Vec<Reply>) -> Script {
    Script { chat_replay: ChatReplay::Required, ..Script::new(replies) }
}

/// The calls and results of a native request, by what ties them together: ids, or names where the wire goes by order.
fn pairs(body: &Value) -> (Vec<String>, Vec<String>) {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    collect(body, &mut calls, &mut results);
    (calls, results)
}

fn collect(value: &Value, calls: &mut Vec<String>, results: &mut Vec<String>) {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(items) = value.as_array() {
        items.iter().for_each(|item| collect(item, calls, results));
    }
    let Some(fields) = value.as_object() else { return };
    match value["type"].as_str() {
        Some("function") => calls.extend(text(&value["id"])),
        Some("tool_use") => calls.extend(text(&value["id"])),
        Some("tool_result") => results.extend(text(&value["tool_use_id"])),
        Some("function_call") => calls.extend(text(&value["call_id"])),
        Some("function_call_output") => results.extend(text(&value["call_id"])),
        _ => {}
    }
    results.extend(text(&value["tool_call_id"]));
    calls.extend(text(&value["functionCall"]["name"]));
    results.extend(text(&value["functionResponse"]["name"]));
    fields.values().for_each(|field| collect(field, calls, results));
}

/// What was sent for one seat holds these many calls, in its form.
fn check(seat: Seat, request: &Recorded, calls: usize) {
    let body = &request.body;
    let (called, answered) = pairs(body);
    assert_eq!(request.status, 200, "{seat:?}: {body}");
    assert_eq!(request.foreign_proofs, 0, "{seat:?}: {body}");
    if seat.mode == "native" {
        assert_eq!((called.len(), &called), (calls, &answered), "{seat:?}: {body}");
        assert!(body["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{seat:?}");
        return;
    }
    assert_eq!((called, answered), (Vec::new(), Vec::new()), "{seat:?}: {body}");
    assert!(body.get("tools").is_none(), "{seat:?}: {body}");
    let sent = body.to_string();
    assert_eq!(sent.matches("Result of tool list_directory:").count(), calls, "{seat:?}: {body}");
    assert!(!sent.contains("Thinking of"), "{seat:?}: {body}");
}

/// From one seat to another after a call, on to a second call there, to its end, and back.
fn travel(from: Seat, to: Seat) {
    let server =
        server(script(vec![from.calls("src"), to.calls("web"), "Both seen.".into(), "As I said.".into()]));
    let place = place(&server);
    let case = format!("{from:?} to {to:?}");
    // The limit ends each run after its call was answered.
    let run = from.run(&place, &["--max-turns", "1", "-p", "Look at src."]);
    assert_eq!(run.code, Some(53), "{case}: {}", run.err);
    let run = to.step(&place, "And at web.");
    assert_eq!(run.code, Some(53), "{case}: {}", run.err);
    let run = to.step(&place, "What did you see?");
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Both seen.\n"), "{case}: {}", run.err);
    let run = from.step(&place, "Say it again.");
    assert_eq!((run.code, run.out.as_str()), (Some(0), "As I said.\n"), "{case}: {}", run.err);

    assert_eq!(server.problems(), [], "{case}");
    let requests = asked(&server);
    for (at, (seat, calls)) in [(from, 0), (to, 1), (to, 2), (from, 2)].into_iter().enumerate() {
        check(seat, &requests[at], calls);
    }
    for seen in ["harbour.rs", "lantern.css", "Looking."] {
        assert!(requests[3].body.to_string().contains(seen), "{case}: {seen} is lost");
    }
    let [second, third] = [&requests[1].body, &requests[2].body].map(|body| pairs(body).0);
    assert_eq!(second, third[..second.len()], "{case}: an id changed");
}

#[test]
fn a_tool_conversation_moves_between_all_wires_and_modes_and_back() {
    for from in SEATS {
        for to in SEATS {
            travel(from, to);
        }
    }
}

/// Ids of calls made in text are made up; native requests use them from then on.
#[test]
fn calls_made_in_text_are_native_pairs_with_the_ids_of_the_journal() {
    let textual = Seat { model: "openai/gpt-test", mode: "text" };
    let native = Seat { model: "insistent/thinker", mode: "native" };
    let server = server(script(vec![textual.calls("src"), "Seen.".into(), "Yes.".into()]));
    let place = place(&server);
    textual.run(&place, &["-p", "Look at src."]);
    assert_eq!(native.step(&place, "Sure?").code, Some(0));
    let (_, journal) = place.journals().pop().unwrap();
    let requests = asked(&server);
    let (called, answered) = pairs(&requests[2].body);
    assert_eq!((called.len(), &called), (1, &answered));
    assert!(called[0].starts_with("charla_") && journal.contains(&called[0]), "{called:?}");
    let messages = requests[2].body["messages"].as_array().unwrap();
    let message = messages.iter().find(|message| message["tool_calls"].is_array()).unwrap();
    assert_eq!(message["content"], "Looking.");
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{\"dir_path\":\"src\"}");
}

#[test]
fn a_call_from_a_server_with_long_ids_goes_on_elsewhere() {
    let id = "call__0_list_directory_cmpl-93c7eec0-8df3-494b-be36-9128e164eeb8";
    for seat in SEATS {
        let call = Reply::new().call_with_id(id, "list_directory", json!({"dir_path": "src"}));
        let server = server(script(vec![call, "Seen.".into()]));
        let place = place(&server);
        let first = Seat { model: "responses/gpt-5", mode: "native" };
        assert_eq!(first.run(&place, &["--max-turns", "1", "-p", "Look."]).code, Some(53));
        let run = seat.step(&place, "Well?");
        assert_eq!((run.code, run.out.as_str()), (Some(0), "Seen.\n"), "{seat:?}: {}", run.err);
        assert_eq!(server.problems(), [], "{seat:?}");
    }
}
