//! What a collector of OpenTelemetry is told, and what no collector ever is: a real socket takes it.

mod collector;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use charla_testkit::{Reply, Rule, Script, When};
use serde_json::{Value, json};

use crate::place::{Place, server};
use collector::{Collector, Manner, attribute, named};

const ASK: [&str; 4] = ["-m", "openai/gpt-test", "-p", "tell me the secret word"];

fn read_and_say() -> Script {
    let read = Reply::new().call("read_file", json!({"file_path": "note.txt"}));
    Script::new([read, "The word is Xyzzy.".into()])
}

fn place(script: Script, collector: &Collector) -> (charla_testkit::Server, Place) {
    let model = server(script);
    let place = Place::with_server(&model).file("note.txt", "Xyzzy\n");
    let place = place.variable("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url());
    (model, place)
}

#[test]
fn a_turn_is_a_trace_of_exchanges_and_calls_with_the_conventions_names() {
    let collector = Collector::start(Manner::Takes);
    let (_model, place) = place(read_and_say(), &collector);
    let place = place
        .variable("OTEL_EXPORTER_OTLP_HEADERS", "x-team=a%20b")
        .variable("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
        .variable("OTEL_SERVICE_NAME", "mine");
    let run = place.run(&ASK);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "The word is Xyzzy.\n", ""));
    let requests = collector.requests();
    assert!(requests.iter().all(|request| request.head.to_lowercase().contains("\r\nx-team: a b\r\n")));
    let spans = collector.spans();
    let names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["chat gpt-test", "execute_tool read_file", "chat gpt-test", "invoke_agent charla"],
        "each when it is over"
    );
    let turn = &spans[3];
    assert!(turn.get("parentSpanId").is_none() && turn.get("status").is_none(), "{turn}");
    assert!(spans[..3].iter().all(|span| span["parentSpanId"] == turn["spanId"]));
    assert!(spans.iter().all(|span| span["traceId"] == turn["traceId"]));
    let number = |span: &Value, name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
    for span in &spans {
        assert!(number(span, "startTimeUnixNano") >= number(turn, "startTimeUnixNano"), "{span}");
        assert!(number(span, "endTimeUnixNano") <= number(turn, "endTimeUnixNano"), "{span}");
    }
    let chat = &spans[0];
    assert_eq!((&chat["kind"], &turn["kind"]), (&json!(3), &json!(1)));
    for (name, value) in [
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.provider.name", json!("openai")),
        ("gen_ai.request.model", json!("gpt-test")),
    ] {
        assert_eq!(attribute(chat, name), value, "{name}");
    }
    let ended = json!({"values": [{"stringValue": "tool_call"}]});
    assert_eq!(attribute(chat, "gen_ai.response.finish_reasons"), ended);
    assert_ne!(attribute(chat, "gen_ai.usage.input_tokens"), Value::Null);
    assert_eq!(attribute(&spans[1], "gen_ai.tool.name"), "read_file");
    let session = &place.journals()[0].0;
    assert!(spans.iter().all(|span| attribute(span, "gen_ai.conversation.id") == session.as_str()));
    let resource = &requests[0].body["resourceSpans"][0]["resource"];
    assert_eq!(attribute(resource, "service.name"), "mine");
    assert_eq!(attribute(resource, "deployment.environment.name"), "test");
}

