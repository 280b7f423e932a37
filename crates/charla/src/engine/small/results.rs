//! What a tool returned: how much of it the model reads, and how a person is shown it.

use std::collections::BTreeSet;

use super::conversation::{RESULT, Turn, argument};
use super::place::weights;

/// Bytes of a result that the model reads. It was trained on files of a hundred lines, and reads a hundred tokens in a second.
const READ: usize = 6000;
/// Bytes that it reads of a longer one.
const READ_LONG: usize = 3000;
/// Bytes of an earlier result that it reads.
const READ_EARLIER: usize = 800;
/// Lines around one that has words of the request.
const AROUND: usize = 2;
/// Lines and bytes of a result that a person is shown.
const SHOWN_LINES: usize = 200;
const SHOWN: usize = 16_000;
/// Bytes of a line, where there are too many.
const WIDTH: usize = 800;
/// Stands before a result that the model's own words did not fit.
pub(super) const DOUBT: &str = "I am not sure of an answer. This is what I found:\n";

/// An answer with the result in the place of its mark, and with the file that it comes from where the request did not name it.
pub(super) fn unfolded(turn: &Turn, answer: &str) -> String {
    let whole = answer.replace(RESULT, &shown(turn));
    match unnamed_file(turn) {
        Some(file) if answer.contains(RESULT) => format!("{file}:\n{whole}"),
        Some(file) if !answer.contains(file) => format!("{whole} ({file})"),
        _ => whole,
    }
}

/// An answer as the model wrote it: what [`unfolded`] put in is taken out again.
pub(super) fn folded(turn: &Turn, answer: &str) -> String {
    if answer.starts_with(DOUBT) {
        return RESULT.to_owned();
    }
    let shown = Some(shown(turn)).filter(|shown| !shown.is_empty());
    let answer = shown.map_or(answer.to_owned(), |shown| answer.replacen(&shown, RESULT, 1));
    let Some(file) = unnamed_file(turn) else { return answer };
    let bare = answer.strip_prefix(&format!("{file}:\n"));
    bare.or_else(|| answer.strip_suffix(&format!(" ({file})"))).unwrap_or(&answer).to_owned()
}

/// The file that was read, when the request does not have its name.
fn unnamed_file(turn: &Turn) -> Option<&str> {
    let (call, _) = turn.last().filter(|(call, result)| call.name == "read_file" && !result.is_error())?;
    Some(argument(call, "file_path")).filter(|file| !turn.said.contains(file))
}

/// The last result as a person is shown it.
fn shown(turn: &Turn) -> String {
    let text = turn.result();
    let is_run = turn.last().is_some_and(|(call, _)| call.name == "run_shell_command");
    let text = text.strip_prefix("Output: ").filter(|_| is_run).unwrap_or(&text).trim_end_matches('\n');
    let lines: Vec<&str> = cut(text, SHOWN).lines().take(SHOWN_LINES).collect();
    let more = text.lines().count() - lines.len();
    let rest = if more > 0 { format!("\n[{more} more lines]") } else { String::new() };
    lines.join("\n") + &rest
}

/// The beginning of a text that has more bytes.
fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// As much of a result as the model reads: of an earlier one its beginning, of a long one also the lines about the request.
pub(super) fn excerpt(turn: &Turn, text: &str) -> String {
    if turn.answer.is_some() || text.len() <= READ {
        return cut(text, if turn.answer.is_some() { READ_EARLIER } else { READ }).to_owned();
    }
    let lines: Vec<&str> = text.lines().map(|line| cut(line, WIDTH)).collect();
    let (weights, mut ranked) = (weights(turn, text, ""), (0..lines.len()).collect::<Vec<_>>());
    ranked.sort_by(|one, other| weights[*other].total_cmp(&weights[*one]));
    let around = ranked.iter().flat_map(|at| at.saturating_sub(AROUND)..=at + AROUND);
    let (mut chosen, mut left) = (BTreeSet::new(), READ_LONG);
    for at in (0..AROUND).chain(around).filter(|at| *at < lines.len()) {
        if chosen.contains(&at) {
            continue;
        }
        let Some(room) = left.checked_sub(lines[at].len() + 1) else { break };
        left = room;
        chosen.insert(at);
    }
    chosen.into_iter().map(|at| lines[at]).collect::<Vec<_>>().join("\n")
}
