//! Parameters under other names than the declared ones, in native calls and in text.

use charla_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::place::{Place, server};

const MODELS: [&str; 4] =
    ["gemini/gemini-3-test", "anthropic/claude-test", "openai/gpt-test", "responses/gpt-test"];

/// What the model calls `whereabouts` is `dir_path` at these providers, and `which` is `file_path` for one model.
fn place(base_url: &str) -> Place {
    let mut providers = serde_json::Map::new();
    for name in ["gemini", "anthropic", "openai", "responses"] {
        let parameters = json!({"*": {"whereabouts": "dir_path"}});
        let facts = json!({"parameters": {"read_file": {"which": "file_path"}}});
        let models = json!({"gemini-3-test": facts, "claude-test": facts, "gpt-test": facts});
        providers.insert(name.to_owned(), json!({"parameters": parameters, "models": models}));
    }
    providers["responses"]["baseUrl"] = json!(base_url);
    providers["responses"]["wire"] = json!("openai-responses");
    Place::new().settings(&json!({ "providers": providers }).to_string())
}

/// The calls of a journal, in order.
fn calls(journal: &str) -> Vec<Value> {
    let records = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let contents = records.filter_map(|record| record.get("content").cloned());
    let parts = contents.flat_map(|content| content["parts"].as_array().cloned().unwrap_or_default());
    parts.filter_map(|mut part| part.get_mut("functionCall").map(Value::take)).collect()
}

fn in_text(name: &str, arguments: Value) -> Reply {
    let call = json!({"tool_call": {"name": name, "arguments": arguments}});
    Reply::from(format!("```json\n{call}\n```"))
}

#[test]
fn a_models_own_names_become_the_declared_ones_natively_and_in_text() {
    for model in MODELS {
        for mode in ["native", "text"] {
            let call = |name: &str, arguments: Value| match mode {
                "native" => Reply::new().thought("hm").call(name, arguments),
                _ => in_text(name, arguments),
            };
            let server = server(Script::new([
                call("list_directory", json!({"whereabouts": "."})),
                call("read_file", json!({"which": "a.txt"})),
                call("read_file", json!({"filename": "a.txt"})),
                "It says alpha.".into(),
            ]));
            let place =
                place(&format!("{}/v1", server.url())).with_addresses(&server).file("a.txt", "alpha\n");
            let run = place.run(&["-m", model, "--tool-mode", mode, "-p", "Look."]);
            assert_eq!(
                (run.code, run.out.as_str()),
                (Some(0), "It says alpha.\n"),
                "{model} {mode}: {}",
                run.err
            );
            assert_eq!(server.problems(), [], "{model} {mode}");

            let (_, journal) = place.journals().pop().unwrap();
            let calls = calls(&journal);
            let told: Vec<(&Value, &Value)> =
                calls.iter().map(|call| (&call["args"], &call["mapped"])).collect();
            let listed = (&json!({"dir_path": "."}), &json!({"whereabouts": "dir_path"}));
            let read = |used: &str| (json!({"file_path": "a.txt"}), json!({used: "file_path"}));
            let (which, filename) = (read("which"), read("filename"));
            assert_eq!(told, [listed, (&which.0, &which.1), (&filename.0, &filename.1)], "{model} {mode}");

            let sent = server.requests().pop().unwrap().body.to_string();
            assert!(sent.contains("alpha") && !sent.contains("mapped"), "{model} {mode}: {sent}");
        }
    }
}

#[test]
fn a_name_that_means_nothing_is_left_for_the_tool_to_refuse() {
    let server = server(Script::new([
        Reply::new().call("read_file", json!({"nonsense": "a.txt"})),
        "I could not.".into(),
    ]));
    let place = Place::with_server(&server).file("a.txt", "alpha\n");
    let run = place.run(&["-m", "openai/gpt-test", "-p", "Read it."]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let sent = server.requests()[1].body.to_string();
    assert!(sent.contains("file_path") && !sent.contains("alpha"), "{sent}");
}
