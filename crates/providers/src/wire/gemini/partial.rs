//! Calls whose arguments come in pieces.
//!
//! Vertex AI can stream a call: a part with the name, parts with values at paths (`$.steps[2].text`), a
//! closing part without either. Strings may come in several pieces. The pieces are put together here and
//! the call is given out whole.

use charla_proto::{FunctionCall, InvalidArgs, Part, PartKind};
use serde_json::{Map, Value};

use crate::wire::{ENTRY, weight};

/// A place further than this behind the end of a list is not believed.
const MAX_GAP: usize = 16;

/// Deeper paths than this are not believed.
const MAX_STEPS: usize = 64;

/// A call that has begun.
#[derive(Debug)]
pub(super) struct OpenCall {
    /// The part it will be, with the signature that came with its first piece.
    part: Part,
    call: FunctionCall,
    args: Value,
    /// About how many bytes the arguments have.
    weight: usize,
    /// The last piece was a string that goes on.
    inside_text: bool,
    problem: Option<String>,
}

/// Whether the arguments of a call are all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The server closed the call, or ended its turn in the normal way.
    Whole,
    /// The answer broke off.
    Cut,
}

impl OpenCall {
    /// A call that begins with this part.
    pub(super) fn new(part: Part, call: FunctionCall, args: Option<Value>) -> Self {
        let args = args.filter(Value::is_object).unwrap_or_else(|| Value::Object(Map::new()));
        let weight = weight(&args);
        Self { part, call, args, weight, inside_text: false, problem: None }
    }

    /// About how many bytes have come of it.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// Takes the next piece of the arguments.
    pub(super) fn add(&mut self, piece: &Value) {
        let path = piece["jsonPath"].as_str().unwrap_or_default();
        let Some(place) = steps(path).and_then(|steps| place(&mut self.args, &steps)) else {
            self.problem =
                Some(format!("a piece of the arguments has the path {path:?}, which leads nowhere"));
            return;
        };
        self.inside_text = false;
        if place.is_null() {
            self.weight += ENTRY + path.len();
        }
        if let Some(text) = piece["stringValue"].as_str() {
            self.weight += text.len();
            match place {
                Value::String(so_far) => so_far.push_str(text),
                other => *other = Value::from(text),
            }
            self.inside_text = piece["willContinue"] == true;
        } else if let Some(value) = piece.get("numberValue").or_else(|| piece.get("boolValue")) {
            self.weight += weight(value);
            *place = value.clone();
        }
    }

    /// The finished part. A call that is known to be cut is marked, so that it is never run.
    pub(super) fn close(self, ending: Ending) -> Part {
        let Self { mut part, mut call, args, inside_text, problem, .. } = self;
        let reason = problem.or_else(|| {
            let cut = ending == Ending::Cut || inside_text;
            cut.then(|| "the answer ended in the middle of the arguments".to_owned())
        });
        match (reason, args) {
            (None, Value::Object(args)) => call.args = args,
            (reason, args) => {
                let reason = reason.unwrap_or_else(|| "the arguments are not a JSON object".to_owned());
                call.invalid = Some(Box::new(InvalidArgs { raw: args.to_string(), reason }));
            }
        }
        part.kind = PartKind::FunctionCall(Box::new(call));
        part
    }
}

#[derive(Debug, PartialEq)]
enum Step {
    Field(String),
    Item(usize),
}

/// Takes a path apart: `$`, then `.name`, `[3]`, `['name']` or `["name"]`.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == MAX_STEPS {
            return None;
        }
        if let Some(named) = rest.strip_prefix('.') {
            let end = named.find(['.', '[']).unwrap_or(named.len());
            let (name, tail) = named.split_at_checked(end)?;
            steps.push(Step::Field(name.to_owned()));
            rest = tail;
            continue;
        }
        let inner = rest.strip_prefix('[')?;
        let quote = inner.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let (step, tail) = match quote {
            Some(quote) => {
                let (name, tail) = inner.strip_prefix(quote)?.split_once(&format!("{quote}]"))?;
                (Step::Field(name.to_owned()), tail)
            }
            None => {
                let (index, tail) = inner.split_once(']')?;
                (Step::Item(index.parse().ok()?), tail)
            }
        };
        steps.push(step);
        rest = tail;
    }
    Some(steps)
}

/// The value at the end of a path, made on the way; `None` where something else stands in it.
fn place<'v>(root: &'v mut Value, steps: &[Step]) -> Option<&'v mut Value> {
    let mut here = root;
    for step in steps {
        here = match step {
            Step::Field(name) => {
                if here.is_null() {
                    *here = Value::Object(Map::new());
                }
                here.as_object_mut()?.entry(name.as_str()).or_insert(Value::Null)
            }
            Step::Item(index) => {
                if here.is_null() {
                    *here = Value::Array(Vec::new());
                }
                let list = here.as_array_mut()?;
                if *index > list.len() + MAX_GAP {
                    return None;
                }
                if list.len() <= *index {
                    list.resize(index + 1, Value::Null);
                }
                list.get_mut(*index)?
            }
        };
    }
    Some(here)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn closed(pieces: &[Value], ending: Ending) -> FunctionCall {
        let mut open = OpenCall::new(Part::default(), FunctionCall::new("1", "f", Map::new()), None);
        for piece in pieces {
            open.add(piece);
        }
        open.close(ending).as_function_call().unwrap().clone()
    }

    #[test]
    fn pieces_at_paths_become_one_object() {
        let call = closed(
            &[
                json!({"jsonPath": "$.a.b[1].c", "stringValue": "x", "willContinue": true}),
                json!({"jsonPath": "$.a.b[1].c", "stringValue": "y"}),
                json!({"jsonPath": "$['odd.name']", "numberValue": 3}),
                json!({"jsonPath": "$.yes", "boolValue": true}),
                json!({"jsonPath": "$.none", "nullValue": "NULL_VALUE"}),
            ],
            Ending::Whole,
        );
        let args = json!({"a": {"b": [null, {"c": "xy"}]}, "odd.name": 3, "yes": true, "none": null});
        assert_eq!(Value::Object(call.args), args);
        assert_eq!(call.invalid, None);
    }

    #[test]
    fn a_call_cut_in_the_middle_is_never_whole() {
        let half = json!({"jsonPath": "$.path", "stringValue": "/home", "willContinue": true});
        let cut = closed(std::slice::from_ref(&half), Ending::Whole).invalid.unwrap();
        assert_eq!(cut.raw, r#"{"path":"/home"}"#);
        let done = json!({"jsonPath": "$.path", "stringValue": ""});
        assert!(closed(&[half.clone(), done.clone()], Ending::Cut).invalid.is_some());
        assert!(closed(&[half, done], Ending::Whole).invalid.is_none());
    }

    #[test]
    fn paths_that_lead_nowhere_make_the_call_invalid() {
        for path in ["", "a", "$.a[9999999]", "$[", "$['a", "$.a[x]", "$[0]"] {
            let call = closed(&[json!({"jsonPath": path, "stringValue": "x"})], Ending::Whole);
            assert!(call.invalid.is_some(), "{path}");
        }
    }
}
