//! The OpenAPI document, made of the table of routes.

mod protocol;

use axum::routing::MethodFilter;
use serde_json::{Map, Value, json};

use crate::routes::{BASE, Does, ParameterForm, ROUTES, Route};

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
        let schema = match parameter.form {
            ParameterForm::Text => json!({ "type": "string" }),
            ParameterForm::Number => json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }),
            ParameterForm::Folder => json!({ "type": "string", "pattern": "^/" }),
        };
        json!({ "name": parameter.name, "in": "query", "description": parameter.about, "schema": schema })
    }));
    if matches!(route.does, Does::Acts(_) | Does::Tells(_)) {
        parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "description": "The same request with the same key acts once",
            "schema": { "type": "string", "pattern": "^[!-~]{1,200}$" },
        }));
    }
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.about,
        "parameters": parameters,
        "responses": {
            "default": {
                "description": "It was not done",
                "content": { "application/problem+json": { "schema": reference("Problem") } },
            },
        },
    });
    for status in successes(route) {
        operation["responses"][*status] = answer(route.gives);
    }
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
    if let Some(right) = route.session {
        operation["x-charla-right"] = json!(right);
    }
    operation
}

/// What a route answers where it was done.
fn successes(route: &Route) -> &'static [&'static str] {
    match route.gives {
        "Nothing" => &["204"],
        "Redirect" => &["303"],
        "CreatedSession" | "Link" | "CreatedToken" => &["201"],
        "User" if route.name == "create_user" => &["201"],
        // New, or here already.
        "Imported" => &["201", "200"],
        _ => &["200"],
    }
}