#[test]
fn figures_are_counted_once_and_by_kind() {
    let collector = Collector::start(Manner::Takes);
    let (_model, place) = place(read_and_say(), &collector);
    assert_eq!(place.run(&ASK).code, Some(0));
    let metrics = collector.metrics();
    let mut names: Vec<&str> = metrics.iter().map(|metric| metric["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    let wanted = [
        "gen_ai.client.operation.duration",
        "gen_ai.client.operation.time_to_first_chunk",
        "gen_ai.client.token.usage",
        "gen_ai.execute_tool.duration",
        "gen_ai.invoke_agent.duration",
    ];
    assert_eq!(names, wanted);
    let points = |name: &str| named(&metrics, name)["histogram"]["dataPoints"].as_array().unwrap().clone();
    assert_eq!(points("gen_ai.client.operation.duration")[0]["count"], "2");
    assert_eq!(points("gen_ai.invoke_agent.duration")[0]["count"], "1");
    let usage = points("gen_ai.client.token.usage");
    let kinds: Vec<Value> = usage.iter().map(|point| attribute(point, "gen_ai.token.type")).collect();
    assert_eq!(kinds, ["input", "output"]);
    assert!(usage.iter().all(|point| point["sum"].as_f64().unwrap() > 0.0));
    assert_eq!(named(&metrics, "gen_ai.client.token.usage")["histogram"]["aggregationTemporality"], 1);
}

#[test]
fn what_was_said_is_told_only_where_it_is_asked_for() {
    let collector = Collector::start(Manner::Takes);
    let (_model, silent) = place(read_and_say(), &collector);
    assert_eq!(silent.run(&ASK).code, Some(0));
    let told = collector.text();
    for word in ["secret word", "Xyzzy", "note.txt", "key-openai-1"] {
        assert!(!told.contains(word), "{word} was told");
    }
    let asked = Collector::start(Manner::Takes);
    let settings = json!({"telemetry": {"otlp": {"endpoint": asked.url(), "captureContent": true}}});
    let model = server(read_and_say());
    let place = Place::with_server(&model).file("note.txt", "Xyzzy\n").settings(&settings.to_string());
    assert_eq!(place.run(&ASK).code, Some(0));
    let spans = asked.spans();
    let parsed = |span: &Value, name: &str| -> Value {
        serde_json::from_str(attribute(span, name).as_str().unwrap()).unwrap()
    };
    assert_eq!(parsed(&spans[2], "gen_ai.output.messages")[0]["parts"][0]["content"], "The word is Xyzzy.");
    let heard = parsed(&spans[2], "gen_ai.input.messages");
    assert_eq!(heard.as_array().unwrap().last().unwrap()["role"], "tool");
    assert!(attribute(&spans[1], "gen_ai.tool.call.result").as_str().unwrap().contains("Xyzzy"));
    assert!(!asked.text().contains("key-openai-1"));
}

#[test]
fn errors_are_told_by_kind() {
    let collector = Collector::start(Manner::Takes);
    let script: Script =
        serde_json::from_value(json!({"replies": [[{"status": {"kind": "permission"}}]]})).unwrap();
    let (_model, place) = place(script, &collector);
    assert_ne!(place.run(&ASK).code, Some(0));
    let spans = collector.spans();
    let chat = &spans[0];
    assert_eq!((&chat["status"]["code"], attribute(chat, "error.type")), (&json!(2), json!("permission")));
    assert_eq!(attribute(&spans[1], "error.type"), "permission");
    let metrics = collector.metrics();
    let duration = named(&metrics, "gen_ai.client.operation.duration");
    assert_eq!(attribute(&duration["histogram"]["dataPoints"][0], "error.type"), "permission");
}

#[test]
fn no_collector_holds_a_run_up_or_fails_it() {
    for manner in [Manner::Silent, Manner::Refuses(503), Manner::Refuses(400), Manner::Closes] {
        let collector = Collector::start(manner);
        let (_model, place) = place(read_and_say(), &collector);
        let began = Instant::now();
        let run = place.run(&ASK);
        assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "The word is Xyzzy.\n", ""));
        assert!(began.elapsed() < Duration::from_secs(60), "{manner:?}");
        assert!(!collector.requests().is_empty() || manner == Manner::Closes, "{manner:?} was asked");
    }
    let nobody = Place::new().variable("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
    let model = server(Script::new(["Hello."]));
    let run = nobody.with_addresses(&model).run(&ASK);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Hello.\n"));
}

