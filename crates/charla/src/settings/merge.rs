//! Layers of settings: which wins, what a workspace may say, and where each value came from.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::load::Document;
use super::source::{KeyPath, SourceLocation};
use crate::hint::Hint;
use crate::notices::Notice;

/// Who set a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Charla itself.
    BuiltIn,
    /// A settings file.
    File(SourceLocation),
    /// An environment variable.
    Variable(String),
    /// An override of this run.
    Override(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Source::BuiltIn => f.write_str("built in"),
            Source::File(place) => place.fmt(f),
            Source::Variable(name) => write!(f, "${name}"),
            Source::Override(name) => f.write_str(name),
        }
    }
}

/// Values over one another; later layers win.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    value: Map<String, Value>,
    sources: BTreeMap<KeyPath, Source>,
}

impl Layers {
    /// Puts a settings file on top.
    pub fn put_document(&mut self, document: Document) {
        let places = document.places;
        self.put(document.value, &|path| {
            let place = places.iter().find(|(known, _)| known == path);
            place.map_or(Source::BuiltIn, |(_, place)| Source::File(place.clone()))
        });
    }

    /// Puts one value on top.
    pub fn put_value(&mut self, path: &[&str], value: impl Into<Value>, source: Source) {
        let nested = path
            .iter()
            .rev()
            .fold(value.into(), |inner, key| Value::Object(Map::from_iter([((*key).to_owned(), inner)])));
        if let Value::Object(layer) = nested {
            self.put(layer, &|_| source.clone());
        }
    }

    fn put(&mut self, layer: Map<String, Value>, source: &dyn Fn(&KeyPath) -> Source) {
        for leaf in leaves(&layer) {
            self.sources.insert(leaf.0.clone(), source(&leaf.0));
        }
        overlay(&mut self.value, layer);
    }

    /// True when some layer says something about this key.
    pub fn has(&self, path: &[&str]) -> bool {
        let mut steps = path.iter();
        let first = steps.next().and_then(|step| self.value.get(*step));
        steps.fold(first, |value, step| value?.get(step)).is_some()
    }

    /// All values together.
    pub fn value(&self) -> &Map<String, Value> {
        &self.value
    }

    /// Every value with its key and who set it, in the order of keys.
    pub fn leaves(&self) -> Vec<(KeyPath, Value, Source)> {
        let mut all: Vec<_> = leaves(&self.value)
            .into_iter()
            .map(|(path, value)| {
                let source = self.sources.get(&path).cloned().unwrap_or(Source::BuiltIn);
                (path, value.clone(), source)
            })
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }
}

/// Objects are merged key by key; everything else is replaced. A key source is one value.
fn overlay(below: &mut Map<String, Value>, above: Map<String, Value>) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) if key != "apiKey" => overlay(below, above),
            (_, value) => drop(below.insert(key, value)),
        }
    }
}

fn leaves(map: &Map<String, Value>) -> Vec<(KeyPath, &Value)> {
    fn walk<'a>(map: &'a Map<String, Value>, path: &KeyPath, out: &mut Vec<(KeyPath, &'a Value)>) {
        for (key, value) in map {
            let below = path.key(key);
            match value {
                Value::Object(inner) if key != "apiKey" && !inner.is_empty() => walk(inner, &below, out),
                _ => out.push((below, value)),
            }
        }
    }
    let mut out = Vec::new();
    walk(map, &KeyPath::default(), &mut out);
    out
}

/// What a workspace may set before it is trusted: how an answer is made and shown, never where data
/// goes, what is run or what is written. Everything that is not listed is refused.
const WORKSPACE_MAY_SET: &[&[&str]] = &[
    &["model"],
    &["output"],
    &["retry"],
    &["compression"],
    &["network", "connectTimeoutSeconds"],
    &["network", "firstByteTimeoutSeconds"],
    &["network", "idleTimeoutSeconds"],
    &["providers", "*", "models"],
    &["providers", "*", "quirks"],
    &["providers", "*", "defaultModel"],
];

/// True when a workspace may set this key without being trusted.
pub fn workspace_may_set(path: &KeyPath) -> bool {
    WORKSPACE_MAY_SET.iter().any(|allowed| {
        path.steps().len() >= allowed.len()
            && path.steps().iter().zip(*allowed).all(|(step, pattern)| *pattern == "*" || step == pattern)
    })
}

/// True for the name of a model file: loading one runs a parser of native code over whatever lies in the
/// folder.
fn names_model_file(value: &Value) -> bool {
    match value {
        Value::String(name) => {
            // As names are read: without the blanks around them.
            let name = name.trim();
            name.starts_with("local/") || name.to_ascii_lowercase().ends_with(".gguf")
        }
        Value::Array(names) => names.iter().any(names_model_file),
        _ => false,
    }
}

/// What a workspace sets that only a trusted one may.
pub fn needing_trust(document: &Document) -> Vec<(KeyPath, Value)> {
    let all = leaves(&document.value).into_iter();
    all.filter(|(path, value)| !workspace_may_set(path) || names_model_file(value))
        .map(|(path, value)| (path, value.clone()))
        .collect()
}

/// Takes out of a workspace's settings what it may not set; returns one notice for each, with the reason.
pub fn tame_workspace(document: &mut Document, reason: &str) -> Vec<Notice> {
    let refused: Vec<KeyPath> = needing_trust(document).into_iter().map(|(path, _)| path).collect();
    for path in &refused {
        remove(&mut document.value, path.steps());
    }
    let notice = |path: &KeyPath| {
        let place = document.places.iter().find(|(known, _)| known == path);
        let place = place.map_or_else(|| document.path.display().to_string(), |(_, place)| place.to_string());
        Notice::from(format!("{place}: `{path}` is ignored: this workspace {reason}"))
    };
    let mut notices: Vec<Notice> = refused.iter().map(notice).collect();
    if !notices.is_empty() {
        notices.push(Notice::with_hint("", Hint::TrustWorkspace));
    }
    notices
}

fn remove(map: &mut Map<String, Value>, steps: &[String]) {
    match steps {
        [] => {}
        [last] => drop(map.shift_remove(last)),
        [first, rest @ ..] => {
            if let Some(Value::Object(inner)) = map.get_mut(first) {
                remove(inner, rest);
                if inner.is_empty() {
                    map.shift_remove(first);
                }
            }
        }
    }
}