fn answer(gives: &str) -> Value {
    let content = match gives {
        "Nothing" | "Redirect" => return json!({ "description": "Done" }),
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
    let folder = json!({ "type": ["string", "null"], "pattern": "^/", "description": "The whole path of a folder; the server's own when left out" });
    let object = |about: &str| json!({ "type": "object", "description": about });
    let mut schemas = json!({
        "Account": { "type": "object", "required": ["name", "role"], "properties": { "name": text, "role": { "enum": ["viewer", "member", "admin"] }, "workspace": text, "version": text, "plain_model": { "type": "string", "description": "The model whose answers are no Markdown" } } },
        "Approvals": list("approvals"),
        "CreatedSession": { "type": "object", "required": ["session", "model"], "properties": { "session": text, "model": text, "notices": { "type": "array", "items": text }, "reply": { "type": ["object", "null"] } } },
        "Document": object("An OpenAPI document"),
        "Events": { "type": "object", "required": ["event", "data"], "description": "One of the events as which it comes", "properties": {
            "event": { "enum": ["record", "turn", "missed", "broken", "database", "overview", "heartbeat"] },
            "id": { "type": "string", "description": "A record's number" },
            "data": { "type": "string", "contentMediaType": "application/json" },
        } },
        "Explain": { "type": "object", "required": ["command"], "additionalProperties": false, "properties": { "command": text, "mode": { "enum": ["default", "auto_edit", "plan", "yolo"] }, "workspace": folder } },
        "Fork": { "type": "object", "additionalProperties": false, "properties": { "at": { "type": ["integer", "null"], "minimum": 0, "description": "The message that becomes its last, 0 for none" } } },
        "Health": { "type": "object", "required": ["status"], "properties": { "status": text } },
        "Imported": { "type": "object", "required": ["session", "arrival"], "properties": { "session": text, "arrival": { "enum": ["kept", "known"] } } },
        "Changes": { "type": "object", "required": ["turn", "files"], "properties": { "turn": { "type": "integer" }, "files": { "type": "array", "items": {
            "type": "object",
            "required": ["path", "diff", "added", "removed", "undone", "mixed"],
            "properties": { "path": text, "diff": text, "added": { "type": "integer" }, "removed": { "type": "integer" }, "undone": { "type": "boolean" }, "mixed": { "type": "boolean" } },
        } } } },
        "Judgement": object("How the command line is read, and the verdict"),
        "Link": { "type": "object", "required": ["path"], "properties": { "path": text } },
        "Models": list("providers"),
        "NewSession": { "type": "object", "additionalProperties": false, "properties": {
            "workspace": folder,
            "model": { "type": ["string", "null"], "description": "provider/model" },
            "mode": { "enum": ["default", "auto_edit", "plan", "yolo", null] },
            "prompt": { "anyOf": [{ "type": "null" }, reference("Content")], "description": "A content that is said at once: docs/protocol.md" },
        } },
        "Problem": { "type": "object", "required": ["status", "kind", "detail"], "properties": { "status": { "type": "integer" }, "kind": text, "detail": text, "hint": text, "reply": { "type": "object", "description": "What the session said" } } },
        "Records": list("records"),
        "Session": { "type": "object", "required": ["session", "state"], "properties": { "session": text, "title": text, "model": text, "state": { "enum": ["running", "in_use", "stored"] }, "turn_open": { "type": "boolean" }, "waiting": { "type": "integer" } } },
        "SessionBundle": { "type": "object", "required": ["records"], "additionalProperties": false, "properties": { "records": { "type": "array", "minItems": 1, "items": { "type": "object" }, "description": "All records, in order: docs/journal.md" } } },
        "Sessions": list("sessions"),
        "Settings": list("settings"),
        "SignIn": { "anyOf": [
            { "type": "object", "required": ["code"], "additionalProperties": false, "properties": { "code": text } },
            { "type": "object", "required": ["name", "password"], "additionalProperties": false, "properties": { "name": text, "password": text } },
        ] },
        "Snapshot": object("docs/protocol.md, Snapshot"),
        "Taken": { "type": "object", "required": ["state"], "properties": { "state": { "enum": ["running", "asked"] } } },
        "Text": text,
        "Tools": list("tools"),
    });
    for (name, schema) in protocol::schemas() {
        schemas[name] = schema;
    }
    for more in [account_schemas(), figure_schemas()] {
        if let (Some(schemas), Value::Object(more)) = (schemas.as_object_mut(), more) {
            schemas.extend(more);
        }
    }
    schemas
}

/// What is said about tokens and money.
fn figure_schemas() -> Value {
    let text = json!({ "type": "string" });
    let unread =
        json!({ "type": "integer", "description": "How many sessions are not counted yet: ask again" });
    json!({
        "Spent": { "type": "object", "required": ["inputTokens", "outputTokens"], "properties": {
            "inputTokens": { "type": "integer" }, "outputTokens": { "type": "integer" },
            "costUsd": { "type": "number", "description": "For the answers whose price is known" },
        } },
        "Usage": { "type": "object", "required": ["total", "models", "sessions", "unread"], "properties": {
            "total": reference("Spent"),
            "models": spent_by("model", &[]),
            "sessions": spent_by("session", &[("models", spent_by("model", &[]))]),
            "unread": unread,
        } },
        "UsageOfUsers": { "type": "object", "required": ["users", "unread"], "properties": {
            "users": { "type": "array", "items": { "type": "object", "required": ["user", "total", "models", "unread"], "properties": {
                "user": text, "total": reference("Spent"), "models": spent_by("model", &[]), "unread": unread,
            } } },
            "unread": unread,
        } },
    })
}

/// What is said about accounts and what belongs to them.
fn account_schemas() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "CreatedToken": { "type": "object", "required": ["id", "token"], "properties": { "id": text, "token": text } },
        "Keys": list("keys"),
        "NewKey": { "type": "object", "required": ["provider", "key"], "additionalProperties": false, "properties": { "provider": text, "key": { "type": "string", "pattern": "^[!-~]{1,8192}$" } } },
        "NewPassword": { "type": "object", "required": ["old", "new"], "additionalProperties": false, "properties": { "old": text, "new": { "type": "string", "minLength": 10, "maxLength": 1024 } } },
        "NewShare": { "type": "object", "required": ["user", "right"], "additionalProperties": false, "properties": { "user": text, "right": { "enum": ["read", "approve"] } } },
        "NewToken": { "type": "object", "required": ["label"], "additionalProperties": false, "properties": { "label": { "type": "string", "minLength": 1, "maxLength": 100 } } },
        "NewUser": user(&["name", "role", "workspace"], true),
        "Shares": list("shares"),
        "Tokens": list("tokens"),
        "User": { "type": "object", "required": ["name", "id", "role", "workspace", "budget", "spent_today", "reaches"] },
        "UserChange": user(&[], false),
        "Users": list("users"),
    })
}

