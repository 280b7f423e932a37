//! Parameters under the names a model likes better than the declared ones.

use std::collections::BTreeMap;

use charla_proto::FunctionCall;
use serde_json::{Map, Value};

use super::dialect::Declared;
use crate::wire::MAPPED;

/// The tool name that stands for every tool.
const ANY: &str = "*";

/// What small models say instead of the built-in tools' names.
const USUAL: [(&str, &str); 11] = [
    ("path", "file_path"),
    ("file", "file_path"),
    ("filename", "file_path"),
    ("path", "dir_path"),
    ("dir", "dir_path"),
    ("directory", "dir_path"),
    ("cmd", "command"),
    ("text", "content"),
    ("contents", "content"),
    ("query", "pattern"),
    ("regex", "pattern"),
];

/// Other names for parameters, by tool.
///
/// An alias is used only where the target is declared and missing and the alias itself is not declared, so a map
/// made for one set of tools does no harm to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterMap {
    tools: BTreeMap<String, Vec<(String, String)>>,
}

impl ParameterMap {
    /// No aliases.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same map with the aliases that small models use most for the built-in tools, after all others.
    pub fn with_usual(self) -> Self {
        USUAL.iter().fold(self, |map, (alias, target)| map.with(ANY, *alias, *target))
    }

    /// The same map with one more alias; the tool `*` means every tool.
    pub fn with(
        mut self,
        tool: impl Into<String>,
        alias: impl Into<String>,
        target: impl Into<String>,
    ) -> Self {
        self.tools.entry(tool.into()).or_default().push((alias.into(), target.into()));
        self
    }

    /// True when there is nothing to map.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Renames the call's arguments and notes in `extra["mapped"]` what became what. A tool's own aliases go
    /// before those of every tool.
    pub(crate) fn apply(&self, call: &mut FunctionCall, declared: &Declared) {
        let Some(properties) = declared.properties(&call.name) else { return };
        let own = self.tools.get(&call.name).into_iter().flatten();
        let mut mapped = Map::new();
        for (alias, target) in own.chain(self.tools.get(ANY).into_iter().flatten()) {
            let wanted = properties.contains_key(target) && !call.args.contains_key(target);
            if !wanted || properties.contains_key(alias) {
                continue;
            }
            if let Some(value) = call.args.shift_remove(alias) {
                call.args.insert(target.clone(), value);
                mapped.insert(alias.clone(), Value::String(target.clone()));
            }
        }
        if !mapped.is_empty() {
            call.extra.insert(MAPPED, Value::Object(mapped));
        }
    }
}
