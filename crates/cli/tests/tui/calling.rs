//! What is sent to the terminal beside the screen: the bell, notifications, the clipboard.

use charla_testkit::Script;

use crate::place::{Place, server};
use crate::replies::{CHOICES, touch};
use crate::terminal::{Terminal, command, start};

const FOCUS_LOST: &str = "\u{1b}[O";
const FOCUS_GAINED: &str = "\u{1b}[I";

/// What was written to the terminal since so many bytes.
fn since(terminal: &Terminal, from: usize) -> String {
    String::from_utf8_lossy(&terminal.bytes[from..]).into_owned()
}

#[test]
fn a_question_rings_and_tells_the_desktop_when_the_window_is_not_in_front() {
    let server = server(Script::new([
        touch("a"),
        "One.".into(),
        touch("b"),
        "Two.".into(),
        touch("c"),
        "Three.".into(),
    ]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    let told = "run_shell_command waits for your answer";
    let (osc_9, osc_777) = (format!("\u{1b}]9;{told}\u{7}"), format!("\u{1b}]777;notify;charla;{told}\u{7}"));
    for (focus, is_told, done) in
        [("", false, "One."), (FOCUS_LOST, true, "Two."), (FOCUS_GAINED, false, "Three.")]
    {
        let from = terminal.bytes.len();
        terminal.press(focus);
        terminal.say("go");
        terminal.wait_for(CHOICES);
        let written = since(&terminal, from);
        assert!(written.contains('\u{7}'), "{written:?}");
        let both = (written.contains(&osc_9), written.contains(&osc_777));
        assert_eq!(both, (is_told, is_told), "{focus:?}: {written:?}");
        assert_eq!(written.matches('\u{7}').count(), if is_told { 3 } else { 1 }, "{written:?}");
        terminal.press("y");
        terminal.wait_for(done);
        terminal.wait_without("Esc stops");
    }
}

#[test]
fn an_answer_is_copied_by_the_terminal_itself() {
    let server = server(Script::new(["Of apples."]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.say("of what?");
    terminal.wait_for("Of apples.");
    terminal.wait_without("Esc stops");
    let from = terminal.bytes.len();
    command(&mut terminal, "/copy");
    terminal.wait_for("copied, where the terminal allows it");
    assert!(
        since(&terminal, from).contains("\u{1b}]52;c;T2YgYXBwbGVzLg==\u{7}"),
        "{:?}",
        since(&terminal, from)
    );
}
