//! Models of which nothing is known: what one exchange finds out, what is kept of it, what is sent after it.

use charla_proto::WireKind;
use charla_testkit::{Failure, FailureKind, Reply, Script, Server, When};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::engine::{Machine, engine_of};
use crate::place::{Place, Run, server};

/// What the probe's question holds and no other.
const PROBE: &str = "harbour";
const CALL: &str =
    "<tool_call>\n{\"name\": \"look_up_word\", \"arguments\": {\"word\": \"harbour\"}}\n</tool_call>";

/// A server that answers the probe with `probed` and everything else with `hi`.
fn scripted(probed: impl Into<Reply>) -> Script {
    Script::always("hi").rule(When::text(PROBE), probed)
}

fn native() -> Reply {
    Reply::new().call("look_up_word", json!({"word": "harbour"}))
}

/// A place whose own provider is this server.
fn place(server: &Server) -> Place {
    place_with(server, &json!({}))
}

fn place_with(server: &Server, more: &Value) -> Place {
    let mut own = json!({"baseUrl": server.base_url(WireKind::OpenaiChat)});
    own.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Place::new()
        .settings(&json!({"providers": {"own": own}, "retry": {"initialDelaySeconds": 0}}).to_string())
}

fn ask(place: &Place) -> Run {
    place.run(&["-m", "own/m", "-p", "say hi"])
}

fn kept(place: &Place) -> Vec<std::path::PathBuf> {
    let folder = place.path().join("home/.charla/cache/probes");
    let Ok(files) = std::fs::read_dir(folder) else { return Vec::new() };
    files.map(|file| file.unwrap().path()).collect()
}

/// How often the model was probed, and how often really asked.
fn asked(server: &Server) -> (usize, usize) {
    assert!(server.problems().is_empty(), "{:?}", server.problems());
    let bodies = bodies(server);
    let probes = bodies.iter().filter(|body| body.to_string().contains(PROBE)).count();
    (probes, bodies.len() - probes)
}

/// The questions to the model, without those about the server.
fn bodies(server: &Server) -> Vec<Value> {
    let requests = server.requests().into_iter();
    requests.filter(|request| request.path == "/v1/chat/completions").map(|request| request.body).collect()
}

fn last_body(server: &Server) -> Value {
    bodies(server).pop().unwrap()
}

#[test]
fn a_model_that_makes_function_calls_is_probed_once_and_then_known() {
    let server = server(scripted(native()));
    let place = place(&server);
    for _ in 0..2 {
        let run = ask(&place);
        assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "hi\n", ""));
    }
    assert_eq!(asked(&server), (1, 2));
    assert!(last_body(&server)["tools"].as_array().unwrap().len() > 5);
    assert_eq!(kept(&place).len(), 1);
}

#[test]
fn a_model_that_writes_its_calls_gets_tools_in_words() {
    for probed in [Reply::from(CALL), Failure::bad_request("m does not support tools").into()] {
        let server = server(scripted(probed));
        let place = place(&server);
        let run = ask(&place);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "hi\n"), "{}", run.err);
        assert!(run.err.starts_with("own/m calls tools in its text: "), "{}", run.err);
        assert_eq!(ask(&place).err, "");
        assert_eq!(asked(&server), (1, 2));
        let body = last_body(&server);
        assert!(body.get("tools").is_none(), "{body}");
        assert!(body["messages"][0]["content"].as_str().unwrap().contains("## read_file\n"), "{body}");
    }
}

