//! Whole screens, as a person has them before them.

use charla_testkit::{Reply, Script};
use insta::assert_snapshot;
use serde_json::json;

use crate::place::{Place, server};
use crate::replies::CHOICES;
use crate::terminal::Terminal;

const ANSWER: &str = "# Tides\n\nThe *moon* pulls:\n\n- spring\n- neap, see `tides.rs`\n\n\
    | port | height |\n|---|---|\n| Brest | 6.1 m |\n\n```rust\nfn main() {}\n```\n";
const CHANGE: &str = "one\nthe second row of it\n";

/// The screen without what differs from machine to machine: where it is, and what confines tools.
fn shown(terminal: &Terminal, place: &Place) -> String {
    let work = place.work().canonicalize().unwrap();
    let screen = terminal.screen().replace(&work.display().to_string(), "WORK");
    let mut rows: Vec<&str> = screen.lines().map(str::trim_end).collect();
    if let Some(status) = rows.last_mut() {
        let ends = status.match_indices(" · ").nth(1).map_or(status.len(), |(at, _)| at);
        *status = status.get(..ends).unwrap_or_default();
    }
    rows.join("\n")
}

/// A terminal with an answer on it.
fn answered(place: &Place, columns: u16, rows: u16) -> Terminal {
    let mut terminal = Terminal::sized(place, &["-m", "openai/gpt-test"], columns, rows);
    terminal.wait_for("openai/gpt-test");
    terminal.say("What moves the sea?");
    terminal.wait_for("fn main() {}");
    terminal.wait_without("Esc stops");
    terminal
}

#[test]
fn an_answer_on_a_screen_of_the_usual_size_with_and_without_colours() {
    let server = server(Script::always(ANSWER));
    let place = Place::with_server(&server);
    let coloured = shown(&answered(&place, 80, 24), &place);
    assert_snapshot!(coloured, @r"
    /help lists commands and keys

    › What moves the sea?

    Tides

    The moon pulls:

    • spring
    • neap, see tides.rs

    port  │ height
    ──────┼───────
    Brest │ 6.1 m

      fn main() {}

    ────────────────────────────────────────────────────────────────────────────────
    ›   Type your message or @path/to/file
    ────────────────────────────────────────────────────────────────────────────────
     openai/gpt-test · default
    ");
    let place = Place::with_server(&server).variable("NO_COLOR", "1");
    assert_eq!(shown(&answered(&place, 80, 24), &place), coloured);
}

#[test]
fn an_answer_in_forty_columns() {
    let server = server(Script::always(ANSWER));
    let place = Place::with_server(&server);
    assert_snapshot!(shown(&answered(&place, 40, 24), &place), @r"
    /help lists commands and keys

    › What moves the sea?

    Tides

    The moon pulls:

    • spring
    • neap, see tides.rs

    port  │ height
    ──────┼───────
    Brest │ 6.1 m

      fn main() {}

    ────────────────────────────────────────
    ›   Type your message or @path/to/file
    ────────────────────────────────────────
     openai/gpt-test · default
    ");
}

#[test]
fn a_question_on_a_screen_of_the_usual_size() {
    let call = Reply::new().call("write_file", json!({"file_path": "a.txt", "content": CHANGE}));
    let server = server(Script::new([call]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("openai/gpt-test");
    terminal.say("Write it");
    terminal.wait_for(CHOICES);
    assert_snapshot!(shown(&terminal, &place), @r#"
    › Write it

    ? write_file  a.txt  waits for your answer
    ── may write_file run?
    asked by   │ default built-in#8
               │ write WORK/a.txt: not allowed without asking
    if always  │ [[rule]]
               │ tool = "write_file"
               │ path = "WORK/a.txt"
               │ workspace = "WORK"
               │ decision = "allow"
    new file   │ WORK/a.txt
    diff       │ --- /dev/null
               │ +++ WORK/a.txt
               │ @@ -0,0 +1,2 @@
               │ +one
               │ +the second row of it
    isolation  │ none: it runs with your own rights
    Allow? y once · a always this · s always, save as rule · t always write_file
    e edit · n no · r no, with a reason
    ────────────────────────────────────────────────────────────────────────────────
    ›   Type your message or @path/to/file
    ────────────────────────────────────────────────────────────────────────────────
     openai/gpt-test · default
    "#);
}

#[test]
fn a_question_of_the_model_in_forty_columns() {
    let question = json!({"question": "Which of the harbours shall the ship make for?", "header": "Harbour",
        "type": "choice", "options": [{"label": "Brest", "description": "near, and full in summer"},
        {"label": "Cork", "description": "far"}]});
    let ask = Reply::new().call("ask_user", json!({ "questions": [question] }));
    let server = server(Script::new([ask]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test"], 40, 24);
    terminal.wait_for("openai/gpt-test");
    terminal.say("Sail");
    terminal.wait_for("or type");
    assert_snapshot!(shown(&terminal, &place), @r"
    /help lists commands and keys

    › Sail

    ? ask_user  Which o…  waits for your an…
    ── a question to you
               │ Harbour
               │ Which of the harbours
               ┆ shall the ship make for?
    ▸  1 │ Brest  near, and full in summer
       2 │ Cork  far
    ↑ ↓ Enter, or type; Esc says nothing
    a number, or your own words>
    ────────────────────────────────────────
    ›   Type your message or @path/to/file
    ────────────────────────────────────────
     openai/gpt-test · default
    ");
}
