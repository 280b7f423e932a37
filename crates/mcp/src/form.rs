//! A field of a form that a server wants filled in: a text, a number, yes or no, or a choice.

use charla_proto::text::{one_line, readable};
use charla_proto::{Question, QuestionKind, QuestionOption};
use serde_json::{Value, json};

/// So many choices are listed; where there are more, they are typed.
const MOST_OPTIONS: usize = 9;
/// The longest answer, in characters.
const LONGEST: usize = 20_000;

/// A field, as the server's schema has it.
#[derive(Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    title: String,
    about: String,
    required: bool,
    otherwise: Option<Value>,
    kind: Kind,
}

#[derive(Debug, PartialEq)]
enum Kind {
    Text { least: u64, most: u64, format: Option<String> },
    Number { whole: bool, least: Option<f64>, most: Option<f64> },
    Truth,
    Choice { options: Vec<(Value, String)>, several: bool },
}

impl Field {
    /// Reads the schema of a field; why it is none that a form may have.
    pub(crate) fn read(name: &str, schema: &Value, required: bool) -> Result<Self, String> {
        let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
        let (kind, number) = (text("type"), |key: &str| schema.get(key).and_then(Value::as_f64));
        let length = |key: &str| schema.get(key).and_then(Value::as_u64);
        let items = schema.get("items").unwrap_or(&Value::Null);
        let kind = match (kind, options(schema), options(items)) {
            ("string", Some(options), _) => Kind::Choice { options, several: false },
            ("array", _, Some(options)) => Kind::Choice { options, several: true },
            ("string", None, _) => Kind::Text {
                least: length("minLength").unwrap_or(0),
                most: length("maxLength").unwrap_or(LONGEST as u64).min(LONGEST as u64),
                format: Some(text("format").to_owned()).filter(|format| !format.is_empty()),
            },
            ("number" | "integer", ..) => {
                Kind::Number { whole: kind == "integer", least: number("minimum"), most: number("maximum") }
            }
            ("boolean", ..) => Kind::Truth,
            _ => return Err(format!("the field `{}` has no type that a form may have", shown(name))),
        };
        let title = if text("title").is_empty() { name } else { text("title") };
        Ok(Self {
            name: name.to_owned(),
            title: shown(title),
            about: readable(&cut(text("description"), 1000)).into_owned(),
            required,
            otherwise: schema.get("default").filter(|value| !value.is_null()).cloned(),
            kind,
        })
    }

    /// The field as a question to the person.
    pub(crate) fn question(&self) -> Question {
        let mut words = self.title.clone();
        if !self.about.is_empty() {
            words = format!("{words}: {}", self.about);
        }
        if let Some(hint) = self.hint() {
            words.push_str(&format!(" ({hint})"));
        }
        if !self.required {
            words.push_str(" (may be left open)");
        }
        let (kind, options, several) = match &self.kind {
            Kind::Truth => (QuestionKind::Yesno, Vec::new(), false),
            Kind::Choice { options, several } if options.len() <= MOST_OPTIONS => {
                let option = |(_, label): &(Value, String)| QuestionOption {
                    label: label.clone(),
                    description: String::new(),
                };
                (QuestionKind::Choice, options.iter().map(option).collect(), *several)
            }
            Kind::Choice { options, .. } => {
                let labels: Vec<&str> = options.iter().map(|(_, label)| label.as_str()).collect();
                words = format!("{words}\nOne of: {}", labels.join(", "));
                (QuestionKind::Text, Vec::new(), false)
            }
            Kind::Text { .. } | Kind::Number { .. } => (QuestionKind::Text, Vec::new(), false),
        };
        Question {
            question: words,
            header: self.title.clone(),
            kind,
            options,
            multi_select: several,
            optional: !self.required || self.otherwise.is_some(),
            default: self.otherwise.as_ref().map(|value| self.in_words(value)),
            placeholder: None,
        }
    }

