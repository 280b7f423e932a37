//! Reads one settings file: JSON with comments and trailing commas, checked against the types.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

use super::mistake::{Mistake, explain};
use super::model::Settings;
use super::source::{KeyPath, SourceLocation, SourceText};
use crate::bounded;
use crate::failure::Failure;
use crate::hint::Hint;

/// A settings file that was read and found right.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file.
    pub path: PathBuf,
    /// Its content, without keys that begin with `$` and without nulls.
    pub value: Map<String, Value>,
    /// Where its values stand.
    pub places: Vec<(KeyPath, SourceLocation)>,
}

/// Reads a settings file; `None` when there is none.
pub fn read(path: &Path) -> Result<Option<Document>, Failure> {
    let bytes = match bounded::read(path) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(Failure::config(format!("cannot read {}: {error}", path.display()))),
    };
    parse_bytes(path, &bytes).map(Some)
}

/// Reads the bytes of a settings file.
pub fn parse_bytes(path: &Path, bytes: &[u8]) -> Result<Document, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Failure::config(format!("{} is not UTF-8: byte {}", path.display(), error.valid_up_to()))
    })?;
    parse(path, text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Reads the text of a settings file of another program: its keys are not ours to judge. Of a key that is given twice the
/// last counts.
pub fn parse_foreign(path: &Path, text: &str) -> Result<Document, Failure> {
    let source = SourceText { file: path, text };
    let mut document = Document { path: path.to_owned(), value: Map::new(), places: Vec::new() };
    if let Some(ast::Value::Object(root)) = &tree(&source)?.value {
        let mut reading = Reading { source: &source, places: &mut document.places, twice: Vec::new() };
        document.value = reading.object(root, &KeyPath::default());
    }
    Ok(document)
}

fn tree<'a>(source: &SourceText<'a>) -> Result<jsonc_parser::ParseResult<'a>, Failure> {
    parse_to_ast(source.text, &CollectOptions::default(), &dialect()).map_err(|error| {
        let problem = lower_first(&error.kind().to_string());
        refuse(&[Mistake { place: source.place(error.range().start), problem }])
    })
}

/// Reads the text of a settings file.
pub fn parse(path: &Path, text: &str) -> Result<Document, Failure> {
    let source = SourceText { file: path, text };
    let mut document = Document { path: path.to_owned(), value: Map::new(), places: Vec::new() };
    let tree = tree(&source)?;
    let root = match &tree.value {
        None => return Ok(document),
        Some(ast::Value::Object(root)) => root,
        Some(other) => return Err(refuse(&explain(&source, other))),
    };
    let mut reading = Reading { source: &source, places: &mut document.places, twice: Vec::new() };
    let value = reading.object(root, &KeyPath::default());
    let twice = reading.twice;
    check(&source, &tree, &value, twice)?;
    document.value = value;
    Ok(document)
}

/// JSON, and besides only what `settings.json` files have elsewhere: comments and trailing commas.
fn dialect() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The schema names more mistakes than the types refuse (ranges), so both are asked. `twice` are keys that were given
/// more than once.
fn check(
    source: &SourceText,
    tree: &jsonc_parser::ParseResult,
    value: &Map<String, Value>,
    twice: Vec<Mistake>,
) -> Result<(), Failure> {
    let mut mistakes = twice;
    mistakes.extend(tree.value.iter().flat_map(|root| explain(source, root)));
    if !mistakes.is_empty() {
        return Err(refuse(&mistakes));
    }
    let typed: Result<Settings, _> = serde_path_to_error::deserialize(Value::Object(value.clone()));
    typed.map(drop).map_err(|error| {
        let problem = format!("`{}`: {}", error.path(), error.inner());
        refuse(&[Mistake { place: source.place(0), problem }])
    })
}

fn refuse(mistakes: &[Mistake]) -> Failure {
    let message = match mistakes {
        [only] => only.to_string(),
        several => {
            let lines: Vec<String> = several.iter().map(|mistake| format!("  {mistake}")).collect();
            format!("{} mistakes in the settings\n{}", several.len(), lines.join("\n"))
        }
    };
    Failure::config(message).with_hint(Hint::SettingsKeys)
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// Turns the syntax tree into values and notes where each stands.
struct Reading<'a> {
    source: &'a SourceText<'a>,
    places: &'a mut Vec<(KeyPath, SourceLocation)>,
    twice: Vec<Mistake>,
}

impl Reading<'_> {
    fn object(&mut self, object: &ast::Object, path: &KeyPath) -> Map<String, Value> {
        let mut map = Map::new();
        // What stands below these is the server's, not ours.
        let foreign = path.steps().iter().any(|step| step == "extraBody" || step == "headers");
        for property in &object.properties {
            let name = property.name.as_str();
            let left_out = name.starts_with('$') || matches!(property.value, ast::Value::NullKeyword(_));
            if left_out && !foreign {
                continue;
            }
            let below = path.key(name);
            let place = self.source.place(property.name.start());
            let value = self.value(&property.value, &below);
            if map.insert(name.to_owned(), value).is_some() {
                let problem = format!("`{below}` is given twice");
                self.twice.push(Mistake { place: place.clone(), problem });
            }
            self.places.push((below, place));
        }
        map
    }

    fn value(&mut self, value: &ast::Value, path: &KeyPath) -> Value {
        match value {
            ast::Value::Object(object) => Value::Object(self.object(object, path)),
            ast::Value::Array(array) => {
                let elements = array.elements.iter().enumerate();
                Value::Array(
                    elements.map(|(index, element)| self.value(element, &path.index(index))).collect(),
                )
            }
            ast::Value::StringLit(text) => Value::String(text.value.to_string()),
            ast::Value::NumberLit(number) => number.value.parse().map_or(Value::Null, Value::Number),
            ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
            ast::Value::NullKeyword(_) => Value::Null,
        }
    }
}
