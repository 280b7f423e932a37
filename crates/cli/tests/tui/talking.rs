//! Prompts and answers.

use charla_testkit::{Reply, Script};

use crate::place::{Place, server};
use crate::terminal::Terminal;

#[test]
fn a_prompt_is_answered_and_leaving_says_how_to_come_back() {
    let server = server(Script::new(["# Colours\n\nThe sky is **blue**.\n\n- one\n- two\n"]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("›");
    terminal.say("Why is the sky blue?");
    terminal.wait_for("two");
    assert!(terminal.screen().contains("The sky is blue."), "{}", terminal.screen());
    terminal.press("\u{4}");
    let end = terminal.finish();
    assert_eq!(end.code, Some(0));
    assert!(end.is_restored);
    let (id, _) = place.journals().pop().unwrap();
    let text = end.rows.join("\n");
    assert!(text.contains("› Why is the sky blue?") && text.contains("The sky is blue."), "{text}");
    assert!(text.contains(&format!("charla --resume {id}")), "{text}");
    // Nothing of the live region stays behind.
    assert!(!text.contains("──────"), "{text}");
}

#[test]
fn what_was_typed_while_the_session_opened_is_said() {
    let server = server(Script::new(["Understood."]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &[]);
    terminal.press("hello\r");
    terminal.wait_for("Understood.");
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().code, Some(0));
}

#[test]
fn a_long_answer_ends_in_the_scrollback_once_and_in_order() {
    let lines: Vec<String> = (0..300).map(|n| format!("- item number {n}")).collect();
    let text = lines.join("\n");
    let server = server(Script::new([Reply::new().chunk(7).text(text)]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("›");
    terminal.say("List them");
    terminal.wait_for("item number 299");
    terminal.press("\u{4}");
    let end = terminal.finish();
    let items: Vec<&str> =
        end.rows.iter().filter_map(|row| row.split_once("item number ")).map(|(_, n)| n.trim()).collect();
    let expected: Vec<String> = (0..300).map(|n| n.to_string()).collect();
    assert_eq!(items, expected);
}
