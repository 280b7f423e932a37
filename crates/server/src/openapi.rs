//! The OpenAPI document, made of the table of routes.

use axum::routing::MethodFilter;
use serde_json::{Map, Value, json};

use crate::routes::{BASE, Does, ROUTES, Route};

/// The whole document.
pub(crate) fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let path = paths.entry(format!("{BASE}{}", route.path)).or_insert_with(|| json!({}));
        if let Some(methods) = path.as_object_mut() {
            methods.insert(method(route.method).to_owned(), operation(route));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Charla",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Sessions, their events and their questions. Commands, replies, records, turn events and \
                            snapshots have the forms of docs/protocol.md and docs/journal.md.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

/// A method as OpenAPI writes it.
pub(crate) fn method(filter: MethodFilter) -> &'static str {
    match filter {
        MethodFilter::POST => "post",
        MethodFilter::DELETE => "delete",
        _ => "get",
    }
}

fn operation(route: &Route) -> Value {
    let mut parameters: Vec<Value> = route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    parameters.extend(route.query.iter().map(|parameter| {
        let kind = if parameter.is_number { "integer" } else { "string" };
        json!({ "name": parameter.name, "in": "query", "description": parameter.about, "schema": { "type": kind } })
    }));
    if matches!(route.does, Does::Acts(_)) {
        parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "description": "The same request with the same key acts once",
            "schema": { "type": "string", "maxLength": 200 },
        }));
    }
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.about,
        "parameters": parameters,
        "responses": {
            success(route): answer(route.gives),
            "default": {
                "description": "It was not done",
                "content": { "application/problem+json": { "schema": reference("Problem") } },
            },
        },
    });
    if let Some(takes) = route.takes {
        operation["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": reference(takes) } } });
    }
    match route.access {
        Some(role) => {
            operation["security"] = json!([{ "token": [] }]);
            operation["x-charla-role"] = json!(role);
        }
        None => operation["security"] = json!([]),
    }
    operation
}

fn success(route: &Route) -> &'static str {
    match route.gives {
        "Nothing" => "204",
        "CreatedSession" | "Link" => "201",
        _ => "200",
    }
}

fn answer(gives: &str) -> Value {
    let content = match gives {
        "Nothing" => return json!({ "description": "Done" }),
        "Events" => "text/event-stream",
        "Text" => "text/plain",
        _ => "application/json",
    };
    json!({ "description": "Done", "content": { content: { "schema": reference(gives) } } })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// What is sent and answered. Forms that belong to the session's protocol are described there.
fn schemas() -> Value {
    let text = json!({ "type": "string" });
    let tagged = |tag: &str, about: &str| {
        json!({
            "type": "object",
            "required": [tag],
            "properties": { tag: { "type": "string" } },
            "description": format!("{about}: docs/protocol.md"),
        })
    };
    let object = |about: &str| json!({ "type": "object", "description": about });
    let list = |name: &str| json!({ "type": "object", "required": [name], "properties": { name: { "type": "array", "items": { "type": "object" } } } });
    json!({
        "Account": { "type": "object", "required": ["name", "role"], "properties": { "name": text, "role": { "enum": ["viewer", "member", "admin"] }, "workspace": text, "version": text } },
        "Approvals": list("approvals"),
        "Command": tagged("command", "A command, without `by`"),
        "CreatedSession": { "type": "object", "required": ["session", "model"], "properties": { "session": text, "model": text, "notices": { "type": "array", "items": text }, "reply": { "type": ["object", "null"] } } },
        "Document": object("An OpenAPI document"),
        "Events": { "type": "string", "description": "Events `record` (with its number as id), `turn`, `missed`, `broken`, `overview` and `heartbeat`" },
        "Explain": { "type": "object", "required": ["command"], "additionalProperties": false, "properties": { "command": text, "mode": { "enum": ["default", "auto_edit", "plan", "yolo"] }, "workspace": text } },
        "Fork": { "type": "object", "additionalProperties": false, "properties": { "at": { "type": "integer", "minimum": 0, "description": "The record that becomes its last" } } },
        "Health": { "type": "object", "required": ["status"], "properties": { "status": text } },
        "Imported": { "type": "object", "required": ["session", "arrival"], "properties": { "session": text, "arrival": { "enum": ["kept", "known"] } } },
        "Judgement": object("How the command line is read, and the verdict"),
        "Link": { "type": "object", "required": ["path"], "properties": { "path": text } },
        "Models": list("providers"),
        "NewSession": { "type": "object", "additionalProperties": false, "properties": {
            "workspace": { "type": "string", "description": "The whole path of a folder; the server's own when left out" },
            "model": { "type": "string", "description": "provider/model" },
            "mode": { "enum": ["default", "auto_edit", "plan", "yolo"] },
            "prompt": { "type": "object", "description": "A content that is said at once: docs/protocol.md" },
        } },
        "Outcome": tagged("outcome", "An answer"),
        "Problem": { "type": "object", "required": ["status", "kind", "detail"], "properties": { "status": { "type": "integer" }, "kind": text, "detail": text, "hint": text, "reply": { "type": "object", "description": "What the session said" } } },
        "Records": list("records"),
        "Reply": tagged("reply", "A reply"),
        "Session": { "type": "object", "required": ["session", "state"], "properties": { "session": text, "title": text, "model": text, "state": { "enum": ["running", "in_use", "stored"] }, "turn_open": { "type": "boolean" }, "waiting": { "type": "integer" } } },
        "SessionBundle": { "type": "object", "required": ["records"], "properties": { "records": { "type": "array", "items": { "type": "object" }, "description": "All records, in order: docs/journal.md" }, "contents": { "type": "object", "additionalProperties": { "type": "string", "contentEncoding": "base64" }, "description": "What changed files held, by SHA-256" } } },
        "Sessions": list("sessions"),
        "Settings": list("settings"),
        "SignIn": { "type": "object", "required": ["code"], "properties": { "code": text } },
        "Snapshot": object("docs/protocol.md, Snapshot"),
        "Text": text,
        "Tools": list("tools"),
        "Usage": list("sessions"),
    })
}
