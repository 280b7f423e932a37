//! The first run of a user.

use charla_testkit::Script;

use crate::place::{Place, server};
use crate::terminal::Terminal;

fn start(place: &Place, arguments: &[&str]) -> Terminal {
    Terminal::first(place, arguments, 100, 30)
}

#[test]
fn a_model_is_chosen_and_kept_and_nobody_is_asked_twice() {
    let server = server(Script::new(["Hello.", "Again."]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place, &[]);
    terminal.wait_for("Welcome to Charla");
    terminal.wait_for("key from $OPENAI_API_KEY");
    terminal.wait_for("which model shall answer?");
    terminal.press("anthropic");
    terminal.wait_for("▸ anthropic/");
    terminal.press("\r");
    terminal.wait_for("answers; kept in");
    terminal.wait_without("no model yet");
    terminal.say("hi");
    terminal.wait_for("Hello.");
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().code, Some(0));
    let settings = std::fs::read_to_string(place.home().join("settings.json")).unwrap();
    assert!(settings.contains("\"anthropic/"), "{settings}");
    let mut terminal = start(&place, &[]);
    terminal.wait_for("anthropic/");
    terminal.say("hi");
    terminal.wait_for("Again.");
    assert!(!terminal.rows().join("\n").contains("Welcome"), "{}", terminal.screen());
}

#[test]
fn escape_skips_it_for_good_and_changes_nothing() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let mut terminal = start(&place, &[]);
    terminal.wait_for("which model shall answer?");
    terminal.press("\u{1b}");
    terminal.wait_without("which model shall answer?");
    terminal.say("still here");
    terminal.wait_until("the echo", |screen| screen.matches("still here").count() > 1);
    assert!(!place.home().join("settings.json").exists());
    assert!(place.home().join("welcomed").exists());
}

#[test]
fn who_names_a_model_says_a_prompt_or_wants_no_set_up_is_asked_nothing() {
    for arguments in [&["-m", "openai/gpt-test"][..], &["--no-setup"], &["-i", "hello"]] {
        let server = server(Script::echo());
        let place = Place::with_server(&server);
        let mut terminal = start(&place, arguments);
        terminal.wait_without("no model yet");
        assert!(!terminal.rows().join("\n").contains("Welcome"), "{}", terminal.screen());
        assert!(!place.home().join("welcomed").exists(), "{arguments:?}");
    }
}

#[test]
fn a_folder_is_trusted_only_by_a_yes() {
    let trusted = |place: &Place| std::fs::read_to_string(place.home().join("trusted.json")).is_ok();
    for (answer, is_trusted) in [("yes\r", true), ("\r", false), ("\u{1b}", false)] {
        let server = server(Script::echo());
        let place =
            Place::with_server(&server).workspace_settings(r#"{"tools": {"allowed": ["write_file"]}}"#);
        let mut terminal = start(&place, &[]);
        terminal.wait_for("which model shall answer?");
        terminal.press("decide later\r");
        terminal.wait_for("trust this folder?");
        terminal.wait_for("tools.allowed");
        terminal.press(answer);
        terminal.wait_without("trust this folder?");
        assert_eq!(trusted(&place), is_trusted, "{answer:?}");
    }
}
