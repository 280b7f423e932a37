//! What is cut off: stays to be seen, is marked, and comes back where it can be sent again.

use charla_testkit::{Reply, Script};

use crate::place::{Place, server};
use crate::replies::shell;
use crate::terminal::Terminal;

const YOLO: [&str; 4] = ["-m", "openai/gpt-test", "--approval-mode", "yolo"];
const ESCAPE: &str = "\u{1b}";
const INTERRUPTED: &str = "⊘ interrupted";

fn start(place: &Place) -> Terminal {
    let mut terminal = Terminal::start(place, &YOLO);
    terminal.wait_for("openai/gpt-test");
    terminal
}

#[test]
fn a_command_that_fails_says_so_with_its_exit_code() {
    let long = format!("echo {} >/dev/null; echo gone; exit 3", "x".repeat(200));
    let server = server(Script::new([shell("false"), shell(&long), shell("kill -9 $$"), "Done.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.say("try");
    terminal.wait_for("Done.");
    let rows = terminal.rows();
    let heads: Vec<&String> = rows.iter().filter(|row| row.contains("run_shell_command")).collect();
    assert!(heads.iter().all(|row| row.starts_with('✗')), "{heads:#?}");
    for (head, ending) in heads.iter().zip(["exit 1", "exit 3", "signal 9"]) {
        assert!(head.ends_with(ending), "{head}: {ending}");
    }
    assert_eq!(heads.len(), 3);
}

#[test]
fn escape_brings_waiting_prompts_back_and_sends_none_of_them() {
    let server = server(Script::new([Reply::new().text("Half of it. ").stall(), "Whole.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.say("begin");
    terminal.wait_for("Half of it.");
    terminal.say("and one more");
    terminal.wait_for("joins the next request: and one more");
    terminal.press("a later one");
    terminal.wait_for("› a later one");
    terminal.press("\t");
    terminal.wait_for("waits for the end of the turn: a later one");
    terminal.press(ESCAPE);
    terminal.wait_for(INTERRUPTED);
    terminal.wait_for("› and one more");
    terminal.wait_for("  a later one");
    assert_eq!(server.requests().len(), 1);
    terminal.press("\r");
    terminal.wait_for("Whole.");
    let sent = server.requests().last().unwrap().body.to_string();
    assert!(sent.contains("and one more\\na later one"), "{sent}");
}

#[test]
fn what_was_said_and_printed_stays_marked_whether_stopped_or_left() {
    let call = shell("echo half-printed; touch began; sleep 600");
    let server = server(Script::new([call, Reply::new().text("Said so far").stall()]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.say("run it");
    terminal.wait_for("│ half-printed");
    terminal.press(ESCAPE);
    terminal.wait_for(INTERRUPTED);
    terminal.wait_for("│ half-printed");
    terminal.say("say it");
    terminal.wait_for("Said so far");
    terminal.press("\u{4}");
    let end = terminal.finish();
    let shown = end.rows.join("\n");
    assert_eq!((end.code, end.is_restored), (Some(0), true));
    let (_, since) = shown.split_once("Said so far").unwrap();
    assert!(since.contains(INTERRUPTED), "{shown}");
    assert_eq!(shown.matches("half-printed").count(), 2, "{shown}");
}

#[test]
fn line_by_line_the_first_interrupt_stops_the_turn_and_the_second_leaves() {
    let stalls = || Reply::new().text("Half of it.\n").stall();
    let server = server(Script::new([stalls(), "Whole.".into(), stalls()]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test", "--screen-reader"]);
    terminal.wait_for("/help lists commands");
    terminal.press("begin\r");
    terminal.wait_for("Half of it.");
    terminal.press("\u{3}");
    terminal.wait_for("Press Ctrl+C again to exit");
    terminal.wait_for("interrupted: it stopped here");
    terminal.press("go on\r");
    terminal.wait_for("Whole.");
    terminal.press("\u{3}\u{3}");
    let end = terminal.finish();
    assert_eq!(end.code, Some(130), "{:?}", end.rows);
    assert!(end.rows.join("\n").contains("go on with: charla --resume"), "{:?}", end.rows);
}

#[test]
fn line_by_line_a_question_is_stopped_and_the_next_line_is_a_prompt() {
    let server = server(Script::new([shell("touch a"), "Heard.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test", "--screen-reader"]);
    terminal.wait_for("/help lists commands");
    terminal.press("begin\r");
    terminal.wait_for("n REASON no, go on?");
    terminal.press("\u{3}");
    terminal.wait_until("the end", |screen| screen.contains("interrupted") && screen.ends_with("> "));
    terminal.press("something else\r");
    terminal.wait_for("Heard.");
    assert_eq!(place.read("a"), None);
}

#[test]
fn line_by_line_what_an_approved_call_brings_is_told() {
    let call = shell("touch made; echo made it; seq 1 40; exit 7");
    let server = server(Script::new([call, "Done.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test", "--screen-reader"], 160, 60);
    terminal.wait_for("/help lists commands");
    terminal.press("begin\r");
    terminal.wait_for("n REASON no, go on?");
    terminal.press("y\r");
    terminal.wait_for("Done.");
    let shown = terminal.screen();
    for part in ["run_shell_command: exit 7", "  made it", "  … 33 more lines", "  40"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}