#[test]
fn a_workspace_has_no_say_in_where_telemetry_goes() {
    let collector = Collector::start(Manner::Takes);
    let theirs = json!({"telemetry": {"enabled": true, "otlp": {"endpoint": collector.url(), "captureContent": true}}});
    for trusted in [false, true] {
        let model = server(Script::new(["Hello."]));
        let place = Place::with_server(&model).workspace_settings(&theirs.to_string());
        let place = place.file(".env", &format!("OTEL_EXPORTER_OTLP_ENDPOINT={}\n", collector.url()));
        if trusted {
            assert_eq!(place.run(&["trust", "--yes"]).code, Some(0));
        }
        let run = place.run(&ASK);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "Hello.\n"), "{}", run.err);
    }
    assert!(collector.requests().is_empty(), "{}", collector.text());
}

#[test]
fn an_off_switch_is_heard() {
    let collector = Collector::start(Manner::Takes);
    for (name, value) in [("OTEL_SDK_DISABLED", "true"), ("GEMINI_TELEMETRY_ENABLED", "false")] {
        let (_model, place) = place(read_and_say(), &collector);
        assert_eq!(place.variable(name, value).run(&ASK).code, Some(0));
    }
    assert!(collector.requests().is_empty());
    let (_model, grpc) = place(read_and_say(), &collector);
    let run = grpc.variable("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc").run(&ASK);
    assert_eq!(run.code, Some(0));
    assert!(run.err.contains("no telemetry is sent") && run.err.contains("http/json"), "{}", run.err);
}

#[test]
fn an_agents_turn_belongs_to_the_call_it_works_for() {
    let collector = Collector::start(Manner::Takes);
    let call = Reply::new().call("invoke_agent", json!({"agent_name": "scout", "prompt": "task for scout"}));
    let when = When { text: Some("task for scout".to_owned()), ..When::default() };
    let rules = vec![Rule { when, reply: "Found.".into(), times: None }];
    let script = Script { replies: vec![call, "Done.".into()], rules, ..Script::default() };
    let (_model, place) = place(script, &collector);
    std::fs::create_dir_all(place.home().join("agents")).unwrap();
    let text = "---\nname: scout\ndescription: Looks around\n---\nYou look around.\n";
    std::fs::write(place.home().join("agents/scout.md"), text).unwrap();
    let outer = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let place = place.variable("TRACEPARENT", outer);
    let run = place.run(&["-m", "openai/gpt-test", "-p", "go", "--approval-mode", "yolo"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{}", run.err);
    let spans = collector.spans();
    let find = |name: &str| spans.iter().find(|span| span["name"] == name).unwrap();
    let (agent, call) = (find("invoke_agent scout"), find("execute_tool invoke_agent"));
    assert_eq!(agent["parentSpanId"], call["spanId"]);
    assert!(spans.iter().all(|span| span["traceId"] == "0af7651916cd43dd8448eb211c80319c"));
    assert_eq!(find("invoke_agent charla")["parentSpanId"], "b7ad6b7169203331");
}

/// The second opinion: the official types take every field.
#[test]
fn the_official_types_read_what_is_sent() {
    let Ok(python) = std::env::var("CHARLA_TEST_PYTHON") else { return };
    let collector = Collector::start(Manner::Takes);
    let (_model, place) = place(read_and_say(), &collector);
    assert_eq!(place.run(&ASK).code, Some(0));
    let bodies: Vec<Value> = collector.requests().into_iter().map(|request| request.body).collect();
    let file = place.path().join("sent.json");
    std::fs::write(&file, Value::Array(bodies).to_string()).unwrap();
    let read =
        Command::new(python).args(["-c", include_str!("telemetry/decode.py")]).arg(&file).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&read.stdout), String::from_utf8_lossy(&read.stderr));
    assert_eq!(out, "4 spans, 5 metrics\n", "{err}");
}

