//! Puts tool calls together from their deltas.

use charla_proto::{FunctionCall, Part};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::chunk::{Custom, Function, ToolCall};
use super::lenient::Arguments;
use crate::wire::{ENTRY, make_call_id};

/// The calls of one choice, as far as they have come.
#[derive(Default)]
pub struct Calls {
    open: Vec<Call>,
    /// What the old `function_call` field said. Servers that send both forms say the same thing twice,
    /// so it counts only where no `tool_calls` came.
    legacy: Call,
    /// Ids of calls already given out: a server that repeats a call must not have it run twice.
    given: Vec<String>,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// The arguments are a custom tool's free text.
    custom: bool,
    signature: Option<String>,
}

impl Calls {
    /// Takes one delta of `tool_calls`.
    ///
    /// The index says which call it belongs to; the same index with another id and a name is another
    /// call. Without an index, a new id or a name opens a call and anything else continues the newest.
    pub fn push(&mut self, delta: ToolCall) {
        let function = delta.function.0.unwrap_or_default();
        let custom = delta.custom.0.unwrap_or_default();
        let id = delta.id.get();
        let named = function.name.get().is_some() || custom.name.get().is_some();
        if id.is_some_and(|id| self.given.iter().any(|given| given == id)) {
            return;
        }
        let known = match delta.index.0 {
            Some(index) => self.open.iter().rposition(|call| call.index == Some(index)),
            None => match id {
                Some(id) => self.open.iter().rposition(|call| call.id == id),
                None if named => None,
                None => self.open.len().checked_sub(1),
            },
        };
        let other = |call: &Call| named && id.is_some_and(|id| !call.id.is_empty() && call.id != id);
        let place = match known.filter(|place| !other(&self.open[*place])) {
            Some(place) => place,
            // The rest of a call that was given out already.
            None if id.is_none() && !named && !self.given.is_empty() => return,
            None => {
                self.open.push(Call { index: delta.index.0, ..Call::default() });
                self.open.len() - 1
            }
        };
        let call = &mut self.open[place];
        if call.id.is_empty() {
            call.id.push_str(id.unwrap_or_default());
        }
        call.add_function(function);
        call.add_custom(custom);
        if let Some(signature) = delta.extra_content.as_deref().and_then(google_signature) {
            call.signature = Some(signature.to_owned());
        }
    }

    /// Takes the old `function_call` field.
    pub fn push_legacy(&mut self, function: Function) {
        self.legacy.add_function(function);
    }

    /// True when every call's arguments are whole.
    pub fn are_complete(&self) -> bool {
        self.pending().all(Call::is_complete)
    }

    /// The calls, in the order they began, as parts; each is given out once.
    pub fn take(&mut self) -> Vec<Part> {
        let legacy = std::mem::take(&mut self.legacy);
        let mut calls = std::mem::take(&mut self.open);
        if calls.is_empty() && self.given.is_empty() {
            calls.push(legacy);
        }
        calls.retain(|call| !call.is_blank());
        let parts: Vec<Part> = calls.into_iter().map(Call::into_part).collect();
        let ids = parts.iter().filter_map(|part| part.as_function_call()?.id.clone());
        self.given.extend(ids);
        parts
    }

    /// See [`crate::wire::EventDecoder::held`].
    pub fn held(&self) -> usize {
        self.open.iter().chain([&self.legacy]).map(Call::weight).sum()
    }

    fn pending(&self) -> impl Iterator<Item = &Call> {
        let legacy = self.open.is_empty() && self.given.is_empty();
        self.open.iter().chain(legacy.then_some(&self.legacy))
    }
}

impl Call {
    fn add_function(&mut self, function: Function) {
        self.add_name(function.name.get());
        if let Arguments(Some(arguments)) = function.arguments {
            self.arguments.push_str(&arguments);
        }
    }

    fn add_custom(&mut self, custom: Custom) {
        self.add_name(custom.name.get());
        self.custom |= custom.name.get().is_some();
        self.arguments.push_str(custom.input.get().unwrap_or_default());
    }

    /// A name may come in pieces; one that is repeated whole is not a piece.
    fn add_name(&mut self, name: Option<&str>) {
        if let Some(name) = name.filter(|name| *name != self.name) {
            self.name.push_str(name);
        }
    }

    fn weight(&self) -> usize {
        let signature = self.signature.as_ref().map_or(0, String::len);
        ENTRY + self.id.len() + self.name.len() + self.arguments.len() + signature
    }

    fn is_complete(&self) -> bool {
        self.custom
            || self.arguments.trim().is_empty()
            || serde_json::from_str::<IgnoredAny>(&self.arguments).is_ok()
    }

    /// Some servers fill in every field with its zero value.
    fn is_blank(&self) -> bool {
        self.id.is_empty() && self.name.is_empty() && self.arguments.is_empty()
    }

    fn into_part(self) -> Part {
        let id = if self.id.is_empty() { make_call_id() } else { self.id };
        let mut call = FunctionCall::new(id, self.name, Map::new());
        if self.custom {
            call.args.insert("input".to_owned(), Value::String(self.arguments));
            call.extra.insert("type", Value::from("custom"));
        } else {
            call.set_args_text(&self.arguments);
        }
        Part { thought_signature: self.signature, ..Part::function_call(call) }
    }
}

fn google_signature(extra_content: &Value) -> Option<&str> {
    extra_content.get("google")?.get("thought_signature")?.as_str()
}
