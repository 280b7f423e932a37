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

use charla_proto::InvalidArgs;

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
    /// Where only `{"tool_call": …}` counts, and only when nothing but more of its kind follows: behind words, or
    /// under a line that announces an example.
    AtTheEnd,
}

/// Reads the calls that `text` begins with; `ended` says that no more text comes.
pub(super) fn read(text: &str, ended: bool, place: LinePosition, declared: &Declared) -> Reading {
    let cursor = Cursor::new(text, ended);
    match text.chars().next() {
        Some('`' | '~') if place == LinePosition::AtTheEnd => last(cursor, declared, fenced::read),
        Some('{' | '[') if place == LinePosition::AtTheEnd => last(cursor, declared, bare),
        _ if place == LinePosition::AtTheEnd => Reading::No,
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

/// Reads `{"tool_call": …}` that ends the answer.
fn last(
    mut cursor: Cursor,
    declared: &Declared,
    reader: impl Fn(&mut Cursor, &mut Draft) -> Read<Plainness>,
) -> Reading {
    let mut draft = Draft::new(declared);
    if let Err(stop) = is_explicit(cursor.clone()) {
        return conclude(Err(stop), &cursor, draft);
    }
    let read = reader(&mut cursor, &mut draft);
    let loose = read.as_ref().is_ok_and(|plainness| *plainness != Plainness::Explicit);
    let read = if loose { Err(Stop::No) } else { read.map(|_| ()) };
    let settled = settle(read, &mut cursor, &mut draft).and_then(|()| to_the_end(&mut cursor, &mut draft));
    conclude(settled, &cursor, draft)
}

/// Whether the text, in a fence or not, begins as `{"tool_call": …}` does.
fn is_explicit(mut cursor: Cursor) -> Read<()> {
    if cursor.rest().starts_with(['`', '~']) {
        fenced::read_opening(&mut cursor)?;
    }
    cursor.space();
    if cursor.take("[")? {
        cursor.space();
    }
    cursor.expect("{")?;
    cursor.space();
    match cursor.take_any(&["\"tool_call\"", "\"tool_calls\"", "\"function_call\""])? {
        Some(_) => Ok(()),
        None => Err(Stop::No),
    }
}

/// The calls of an answer that is over and consists of nothing else, but of which none could be taken: each says what
/// is wrong with it. A tool of any name counts, so that the model is told that there is none.
pub(super) fn read_unusable(text: &str) -> Vec<RawCall> {
    let text = text.trim();
    if ["\"...\"", "\"…\"", "{...}", "{…}"].iter().any(|placeholder| text.contains(placeholder)) {
        return Vec::new();
    }
    let any = Declared::any();
    let marked = text.starts_with(['<', '[']);
    let places = [(true, LinePosition::AtTheEnd), (marked, LinePosition::WithinLine)];
    for (_, place) in places.into_iter().filter(|(applies, _)| *applies) {
        if let Reading::Calls(calls, length) = read(text, true, place, &any)
            && text.get(length..).is_some_and(|rest| rest.trim().is_empty())
        {
            return calls;
        }
    }
    if is_explicit(Cursor::new(text, true)).is_err() || !text.ends_with(['}', ']', '`', '~']) {
        return Vec::new();
    }
    let reason = "the call could not be read: it must be valid JSON of the form {\"tool_call\": {\"name\": NAME, \
                  \"arguments\": {…}}}";
    let args = Err(InvalidArgs { raw: text.to_owned(), reason: reason.to_owned() });
    vec![RawCall { name: name_in(text).unwrap_or("tool_call").to_owned(), args }]
}

/// The tool that a call names which cannot be read.
fn name_in(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("\"name\"")?;
    let after = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    after.split('"').next().filter(|name| !name.is_empty())
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
