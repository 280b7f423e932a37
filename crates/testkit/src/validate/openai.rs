//! What both of OpenAI's wires refuse.

use serde_json::Value;

use super::{Checks, Verdict, data_url, fail, is_base64, is_name, list, object, schema, text, unknown_field};

/// Top-level fields: the vendor's, and those the script allows.
pub(super) fn fields(checks: &Checks, allowed: &[&str]) -> Verdict {
    let extra: Vec<&str> = checks.script.extra_fields.iter().map(String::as_str).collect();
    match unknown_field(object(checks.body, "body")?, &[allowed, &extra]) {
        Some(name) => fail(format!("Unrecognized request argument supplied: {name}")),
        None if checks.model.is_empty() => fail("you must provide a model parameter"),
        None => Ok(()),
    }
}

/// Functions, in the form of the wire: `function_of` finds the function in a tool.
pub(super) fn tools<'a>(body: &'a Value, function_of: impl Fn(&'a Value) -> &'a Value) -> Verdict {
    if body.get("tools").is_some_and(|tools| list(tools).len() == 0) {
        return fail("Invalid 'tools': empty array. Expected an array with minimum length 1.");
    }
    let mut names: Vec<&str> = Vec::new();
    for (at, tool) in list(&body["tools"]) {
        if text(tool, "type").is_empty() {
            return fail(format!("Missing required parameter: 'tools[{at}].type'."));
        }
        if tool["type"] != "function" {
            continue;
        }
        let function = function_of(tool);
        let name = text(function, "name");
        if !is_name(name, "_-", 64) {
            return fail(format!(
                "Invalid 'tools[{at}].name': string does not match pattern '^[a-zA-Z0-9_-]+$': {name}"
            ));
        }
        if names.contains(&name) {
            return fail(format!("Invalid 'tools': function name {name} is not unique."));
        }
        names.push(name);
        if let Some(parameters) = function.get("parameters").filter(|value| !value.is_null()) {
            schema::openai(name, parameters, function["strict"] == true)?;
        }
    }
    if body.get("tools").is_none() {
        let name = ["tool_choice", "parallel_tool_calls"].into_iter().find(|name| body.get(*name).is_some());
        // A choice of no tool says nothing about tools.
        if let Some(name) = name.filter(|name| body[*name] != "none" && body[*name] != "auto") {
            return fail(format!(
                "Invalid value for '{name}': it is only allowed when 'tools' are specified."
            ));
        }
    }
    Ok(())
}

/// The address of a picture: on the web, or in the request in a form that is taken.
pub(super) fn image(place: &str, url: &str) -> Verdict {
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(());
    }
    let Some((mime_type, data)) = data_url(url) else {
        return fail(format!(
            "Invalid '{place}': expected a base64-encoded data URL with an image MIME type."
        ));
    };
    if !["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&mime_type) {
        return fail(format!("Invalid '{place}': unsupported image MIME type '{mime_type}'."));
    }
    if !is_base64(data) {
        return fail(format!("Invalid '{place}': the data is not valid base64."));
    }
    Ok(())
}

/// Arguments are JSON in a string.
pub(super) fn arguments(place: &str, value: &Value) -> Verdict {
    let Some(arguments) = value.as_str() else {
        return fail(format!("Invalid type for '{place}': expected a string."));
    };
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => Ok(()),
        _ => fail(format!("Invalid '{place}': the arguments are not a JSON object.")),
    }
}
