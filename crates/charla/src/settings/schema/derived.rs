//! The schema that the types of the settings have, and the list of keys made from it.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Value, json};

use super::super::model::Settings;
use super::resolve;

/// What is published as the schema of a settings file.
pub(in crate::settings) fn derived_schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12()
        .with_transform(WithoutNull)
        .with_transform(WithDollarKeys)
        .into_generator()
        .into_root_schema_for::<Settings>();
    schema.insert("title".into(), json!("Charla settings"));
    schema.to_value()
}

/// `null` says the same as leaving a key out, so the schema does not offer it.
#[derive(Clone)]
struct WithoutNull;

impl Transform for WithoutNull {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        object.remove("default");
        object.remove("format");
        if let Some(Value::Array(types)) = object.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                object.insert("type".into(), only);
            }
        }
        if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
            choices.retain(|choice| choice.get("type") != Some(&json!("null")));
            if let [Value::Object(only)] = choices.as_slice() {
                let only = only.clone();
                object.remove("anyOf");
                object.extend(only);
            }
        }
    }
}

/// Keys that begin with `$` (`$schema`, `$comment`) are free in every object with fixed keys.
#[derive(Clone)]
struct WithDollarKeys;

impl Transform for WithDollarKeys {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        if object.get("additionalProperties") == Some(&json!(false)) && !object.contains_key("required") {
            object.insert("patternProperties".into(), json!({ "^\\$": true }));
        }
    }
}

/// Every key a settings file may have, as dotted paths (`providers.<name>.baseUrl`), with its description.
/// Only keys with a value of their own: objects with fixed keys are walked through.
pub(in crate::settings) fn all_keys() -> Vec<(String, String)> {
    let schema = derived_schema();
    let mut keys = Vec::new();
    collect_keys(&schema, &schema, "", &mut keys);
    keys
}

fn collect_keys(root: &Value, schema: &Value, path: &str, keys: &mut Vec<(String, String)>) {
    let target = resolve(root, schema);
    let description = |schema: &Value| {
        schema.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ")
    };
    if let Some(Value::Object(properties)) = target.get("properties") {
        for (name, property) in properties {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            collect_keys(root, property, &path, keys);
        }
    } else if let Some(values) =
        target.get("additionalProperties").filter(|values| resolve(root, values).get("properties").is_some())
    {
        let placeholder = if path.ends_with("models") { "<id>" } else { "<name>" };
        collect_keys(root, values, &format!("{path}.{placeholder}"), keys);
    } else if let Some(Value::Array(choices)) = target.get("oneOf") {
        for choice in choices {
            collect_keys(root, choice, path, keys);
        }
    } else {
        let own = description(schema);
        keys.push((path.to_owned(), if own.is_empty() { description(target) } else { own }));
    }
}
