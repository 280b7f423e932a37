//! Calls as they are found.

use std::collections::HashMap;
use std::sync::Arc;

use charla_proto::{FunctionDeclaration, InvalidArgs};
use serde_json::{Map, Value};

use super::cursor::{Read, Stop};

/// Why a call that ended too early cannot be run, in words for the model.
const CUT: &str = "the call ends in the middle: the answer was cut off. Write less in one call, or split it";

/// A call as the model wrote it: no id yet, parameters not mapped.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RawCall {
    /// A declared tool.
    pub(crate) name: String,
    /// The arguments, or why they cannot be used.
    pub(crate) args: Result<Map<String, Value>, InvalidArgs>,
}

/// The tools a model may call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declared {
    tools: HashMap<String, Arc<FunctionDeclaration>>,
    /// Every other name counts, too.
    any: bool,
}

impl Declared {
    /// These tools.
    pub(crate) fn new<'a>(tools: impl IntoIterator<Item = &'a Arc<FunctionDeclaration>>) -> Self {
        let tools = tools.into_iter().map(|tool| (tool.name.clone(), tool.clone())).collect();
        Self { tools, any: false }
    }

    /// Tools of any name, of which nothing is known.
    pub(super) fn any() -> Self {
        Self { any: true, ..Self::default() }
    }

    /// True when nothing can be called.
    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty() && !self.any
    }

    /// The declared parameters of a tool.
    fn properties(&self, tool: &str) -> Option<&Map<String, Value>> {
        self.tools.get(tool)?.parameters_json_schema.get("properties")?.as_object()
    }

    fn has(&self, tool: &str) -> bool {
        self.any || self.tools.contains_key(tool)
    }

    /// An argument that came as text, in the type its tool declares. Text that is no such value stays text:
    /// the tool's own check words the complaint best.
    fn typed(&self, tool: &str, parameter: &str, text: &str) -> Value {
        let schema = self.properties(tool).and_then(|properties| properties.get(parameter));
        let kind = schema.and_then(|schema| schema.get("type"));
        let is_text = match kind {
            Some(Value::String(kind)) => kind == "string",
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
            _ => schema.is_some_and(|schema| schema.get("enum").is_some()),
        };
        let plain = || Value::String(text.to_owned());
        if is_text {
            return plain();
        }
        match serde_json::from_str(text.trim()) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
            Ok(value) if kind.is_some() => value,
            _ if matches!(text.trim(), "True" | "False") && kind.is_some() => (text.trim() == "True").into(),
            _ => plain(),
        }
    }
}

/// The calls found so far in one block, and the one that is being read.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    declared: &'a Declared,
    calls: Vec<RawCall>,
    /// The call that is being read, and where its arguments begin.
    open: Option<(String, usize)>,
    quoted: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn new(declared: &'a Declared) -> Self {
        Self { declared, calls: Vec::new(), open: None, quoted: false }
    }

    /// A call of `name` begins. A block whose first call is of no declared tool is no block of calls;
    /// later ones of unknown tools are left out.
    pub(super) fn begin(&mut self, name: &str, at: usize) -> Read<()> {
        self.open = None;
        if self.declared.has(name) {
            self.open = Some((name.to_owned(), at));
        } else if self.calls.is_empty() {
            return Err(Stop::No);
        }
        Ok(())
    }

    /// The call that began has these arguments.
    pub(super) fn end(&mut self, args: Map<String, Value>) {
        self.quoted |= args.values().any(is_placeholder);
        self.close(Ok(args));
    }

    /// The call that began cannot be used.
    pub(super) fn end_invalid(&mut self, raw: &str, reason: impl Into<String>) {
        self.quoted |= raw.contains("{...}") || raw.contains("{…}");
        self.close(Err(InvalidArgs { raw: raw.to_owned(), reason: reason.into() }));
    }

    fn close(&mut self, args: Result<Map<String, Value>, InvalidArgs>) {
        if let Some((name, _)) = self.open.take() {
            self.calls.push(RawCall { name, args });
        }
    }

    /// Where the arguments of the call that is being read begin.
    pub(super) fn open_at(&self) -> Option<usize> {
        self.open.as_ref().map(|(_, at)| *at)
    }

    /// The text ended within the call that is being read.
    pub(super) fn cut(&mut self, raw: &str) {
        self.end_invalid(raw, CUT);
    }

    /// An argument given as text, in its declared type.
    pub(super) fn typed(&self, parameter: &str, text: &str) -> Value {
        let tool = self.open.as_ref().map(|(name, _)| name.as_str()).unwrap_or_default();
        self.declared.typed(tool, parameter, text)
    }

    /// How many calls are whole.
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// The calls; none when one of them only shows the form.
    pub(super) fn into_calls(self) -> Vec<RawCall> {
        if self.quoted { Vec::new() } else { self.calls }
    }
}

/// A value that stands for any value: whoever writes it explains the form and calls nothing.
fn is_placeholder(value: &Value) -> bool {
    value.as_str().is_some_and(|text| matches!(text.trim(), "..." | "…"))
}
