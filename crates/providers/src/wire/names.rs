//! Names of called tools, in a form that every server takes.

use std::borrow::Cow;

use charla_proto::WireKind;

use super::schema;

/// What a call without a name is sent as.
const UNNAMED: &str = "unnamed";

/// A called tool's name as this wire takes it, the same for a call and its response in every request.
///
/// Only history needs this: a model may call what it was never offered, under any name, and a server that reads such a
/// name back refuses the whole conversation. A tool with such a name is never declared.
pub(super) fn sent_name(name: &str, wire: WireKind) -> Cow<'_, str> {
    if schema::check_name(name, wire).is_ok() {
        return Cow::Borrowed(name);
    }
    let mut safe = replaced(name);
    if safe.is_empty() {
        return Cow::Borrowed(UNNAMED);
    }
    if wire == WireKind::Gemini && !safe.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        safe.insert(0, '_');
    }
    // Only ASCII is left, so bytes are characters.
    safe.truncate(schema::longest_name(wire));
    Cow::Owned(safe)
}

/// The text with an underscore for everything but letters, digits, `_` and `-`.
pub(super) fn replaced(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii() && accepted(c as u8) { c } else { '_' }).collect()
}

/// Characters that names and ids may have on every wire.
pub(super) fn accepted(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_sent_in_a_form_its_wire_takes() {
        let long = "x".repeat(70);
        let names = ["read_file", "multi_tool_use.parallel", "functions.read_file", "default_api:read_file"];
        let odd = ["read_file<|channel|>commentary", "read file", "", "9lives", "-dash", "읽기", &long];
        for wire in WireKind::ALL {
            for name in names.into_iter().chain(odd) {
                let sent = sent_name(name, wire);
                assert_eq!(schema::check_name(&sent, wire), Ok(()), "{name:?} on {wire:?}");
                assert_eq!(sent_name(&sent, wire), sent, "{name:?} on {wire:?}");
            }
            assert_eq!(sent_name("read_file", wire), "read_file");
            assert_eq!(sent_name("", wire), "unnamed");
        }
        assert_eq!(sent_name("default_api:read_file", WireKind::Gemini), "default_api:read_file");
        assert_eq!(sent_name("default_api:read_file", WireKind::OpenaiChat), "default_api_read_file");
    }
}
