//! `charla replay`: a recorded session runs again, and its first difference is shown.

use charla::{Charla, Failure};
use charla_core::replay::{Difference, Replayed, replay};
use serde_json::{Value, json};

use crate::printer::Printer;
use crate::runtime::runtime;

/// How many lines of each side are shown from the first one that differs.
const SHOWN: usize = 8;
/// How much of a line is shown.
const WIDTH: usize = 200;

/// Replays a session; a difference is a failure.
pub fn run(which: &str, json: bool, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let (runtime, sessions) = (runtime()?, charla.sessions()?);
    let (session, records) = runtime.block_on(sessions.read(which))?;
    let replayed = runtime.block_on(replay(&records));
    match json {
        true => printer.result(&format!("{:#}\n", to_json(&session, &replayed)))?,
        false => printer.words(&to_text(&replayed))?,
    }
    match replayed.difference {
        None => Ok(()),
        Some(_) => Err(Failure::system(format!("the session {session} does not replay as it was recorded"))),
    }
}

fn to_json(session: &str, replayed: &Replayed) -> Value {
    let difference = replayed.difference.as_ref().map(|difference| {
        json!({
            "turn": difference.turn,
            "step": difference.step,
            "what": difference.what,
            "expected": difference.expected,
            "got": difference.got,
        })
    });
    json!({
        "session": session,
        "turns": replayed.turns,
        "requests": replayed.requests,
        "difference": difference,
    })
}

fn to_text(replayed: &Replayed) -> String {
    let turns = counted(replayed.turns, "turn");
    let requests = counted(replayed.requests, "request");
    match &replayed.difference {
        None => format!("{turns}, {requests}, no difference\n"),
        Some(difference) => {
            let Difference { turn, step, what, .. } = difference;
            format!("turn {turn}, step {step}: {what}\n{}", short_diff(difference))
        }
    }
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Both sides from the first line that differs to the last, a few lines of each.
fn short_diff(difference: &Difference) -> String {
    let [expected, got] = [&difference.expected, &difference.got].map(|side| match side {
        Value::Null => String::new(),
        side => format!("{side:#}"),
    });
    let expected: Vec<&str> = expected.lines().collect();
    let got: Vec<&str> = got.lines().collect();
    let same = expected.iter().zip(&got).take_while(|(a, b)| a == b).count();
    let rest = expected.len().min(got.len()) - same;
    let tail = expected.iter().rev().zip(got.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    for (mark, side) in [("- ", &expected), ("+ ", &got)] {
        let lines = side.iter().take(side.len() - tail).skip(same);
        let more = lines.len().saturating_sub(SHOWN);
        for line in lines.take(SHOWN) {
            let cut: String = line.chars().take(WIDTH).collect();
            let dots = if cut.len() < line.len() { "…" } else { "" };
            text.push_str(&format!("{mark}{cut}{dots}\n"));
        }
        if more > 0 {
            text.push_str(&format!("{mark}… {} more\n", counted(more as u64, "line")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        let side = |name: &str| json!({"kind": "call_ended", "name": name, "status": "success"});
        let difference = Difference {
            turn: 2,
            step: 1,
            what: "the record `call_ended` has other content".to_owned(),
            expected: side("read"),
            got: side("write"),
        };
        let replayed = Replayed { turns: 2, requests: 3, difference: Some(difference) };
        let expected = "turn 2, step 1: the record `call_ended` has other content\n\
                        -   \"name\": \"read\",\n+   \"name\": \"write\",\n";
        assert_eq!(to_text(&replayed), expected);
    }

    #[test]
    fn a_side_that_has_nothing_shows_nothing() {
        let (expected, got) = (json!({"a": "é".repeat(500)}), Value::Null);
        let difference = Difference { turn: 1, step: 1, what: String::new(), expected, got };
        let shown = short_diff(&difference);
        assert_eq!(shown.lines().count(), 3);
        assert!(shown.lines().all(|line| line.starts_with("- ") && line.chars().count() <= WIDTH + 3));
    }
}
