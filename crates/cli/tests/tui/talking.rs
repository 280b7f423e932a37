//! Prompts and answers.

use charla_testkit::{Cut, Failure, FailureKind, Reply, Script, When};

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
    terminal.wait_for("The sky is blue.");
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
    terminal.wait_for("›");
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
    let written = String::from_utf8_lossy(&terminal.bytes);
    for clear in ["\u{1b}[2J", "\u{1b}[3J", "\u{1b}c"] {
        assert!(!written.contains(clear), "{clear:?} clears what was said");
    }
    terminal.press("\u{4}");
    let end = terminal.finish();
    let items: Vec<&str> =
        end.rows.iter().filter_map(|row| row.split_once("item number ")).map(|(_, n)| n.trim()).collect();
    let expected: Vec<String> = (0..300).map(|n| n.to_string()).collect();
    assert_eq!(items, expected);
}

#[test]
fn an_answer_comes_word_by_word_and_a_failed_attempt_is_withdrawn() {
    let cut = Reply::new().text("Wrong words").delay(50).cut(Cut::Reset);
    let server = server(Script::new([cut, Reply::new().text("Right words.")]));
    let place = Place::with_server(&server).settings(r#"{"retry": {"initialDelaySeconds": 0.01}}"#);
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("›");
    terminal.say("Say it");
    terminal.wait_for("Right words.");
    terminal.wait_without("Esc stops");
    let shown = terminal.rows().join("\n");
    assert!(!shown.contains("Wrong words"), "{shown}");
    assert!(shown.contains("attempt 1 of"), "{shown}");
}

#[test]
fn what_has_scrolled_away_of_a_failed_attempt_is_marked() {
    let wrong: String = (0..80).map(|n| format!("- wrong {n}\n")).collect();
    let cut = Reply::new().text(wrong).delay(3000).cut(Cut::Reset);
    let server = server(Script::new([cut, Reply::new().text("Right words.")]));
    let place = Place::with_server(&server).settings(r#"{"retry": {"initialDelaySeconds": 0.01}}"#);
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("›");
    terminal.say("Say it");
    terminal.wait_for("wrong 79");
    terminal.wait_for("Right words.");
    terminal.wait_without("Esc stops");
    let shown = terminal.rows().join("\n");
    let (before, after) = shown.split_once("── withdrawn: the attempt that said this failed ──").unwrap();
    assert!(before.contains("wrong 0") && !after.contains("wrong"), "{shown}");
    assert!(after.contains("attempt 1 of") && after.contains("Right words."), "{shown}");
}

#[test]
fn a_wait_counts_down_and_a_model_that_stands_in_is_named() {
    let limited = Failure::rate_limit().retry_after("20");
    let server = server(Script::new([Reply::from(limited)]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("›");
    terminal.say("Say it");
    terminal.wait_for("trying again in 19 s");
    terminal.wait_for("trying again in 18 s");
    terminal.press("\u{1b}");
    terminal.wait_for("stopped before an answer");

    let overloaded = Failure::new(FailureKind::Overloaded);
    let slow = Reply::new().delay(1500).text("From the other.");
    let server = crate::place::server(Script::always(slow).rule(When::model("gpt-one"), overloaded));
    let settings = r#"{"model": {"name": "openai/gpt-one", "fallback": ["anthropic/claude-two"]},
        "retry": {"initialDelaySeconds": 0, "maxDelaySeconds": 0}}"#;
    let place = Place::with_server(&server).settings(settings);
    let mut terminal = Terminal::sized(&place, &[], 120, 40);
    terminal.wait_for("›");
    terminal.say("Say it");
    terminal.wait_for("anthropic/claude-two goes on");
    terminal.wait_for("asking anthropic/claude-two");
    terminal.wait_for("From the other.");
}

#[test]
fn what_is_said_while_the_model_works_joins_or_waits() {
    let slow = Reply::new().text("First part. ").delay(1500).text("Rest.");
    let server = server(Script::new([slow, "Joined answer.".into(), "Later answer.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("›");
    terminal.say("Begin");
    terminal.wait_for("First part.");
    terminal.press("and this\r");
    terminal.wait_for("joins the next request: and this");
    terminal.press("and then that\t");
    terminal.wait_for("waits for the end of the turn: and then that");
    terminal.wait_for("Joined answer.");
    terminal.wait_for("Later answer.");
    let shown = terminal.rows().join("\n");
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
    assert!(
        at("› and this") < at("Joined answer.") && at("Joined answer.") < at("› and then that"),
        "{shown}"
    );
}

#[test]
fn thoughts_are_one_line_until_they_are_wanted() {
    let reply = || Reply::new().thought("**Plan** the secret plan of it").text("Done it.");
    let server = server(Script::new([reply(), reply()]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &["-m", "anthropic/claude-test"]);
    terminal.wait_for("›");
    terminal.say("one");
    terminal.wait_for("Done it.");
    terminal.wait_for("∴ thought for");
    assert!(!terminal.screen().contains("the secret plan"), "{}", terminal.screen());
    terminal.press("\u{f}");
    terminal.say("two");
    terminal.wait_for("the secret plan of it");
}

#[test]
fn an_earlier_conversation_is_there_again() {
    let server = server(Script::new(["I will remember."]));
    let place = Place::with_server(&server);
    let first = place.run(&["-p", "Remember the number 7"]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    let mut terminal = Terminal::start(&place, &["--resume"]);
    terminal.wait_for("I will remember.");
    terminal.wait_for("› Remember the number 7");
    // What was sent here before can be had again.
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().code, Some(0));
}

#[test]
fn a_resource_that_a_prompt_names_comes_along() {
    let server = server(Script::new(["A note."]));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/servers/server.py");
    let entry = serde_json::json!({"mcpServers": {"s": {"command": "python3", "args": [script, "plain"]}}});
    let place = Place::with_server(&server).settings(&entry.to_string());
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("›");
    terminal.say("what is in @s:note:one ?");
    terminal.wait_for("A note.");
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().code, Some(0));
    let told = server.requests()[0].body.to_string();
    assert!(told.contains("[resource note:one]") && told.contains("untrusted_content"), "{told}");
}
