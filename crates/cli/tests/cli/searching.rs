//! `google_web_search`: by the model's provider, or by a command of the user's; nowhere else.

use charla_proto::WireKind;
use charla_testkit::{Reply, Script, Server};
use serde_json::json;

use crate::place::{Place, server};

const TOOL: &str = "google_web_search";

fn search(query: &str) -> Reply {
    Reply::new().call(TOOL, json!({"query": query}))
}

fn ask(place: &Place, model: &str, more: &[&str]) -> crate::place::Run {
    place.run(&[&["-m", model, "-p", "go"], more].concat())
}

fn with_command(model: &Server, command: serde_json::Value) -> Place {
    Place::with_server(model).settings(&json!({"tools": {"searchCommand": command}}).to_string())
}

#[test]
fn the_provider_searches_in_an_exchange_of_its_own() {
    let model = server(Script::new([search("who won"), "The team won.".into(), "Done.".into()]));
    let place = Place::with_server(&model);
    let run = ask(&place, "gemini/gemini-test", &["--allowed-tools", TOOL]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let requests = model.requests();
    assert_eq!(requests[1].body["tools"], json!([{"googleSearch": {}}]), "{}", requests[1].body);
    assert!(requests[1].body["contents"].to_string().contains("who won"));
    let told = requests[2].body.to_string();
    assert!(told.contains("The team won.") && told.contains("untrusted_content"), "{told}");
}

#[test]
fn it_asks_like_fetching_does() {
    let model = server(Script::new([search("who won"), "Then not.".into()]));
    let run = ask(&Place::with_server(&model), "gemini/gemini-test", &[]);
    assert_eq!(model.requests().len(), 2, "{}", run.err);
    assert!(run.err.contains("not allowed: "), "{}", run.err);
}

#[test]
fn a_command_of_the_users_searches_for_any_model_and_no_shell_reads_the_question() {
    let query = "a; touch made $(touch made) `touch made`";
    let model = server(Script::new([search(query), "Done.".into()]));
    let place = with_command(&model, json!(["echo", "found for"]));
    let run = ask(&place, "openai/gpt-test", &["--allowed-tools", TOOL]);
    assert_eq!((run.code, place.read("made")), (Some(0), None), "{}", run.err);
    let told = model.requests()[1].body.to_string();
    assert!(told.contains(&format!("found for {query}")) && told.contains("untrusted_content"), "{told}");
}

#[test]
fn a_command_that_fails_is_an_error_for_the_model() {
    for command in [json!(["/no/such/program"]), json!(["sh", "-c", "echo no network >&2"])] {
        let model = server(Script::new([search("x"), "Done.".into()]));
        let place = with_command(&model, command);
        let run = ask(&place, "openai/gpt-test", &["--allowed-tools", TOOL]);
        let told = model.requests()[1].body.to_string();
        assert!(run.code == Some(0) && told.contains("The search came to nothing"), "{told}");
    }
}

#[test]
fn it_is_offered_where_somebody_searches_and_nowhere_else() {
    for (model, command, offered) in [
        ("gemini/gemini-test", None, true),
        ("openai/gpt-test", None, false),
        ("anthropic/claude-test", None, true),
        ("openai/gpt-test", Some(json!(["echo"])), true),
    ] {
        let server = server(Script::always(Reply::new().text("ok")));
        let place = match command {
            Some(command) => with_command(&server, command),
            None => Place::with_server(&server),
        };
        ask(&place, model, &["--allowed-tools", TOOL]);
        assert_eq!(server.requests()[0].body["tools"].to_string().contains(TOOL), offered, "{model}");
    }
}

#[test]
fn rules_name_no_tool_that_does_not_exist() {
    let server = server(Script::always(Reply::new().text("ok")));
    let place = Place::with_server(&server);
    let listed = place.run(&["policy", "list"]).out;
    let tools = listed.lines().filter_map(|line| line.get(11..)?.split(['[']).next());
    let tools = tools.map(|tools| tools.split(" in ").next().unwrap_or_default());
    let names: Vec<&str> =
        tools.flat_map(|tools| tools.split('|')).map(str::trim).filter(|name| *name != "*").collect();
    assert!(names.contains(&"web_fetch") && names.contains(&TOOL), "{names:?}");
    let allowed: Vec<&str> = names.iter().flat_map(|name| ["--allowed-tools", name]).collect();
    let run = ask(&place, "openai/gpt-test", &allowed);
    assert_eq!((run.code, run.err.contains("no such tool")), (Some(0), false), "{}", run.err);
    let run = ask(&place, "openai/gpt-test", &["--allowed-tools", "nowhere_search"]);
    assert!(run.err.contains("no such tool"), "{}", run.err);
}

#[test]
fn other_providers_search_with_tools_of_their_own() {
    let anthropic = json!([{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}]);
    let rows = [("anthropic/claude-test", anthropic), ("openai/gpt-test", json!([{"type": "web_search"}]))];
    for (name, tools) in rows {
        let model = server(Script::new([search("who won"), "The team won.".into(), "Done.".into()]));
        let provider =
            json!({"baseUrl": model.base_url(WireKind::OpenaiResponses), "wire": "openai-responses"});
        let place =
            Place::with_server(&model).settings(&json!({"providers": {"openai": provider}}).to_string());
        let run = ask(&place, name, &["--allowed-tools", TOOL]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{name}: {}", run.err);
        let requests = model.requests();
        assert_eq!(requests[1].body["tools"], tools, "{name}: {}", requests[1].body);
        assert!(requests[1].body.to_string().contains("who won"), "{name}");
        let told = requests[2].body.to_string();
        assert!(told.contains("The team won.") && told.contains("untrusted_content"), "{name}: {told}");
        assert!(model.problems().is_empty(), "{name}: {:?}", model.problems());
    }
}
