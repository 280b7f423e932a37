//! What a tool returned: how much of it the model reads, and how a person is shown it.

use std::collections::BTreeSet;

use super::conversation::{RESULT, Turn};
use super::grounds;
use super::place::Place;

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
const DOUBT: &str = "I am not sure of an answer. This is what I found:\n";

/// An answer with the result in the place of its mark, and with the file that it comes from where the request did not name it.
pub(super) fn unfolded(turn: &Turn, answer: &str) -> String {
    let file = unnamed_file(turn);
    match (answer.contains(RESULT), file) {
        (true, Some(file)) => format!("{file}:\n{}", answer.replace(RESULT, &shown(turn))),
        (true, None) => answer.replace(RESULT, &shown(turn)),
        (false, Some(file)) if !answer.contains(file) => format!("{answer} ({file})"),
        (false, _) => answer.to_owned(),
    }
}

/// The result instead of words that it does not bear out: the lines that the request is about, where there are such.
pub(super) fn doubted(turn: &Turn, answer: &str) -> String {
    let lines = grounds::lines_about(turn, answer);
    format!("{DOUBT}{}", lines.unwrap_or_else(|| unfolded(turn, RESULT)))
}

/// An answer as the model wrote it: what [`unfolded`] put in is taken out again.
pub(super) fn folded(turn: &Turn, answer: &str) -> String {
    if answer.starts_with(DOUBT) {
        return RESULT.to_owned();
    }
    let (mut answer, shown) = (answer.to_owned(), shown(turn));
    if !shown.is_empty() {
        answer = answer.replacen(&shown, RESULT, 1);
    }
    let Some(file) = unnamed_file(turn) else { return answer };
    let bare =
        answer.strip_prefix(&format!("{file}:\n")).or_else(|| answer.strip_suffix(&format!(" ({file})")));
    bare.map(str::to_owned).unwrap_or(answer)
}

/// The file that was read, when the request does not have its name.
fn unnamed_file(turn: &Turn) -> Option<&str> {
    let (step, _) = turn.last().filter(|(_, result)| !result.is_error())?;
    let file = step.argument("file_path").filter(|_| step.call.name == "read_file")?;
    (!turn.said.contains(file)).then_some(file)
}

/// The last result as a person is shown it.
pub(super) fn shown(turn: &Turn) -> String {
    let Some((step, result)) = turn.last() else { return String::new() };
    let text = result.to_text();
    let text = match step.call.name.as_str() {
        "run_shell_command" => text.strip_prefix("Output: ").unwrap_or(&text),
        _ => &text,
    };
    let text = text.trim_end_matches('\n');
    if text.len() <= SHOWN && text.lines().count() <= SHOWN_LINES {
        return text.to_owned();
    }
    let mut left = SHOWN;
    let fits = |line: &&str| {
        let room = left.checked_sub(line.len() + 1);
        left = room.unwrap_or_default();
        room.is_some()
    };
    let lines: Vec<&str> =
        text.lines().take(SHOWN_LINES).map(|line| cut(line, WIDTH)).take_while(fits).collect();
    let more = text.lines().count() - lines.len();
    format!("{}\n[{more} more lines]", lines.join("\n"))
}

/// An earlier result: its beginning.
pub(super) fn earlier(_: &Turn, text: &str) -> String {
    cut(text, READ_EARLIER).to_owned()
}

/// The beginning of a text that has more bytes.
fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// As much of a result as the model reads: of a long one its beginning and the lines about the request.
pub(super) fn excerpt(turn: &Turn, text: &str) -> String {
    if text.len() <= READ {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.lines().map(|line| cut(line, WIDTH)).collect();
    let mut ranked: Vec<usize> = (0..lines.len()).collect();
    let place = Place::new(turn, text, "");
    ranked.sort_by(|one, other| place.weight(*other).total_cmp(&place.weight(*one)));
    let around = ranked.iter().flat_map(|at| at.saturating_sub(AROUND)..=at + AROUND);
    let mut chosen = BTreeSet::new();
    let mut left = READ_LONG;
    for at in (0..AROUND).chain(around) {
        let Some(line) = lines.get(at).filter(|_| !chosen.contains(&at)) else { continue };
        let Some(room) = left.checked_sub(line.len() + 1) else { break };
        left = room;
        chosen.insert(at);
    }
    let chosen: Vec<&str> = chosen.iter().filter_map(|at| lines.get(*at).copied()).collect();
    chosen.join("\n")
}
