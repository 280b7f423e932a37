//! Calls in a fenced code block that holds nothing else.
//!
//! Only blocks marked `json`, `tool_call` or not at all: a block in any other language shows something. Markup
//! with tags counts only in a block marked `tool_call`, because documentation puts it into plain ones.

use super::cursor::{Cursor, Read, Stop};
use super::draft::Draft;
use super::object::{self, Plainness};
use super::{tagged, tokens};

/// Reads the line that opens a block.
pub(super) fn read_opening(cursor: &mut Cursor) -> Read<()> {
    read_fence(cursor)?;
    read_language(cursor)?;
    Ok(())
}

/// Reads one block.
pub(super) fn read(cursor: &mut Cursor, draft: &mut Draft) -> Read<Plainness> {
    let fence = read_fence(cursor)?;
    let named = read_language(cursor)?;
    let before = draft.len();
    let mut plainness = Plainness::Explicit;
    loop {
        cursor.space();
        match cursor.peek()? {
            '{' | '[' => plainness = plainness.min(object::read(cursor, draft, Some(&fence))?),
            '<' if named => read_markup(cursor, draft)?,
            ',' | ';' if draft.len() > before => cursor.skip(1),
            _ if draft.len() > before && cursor.take(&fence)? => break,
            _ => return Err(Stop::No),
        }
    }
    Ok(if named { Plainness::Explicit } else { plainness })
}

fn read_markup(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    match cursor.clone().take_any(&tokens::OPENERS)? {
        Some(_) => tokens::read(cursor, draft),
        None => tagged::read(cursor, draft),
    }
}

/// Three or more marks of one kind.
fn read_fence(cursor: &mut Cursor) -> Read<String> {
    let mark = cursor.peek()?;
    let rest = cursor.rest();
    let after = rest.trim_start_matches(mark);
    if after.is_empty() {
        return Err(cursor.out());
    }
    let length = rest.len() - after.len();
    if length < 3 {
        return Err(Stop::No);
    }
    cursor.skip(length);
    Ok(mark.to_string().repeat(length))
}

/// The block's language; true when it names calls.
fn read_language(cursor: &mut Cursor) -> Read<bool> {
    let known = ["", "json", "tool_call", "tool_calls", "tool"];
    let Some((language, _)) = cursor.rest().split_once('\n') else {
        let begun = cursor.rest().trim();
        let possible = known.iter().any(|language| language.starts_with(begun));
        return Err(if possible { cursor.out() } else { Stop::No });
    };
    cursor.skip(language.len() + 1);
    let language = language.trim();
    if !known.contains(&language) {
        return Err(Stop::No);
    }
    Ok(language.starts_with("tool"))
}
