//! What "always" answers allow: told, listed, taken back, and as it was after coming back.

use charla_testkit::Script;

use crate::journal::records;
use crate::place::{Place, server};
use crate::replies::{CHOICES, touch};
use crate::terminal::Terminal;

/// The number of the only grant that is listed.
fn number(terminal: &mut Terminal) -> String {
    let rows = terminal.rows();
    let at = rows.iter().rposition(|row| row.starts_with("1 thing is always allowed")).unwrap();
    rows[at + 1..].iter().find_map(|row| row.split_whitespace().next().map(str::to_owned)).unwrap()
}

#[test]
fn an_always_is_told_and_taken_back_also_after_coming_back() {
    let replies = [touch("a"), touch("a"), "One.".into(), "Two.".into(), touch("a"), "Three.".into()];
    let server = server(Script::new(replies));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test"], 110, 40);
    terminal.wait_for("›");
    terminal.say("go");
    terminal.wait_for(CHOICES);
    terminal.press("a");
    terminal.wait_for("One.");
    let told = "always: `touch a` in this folder, for this session";
    assert!(terminal.rows().iter().any(|row| row == told), "{}", terminal.screen());
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().code, Some(0));

    let mut terminal = Terminal::sized(&place, &["--resume", "latest", "-m", "openai/gpt-test"], 110, 40);
    terminal.wait_for(told);
    terminal.say("on");
    terminal.wait_for("Two.");
    terminal.press("/policy\r");
    terminal.wait_for("1 thing is always allowed in this session");
    terminal.press("/approvals\r");
    terminal.wait_for("no question waits");
    terminal.wait_for("  `touch a` in this folder");
    let number = number(&mut terminal);
    terminal.press("/approvals revoke 9999\r");
    terminal.wait_for("nothing is always allowed under the number 9999");
    terminal.press(&format!("/approvals revoke {number}\r"));
    terminal.wait_for("no longer always: `touch a` in this folder");
    terminal.press("/approvals\r");
    terminal.wait_for("nothing is always allowed in this session");
    terminal.say("again");
    terminal.wait_for(CHOICES);
    terminal.press("y");
    terminal.wait_for("Three.");
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().code, Some(0));
    let revoked = records(&place).into_iter().find(|record| record["kind"] == "grant_revoked").unwrap();
    assert_eq!((revoked["by"].as_str(), revoked["grant"]["grant"].as_str()), (Some("user"), Some("rules")));

    let mut terminal = Terminal::sized(&place, &["--resume", "latest"], 110, 40);
    terminal.wait_for("no longer always: `touch a` in this folder");
    terminal.press("/approvals\r");
    terminal.wait_for("nothing is always allowed in this session");
}

#[test]
fn a_saved_rule_outlives_the_always_it_came_with_and_that_is_said() {
    let server = server(Script::new([touch("a"), "One.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test"], 110, 40);
    terminal.wait_for("›");
    terminal.say("go");
    terminal.wait_for(CHOICES);
    terminal.press("s");
    terminal.wait_for("One.");
    terminal.press("/approvals\r");
    terminal.wait_for("(saved as a rule, too)");
    let number = number(&mut terminal);
    terminal.press(&format!("/approvals revoke {number}\r"));
    terminal.wait_for("holds in other sessions until you remove it from");
}

#[test]
fn a_copy_says_nothing_of_an_always_that_its_saved_rule_still_allows() {
    let replies = [touch("a"), "One.".into(), touch("a"), "Two.".into()];
    let server = server(Script::new(replies));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test"], 110, 40);
    terminal.wait_for("›");
    terminal.say("go");
    terminal.wait_for(CHOICES);
    terminal.press("s");
    terminal.wait_for("One.");
    terminal.press("/fork\r");
    terminal.wait_for("from here on in a copy of ");
    terminal.wait_without("opening the session");
    terminal.say("again");
    // The rule allows it: nobody is asked.
    terminal.wait_for("Two.");
    let rows = terminal.rows().join("\n");
    assert!(!rows.contains("no longer always"), "{rows}");
    terminal.press("/approvals\r");
    terminal.wait_for("nothing is always allowed in this session");
}

#[test]
fn without_a_screen_an_always_is_told_listed_and_taken_back() {
    let server = server(Script::new([touch("a"), "One.".into(), touch("a"), "Two.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test", "--screen-reader"], 110, 60);
    terminal.wait_for("/help lists commands");
    terminal.press("go\r");
    terminal.wait_for("may run_shell_command run?");
    terminal.press("t\r");
    terminal.wait_for("always: the tool run_shell_command");
    terminal.wait_for("One.");
    terminal.press("/approvals\r");
    terminal.wait_for("  the tool run_shell_command");
    let number = number(&mut terminal);
    terminal.press(&format!("/approvals revoke {number}\r"));
    terminal.wait_for("no longer always: the tool run_shell_command");
    terminal.press("again\r");
    terminal
        .wait_until("another question", |screen| screen.matches("may run_shell_command run?").count() == 2);
    terminal.press("y\r");
    terminal.wait_for("Two.");
}
