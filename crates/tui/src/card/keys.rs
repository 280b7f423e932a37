//! The keys of a card.

use charla_proto::text::one_line;
use charla_proto::{Confirmation, ConfirmationDetail, Outcome};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::text::{Line, Role};

/// What a key says.
#[derive(Debug, PartialEq)]
pub enum Word {
    /// An answer.
    Answer(Outcome),
    /// The editor, first.
    Edit,
    /// No, and why.
    Reason,
}

/// What a key says to this question; nothing where it offers no such answer. `preselects` where Enter says yes.
pub fn word(key: KeyEvent, confirmation: &Confirmation, preselects: bool) -> Option<Word> {
    let control = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    let always = confirmation.always.is_some();
    let is_server = matches!(confirmation.detail, ConfirmationDetail::Mcp { .. });
    let outcome = match key.code {
        KeyCode::Esc => Outcome::Cancel { reason: None },
        KeyCode::Char('c') if control => Outcome::Cancel { reason: None },
        _ if control => return None,
        KeyCode::Char('y') => Outcome::ProceedOnce,
        KeyCode::Enter if preselects => Outcome::ProceedOnce,
        KeyCode::Char('a') if always => Outcome::ProceedAlways,
        KeyCode::Char('s') if always => Outcome::ProceedAlwaysAndSave,
        KeyCode::Char('t') => Outcome::ProceedAlwaysTool,
        KeyCode::Char('m') if is_server => Outcome::ProceedAlwaysServer,
        // The fourth of four answers is no to whoever is used to Gemini CLI.
        KeyCode::Char('n' | '4') => Outcome::Cancel { reason: None },
        KeyCode::Char('e') => return Some(Word::Edit),
        KeyCode::Char('r') => return Some(Word::Reason),
        _ => return None,
    };
    Some(Word::Answer(outcome))
}

/// True for answers that also allow what comes later.
pub fn is_always(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::ProceedAlways
            | Outcome::ProceedAlwaysAndSave
            | Outcome::ProceedAlwaysTool
            | Outcome::ProceedAlwaysServer
    )
}

/// What can be answered: a key each, and what it says.
fn offered(confirmation: &Confirmation) -> Vec<(&'static str, String)> {
    let mut choices = vec![("y", "once".to_owned())];
    if confirmation.always.is_some() {
        choices.extend([("a", "always this".to_owned()), ("s", "always, save as rule".to_owned())]);
    }
    choices.push(("t", format!("always {}", one_line(&confirmation.tool))));
    if let ConfirmationDetail::Mcp { server, .. } = &confirmation.detail {
        choices.push(("m", format!("always {}", one_line(server))));
    }
    choices.extend([("e", "edit".to_owned()), ("n", "no".to_owned()), ("r", "no, with a reason".to_owned())]);
    choices
}

/// The rows that say what can be answered. `preselects` where Enter says yes.
pub fn choices(confirmation: &Confirmation, preselects: bool, columns: usize) -> Vec<Line> {
    in_rows(&offered(confirmation), preselects, columns)
}

/// The same in one row: yes and no in words, of the others the keys.
pub fn short(confirmation: &Confirmation, preselects: bool, columns: usize) -> Line {
    let mut line = Line::of(Role::Warning, "Allow? ");
    line.push(Role::Accent, "y ");
    line.push(if preselects { Role::Selected } else { Role::Plain }, "once");
    line.push(Role::Accent, " n ");
    line.push(Role::Plain, "no");
    for (key, _) in offered(confirmation).iter().filter(|(key, _)| !matches!(*key, "y" | "n")) {
        line.push(Role::Accent, &format!(" {key}"));
    }
    line.truncate(columns)
}

/// Choices side by side; none is broken. The first is marked where it is preselected.
fn in_rows(choices: &[(&str, String)], preselects: bool, columns: usize) -> Vec<Line> {
    let mut rows = vec![Line::of(Role::Warning, "Allow? ")];
    for (index, (key, words)) in choices.iter().enumerate() {
        let mut choice = Line::of(Role::Accent, key);
        let role = if preselects && index == 0 { Role::Selected } else { Role::Plain };
        choice.push(Role::Plain, " ");
        choice.push(role, words);
        match rows.last_mut() {
            Some(row) if index == 0 => row.extend(choice),
            Some(row) if row.width() + 3 + choice.width() <= columns => {
                row.push(Role::Border, " · ");
                row.extend(choice);
            }
            _ => rows.push(choice),
        }
    }
    rows.into_iter().map(|row| row.truncate(columns)).collect()
}

/// True for keys that mean at a card what they mean elsewhere: Ctrl-D and Shift-Tab.
pub fn passes(key: KeyEvent) -> bool {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.code == KeyCode::BackTab || (key.code == KeyCode::Char('d') && is_control)
}

/// True for keys that move the card's text.
pub fn scrolls(key: KeyEvent) -> bool {
    matches!(
        key.code,
        KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown | KeyCode::Home | KeyCode::End
    )
}

/// True for those of them that move it by pages, also where the others choose.
pub fn turns_pages(key: KeyEvent) -> bool {
    matches!(key.code, KeyCode::PageUp | KeyCode::PageDown)
}

/// The rows above those shown after such a key, where `shown` of all rows fit. What nobody has moved begins at its beginning, or its end.
pub fn scrolled(key: KeyEvent, scroll: Option<usize>, (shown, total): (usize, usize)) -> Option<usize> {
    let last = total.saturating_sub(shown);
    let Some(now) = scroll.map(|scroll| scroll.min(last)) else {
        let is_up = matches!(key.code, KeyCode::Up | KeyCode::PageUp | KeyCode::End);
        return Some(if is_up { last } else { 0 });
    };
    let page = shown.saturating_sub(1).max(1);
    Some(match key.code {
        KeyCode::Up => now.saturating_sub(1),
        KeyCode::Down => (now + 1).min(last),
        KeyCode::PageUp => now.saturating_sub(page),
        KeyCode::PageDown => (now + page).min(last),
        KeyCode::Home => 0,
        _ => last,
    })
}
