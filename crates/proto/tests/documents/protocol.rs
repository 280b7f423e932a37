//! The protocol's page: every example is read into its type and written again, and nothing is without an example.

use std::collections::BTreeSet;

use charla_proto::{ConfirmationDetail, Display, Reply, Request, SessionEvent, SessionSnapshot, TurnEvent};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Deserializer, Value};

use crate::markdown::{code_blocks, document, section};
use crate::source::{modules_of, types};

/// The examples of a section, those of its own sections included.
fn examples(heading: &str) -> Vec<Value> {
    let document = document("docs/protocol.md");
    let blocks = code_blocks(section(&document, heading), "json");
    let values = blocks.into_iter().flat_map(|block| Deserializer::from_str(block).into_iter::<Value>());
    values.map(|value| value.unwrap_or_else(|error| panic!("{heading}: {error}"))).collect()
}

/// Every example is written as it stands there, fields in their order.
fn check<T: DeserializeOwned + Serialize>(examples: &[Value]) {
    assert!(!examples.is_empty());
    for example in examples {
        let read: T =
            serde_json::from_value(example.clone()).unwrap_or_else(|error| panic!("{example}: {error}"));
        assert_eq!(serde_json::to_string(&read).unwrap(), example.to_string());
    }
}

/// Every variant of an enum has an example: there are as many different values of `key`. Variants that have no
/// name of their own in JSON are not counted.
fn check_complete(examples: &[Value], key: &str, name: &str, nameless: usize) {
    let enums = modules_of("proto").into_iter().flat_map(|module| types(&module.tokens, "enum"));
    let (_, variants) = enums.into_iter().find(|(known, _)| known == name).unwrap();
    let shown: BTreeSet<&str> = examples.iter().filter_map(|example| example[key].as_str()).collect();
    let missing = variants.len() - nameless - shown.len();
    assert_eq!(missing, 0, "docs/protocol.md shows {shown:?} of `{name}`, which has {variants:?}");
}

#[test]
fn requests_are_as_written() {
    let examples = examples("## Requests");
    check::<Request>(&examples);
    check_complete(&examples, "command", "Command", 0);
    check_complete(&examples, "outcome", "Outcome", 0);
}

#[test]
fn replies_are_as_written() {
    let examples = examples("## Replies");
    check::<Reply>(&examples);
    check_complete(&examples, "reply", "Reply", 0);
    check_complete(&examples, "reason", "Refusal", 0);
}

#[test]
fn session_events_are_as_written() {
    let examples = examples("## Session events");
    check::<SessionEvent>(&examples);
    check_complete(&examples, "event", "SessionEvent", 0);
}

#[test]
fn turn_events_are_as_written() {
    let (all, details, displays) =
        (examples("## Turn events"), examples("### Confirmations"), examples("### Displays"));
    let events = &all[..all.len() - details.len() - displays.len()];
    check::<TurnEvent>(events);
    check_complete(events, "type", "TurnEvent", 0);
    check::<ConfirmationDetail>(&details);
    check_complete(&details, "type", "ConfirmationDetail", 0);
    check::<Display>(&displays);
    check_complete(&displays, "type", "Display", 1);
}

#[test]
fn the_snapshot_is_as_written() {
    let examples = examples("## Snapshot");
    check::<SessionSnapshot>(&examples);
    let structs = modules_of("proto").into_iter().flat_map(|module| types(&module.tokens, "struct"));
    let (_, fields) = structs.into_iter().find(|(name, _)| name == "SessionSnapshot").unwrap();
    // `choices` stands for three fields, `room` for two, and no call of a client is in it.
    assert_eq!(examples[0].as_object().unwrap().len(), fields.len() + 2, "{fields:?}");
}
