//! The interface as its own document tells it.

use charla_testkit::Script;
use serde_json::{Value, json};

use super::client::Served;
use super::matrix::{ROWS, filled};
use super::place;
use crate::place::server;

/// Method, path with something for its variable parts, and the operation, for each route of the document.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let path = filled(path, "01a1");
        for (method, operation) in methods.as_object().unwrap() {
            all.push((method.to_uppercase(), path.clone(), operation.clone()));
        }
    }
    all
}

#[test]
fn every_route_of_the_document_is_there_and_only_for_those_who_may() {
    let server = server(Script::new(["unused"]));
    let place = place(&server);
    let served = Served::start(&place);
    let document = served.request("GET", "/api/v1/openapi.json", &[], b"").json();
    let operations = operations(&document);
    assert_eq!(operations.len(), ROWS.len());
    let imported = &document["paths"]["/api/v1/sessions/import"]["post"]["responses"];
    assert!(["200", "201"].iter().all(|status| imported[*status]["content"].is_object()), "{imported}");
    let token = format!("Bearer {}", served.token);
    for (method, path, operation) in operations {
        let name = operation["operationId"].as_str().unwrap();
        let role = ROWS.iter().find(|row| row.0 == name).map(|row| row.1);
        let said = operation["x-charla-role"].as_str().unwrap_or("anybody");
        assert_eq!(role, Some(said), "{name}: who may use it?");
        for headers in [&[][..], &[("authorization", "Bearer wrong")], &[("cookie", "charla=x")]] {
            let status = served.request(&method, &path, headers, b"{}").status;
            match (said, name) {
                // An empty body has no code.
                ("anybody", "sign_in") => assert_eq!(status, 400, "{name}"),
                ("anybody", "oidc_begin" | "oidc_callback") => {
                    assert_eq!(status, 404, "{name}: there is none")
                }
                ("anybody", _) => assert_eq!(status, 200, "{name}"),
                _ => assert_eq!(status, 401, "{name} {headers:?}"),
            }
        }
        // Streams do not end by themselves.
        if operation["responses"]["200"]["content"].get("text/event-stream").is_none() {
            let status = served.request(&method, &path, &[("authorization", &token)], b"{}").status;
            assert!(!matches!(status, 0 | 401 | 403 | 405 | 500), "{name}: {status}");
        }
        for reference in references(&operation) {
            let schema = reference.trim_start_matches('#');
            assert!(document.pointer(schema).is_some(), "{name}: {reference}");
        }
    }
}

/// Every `$ref` in a value.
fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| match value {
                Value::String(text) if name == "$ref" => vec![text.clone()],
                value => references(value),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn models_tools_settings_rules_figures_and_health_are_told() {
    let server = server(Script::new(["Hello."]));
    let place = place(&server).settings(r#"{"model": {"name": "openai/gpt-test"}}"#);
    let served = Served::start(&place);
    let session = served.begin("hi");
    served.events(&session, 0).until("turn_ended");
    let models = served.get("/models").json();
    let openai = models["providers"].as_array().unwrap().iter().find(|one| one["provider"] == "openai");
    assert_eq!(openai.unwrap()["ready"], true);
    let tools = served.get("/tools").json();
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"run_shell_command"), "{names:?}");
    let settings = served.get("/settings").text();
    assert!(settings.contains("model.name") && !settings.contains("key-openai-1"), "{settings}");
    let judged = served.post("/policy/explain", &json!({"command": "rm -rf /"})).text();
    assert!(judged.contains("\"ask\"") || judged.contains("\"deny\""), "{judged}");
    let usage = served.get("/usage").json();
    assert_eq!(usage["sessions"][0]["session"], session.as_str(), "{usage}");
    let metrics = served.get("/metrics").text();
    assert!(metrics.contains("charla_sessions_running 1"), "{metrics}");
    assert_eq!(served.get("/ready").status, 200);
}