/// What the dashboard asks for is what is sent: the names that Prometheus makes of ours.
#[test]
fn the_dashboard_asks_for_figures_that_are_sent() {
    let collector = Collector::start(Manner::Takes);
    let (_model, place) = place(read_and_say(), &collector);
    assert_eq!(place.run(&ASK).code, Some(0));
    let unit = |metric: &Value| if metric["unit"] == "s" { "_seconds" } else { "" };
    let sent = collector.metrics();
    let known: Vec<String> = sent
        .iter()
        .map(|metric| format!("{}{}", metric["name"].as_str().unwrap().replace('.', "_"), unit(metric)))
        .collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/grafana/charla.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut queries = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(panel["title"].is_string() && panel["gridPos"].is_object(), "{panel}");
        let targets = panel["targets"].as_array().into_iter().flatten();
        queries.extend(targets.map(|target| target["expr"].as_str().unwrap().to_owned()));
    }
    let base = |word: &str| -> Option<String> {
        ["_bucket", "_sum", "_count"].iter().find_map(|end| word.strip_suffix(end)).map(str::to_owned)
    };
    for query in &queries {
        let mut words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let metric = words.find(|word| word.starts_with("gen_ai_") && base(word).is_some());
        let base = metric.and_then(base).unwrap_or_else(|| panic!("{query} asks for no figure"));
        assert!(known.contains(&base), "{base} is not among {known:?}");
    }
    for name in &known {
        assert!(queries.iter().any(|query| query.contains(name.as_str())), "no panel shows {name}");
    }
}

/// `./test` runs every test through the script. Here, that it lets nothing else pass: whoever would speak to somebody is failed by it, whatever
/// the program makes of it, and what is said on this machine is not counted. Where it cannot be done, somebody has to say so.
#[test]
fn a_program_that_would_speak_to_anybody_else_is_failed() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/offline.sh");
    let offline = |words: &[&str]| Command::new(&script).args(words).output().unwrap();
    let checked = offline(&["--check"]);
    if checked.status.code() == Some(77) && std::env::var_os("CHARLA_TEST_UNWATCHED").is_some() {
        return;
    }
    let why = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{why}hint: CHARLA_TEST_UNWATCHED=1 does without the watching");
    let python = |lines: &str| {
        let hides = format!("import socket\ntry:\n    {lines}\nexcept OSError:\n    pass");
        offline(&["python3", "-c", &hides])
    };
    for line in [
        "socket.create_connection(('192.0.2.1', 80))",
        "socket.socket(socket.AF_INET6).connect(('2001:db8::1', 80))",
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))",
        "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'x', ('2001:db8::1', 9))",
        "socket.getaddrinfo('charla.invalid', 80)",
        // A name server that stands on this machine, as many distributions have it.
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.53', 53))",
    ] {
        let seen = python(line);
        let told = String::from_utf8_lossy(&seen.stderr);
        assert!(seen.status.code() == Some(70) && told.contains("beyond this machine"), "{line}: {told}");
    }
    for line in [
        "a = socket.create_server(('127.0.0.1', 0)); b = socket.create_connection(a.getsockname()); a.accept()",
        "a = socket.create_server(('::1', 0), family=socket.AF_INET6); socket.create_connection(a.getsockname()[:2])",
        "socket.getaddrinfo('localhost', 80)",
        "socket.create_connection(('127.0.0.1', 9))",
    ] {
        let seen = python(line);
        assert!(seen.status.success(), "{line}: {}", String::from_utf8_lossy(&seen.stderr));
    }
    assert_eq!(offline(&["sh", "-c", "exit 3"]).status.code(), Some(3));
}

#[test]
fn a_name_that_a_model_makes_up_is_told_to_nobody() {
    let collector = Collector::start(Manner::Takes);
    let made_up = Reply::new().call("SECRETWORDS ".repeat(50), json!({}));
    let (_model, place) = place(Script::new([made_up, "Done.".into()]), &collector);
    assert_eq!(place.run(&ASK).code, Some(0));
    let spans = collector.spans();
    let call = spans.iter().find(|span| span["name"] == "execute_tool _OTHER").unwrap();
    assert_eq!(attribute(call, "gen_ai.tool.name"), json!("_OTHER"));
    assert!(!json!(spans).to_string().contains("SECRETWORDS"));
}
