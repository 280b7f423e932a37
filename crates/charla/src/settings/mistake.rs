//! Mistakes in a settings file, told so that they can be mended without looking anything up.
//!
//! The types decide what is wrong ([`serde`] refuses it); this module only explains. It walks the file's
//! syntax tree beside the JSON Schema and so finds every mistake at once, each with its place.

use std::fmt;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use serde_json::Value;

use super::schema::{resolve, settings_schema};
use super::source::{KeyPath, SourceLocation, SourceText};
use charla_proto::text::nearest;

/// One mistake in a settings file.
#[derive(Clone, Debug, PartialEq)]
pub struct Mistake {
    /// Where it is.
    pub place: SourceLocation,
    /// What is wrong, and what was expected.
    pub problem: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// Every mistake the schema can name, in the order of the file.
pub fn explain(source: &SourceText, root: &ast::Value) -> Vec<Mistake> {
    let schema = settings_schema();
    let mut walk = Walk { source, schema: &schema, mistakes: Vec::new() };
    walk.value(root, &schema, &KeyPath::default());
    walk.mistakes
}

struct Walk<'a> {
    source: &'a SourceText<'a>,
    schema: &'a Value,
    mistakes: Vec<Mistake>,
}

impl Walk<'_> {
    fn value(&mut self, value: &ast::Value, schema: &Value, path: &KeyPath) {
        let schema = resolve(self.schema, schema);
        // A null leaves a key unset; a whole file cannot be unset.
        if matches!(value, ast::Value::NullKeyword(_)) && !path.is_root() {
            return;
        }
        if let Some(Value::Array(choices)) = schema.get("oneOf") {
            return self.choice(value, choices, path);
        }
        if let Some(expected) = schema.get("type").and_then(Value::as_str)
            && !has_type(value, expected)
        {
            let found = type_name(value);
            return self.mistake(value, format!("`{path}` must be {}, not {found}", with_article(expected)));
        }
        match value {
            ast::Value::Object(object) => self.object(object, schema, path),
            ast::Value::Array(array) => {
                for (index, element) in array.elements.iter().enumerate() {
                    let items = schema.get("items").unwrap_or(&Value::Null);
                    self.value(element, items, &path.index(index));
                }
            }
            ast::Value::StringLit(text) => self.word(value, &text.value, schema, path),
            ast::Value::NumberLit(number) => self.range(value, number.value, schema, path),
            ast::Value::BooleanLit(_) | ast::Value::NullKeyword(_) => {}
        }
    }

    fn object(&mut self, object: &ast::Object, schema: &Value, path: &KeyPath) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties").unwrap_or(&Value::Bool(true));
        for property in &object.properties {
            let name = property.name.as_str();
            let below = path.key(name);
            match properties.and_then(|known| known.get(name)) {
                Some(known) => self.value(&property.value, known, &below),
                None if properties.is_some() && name.starts_with('$') => {}
                None if *others != Value::Bool(false) => self.value(&property.value, others, &below),
                None => {
                    let known = properties.into_iter().flat_map(|known| known.keys()).map(String::as_str);
                    self.unknown(&property.name, &below, path, known);
                }
            }
        }
    }

    fn unknown<'k>(
        &mut self,
        name: &ast::ObjectPropName,
        path: &KeyPath,
        parent: &KeyPath,
        known: impl Iterator<Item = &'k str> + Clone,
    ) {
        let problem = match nearest(name.as_str(), known.clone()) {
            Some(meant) => format!("unknown key `{path}`; did you mean `{meant}`?"),
            None => {
                let known = known.collect::<Vec<_>>().join(", ");
                let inside = if parent.is_root() { "here".to_owned() } else { format!("in `{parent}`") };
                format!("unknown key `{path}`; known {inside}: {known}")
            }
        };
        self.mistakes.push(Mistake { place: self.source.place(name.start()), problem });
    }

    /// An object with exactly one of several keys (`apiKey`).
    fn choice(&mut self, value: &ast::Value, choices: &[Value], path: &KeyPath) {
        let keys: Vec<&str> = choices
            .iter()
            .filter_map(|choice| choice.get("properties")?.as_object()?.keys().next())
            .map(String::as_str)
            .collect();
        let forms = keys.iter().map(|key| format!("{{\"{key}\": …}}")).collect::<Vec<_>>().join(", ");
        let ast::Value::Object(object) = value else {
            let reason = "a key itself does not belong into settings";
            return self.mistake(value, format!("`{path}` must be one of {forms}; {reason}"));
        };
        match object.properties.as_slice() {
            [only] => match choices
                .get(keys.iter().position(|key| *key == only.name.as_str()).unwrap_or(usize::MAX))
            {
                Some(choice) => self.object(object, choice, path),
                None => self.unknown(&only.name, &path.key(only.name.as_str()), path, keys.into_iter()),
            },
            _ => self.mistake(value, format!("`{path}` must be exactly one of {forms}")),
        }
    }

    fn word(&mut self, value: &ast::Value, word: &str, schema: &Value, path: &KeyPath) {
        let Some(Value::Array(allowed)) = schema.get("enum") else { return };
        let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
        if allowed.contains(&word) {
            return;
        }
        let mut problem = format!("`{path}` must be one of {}, not \"{word}\"", allowed.join(", "));
        if let Some(meant) = nearest(word, allowed) {
            problem.push_str(&format!("; did you mean \"{meant}\"?"));
        }
        self.mistake(value, problem);
    }

    fn range(&mut self, value: &ast::Value, text: &str, schema: &Value, path: &KeyPath) {
        let Ok(number) = text.parse::<f64>() else { return };
        let limit = |name| schema.get(name).and_then(Value::as_f64);
        if let Some(least) = limit("minimum").filter(|least| number < *least) {
            self.mistake(value, format!("`{path}` must be at least {least}, not {text}"));
        } else if let Some(most) = limit("maximum").filter(|most| number > *most) {
            self.mistake(value, format!("`{path}` must be at most {most}, not {text}"));
        }
    }

    fn mistake(&mut self, value: &ast::Value, problem: String) {
        self.mistakes.push(Mistake { place: self.source.place(value.start()), problem });
    }
}

fn has_type(value: &ast::Value, expected: &str) -> bool {
    match (expected, value) {
        ("object", ast::Value::Object(_))
        | ("array", ast::Value::Array(_))
        | ("string", ast::Value::StringLit(_))
        | ("boolean", ast::Value::BooleanLit(_))
        | ("number", ast::Value::NumberLit(_)) => true,
        ("integer", ast::Value::NumberLit(number)) => number.value.parse::<i64>().is_ok(),
        _ => false,
    }
}

fn with_article(type_name: &str) -> &'static str {
    match type_name {
        "object" => "an object",
        "array" => "an array",
        "string" => "a string",
        "boolean" => "true or false",
        "integer" => "a whole number",
        _ => "a number",
    }
}

fn type_name(value: &ast::Value) -> String {
    match value {
        ast::Value::Object(_) => "an object".into(),
        ast::Value::Array(_) => "an array".into(),
        ast::Value::StringLit(_) => "a string".into(),
        ast::Value::BooleanLit(literal) => literal.value.to_string(),
        ast::Value::NumberLit(number) => number.value.into(),
        ast::Value::NullKeyword(_) => "null".into(),
    }
}
