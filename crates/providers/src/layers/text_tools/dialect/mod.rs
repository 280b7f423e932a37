//! The forms in which models write calls into their text.
//!
//! Each reader takes the text from where a call may begin and says one of three things: no call, not decided
//! yet, or these calls and that much text. Readers never look at where the text was cut, see [`Cursor`].

mod cursor;
mod draft;
mod fenced;
mod json;
mod object;
mod tagged;
mod tokens;

use cursor::{Cursor, Read, Stop};
use draft::Draft;
pub(crate) use draft::{Declared, RawCall};
use object::Plainness;

/// What a text that may begin with a call turns out to be.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reading {
    /// Prose.
    No,
    /// More text decides.
    More,
    /// Calls, and the length of their text in bytes.
    Calls(Vec<RawCall>, usize),
}

/// Tokens that may follow a call and say nothing.
const ENDS: [&str; 6] = ["<|im_end|>", "<|eom_id|>", "<|eot_id|>", "<|end|>", "<|call|>", "</s>"];

/// Where a call may begin, as seen from the line before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinePosition {
    /// At the beginning of a line: every form.
    LineStart,
    /// Within a line, or glued to prose: only forms with a marker of their own.
    WithinLine,
}

/// Reads the calls that `text` begins with; `ended` says that no more text comes.
pub(super) fn read(text: &str, ended: bool, place: LinePosition, declared: &Declared) -> Reading {
    let cursor = Cursor::new(text, ended);
    match text.chars().next() {
        Some('`' | '~') if place == LinePosition::LineStart => alone(cursor, declared, fenced::read),
        Some('{') if place == LinePosition::LineStart => alone(cursor, declared, bare),
        Some('[') if place == LinePosition::LineStart => match marked(cursor.clone(), declared, tokens::read)
        {
            Reading::No => alone(cursor, declared, bare),
            reading => reading,
        },
        Some('[') => marked(cursor, declared, tokens::read),
        Some('<') => {
            either(marked(cursor.clone(), declared, tokens::read), marked(cursor, declared, tagged::read))
        }
        _ => Reading::No,
    }
}

fn either(one: Reading, other: Reading) -> Reading {
    match (one, other) {
        (calls @ Reading::Calls(..), _) | (_, calls @ Reading::Calls(..)) => calls,
        (Reading::No, Reading::No) => Reading::No,
        _ => Reading::More,
    }
}

/// Reads a form with a marker of its own.
fn marked(
    mut cursor: Cursor,
    declared: &Declared,
    reader: impl Fn(&mut Cursor, &mut Draft) -> Read<()>,
) -> Reading {
    let mut draft = Draft::new(declared);
    let read = reader(&mut cursor, &mut draft);
    let settled = settle(read, &mut cursor, &mut draft).and_then(|()| line_end(&mut cursor));
    conclude(settled, &cursor, draft)
}

/// Reads a form without one: `{"tool_call": …}` wherever it has its lines to itself, anything looser only
/// when nothing but more of its kind follows to the end of the answer.
fn alone(
    mut cursor: Cursor,
    declared: &Declared,
    reader: impl Fn(&mut Cursor, &mut Draft) -> Read<Plainness>,
) -> Reading {
    let mut draft = Draft::new(declared);
    let read = reader(&mut cursor, &mut draft);
    let plainness = *read.as_ref().unwrap_or(&Plainness::Explicit);
    let settled = settle(read.map(|_| ()), &mut cursor, &mut draft).and_then(|()| {
        if plainness == Plainness::Explicit {
            line_end(&mut cursor)
        } else {
            to_the_end(&mut cursor, &mut draft)
        }
    });
    conclude(settled, &cursor, draft)
}

fn bare(cursor: &mut Cursor, draft: &mut Draft) -> Read<Plainness> {
    object::read(cursor, draft, None)
}

/// Reads further loose calls up to the end of the answer.
fn to_the_end(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    loop {
        cursor.space();
        while cursor.rest().starts_with([';', ',']) {
            cursor.skip(1);
            cursor.space();
        }
        if cursor.take_any(&ENDS).is_ok_and(|end| end.is_some()) {
            continue;
        }
        let next = match cursor.peek() {
            Err(Stop::Cut) => return Ok(()),
            next => next?,
        };
        let read = match next {
            '{' | '[' => bare(cursor, draft),
            '`' | '~' => fenced::read(cursor, draft),
            '<' => Err(end_token_may_come(cursor)),
            _ => Err(Stop::No),
        };
        settle(read.map(|_| ()), cursor, draft)?;
    }
}

fn end_token_may_come(cursor: &Cursor) -> Stop {
    let rest = cursor.rest();
    if ENDS.iter().any(|end| end.starts_with(rest)) { cursor.out() } else { Stop::No }
}

/// A text that ended in the middle holds the calls that were whole, and an invalid one if another had begun.
fn settle(read: Read<()>, cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    if read != Err(Stop::Cut) {
        return read;
    }
    if let Some(at) = draft.open_at() {
        draft.cut(cursor.all_since(at));
    } else if draft.len() == 0 {
        return Err(Stop::No);
    }
    cursor.skip_all();
    Ok(())
}

/// A call has the rest of its line to itself; another one may follow. End tokens are skipped.
fn line_end(cursor: &mut Cursor) -> Read<()> {
    loop {
        let mut ahead = cursor.clone();
        let rest = ahead.rest();
        ahead.skip(rest.len() - rest.trim_start_matches([' ', '\t']).len());
        match ahead.take_any(&ENDS) {
            Ok(Some(_)) => *cursor = ahead,
            Ok(None) if ahead.rest().starts_with(['\n', '\r', '{']) => return Ok(()),
            Ok(None) => {
                let openers = ahead.clone().take_any(&tokens::OPENERS);
                let tags = ahead.take_any(&tagged::OPENERS);
                return match (openers, tags) {
                    (Ok(Some(_)), _) | (_, Ok(Some(_))) => Ok(()),
                    (Ok(None), Ok(None)) => Err(Stop::No),
                    _ => Err(ahead.out()),
                }
                .or_else(end_is_fine);
            }
            Err(stop) => return end_is_fine(stop),
        }
    }
}

fn end_is_fine(stop: Stop) -> Read<()> {
    if stop == Stop::Cut { Ok(()) } else { Err(stop) }
}

fn conclude(settled: Read<()>, cursor: &Cursor, draft: Draft) -> Reading {
    match settled {
        Err(Stop::More) => Reading::More,
        Err(_) => Reading::No,
        Ok(()) => {
            let calls = draft.into_calls();
            if calls.is_empty() { Reading::No } else { Reading::Calls(calls, cursor.at()) }
        }
    }
}
