//! Parameters under the names a model likes better than the declared ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use charla_proto::{FunctionCall, FunctionDeclaration, GenerateRequest, GenerateResponse, PartKind};
use serde_json::{Map, Value};

use super::{Layer, Reader};
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
/// An alias is used only where the target is declared and missing and the alias itself is not declared, so a
/// map made for one set of tools does no harm to another.
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
    /// before those of every tool, and the latter are not for tools that take parameters they do not declare:
    /// there the name may be meant.
    fn apply(&self, call: &mut FunctionCall, schema: &Value) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        let own = self.tools.get(&call.name).into_iter().flatten();
        let of_every_tool = self.tools.get(ANY).filter(|_| !takes_anything(schema));
        let mut mapped = Map::new();
        for (alias, target) in own.chain(of_every_tool.into_iter().flatten()) {
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

fn takes_anything(schema: &Value) -> bool {
    match schema.get("additionalProperties") {
        None | Some(Value::Bool(false) | Value::Null) => false,
        Some(_) => true,
    }
}

/// The layer that gives calls their parameters under the declared names, however the calls were made: by the wire or
/// in text.
///
/// Calls come out whole and once (see [`charla_proto::Assembler`]), so each is renamed as it passes. The
/// conversation holds the declared names from then on, and the model sees those when it is asked again.
pub struct NamedParameters {
    map: Arc<ParameterMap>,
}

impl NamedParameters {
    /// These names.
    pub fn new(map: ParameterMap) -> Self {
        Self { map: Arc::new(map) }
    }
}

impl Layer for NamedParameters {
    fn incoming(&self, request: &GenerateRequest) -> Option<Box<dyn Reader>> {
        let tools: Vec<_> = request.function_declarations().cloned().collect();
        match tools.is_empty() {
            true => None,
            false => Some(Box::new(Renaming { map: self.map.clone(), tools })),
        }
    }
}

/// What renames the calls of one answer.
struct Renaming {
    map: Arc<ParameterMap>,
    tools: Vec<Arc<FunctionDeclaration>>,
}

impl Reader for Renaming {
    fn read(&mut self, mut chunk: GenerateResponse) -> GenerateResponse {
        let contents = chunk.candidates.iter_mut().filter_map(|candidate| candidate.content.as_mut());
        for part in contents.flat_map(|content| &mut content.parts) {
            if let PartKind::FunctionCall(call) = &mut part.kind
                && let Some(tool) = self.tools.iter().find(|tool| tool.name == call.name)
            {
                self.map.apply(call, &tool.parameters_json_schema);
            }
        }
        chunk
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(map: &ParameterMap, schema: &Value, args: Value) -> (Value, Option<Value>) {
        let mut call = FunctionCall::new("1", "read_file", args.as_object().unwrap().clone());
        map.apply(&mut call, schema);
        (Value::Object(call.args), call.extra.get("mapped").cloned())
    }

    fn schema() -> Value {
        json!({"type": "object", "properties": {"file_path": {"type": "string"}, "limit": {"type": "integer"}}})
    }

    #[test]
    fn parameters_are_mapped_only_where_that_is_safe() {
        let map = ParameterMap::new()
            .with("*", "path", "file_path")
            .with("read_file", "lines", "limit")
            .with("*", "limit", "file_path")
            .with("*", "name", "title");
        let (args, mapped) = applied(&map, &schema(), json!({"path": "a", "lines": 3}));
        assert_eq!(args, json!({"file_path": "a", "limit": 3}));
        assert_eq!(mapped, Some(json!({"lines": "limit", "path": "file_path"})));
        for untouched in [json!({"path": "a", "file_path": "b"}), json!({"limit": 3}), json!({"name": "x"})] {
            assert_eq!(applied(&map, &schema(), untouched.clone()), (untouched, None));
        }
    }

    #[test]
    fn the_usual_names_come_after_all_others() {
        let map = ParameterMap::new().with("*", "file", "limit").with_usual();
        assert_eq!(applied(&map, &schema(), json!({"path": "a"})).0, json!({"file_path": "a"}));
        assert_eq!(applied(&map, &schema(), json!({"file": 3})).0, json!({"limit": 3}));
    }

    #[test]
    fn a_tool_that_takes_any_parameter_is_given_what_the_model_said() {
        let map = ParameterMap::new().with("read_file", "lines", "limit").with_usual();
        for open in [json!(true), json!({"type": "string"})] {
            let mut schema = schema();
            schema["additionalProperties"] = open;
            let (args, _) = applied(&map, &schema, json!({"path": "a", "lines": 3}));
            assert_eq!(args, json!({"path": "a", "limit": 3}));
        }
    }
}
