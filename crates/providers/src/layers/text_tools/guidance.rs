//! Tells a model in words which tools it has and how to call them.

use std::fmt::Write;

use charla_proto::{FunctionCallingConfig, FunctionCallingMode, FunctionDeclaration};
use serde_json::Value;

/// Nested schemas deeper than this are named by their type alone.
const MAX_DEPTH: usize = 6;

/// How much is said about the tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GuidanceStyle {
    /// Every parameter with its description.
    #[default]
    Full,
    /// One line for each tool, for small windows.
    Compact,
}

/// The call that a model is asked to write, also the form in which earlier calls are shown to it.
pub(super) fn call_text(name: &str, arguments: &Value) -> String {
    let call = serde_json::json!({"tool_call": {"name": name, "arguments": arguments}});
    format!("```json\n{call}\n```")
}

/// The guidance for these tools.
pub(super) fn render<'a>(
    tools: impl IntoIterator<Item = &'a FunctionDeclaration>,
    config: &FunctionCallingConfig,
    style: GuidanceStyle,
) -> String {
    let mut text = String::from(match style {
        GuidanceStyle::Full => {
            "# Tools\n\nYou can use the tools listed below. To use one, write a JSON block in exactly this form, on lines \
             of its own:\n\n"
        }
        GuidanceStyle::Compact => "Tools. To call one, write exactly:\n",
    });
    text.push_str(
        "```json\n{\"tool_call\": {\"name\": \"TOOL\", \"arguments\": {\"PARAMETER\": \"VALUE\"}}}\n```\n\n",
    );
    for tool in tools {
        match style {
            GuidanceStyle::Full => full(&mut text, tool),
            GuidanceStyle::Compact => compact(&mut text, tool),
        }
    }
    text.push_str(match style {
        GuidanceStyle::Full => {
            "\nRules:\n\
             - Call a tool when the task needs it; otherwise answer in plain words.\n\
             - Give every required parameter, under the names listed, as valid JSON.\n\
             - You may say in a sentence what you are about to do. After the block, stop: the result comes in the next \
             message as \"Result of tool …\".\n\
             - For several independent calls write several blocks. Never make up a result.\n"
        }
        GuidanceStyle::Compact => {
            "\nAfter the block stop and wait for \"Result of tool …\". No tool needed: answer in plain words.\n"
        }
    });
    if config.mode == FunctionCallingMode::Any {
        text.push_str("This time you must call a tool.\n");
    }
    text
}

fn full(text: &mut String, tool: &FunctionDeclaration) {
    let _ = writeln!(text, "## {}\n{}", tool.name, tool.description.trim());
    let schema = &tool.parameters_json_schema;
    if schema.get("properties").and_then(Value::as_object).is_none_or(|fields| fields.is_empty()) {
        text.push_str("No parameters.\n\n");
        return;
    }
    text.push_str("Parameters:\n");
    fields(text, schema, 0);
    text.push('\n');
}