    /// A value as a person would say it.
    fn in_words(&self, value: &Value) -> String {
        match (value, &self.kind) {
            (Value::Array(values), _) => {
                let words: Vec<String> = values.iter().map(|value| self.in_words(value)).collect();
                words.join(", ")
            }
            (Value::Bool(truth), _) => if *truth { "yes" } else { "no" }.to_owned(),
            (value, kind) => {
                let options = if let Kind::Choice { options, .. } = kind { options.as_slice() } else { &[] };
                let label = options.iter().find(|(one, _)| one == value).map(|(_, label)| label.clone());
                label.unwrap_or_else(|| {
                    shown(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                })
            }
        }
    }

    /// What kind of text is meant.
    fn hint(&self) -> Option<String> {
        let words = match &self.kind {
            Kind::Text { format, .. } => match format.as_deref()? {
                "email" => "an email address",
                "uri" => "an address, such as https://example.org",
                "date" => "a date, such as 2026-01-31",
                "date-time" => "a date and time, such as 2026-01-31T12:00:00Z",
                other => return Some(shown(other)),
            },
            Kind::Number { whole: true, .. } => "a whole number",
            Kind::Number { whole: false, .. } => "a number",
            Kind::Truth | Kind::Choice { .. } => return None,
        };
        Some(words.to_owned())
    }

    /// The value that an answer means; nothing for a field that is left open. An error says what does not fit.
    pub(crate) fn value(&self, answer: &str) -> Result<Option<Value>, String> {
        if answer.is_empty() {
            return match (&self.otherwise, self.required) {
                (Some(value), _) => Ok(Some(value.clone())),
                (None, false) => Ok(None),
                (None, true) => Err(format!("`{}` is needed.", self.title)),
            };
        }
        self.meant(answer).map(Some).map_err(|why| format!("`{}` {why}.", self.title))
    }

    fn meant(&self, answer: &str) -> Result<Value, String> {
        match &self.kind {
            Kind::Truth => match answer.to_lowercase().as_str() {
                "yes" | "y" | "true" => Ok(true.into()),
                "no" | "n" | "false" => Ok(false.into()),
                _ => Err("is yes or no".to_owned()),
            },
            Kind::Number { whole, least, most } => number(answer, *whole, *least, *most),
            Kind::Text { least, most, format } => {
                let length = answer.chars().count() as u64;
                if length < *least || length > *most {
                    return Err(format!("has {least} to {most} characters"));
                }
                match format.as_deref() {
                    Some("email") if !is_email(answer) => Err("is an email address".to_owned()),
                    Some("uri") if !answer.contains(':') || answer.contains(' ') => {
                        Err("is an address".to_owned())
                    }
                    Some("date") if !is_date(answer) => Err("is a date, such as 2026-01-31".to_owned()),
                    Some("date-time") if !answer.get(..10).is_some_and(is_date) => {
                        Err("is a date and time, such as 2026-01-31T12:00:00Z".to_owned())
                    }
                    _ => Ok(answer.into()),
                }
            }
            Kind::Choice { options, several: false } => choice(options, answer),
            Kind::Choice { options, several: true } => {
                let all: Result<Vec<Value>, String> =
                    answer.split(',').map(|one| choice(options, one.trim())).collect();
                all.map(Value::from)
            }
        }
    }
}

fn number(answer: &str, whole: bool, least: Option<f64>, most: Option<f64>) -> Result<Value, String> {
    let number = answer.parse::<f64>().ok().filter(|number| number.is_finite());
    let Some(number) = number.filter(|number| !whole || number.fract() == 0.0) else {
        return Err(if whole { "is a whole number" } else { "is a number" }.to_owned());
    };
    if least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most) {
        let bound = |bound: Option<f64>| bound.map_or("any".to_owned(), |bound| bound.to_string());
        return Err(format!("is between {} and {}", bound(least), bound(most)));
    }
    Ok(match (whole, answer.parse::<i64>()) {
        (true, Ok(number)) => json!(number),
        _ => json!(number),
    })
}

fn choice(options: &[(Value, String)], answer: &str) -> Result<Value, String> {
    let is_it = |(value, label): &&(Value, String)| label == answer || value.as_str() == Some(answer);
    let found = options.iter().find(is_it).map(|(value, _)| value.clone());
    found.ok_or_else(|| "is one of the choices".to_owned())
}

/// What may be chosen, with how it is shown: `enum` with `enumNames`, or `oneOf` and `anyOf` with `const` and `title`.
fn options(schema: &Value) -> Option<Vec<(Value, String)>> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let names = schema.get("enumNames").and_then(Value::as_array);
        let name = |index: usize| names.and_then(|names| names.get(index)?.as_str());
        let option = |(index, value): (usize, &Value)| {
            let text = value.as_str()?;
            Some((value.clone(), shown(name(index).unwrap_or(text))))
        };
        return values
            .iter()
            .enumerate()
            .map(option)
            .collect::<Option<Vec<_>>>()
            .filter(|all| !all.is_empty());
    }
    let listed = ["oneOf", "anyOf"].into_iter().find_map(|key| schema.get(key)?.as_array())?;
    let option = |entry: &Value| {
        let value = entry.get("const").filter(|value| value.is_string())?;
        let title = entry.get("title").and_then(Value::as_str).or(value.as_str())?;
        Some((value.clone(), shown(title)))
    };
    listed.iter().map(option).collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
}

fn is_email(text: &str) -> bool {
    let parts = text.split_once('@');
    parts.is_some_and(|(name, host)| !name.is_empty() && host.contains('.') && !text.contains(' '))
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |index: usize, digits: usize| {
        let part = parts.get(index).filter(|part| part.len() == digits)?;
        part.parse::<u32>().ok()
    };
    parts.len() == 3
        && number(0, 4).is_some()
        && number(1, 2).is_some_and(|month| (1..=12).contains(&month))
        && number(2, 2).is_some_and(|day| (1..=31).contains(&day))
}

