//! Arguments, checked against a tool's schema before anything is done with them.

use std::sync::{Arc, LazyLock, OnceLock};

use charla_proto::text::nearest;
use charla_proto::{Args, FunctionDeclaration, ToolError, ToolErrorKind};
use charla_schema::{Problem, Wrong};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// How many problems of one call are reported at once.
const MOST_PROBLEMS: usize = 5;
/// How much of a wrong value is quoted.
const MOST_QUOTED: usize = 80;

/// Fields some models add to every call; they mean nothing to a tool.
const IGNORED: &[&str] = &["wait_for_previous"];

/// Arguments that fit the schema and still cannot be used, and why.
pub(crate) fn invalid(message: impl std::fmt::Display) -> ToolError {
    ToolError::new(ToolErrorKind::InvalidArgs, format!("Invalid arguments: {message}."))
}

/// A tool's declaration with its schema.
pub struct Schema {
    declaration: Arc<FunctionDeclaration>,
    /// Read at the first call: a session that calls no tool does not pay for it. Parts that cannot be used
    /// demand nothing: then the tool itself has to complain.
    schema: OnceLock<charla_schema::Schema>,
}

impl Schema {
    /// The schema of this declaration.
    pub fn new(declaration: FunctionDeclaration) -> Self {
        Self { declaration: Arc::new(declaration), schema: OnceLock::new() }
    }

    fn schema(&self) -> &charla_schema::Schema {
        self.schema
            .get_or_init(|| charla_schema::Schema::lenient(self.declaration.parameters_json_schema.clone()))
    }

