//! Notes: what the session tells the model with a prompt, before the person's own words.

use crate::{Content, Part};

/// What a note to the model begins with.
pub const NOTE: &str = "[Note: ";

/// The parts of a prompt that are the person's own: without a note that was put before them.
pub fn own_parts(prompt: &Content) -> &[Part] {
    match prompt.parts.as_slice() {
        [first, rest @ ..]
            if !rest.is_empty() && first.as_text().is_some_and(|text| text.starts_with(NOTE)) =>
        {
            rest
        }
        parts => parts,
    }
}

/// What a person typed: the first of their own words, without what files hold that came along. Nothing where they said
/// nothing, as in a note alone or in results of calls.
pub fn own_words(prompt: &Content) -> Option<&str> {
    let text = own_parts(prompt).iter().find(|part| !part.thought)?.as_text()?;
    (!text.starts_with(NOTE) && !text.trim().is_empty()).then_some(text)
}

/// The words of a prompt that are the person's own.
pub fn own_text(prompt: &Content) -> String {
    own_parts(prompt).iter().filter(|part| !part.thought).filter_map(Part::as_text).collect()
}
