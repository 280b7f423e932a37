//! What was recorded of the one session of a place.

use serde_json::Value;

use crate::place::Place;

/// Its records so far, oldest first.
pub fn records(place: &Place) -> Vec<Value> {
    let text = place.journals().pop().map(|(_, text)| text).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
