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
fn for_a_screen_reader_it_is_asked_in_words() {
    let server = server(Script::new(["Hello."]));
    let place = Place::with_server(&server).workspace_settings(r#"{"tools": {"allowed": ["write_file"]}}"#);
    let mut terminal = Terminal::first(&place, &["--screen-reader"], 140, 60);
    terminal.wait_for("Welcome to Charla");
    terminal.wait_for("key from $OPENAI_API_KEY");
    terminal.wait_for("which model shall answer? (a number or a name");
    terminal.press("nonsense\r");
    terminal.wait_for("that is none of them");
    terminal.press("1\r");
    terminal.wait_for("answers; kept in");
    terminal.wait_for("trust this folder? (y or n, Enter says no)> ");
    terminal.press("\r");
    terminal.wait_for("/help lists commands");
    terminal.press("hi\r");
    terminal.wait_for("Hello.");
    assert!(!terminal.rows().join("\n").contains(['▸', '✓', '│']), "{}", terminal.screen());
    terminal.press("/quit\r");
    assert_eq!(terminal.finish().code, Some(0));
    assert!(std::fs::read_to_string(place.home().join("settings.json")).unwrap().contains("\"name\""));
    assert!(place.home().join("welcomed").exists() && !place.home().join("trusted.json").exists());
}

#[test]
fn for_a_screen_reader_ctrl_c_skips_it_for_good() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let mut terminal = Terminal::first(&place, &["--screen-reader"], 140, 60);
    terminal.wait_for("which model shall answer?");
    terminal.press("\u{3}");
    terminal.wait_for("/help lists commands");
    assert!(!place.home().join("settings.json").exists());
    assert!(place.home().join("welcomed").exists());
}

#[test]
fn where_nothing_is_found_nothing_is_asked_and_it_is_said_what_to_do() {
    let place = Place::new();
    let mut terminal = start(&place, &[]);
    terminal.wait_for("Welcome to Charla");
    let end = terminal.finish();
    let all = end.rows.join("\n");
    assert!(end.is_restored && !all.contains("which model shall answer?"), "{all}");
    assert!(all.contains("hint:"), "{all}");
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