#[test]
fn a_model_that_calls_nothing_is_offered_nothing_and_the_user_is_told_how_to_change_that() {
    let server = server(scripted("A harbour is a place for ships."));
    let place = place(&server);
    for _ in 0..2 {
        let run = ask(&place);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "hi\n"), "{}", run.err);
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
        assert!(run.err.contains("--tool-mode native or text"), "{}", run.err);
    }
    assert_eq!(asked(&server), (3, 2));
    let body = last_body(&server);
    assert!(body.get("tools").is_none(), "{body}");
    assert!(!body["messages"].to_string().to_lowercase().contains("tool"), "{body}");
    let run = place.run(&["-m", "own/m", "--tool-mode", "native", "-p", "say hi"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert!(last_body(&server).get("tools").is_some());
}

#[test]
fn what_is_set_is_not_probed() {
    let modes: [(&[&str], Value); 4] = [
        (&["--tool-mode", "text"], json!({})),
        (&["--no-tools"], json!({})),
        (&[], json!({"models": {"m": {"tools": "none"}}})),
        (&[], json!({"quirks": {"noTools": true}})),
    ];
    for (flags, settings) in modes {
        let server = server(scripted(native()));
        let place = place_with(&server, &settings);
        let arguments = [flags, &["-m", "own/m", "-p", "say hi"]].concat();
        let run = place.run(&arguments);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{arguments:?}");
        assert_eq!(asked(&server), (0, 1), "{arguments:?} {settings}");
        assert!(last_body(&server).get("tools").is_none());
        assert!(kept(&place).is_empty());
    }
}

#[test]
fn a_failure_decides_nothing_and_comes_from_the_real_request() {
    let failing = server(Script::always(Reply::from(Failure::new(FailureKind::Auth))));
    let place = place(&failing);
    let run = ask(&place);
    assert_eq!((run.code, run.out.as_str()), (Some(41), ""), "{}", run.err);
    assert_eq!(asked(&failing), (1, 1));
    assert!(kept(&place).is_empty());

    let gone = server(Script::always("x"));
    let place = self::place(&gone);
    drop(gone);
    let run = place.run(&["-m", "own/m", "-p", "say hi"]);
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert!(run.err.contains("is the local server running"), "{}", run.err);
    assert!(kept(&place).is_empty());
}

#[test]
fn a_damaged_finding_is_told_and_found_out_again() {
    let server = server(scripted(native()));
    let place = place(&server);
    ask(&place);
    std::fs::write(&kept(&place)[0], "{ broken").unwrap();
    let run = ask(&place);
    assert_eq!(run.code, Some(0));
    assert!(run.err.contains("it is found out again"), "{}", run.err);
    assert_eq!(ask(&place).err, "");
    assert_eq!(asked(&server), (2, 3));
}

#[test]
fn a_slow_probe_is_told_beside_the_result() {
    let slow = Reply::new().delay(1_500).call("look_up_word", json!({"word": "harbour"}));
    let server = server(scripted(slow));
    let run = place(&server).run(&["-m", "own/m", "-o", "stream-json", "-p", "say hi"]);
    assert_eq!(run.err, "first use of own/m: finding out how it calls tools\n");
    assert_eq!(run.kinds(), ["init", "message", "result"], "{}", run.out);
}

#[test]
fn a_fallback_is_not_probed_but_what_is_known_of_it_holds() {
    let first =
        server(Script::always(Failure::new(FailureKind::Unavailable)).rule(When::text(PROBE), native()));
    let second = server(scripted(CALL));
    let settings = json!({
        "providers": {
            "own": {"baseUrl": first.base_url(WireKind::OpenaiChat)},
            "other": {"baseUrl": second.base_url(WireKind::OpenaiChat)},
        },
        "model": {"fallback": ["other/m"]},
        "retry": {"initialDelaySeconds": 0},
    });
    let place = Place::new().settings(&settings.to_string());
    let run = ask(&place);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "hi\n"), "{}", run.err);
    assert_eq!(asked(&second), (0, 1));
    assert!(last_body(&second).get("tools").is_some());
    assert_eq!(place.run(&["models", "probe", "-m", "other/m"]).code, Some(0));
    assert_eq!(ask(&place).code, Some(0));
    assert_eq!(asked(&second), (1, 2));
    assert!(last_body(&second).get("tools").is_none());
}

