//! Proofs of thinking that the server hands out and knows again.
//!
//! A real service signs or encrypts what only it can read. Here a proof says in plain words which wire and
//! model it was made for and what it belongs to, so that one sent to the wrong model, or beside changed
//! content, is found out.

use std::collections::{HashMap, HashSet};

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_STANDARD;
use charla_proto::WireKind;
use serde_json::Value;

const MARK: &str = "charla-testkit";
const ANY_PADDING: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, ANY_PADDING);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, ANY_PADDING);

/// Base64 in either alphabet; SDKs that treat signatures as bytes write them in the other one.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

/// A proof for this wire and model, bound to `content`.
pub(crate) fn mint(wire: WireKind, model: &str, content: &str) -> String {
    BASE64_STANDARD.encode(format!("{MARK} {} {model} {:016x}", wire.name(), digest(content)))
}

/// True when this is a proof made for this wire and model and for this content.
pub(crate) fn is_ours(proof: &str, wire: WireKind, model: &str, content: &str) -> bool {
    decode_base64(proof) == decode_base64(&mint(wire, model, content))
}

/// How many proofs a request carries: made for this wire and model, and made for others.
pub(crate) fn count(body: &Value, wire: WireKind, model: &str) -> (usize, usize) {
    match body {
        Value::String(text) => match decode_base64(text).and_then(|bytes| String::from_utf8(bytes).ok()) {
            Some(proof) if proof.starts_with(&format!("{MARK} {} {model} ", wire.name())) => (1, 0),
            Some(proof) if proof.starts_with(MARK) => (0, 1),
            _ => (0, 0),
        },
        Value::Array(items) => sum(items.iter(), wire, model),
        Value::Object(fields) => sum(fields.values(), wire, model),
        _ => (0, 0),
    }
}

fn sum<'a>(values: impl Iterator<Item = &'a Value>, wire: WireKind, model: &str) -> (usize, usize) {
    values
        .map(|value| count(value, wire, model))
        .fold((0, 0), |(own, foreign), (more_own, more_foreign)| (own + more_own, foreign + more_foreign))
}

/// FNV-1a: short, and the same in every run.
pub(crate) fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// What the server has said so far and must know again.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Who was given a thought in these words.
    thoughts: HashMap<u64, Vec<(WireKind, String)>>,
    /// Responses items by id, with the reasoning item they depend on.
    needs_reasoning: HashMap<String, String>,
    /// Responses reasoning items that may come back by id alone.
    stored_reasoning: HashSet<String>,
}

impl Ledger {
    pub(crate) fn note_thought(&mut self, text: &str, wire: WireKind, model: &str) {
        self.thoughts.entry(digest(text)).or_default().push((wire, model.to_owned()));
    }

    /// True when these words were thought, but only for others.
    pub(crate) fn is_foreign_thought(&self, text: &str, wire: WireKind, model: &str) -> bool {
        self.thoughts
            .get(&digest(text))
            .is_some_and(|owners| !owners.iter().any(|(owner, name)| *owner == wire && name == model))
    }

    pub(crate) fn note_dependency(&mut self, item: &str, reasoning: &str) {
        self.needs_reasoning.insert(item.to_owned(), reasoning.to_owned());
    }

    /// The reasoning item without which this item must not come back.
    pub(crate) fn reasoning_of(&self, item: &str) -> Option<&str> {
        self.needs_reasoning.get(item).map(String::as_str)
    }

    pub(crate) fn note_stored(&mut self, reasoning: &str) {
        self.stored_reasoning.insert(reasoning.to_owned());
    }

    pub(crate) fn is_stored(&self, reasoning: &str) -> bool {
        self.stored_reasoning.contains(reasoning)
    }
}