/// A name of the server's, for people.
fn shown(text: &str) -> String {
    one_line(&cut(text, 200))
}

/// The beginning of a text.
pub(crate) fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(schema: Value, required: bool) -> Field {
        Field::read("f", &schema, required).unwrap()
    }

    #[test]
    fn answers_become_values_of_the_fields_kind_and_what_does_not_fit_is_told() {
        let table = [
            (json!({"type": "string"}), "a b", Ok(json!("a b"))),
            (json!({"type": "string", "minLength": 3}), "ab", Err("3 to")),
            (json!({"type": "string", "maxLength": 1}), "äö", Err("0 to 1")),
            (json!({"type": "string", "format": "email"}), "a@b.c", Ok(json!("a@b.c"))),
            (json!({"type": "string", "format": "email"}), "nobody", Err("email")),
            (json!({"type": "string", "format": "date"}), "2026-02-30", Ok(json!("2026-02-30"))),
            (json!({"type": "string", "format": "date"}), "tomorrow", Err("a date")),
            (json!({"type": "string", "format": "uri"}), "no where", Err("address")),
            (json!({"type": "integer"}), "7", Ok(json!(7))),
            (json!({"type": "integer"}), "7.5", Err("whole")),
            (json!({"type": "number"}), "7.5", Ok(json!(7.5))),
            (json!({"type": "number"}), "NaN", Err("a number")),
            (json!({"type": "number", "minimum": 1, "maximum": 2}), "3", Err("between 1 and 2")),
            (json!({"type": "boolean"}), "yes", Ok(json!(true))),
            (json!({"type": "boolean"}), "perhaps", Err("yes or no")),
            (
                json!({"type": "string", "enum": ["r", "b"], "enumNames": ["Red", "Blue"]}),
                "Blue",
                Ok(json!("b")),
            ),
            (json!({"type": "string", "enum": ["r", "b"]}), "r", Ok(json!("r"))),
            (json!({"type": "string", "enum": ["r", "b"]}), "x", Err("choices")),
            (json!({"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}), "Red", Ok(json!("r"))),
            (json!({"type": "array", "items": {"enum": ["r", "b"]}}), "r, b", Ok(json!(["r", "b"]))),
            (json!({"type": "array", "items": {"anyOf": [{"const": "r"}]}}), "r, x", Err("choices")),
        ];
        for (schema, answer, wanted) in table {
            let got = field(schema.clone(), true).value(answer);
            match wanted {
                Ok(value) => assert_eq!(got, Ok(Some(value)), "{schema} {answer}"),
                Err(part) => assert!(got.as_ref().is_err_and(|why| why.contains(part)), "{schema} {got:?}"),
            }
        }
    }

    #[test]
    fn a_field_left_open_is_its_default_or_nothing_unless_it_is_needed() {
        assert_eq!(field(json!({"type": "string", "default": "x"}), true).value(""), Ok(Some(json!("x"))));
        assert_eq!(field(json!({"type": "number"}), false).value(""), Ok(None));
        assert!(field(json!({"type": "number"}), true).value("").is_err());
    }

    #[test]
    fn what_a_server_writes_for_programs_is_told_in_words() {
        let fish = json!([{"const": "fish-1", "title": "Cod"}, {"const": "fish-2", "title": "Ling"}]);
        let defaults = [
            (
                json!({"type": "array", "items": {"anyOf": fish}, "default": ["fish-1", "fish-2"]}),
                "Cod, Ling",
            ),
            (json!({"type": "string", "oneOf": fish, "default": "fish-2"}), "Ling"),
            (json!({"type": "boolean", "default": false}), "no"),
            (json!({"type": "integer", "default": 7}), "7"),
        ];
        for (schema, words) in defaults {
            let question = field(schema, true).question();
            assert_eq!((question.default.as_deref(), question.optional), (Some(words), true));
        }
        for (format, words) in [("email", "an email address"), ("uri", "an address")] {
            let question = field(json!({"type": "string", "format": format}), true).question();
            assert!(question.question.contains(words) && !question.optional, "{question:?}");
            assert_eq!(question.placeholder, None);
        }
    }

    #[test]
    fn what_no_form_may_have_is_refused_and_nothing_acts_on_a_screen() {
        for schema in [json!({}), json!({"type": "object"}), json!({"type": "array"}), json!(7), json!(null)]
        {
            assert!(Field::read("f", &schema, true).is_err(), "{schema}");
        }
        let evil = json!({"type": "string", "title": "a\u{1b}[2J\nb", "description": "\u{1b}]0;x\u{7}"});
        let question = field(evil, true).question();
        assert!(!format!("{}{}", question.question, question.header).contains(['\u{1b}', '\u{7}', '\n']));
    }
}