#[test]
fn the_command_shows_all_that_was_found_out_and_keeps_it() {
    let props = json!({"default_generation_settings": {"n_ctx": 6000}, "model_path": "/models/m.gguf"});
    let server = server(scripted(Reply::new().thought("hm").text(CALL)).page("/props", &props));
    let place = place(&server);
    let run = place.run(&["models", "probe", "-m", "own/m"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let expected = format!(
        "own/m\n  endpoint  {} (openai-chat)\n  server    llama.cpp\n  window    6000 tokens (loaded)\n  \
         tools     text: it writes calls into its text\n  thinking  seen\n  kept      ~/home/.charla/cache/probes/",
        server.base_url(WireKind::OpenaiChat)
    );
    assert!(run.out.starts_with(&expected), "{}\n{expected}", run.out);
    ask(&place);
    assert_eq!(asked(&server), (1, 1));
    let run = place.run(&["models", "probe", "--json", "-m", "own/m"]);
    assert_eq!(asked(&server), (2, 1));
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["contextWindow"], 6000);
    assert_eq!((&report["toolMode"], &report["thinking"]), (&json!("text"), &json!(true)));
    assert_eq!((&report["server"], &report["kept"]), (&json!("llama.cpp"), &json!(true)));
}

#[test]
fn the_command_fails_with_the_codes_of_a_run() {
    let refusing = server(Script::always("x").with_key("right"));
    assert_eq!(place(&refusing).run(&["models", "probe", "-m", "own/m"]).code, Some(41));
    let empty = server(scripted(native()).with_models(["other"]));
    assert_eq!(place(&empty).run(&["models", "probe", "-m", "own/m"]).code, Some(42));
    let place = Place::new().settings(r#"{"providers": {"own": {"baseUrl": "http://127.0.0.1:9/v1"}}}"#);
    assert_eq!(place.run(&["models", "probe", "-m", "own/m"]).code, Some(1));
    assert_eq!(place.run(&["models", "probe", "-m", "nobody/m"]).code, Some(42));
    assert_eq!(place.run(&["models", "probe"]).code, Some(41));
}

#[test]
fn a_setting_overrules_what_the_server_says_of_its_window() {
    let props = json!({"default_generation_settings": {"n_ctx": 6000}});
    let server = server(scripted(native()).page("/props", &props));
    let place = place_with(&server, &json!({"models": {"m": {"contextWindow": 5000, "tools": "text"}}}));
    let run = place.run(&["models", "probe", "-m", "own/m"]);
    assert!(run.out.contains("window    5000 tokens (settings)"), "{}", run.out);
    assert!(run.out.contains("tools     text: set so; found was native"), "{}", run.out);
    assert!(kept(&place).is_empty());
}

#[test]
fn a_prompt_that_cannot_fit_an_own_servers_window_is_refused_before_it_is_sent() {
    let props = json!({"default_generation_settings": {"n_ctx": 4096}});
    let server = server(scripted(native()).page("/props", &props));
    let place = place(&server);
    assert_eq!(ask(&place).code, Some(0));
    assert_eq!(asked(&server), (1, 1));
    let run = place.run(&["-m", "own/m", "-o", "json", "-p", &"many words ".repeat(4_000)]);
    assert_eq!((run.code, run.out.as_str()), (Some(42), ""), "{}", run.err);
    assert!(run.err.contains("\"context_overflow\"") && run.err.contains("4096"), "{}", run.err);
    assert_eq!(asked(&server), (1, 1));
}

#[test]
fn without_a_key_a_server_that_runs_here_answers_and_the_user_is_told_which() {
    let loaded = json!({"models": [{"name": "llama3:8b", "context_length": 8192}]});
    let models = ["nomic-embed-text:latest", "qwen3:4b", "llama3:8b"];
    let ollama = server(scripted(native()).with_models(models).page("/api/ps", &loaded));
    let place = Place::new().variable("OLLAMA_HOST", &ollama.address().to_string());
    let run = place.run(&["-p", "say hi"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "hi\n"), "{}", run.err);
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    assert!(run.err.starts_with("no key was found: ollama/llama3:8b answers"), "{}", run.err);
    assert_eq!(last_body(&ollama)["model"], "llama3:8b");
    assert_eq!(place.run(&["-m", "ollama", "-p", "say hi"]).err, "");
    let listed = place.run(&["models"]).out;
    assert!(listed.contains("llama3:8b: tools native\n"), "{listed}");
    assert_eq!(last_body(&ollama)["model"], "llama3:8b");

    let unloaded = server(scripted(native()).with_models(models));
    let place = Place::new().variable("VLLM_BASE_URL", &unloaded.base_url(WireKind::OpenaiChat));
    assert_eq!(place.run(&["-p", "say hi"]).code, Some(0));
    assert_eq!(last_body(&unloaded)["model"], "qwen3:4b");

    let embedding = server(scripted(native()).with_models(["nomic-embed-text"]));
    let place = Place::new().variable("OLLAMA_HOST", &embedding.address().to_string());
    assert_eq!(place.run(&["-p", "say hi"]).code, Some(41));
}

#[test]
fn an_own_server_that_runs_here_goes_before_the_known_ones() {
    let own = server(scripted(native()).with_models(["mine"]));
    let other = server(scripted(native()).with_models(["theirs"]));
    let place = place(&own).variable("OLLAMA_HOST", &other.address().to_string());
    let run = place.run(&["-p", "say hi"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.starts_with("no key was found: own/mine answers"), "{}", run.err);
}

/// The real llama.cpp server and the real small model, as a server of somebody else's.
#[test]
fn a_real_server_tells_its_kind_and_window_and_is_asked_once() {
    let machine = Machine::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let engine = engine_of(&machine);
    let used = runtime.block_on(engine.ensure(&mut |_| {})).unwrap();
    let settings = json!({
        "model": {"name": format!("own/{}", used.model), "temperature": 0, "maxOutputTokens": 16},
        "providers": {"own": {"baseUrl": used.base_url, "apiKey": {"env": "KEY"}}},
    });
    let machine = machine.settings(&settings.to_string());
    let place = machine.place.variable("KEY", used.key.expose_secret());
    let machine = Machine { place };
    let run = machine.run(&["models", "probe", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&report["server"], &report["kept"]), (&json!("llama.cpp"), &json!(true)), "{report}");
    assert_eq!(report["contextWindow"], used.window);
    assert_eq!(report["contextWindowSource"], "loaded");
    let found = report["found"].as_str().unwrap().to_owned();
    assert!((1..=3).contains(&report["exchanges"].as_u64().unwrap()), "{report}");

    let log = machine.place.path().join("log.jsonl");
    let run = machine.run(&["--log-file", log.to_str().unwrap(), "-p", "Say hello"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.lines().count(), 1, "it was asked again: {log}");
    let sent: Value = serde_json::from_str(&log).unwrap();
    let offered = sent["request"]["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    assert_eq!(offered, found != "none", "{found}: {log}");
    drop((used, engine));
}
