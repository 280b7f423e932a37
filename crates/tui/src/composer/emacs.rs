//! The keys of Emacs and of shells.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::buffer::Buffer;
use super::edit::Edit;
use super::ring::Side;
use super::{Action, When};

/// What was typed of something longer.
#[derive(Clone, Debug, Default)]
pub struct Emacs {
    control_x: bool,
}

impl Emacs {
    /// What a key does; nothing for one that is not of these.
    pub fn key(&mut self, key: KeyEvent, buffer: &Buffer) -> Option<Edit> {
        let control_x = std::mem::take(&mut self.control_x);
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match (key.code, control, alt) {
            (KeyCode::Char('e'), true, false) if control_x => Some(Edit::Act(Action::EditExternally)),
            (KeyCode::Char('u'), true, false) if control_x => Some(Edit::Undo),
            (KeyCode::Char('x'), true, false) => {
                self.control_x = true;
                Some(Edit::Wait)
            }
            (KeyCode::Enter, ..) if shift || alt || control => Some(Edit::Type("\n".to_owned())),
            (KeyCode::Char(c), true, false) => control_key(c.to_ascii_lowercase(), buffer),
            (KeyCode::Char(c), false, true) => alt_key(c, buffer),
            (KeyCode::Char(c), false, false) => Some(Edit::Type(c.to_string())),
            (code, ..) => special(code, control || alt, buffer),
        }
    }
}

/// Keys that have no letter, with or without a modifier that makes them go by words.
pub fn special(code: KeyCode, by_words: bool, buffer: &Buffer) -> Option<Edit> {
    let at = buffer.cursor();
    Some(match (code, by_words) {
        (KeyCode::Enter, _) => enter(buffer),
        (KeyCode::Tab, _) => Edit::Tab,
        (KeyCode::BackTab, _) => Edit::Act(Action::CycleMode),
        (KeyCode::Esc, _) => Edit::Act(Action::Cancel),
        (KeyCode::Left, false) => Edit::Go(buffer.previous(at)),
        (KeyCode::Right, false) => Edit::Go(buffer.next(at)),
        (KeyCode::Left, true) => Edit::Go(buffer.word_start(at)),
        (KeyCode::Right, true) => Edit::Go(buffer.word_end(at)),
        (KeyCode::Up, _) => Edit::Up,
        (KeyCode::Down, _) => Edit::Down,
        (KeyCode::Home, false) => Edit::Go(buffer.line_start(at)),
        (KeyCode::End, false) => Edit::Go(buffer.line_end(at)),
        (KeyCode::Home, true) => Edit::Go(0),
        (KeyCode::End, true) => Edit::Go(buffer.text().len()),
        (KeyCode::Backspace, false) => Edit::Remove(buffer.previous(at)..at),
        (KeyCode::Backspace, true) => Edit::Kill(buffer.word_start(at)..at, Side::Before),
        (KeyCode::Delete, false) => Edit::Remove(at..buffer.next(at)),
        (KeyCode::Delete, true) => Edit::Kill(at..buffer.word_end(at), Side::After),
        _ => return None,
    })
}

/// Sends the text, or breaks the line where a backslash asks for it.
fn enter(buffer: &Buffer) -> Edit {
    let at = buffer.cursor();
    match buffer.before().ends_with('\\') && !buffer.before().ends_with("\\\\") {
        true => Edit::Replace(at - 1..at, "\n".to_owned()),
        false => Edit::Send(When::Now),
    }
}

fn control_key(c: char, buffer: &Buffer) -> Option<Edit> {
    let at = buffer.cursor();
    Some(match c {
        'a' => Edit::Go(buffer.line_start(at)),
        'e' => Edit::Go(buffer.line_end(at)),
        'b' => Edit::Go(buffer.previous(at)),
        'f' => Edit::Go(buffer.next(at)),
        'p' => Edit::Up,
        'n' => Edit::Down,
        'd' if buffer.is_empty() => Edit::Act(Action::Leave),
        'd' => Edit::Remove(at..buffer.next(at)),
        'h' => Edit::Remove(buffer.previous(at)..at),
        'j' => Edit::Type("\n".to_owned()),
        'k' => Edit::Kill(at..to_line_end(buffer), Side::After),
        'u' => Edit::Kill(from_line_start(buffer)..at, Side::Before),
        'w' => Edit::Kill(blank_word_start(buffer)..at, Side::Before),
        'y' => Edit::Yank,
        't' => return transposed(buffer),
        'r' => Edit::Search,
        'g' => Edit::Act(Action::EditExternally),
        'l' => Edit::Act(Action::ClearScreen),
        'z' => Edit::Act(Action::Suspend),
        'c' => Edit::Act(Action::Interrupt),
        // Terminals send Ctrl-_ and Ctrl-/ as Ctrl-7.
        '_' | '/' | '7' => Edit::Undo,
        _ => return None,
    })
}

fn alt_key(c: char, buffer: &Buffer) -> Option<Edit> {
    let at = buffer.cursor();
    Some(match c {
        'b' => Edit::Go(buffer.word_start(at)),
        'f' => Edit::Go(buffer.word_end(at)),
        'd' => Edit::Kill(at..buffer.word_end(at), Side::After),
        'y' => Edit::YankOlder,
        '<' => Edit::Go(0),
        '>' => Edit::Go(buffer.text().len()),
        '_' | '/' => Edit::Redo,
        'u' | 'l' | 'c' => recased(c, buffer),
        _ => return None,
    })
}

/// The end of the line, or its line break where there is nothing else.
fn to_line_end(buffer: &Buffer) -> usize {
    let (at, end) = (buffer.cursor(), buffer.line_end(buffer.cursor()));
    if at == end { buffer.next(end) } else { end }
}

/// The beginning of the line, or the line break before it where there is nothing else.
fn from_line_start(buffer: &Buffer) -> usize {
    let (at, start) = (buffer.cursor(), buffer.line_start(buffer.cursor()));
    if at == start { buffer.previous(start) } else { start }
}

/// The beginning of what blanks hold apart.
fn blank_word_start(buffer: &Buffer) -> usize {
    let end = buffer.backward(buffer.cursor(), |c| !c.is_whitespace());
    buffer.backward(end, char::is_whitespace)
}

/// The characters on both sides of the cursor change places.
fn transposed(buffer: &Buffer) -> Option<Edit> {
    let at = buffer.cursor();
    let middle = if at == buffer.line_end(at) { buffer.previous(at) } else { at };
    let (start, end) = (buffer.previous(middle), buffer.next(middle));
    let is_possible = start < middle && middle < end && start >= buffer.line_start(at);
    let swapped = format!("{}{}", buffer.slice(middle..end), buffer.slice(start..middle));
    is_possible.then_some(Edit::Replace(start..end, swapped))
}

/// The word behind the cursor in capitals, in small letters, or with its first letter as a capital.
fn recased(how: char, buffer: &Buffer) -> Edit {
    let at = buffer.cursor();
    let range = at..buffer.word_end(at);
    let word = buffer.slice(range.clone());
    let text = match how {
        'u' => word.to_uppercase(),
        'l' => word.to_lowercase(),
        _ => {
            let start = word.find(char::is_alphanumeric).unwrap_or_default();
            let (blanks, letters) = word.split_at_checked(start).unwrap_or_default();
            let mut letters = letters.chars();
            let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
            format!("{blanks}{first}{}", letters.as_str().to_lowercase())
        }
    };
    Edit::Replace(range, text)
}