    /// The declaration.
    pub fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.declaration
    }

    /// The arguments as a tool wants them. Optional fields given as null count as not given.
    pub fn read<T: DeserializeOwned>(&self, args: Args) -> Result<T, ToolError> {
        let mut args = Value::Object(self.check(args)?);
        whole_numbers(&mut args);
        serde_json::from_value(args)
            .map_err(|error| self.refusal(&[format!("the arguments do not fit: {error}")]))
    }

    /// The arguments if they fit the schema, and what is wrong with them otherwise.
    pub fn check(&self, mut args: Args) -> Result<Args, ToolError> {
        let required = self.required();
        args.retain(|name, value| !value.is_null() || required.contains(&name.as_str()));
        args.retain(|name, _| !IGNORED.contains(&name.as_str()) || self.properties().contains_key(name));
        let value = Value::Object(args);
        let problems = self.schema().problems(&value, MOST_PROBLEMS);
        let problems: Vec<String> = problems.iter().map(|problem| self.in_words(problem)).collect();
        if !problems.is_empty() {
            return Err(self.refusal(&problems));
        }
        match value {
            Value::Object(args) => Ok(args),
            _ => Ok(Args::new()),
        }
    }

    fn refusal(&self, problems: &[String]) -> ToolError {
        let fields: Vec<&str> = self.properties().keys().map(String::as_str).collect();
        let takes = if fields.is_empty() { "no fields".to_owned() } else { fields.join(", ") };
        let message = format!(
            "Invalid arguments for {}: {}. It takes: {takes} (required: {}).",
            self.declaration.name,
            problems.join("; "),
            if self.required().is_empty() { "none".to_owned() } else { self.required().join(", ") },
        );
        ToolError::new(ToolErrorKind::InvalidArgs, message)
    }

    fn properties(&self) -> &Map<String, Value> {
        static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        let properties = self.declaration.parameters_json_schema.get("properties");
        properties.and_then(Value::as_object).unwrap_or(&NONE)
    }

    fn required(&self) -> Vec<&str> {
        let required = self.declaration.parameters_json_schema.get("required").and_then(Value::as_array);
        required.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Which field, what was given, what is expected.
    fn in_words(&self, problem: &Problem) -> String {
        let field = field_name(&problem.place);
        let given = quoted(problem.given);
        match &problem.wrong {
            Wrong::Missing(name) => {
                let place = if field.is_empty() { String::new() } else { format!(" in `{field}`") };
                format!("the field `{name}`{place} is missing{}", self.misspelt(name, problem.given))
            }
            Wrong::Unknown(names) => {
                let names = names.iter().take(MOST_PROBLEMS).map(|name| self.unknown(name));
                names.collect::<Vec<_>>().join("; ")
            }
            Wrong::Type(types) => {
                let types: Vec<String> = types.iter().map(|name| with_article(name)).collect();
                format!("`{field}` must be {}, but {given} was given", types.join(" or "))
            }
            Wrong::OneOf(_) | Wrong::Number(..) => {
                format!("`{field}` {}, but {given} was given", problem.wrong)
            }
            Wrong::Count("character(s)", "at least", 1) => format!("`{field}` must not be empty"),
            wrong => format!("`{field}` {}", shortened(&wrong.to_string(), 200)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let near = nearest(name, self.properties().keys().map(String::as_str));
        let hint = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
        format!("there is no field `{}`{hint}", shortened(name, MOST_QUOTED))
    }

    /// A field that was given under a name close to a missing one.
    fn misspelt(&self, missing: &str, given: &Value) -> String {
        let known = self.properties();
        let others = given.as_object().into_iter().flat_map(Map::keys).map(String::as_str);
        let near = nearest(missing, others.filter(|name| !known.contains_key(*name)));
        near.map(|near| format!(" (`{near}` was given)")).unwrap_or_default()
    }
}

/// Writes `1.0` as `1`: to JSON Schema both are integers, and some models give one for the other.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            // Beyond 2^53 a float no longer tells one integer from the next.
            if float.fract() == 0.0 && float.abs() < 9e15 {
                *value = Value::from(float as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

/// `/todos/0/status` as `todos[0].status`.
fn field_name(pointer: &str) -> String {
    let mut name = String::new();
    for part in pointer.split('/').filter(|part| !part.is_empty()) {
        if part.chars().all(|c| c.is_ascii_digit()) {
            name.push_str(&format!("[{part}]"));
        } else {
            if !name.is_empty() {
                name.push('.');
            }
            name.push_str(part);
        }
    }
    name
}

fn with_article(kind: &str) -> String {
    match kind {
        "array" | "integer" | "object" => format!("an {kind}"),
        "null" => kind.to_owned(),
        _ => format!("a {kind}"),
    }
}

fn quoted(value: &Value) -> String {
    shortened(&value.to_string(), MOST_QUOTED)
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        Schema::new(FunctionDeclaration {
            name: "read_file".to_owned(),
            parameters_json_schema: json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string", "minLength": 1},
                    "start_line": {"type": "integer", "minimum": 1},
                    "todos": {"type": "array", "items": {"type": "object", "properties": {"status": {"enum": ["a", "b"]}}}},
                },
                "required": ["file_path"],
                "additionalProperties": false,
            }),
            ..FunctionDeclaration::default()
        })
    }

    fn problem(args: Value) -> String {
        let error = schema().check(args.as_object().unwrap().clone()).unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::InvalidArgs);
        error.message
    }

    #[test]
    fn a_problem_names_the_field_the_value_and_what_is_expected() {
        let message = problem(json!({"file_path": 7}));
        assert!(message.contains("`file_path` must be a string, but 7 was given"), "{message}");
        let message = problem(json!({"file_path": "a", "start_line": -3}));
        assert!(message.contains("`start_line` must be at least 1, but -3 was given"), "{message}");
        let message = problem(json!({"file_path": "a", "todos": [{"status": "c"}]}));
        assert!(message.contains("`todos[0].status` must be one of \"a\", \"b\""), "{message}");
    }

    #[test]
    fn a_misspelt_field_is_named_with_the_right_one() {
        let message = problem(json!({"filepath": "a"}));
        assert!(message.contains("`file_path` is missing (`filepath` was given)"), "{message}");
        assert!(message.contains("no field `filepath` (did you mean `file_path`?)"), "{message}");
        assert!(
            message.contains("It takes: file_path, start_line, todos (required: file_path)"),
            "{message}"
        );
    }

    #[test]
    fn a_huge_wrong_value_is_not_quoted_in_full() {
        assert!(problem(json!({"file_path": ["x".repeat(1 << 20)]})).len() < 500);
        assert!(problem(json!({"file_path": "a", "x".repeat(1 << 20): 1})).len() < 500);
    }

    #[test]
    fn null_for_an_optional_field_counts_as_not_given() {
        let args = json!({"file_path": "a", "start_line": null, "wait_for_previous": true});
        let checked = schema().check(args.as_object().unwrap().clone()).unwrap();
        assert_eq!(Value::Object(checked), json!({"file_path": "a"}));
        assert!(problem(json!({"file_path": null})).contains("must be a string, but null was given"));
    }

    #[test]
    fn a_schema_that_cannot_be_compiled_checks_nothing() {
        let declaration = FunctionDeclaration {
            name: "odd".to_owned(),
            parameters_json_schema: json!({"type": 12}),
            ..FunctionDeclaration::default()
        };
        assert!(Schema::new(declaration).check(Args::new()).is_ok());
    }
}