/// What is said about an account.
fn user(required: &[&str], with_name: bool) -> Value {
    let or_null = |kind: &str| if with_name { json!(kind) } else { json!([kind, "null"]) };
    let mut roles = json!(["viewer", "member", "admin"]);
    if let Some(roles) = roles.as_array_mut().filter(|_| !with_name) {
        roles.push(Value::Null);
    }
    let mut properties = json!({
        "role": { "enum": roles },
        "workspace": {
            "type": or_null("string"),
            "pattern": "^/",
            "description": "The whole path of a folder; nothing else can be reached",
        },
        "password": { "type": ["string", "null"], "minLength": 10, "maxLength": 1024 },
        "identity": { "type": ["string", "null"], "description": "Who they are at the provider of identities" },
        "network": { "type": or_null("boolean"), "description": "Commands that they agree to may use the network" },
        "budget": {
            "type": or_null("object"),
            "additionalProperties": false,
            "description": "What they may spend in a day",
            "properties": {
                "tokens": { "type": ["integer", "null"], "minimum": 0 },
                "usd": { "type": ["number", "null"], "minimum": 0 },
            },
        },
    });
    if with_name {
        properties["name"] = json!({ "type": "string", "pattern": "^[a-z][a-z0-9._-]{0,31}$" });
    }
    json!({ "type": "object", "required": required, "additionalProperties": false, "properties": properties })
}

/// A list of what each of these cost, with what else is told of it.
fn spent_by(name: &str, more: &[(&str, Value)]) -> Value {
    let mut properties = json!({ name: { "type": "string" }, "spent": reference("Spent") });
    for (name, schema) in more {
        properties[*name] = schema.clone();
    }
    json!({ "type": "array", "items": { "type": "object", "required": [name, "spent"], "properties": properties } })
}

/// An object with a list of this name.
fn list(name: &str) -> Value {
    json!({ "type": "object", "required": [name], "properties": { name: { "type": "array", "items": { "type": "object" } } } })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects whose fields nobody names beforehand: arguments of a tool's call, and records.
    const FREE: [&str; 2] = ["args", "records"];

    /// Where a form takes fields that it does not name.
    fn open_places(schemas: &Value, form: &Value, path: &str, found: &mut Vec<String>) {
        if let Some(name) = form["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
            return open_places(schemas, &schemas[name], path, found);
        }
        for forms in ["oneOf", "anyOf"].iter().filter_map(|word| form[*word].as_array()) {
            forms.iter().for_each(|form| open_places(schemas, form, path, found));
        }
        if form["items"].is_object() {
            open_places(schemas, &form["items"], path, found);
        }
        let Some(properties) = form["properties"].as_object() else { return };
        if form["additionalProperties"] != false {
            found.push(path.to_owned());
        }
        for (name, form) in properties.iter().filter(|(name, _)| !FREE.contains(&name.as_str())) {
            open_places(schemas, form, &format!("{path}.{name}"), found);
        }
    }

    #[test]
    fn no_body_has_fields_that_nobody_named() {
        let (schemas, mut found) = (schemas(), Vec::new());
        for name in ROUTES.iter().filter_map(|route| route.takes) {
            open_places(&schemas, &reference(name), name, &mut found);
        }
        assert_eq!(found, Vec::<String>::new());
    }
}