/// The properties of an object, one a line, those of nested objects under it.
fn fields(text: &mut String, schema: &Value, depth: usize) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, field) in properties {
        let mark = if is_required(schema, name) { "required" } else { "optional" };
        let _ = write!(text, "{}- {name} ({}, {mark})", "  ".repeat(depth), type_name(field));
        if let Some(description) = field.get("description").and_then(Value::as_str) {
            let _ = write!(text, ": {}", description.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        if let Some(default) = field.get("default") {
            let _ = write!(text, " (default {default})");
        }
        text.push('\n');
        if depth < MAX_DEPTH {
            let inner = field.get("items").filter(|items| items.get("properties").is_some());
            fields(text, inner.unwrap_or(field), depth + 1);
        }
    }
}

/// `name(path: string, limit?: integer) – first sentence`.
fn compact(text: &mut String, tool: &FunctionDeclaration) {
    let schema = &tool.parameters_json_schema;
    let properties = schema.get("properties").and_then(Value::as_object);
    let parameters: Vec<String> = properties
        .into_iter()
        .flatten()
        .map(|(name, field)| {
            let mark = if is_required(schema, name) { "" } else { "?" };
            format!("{name}{mark}: {}", shape(field, 0))
        })
        .collect();
    let description = tool.description.split(['\n', '.']).next().unwrap_or_default().trim();
    let _ = writeln!(text, "- {}({}) – {description}", tool.name, parameters.join(", "));
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}

/// The type with its inner structure, in one line.
fn shape(field: &Value, depth: usize) -> String {
    let properties = field.get("properties").and_then(Value::as_object);
    if let Some(properties) = properties.filter(|_| depth < MAX_DEPTH) {
        let inner = properties.iter().map(|(name, inner)| {
            let mark = if is_required(field, name) { "" } else { "?" };
            format!("{name}{mark}: {}", shape(inner, depth + 1))
        });
        return format!("{{{}}}", inner.collect::<Vec<_>>().join(", "));
    }
    match field.get("items").filter(|_| depth < MAX_DEPTH) {
        Some(items) => format!("{}[]", shape(items, depth + 1)),
        None => type_name(field),
    }
}

/// `string`, `array of integer`, `one of "a", "b"`, `string or null`.
fn type_name(field: &Value) -> String {
    let alternatives = |key: &str| field.get(key).and_then(Value::as_array);
    if let Some(values) = alternatives("enum") {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        return format!("one of {}", values.join(", "));
    }
    if let Some(constant) = field.get("const") {
        return format!("always {constant}");
    }
    if let Some(choices) = alternatives("anyOf").or_else(|| alternatives("oneOf")) {
        return choices.iter().map(type_name).collect::<Vec<_>>().join(" or ");
    }
    match field.get("type") {
        Some(Value::String(kind)) if kind == "array" => match field.get("items") {
            Some(items) => format!("array of {}", type_name(items)),
            None => "array".to_owned(),
        },
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ if field.get("properties").is_some() => "object".to_owned(),
        _ => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edit() -> FunctionDeclaration {
        FunctionDeclaration {
            name: "edit".to_owned(),
            description: "Edits a file. Use it often.".to_owned(),
            parameters_json_schema: json!({
                "type": "object",
                "required": ["path", "changes"],
                "properties": {
                    "path": {"type": "string", "description": "Where\nit is"},
                    "mode": {"enum": ["a", "b"], "default": "a"},
                    "limit": {"type": ["integer", "null"]},
                    "changes": {"type": "array", "items": {"type": "object", "required": ["old"],
                        "properties": {"old": {"type": "string"}, "tags": {"type": "array", "items": {"type": "integer"}}}}},
                }
            }),
            ..FunctionDeclaration::default()
        }
    }

    #[test]
    fn nested_schemas_are_told_with_their_marks() {
        let text = render([&edit()], &FunctionCallingConfig::default(), GuidanceStyle::Full);
        for line in [
            "## edit\nEdits a file. Use it often.\n",
            "- path (string, required): Where it is\n",
            "- mode (one of \"a\", \"b\", optional) (default \"a\")\n",
            "- limit (integer or null, optional)\n",
            "- changes (array of object, required)\n  - old (string, required)\n  - tags (array of integer, optional)\n",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
    }

    #[test]
    fn the_compact_form_has_one_line_for_each_tool() {
        let text = render([&edit()], &FunctionCallingConfig::default(), GuidanceStyle::Compact);
        let line = "- edit(path: string, mode?: one of \"a\", \"b\", limit?: integer or null, \
                    changes: {old: string, tags?: integer[]}[]) – Edits a file\n";
        assert!(text.contains(line), "{text}");
        let forced = FunctionCallingConfig { mode: FunctionCallingMode::Any, ..Default::default() };
        assert!(render([&edit()], &forced, GuidanceStyle::Compact).contains("must call"));
    }
}
