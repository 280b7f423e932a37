//! Layers of settings: which wins, and where each value came from.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::hooks;
use super::load::Document;
use super::source::{KeyPath, SourceLocation};

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
    pub(crate) fn put_document(&mut self, mut document: Document) {
        hooks::mark_source(&mut document.value, &document.path.display().to_string());
        let places = document.places;
        self.put(document.value, &|path| {
            let place = places.iter().find(|(known, _)| known == path);
            place.map_or(Source::BuiltIn, |(_, place)| Source::File(place.clone()))
        });
    }

    /// Puts one value on top.
    pub(crate) fn put_value(&mut self, path: &[&str], value: impl Into<Value>, source: Source) {
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

    /// Takes out of a document what holds already: nobody needs to be told of it. A server is one value and stays whole.
    pub(super) fn leave_out_known(&self, document: &mut Document) {
        let known = |path: &KeyPath| {
            path.steps().iter().try_fold(None::<&Value>, |value, step| match value {
                None => self.value.get(step).map(Some),
                Some(value) => value.get(step).map(Some),
            })
        };
        let all = leaves(&document.value).into_iter();
        let same = all.filter(|(path, value)| known(path).flatten() == Some(*value));
        let same: Vec<KeyPath> = same.map(|(path, _)| path).collect();
        for path in same.iter().filter(|path| path.steps().first().is_none_or(|key| key != "mcpServers")) {
            remove(&mut document.value, path.steps());
        }
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

/// Objects are merged key by key; everything else is replaced. A key source is one value, and so is an MCP server: what one
/// layer says must not get the variables of another's. Hooks of all layers run.
fn overlay(below: &mut Map<String, Value>, above: Map<String, Value>) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) if key == "mcpServers" => below.extend(above),
            (Some(Value::Object(below)), Value::Object(above)) if key == "hooks" || key == "hooksConfig" => {
                hooks::extend(below, above);
            }
            (Some(Value::Object(below)), Value::Object(above)) if key != "apiKey" => overlay(below, above),
            (_, value) => drop(below.insert(key, value)),
        }
    }
}

/// Every value with its key.
pub(super) fn leaves(map: &Map<String, Value>) -> Vec<(KeyPath, &Value)> {
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

/// Takes a key away, and what is empty without it.
pub(super) fn remove(map: &mut Map<String, Value>, steps: &[String]) {
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
