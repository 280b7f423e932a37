//! Sizes, scripts and floods: what a screen must stand.

use charla_testkit::{Reply, Script};
use serde_json::json;

use crate::journal::records;
use crate::place::{Place, server};
use crate::replies::last_request;
use crate::terminal::Terminal;

#[test]
fn a_narrow_screen_that_grows_while_words_stream_loses_none() {
    let words: String = (0..400).map(|n| format!("word{n} ")).collect();
    let server = server(Script::new([Reply::new().chunk(20).text(words)]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test"], 40, 12);
    terminal.wait_for("›");
    terminal.say("go");
    terminal.wait_for("word");
    terminal.resize(60, 20);
    terminal.wait_for("word399");
    terminal.wait_without("Esc stops");
    let rows = terminal.rows();
    let text = rows.join(" ");
    let seen: Vec<&str> = text.split_whitespace().filter(|word| word.starts_with("word")).collect();
    let expected: Vec<String> = (0..400).map(|n| format!("word{n}")).collect();
    assert_eq!(seen, expected);
}

#[test]
fn the_cursor_is_where_the_next_character_goes() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("openai/gpt-test");
    // Each of these is two columns wide; the accent has none of its own.
    for (typed, columns) in [("漢字", 4), ("한글", 4), ("👍", 2), ("e\u{301}x", 2)] {
        terminal.press(typed);
        let shown = typed.chars().last().unwrap().to_string();
        terminal.wait_until(typed, |screen| screen.contains(&shown));
        terminal.wait_cursor(2 + columns);
        terminal.press("\u{15}");
        terminal.wait_cursor(2);
    }
}

#[test]
fn a_megabyte_that_is_pasted_is_a_chip_and_arrives_whole() {
    let server = server(Script::new(["Read it."]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("openai/gpt-test");
    let bomb = "0123456789abcdef\n".repeat(62_000);
    terminal.press(&format!("\u{1b}[200~{bomb}\u{1b}[201~"));
    terminal.wait_until("a chip", |screen| {
        screen.contains("pasted") || screen.contains("62,000") || screen.contains("62000")
    });
    assert!(terminal.bytes.len() < 20_000, "{} bytes", terminal.bytes.len());
    terminal.press("\r");
    terminal.wait_for("Read it.");
    let sent = last_request(&server);
    assert_eq!(sent.matches("0123456789abcdef").count(), 62_000);
}

#[test]
fn a_command_of_ones_own_runs_and_the_model_hears_of_it() {
    let server = server(Script::new(["I see it."]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("openai/gpt-test");
    terminal.say("!echo from $((40 + 2))");
    terminal.wait_for("from 42");
    terminal.wait_for("✓ !");
    assert!(server.requests().is_empty());
    terminal.say("what did I do?");
    terminal.wait_for("I see it.");
    let sent = last_request(&server);
    assert!(sent.contains("The user called run_shell_command themselves"), "{sent}");
    assert!(sent.contains("from 42"), "{sent}");
    // What the model is told beside their words is nothing that they said.
    assert!(!terminal.rows().join("\n").contains("[Note:"), "{}", terminal.screen());
    let kinds = records(&place);
    let kinds: Vec<&str> = kinds.iter().filter_map(|record| record["kind"].as_str()).collect();
    assert_eq!(kinds.get(1..4), Some(&["client_call_started", "client_call_ended", "turn_started"][..]));
    assert_eq!(records(&place)[1]["confinement"], "asked");
}

#[test]
fn a_command_of_ones_own_runs_beside_a_question_and_escape_stops_it_alone() {
    let touch = Reply::new().call("run_shell_command", serde_json::json!({ "command": "touch a" }));
    let server = server(Script::new([touch, "Done.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("openai/gpt-test");
    terminal.say("!echo before; sleep 600");
    terminal.wait_for("│ before");
    terminal.say("go");
    terminal.wait_for("may run_shell_command run?");
    terminal.wait_for("r no, with a reason");
    terminal.press("y");
    terminal.wait_for("Done.");
    terminal.press("\u{1b}");
    terminal.wait_for("⊘ !");
    assert_eq!(records(&place).last().unwrap()["status"], "cancelled");
    assert!(place.read("a").is_some());
}

#[test]
fn what_a_rule_denies_is_denied_to_ones_own_commands_too() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    std::fs::create_dir_all(place.home().join("policies")).unwrap();
    let rule = "[[rule]]\ncommandPrefix = \"touch\"\ndecision = \"deny\"\n";
    std::fs::write(place.home().join("policies/mine.toml"), rule).unwrap();
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("openai/gpt-test");
    terminal.say("!touch denied");
    terminal.wait_for("not run: denied by policy");
    assert!(place.read("denied").is_none());
}

#[test]
fn a_terminal_that_tells_its_background_is_dressed_for_it_and_typing_stays() {
    let server = server(Script::echo());
    let place = Place::with_server(&server).variable("COLORTERM", "truecolor");
    // The accent of the default theme on white and on black.
    for (answer, accent) in [
        ("\u{1b}]11;rgb:ffff/ffff/ffff\u{1b}\\", "38;2;26;95;196"),
        ("\u{1b}]11;rgb:1e1e/1e1e/1e1e\u{7}", "38;2;138;180;248"),
    ] {
        let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
        terminal.wait_for("openai/gpt-test");
        assert!(String::from_utf8_lossy(&terminal.bytes).contains("\u{1b}]11;?"));
        terminal.press(&format!("be{answer}fore"));
        terminal.wait_for("› before");
        assert!(String::from_utf8_lossy(&terminal.bytes).contains(accent), "{accent}");
    }
}

#[test]
fn a_terminal_that_cuts_rows_keeps_every_finished_one_when_it_becomes_narrow() {
    let lines: String = (0..30).map(|n| format!("line {n} of the answer  \n")).collect();
    let server = server(Script::new([lines]));
    let place = Place::with_server(&server).variable("XTERM_VERSION", "XTerm(390)");
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test"], 100, 24);
    terminal.wait_for("openai/gpt-test");
    terminal.say("go");
    terminal.wait_for("line 29 of");
    terminal.wait_without("Esc stops");
    for columns in [60, 40, 90, 50] {
        terminal.resize(columns, 24);
        let rule = "─".repeat(columns.into());
        terminal.wait_until("drawn anew", |screen| screen.lines().filter(|row| *row == rule).count() == 2);
    }
    let rows = terminal.rows().join("\n");
    for n in 0..30 {
        assert_eq!(rows.matches(&format!("line {n} of the answer")).count(), 1, "{n}: {rows}");
    }
}

#[test]
fn without_colour_not_one_colour_is_sent() {
    let server = server(Script::new(["**bold** and `code`\n\n```rust\nfn main() {}\n```"]));
    let place = Place::with_server(&server).variable("NO_COLOR", "1");
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("›");
    terminal.say("go");
    terminal.wait_for("fn main()");
    let bytes = String::from_utf8_lossy(&terminal.bytes).into_owned();
    for sequence in bytes.split("\u{1b}[").skip(1) {
        let parameters: String = sequence.chars().take_while(|c| c.is_ascii_digit() || *c == ';').collect();
        let is_look = sequence.chars().nth(parameters.len()) == Some('m');
        let coloured = parameters.split(';').any(|one| matches!(one.parse::<u8>(), Ok(30..=48 | 90..=107)));
        assert!(!(is_look && coloured), "{sequence:?}");
    }
}

#[test]
fn a_plain_terminal_gets_lines_and_no_sequences() {
    for (arguments, term) in [(&[][..], "dumb"), (&["--screen-reader"][..], "xterm-256color")] {
        let server = server(Script::new(["First answer.", "Second answer."]));
        let place = Place::with_server(&server).variable("TERM", term).variable("NO_COLOR", "1");
        let arguments = [&["-m", "openai/gpt-test"], arguments].concat();
        let mut terminal = Terminal::start(&place, &arguments);
        terminal.wait_for("> ");
        terminal.press("one\r");
        terminal.wait_for("First answer.");
        terminal.press("two\r");
        terminal.wait_for("Second answer.");
        terminal.press("/quit\r");
        let bytes = String::from_utf8_lossy(&terminal.bytes).into_owned();
        assert!(term != "dumb" || !bytes.contains('\u{1b}'), "{bytes:?}");
        let end = terminal.finish();
        assert_eq!(end.code, Some(0));
        assert!(end.rows.join("\n").contains("charla --resume"));
    }
}

#[test]
fn a_file_is_named_by_a_few_of_its_letters() {
    let server = server(Script::new(["I have read it."]));
    let place = Place::with_server(&server).file("important_notes.txt", "the number is 4711\n");
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("openai/gpt-test");
    terminal.press("what is in @impno");
    terminal.wait_for("important_notes.txt");
    terminal.press("\t");
    terminal.wait_for("@important_notes.txt");
    terminal.press("\r");
    terminal.wait_for("I have read it.");
    assert!(last_request(&server).contains("4711"));
}

#[test]
fn an_answer_after_a_resize_is_laid_out_for_the_new_width() {
    let words = "word ".repeat(30);
    let server = server(Script::new([Reply::from(words.as_str())]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test"], 40, 24);
    terminal.wait_for("›");
    terminal.resize(80, 24);
    terminal.wait_for(&"─".repeat(80));
    terminal.say("go");
    terminal.wait_for(&vec!["word"; 15].join(" "));
}

#[test]
fn an_answer_to_the_model_is_shown_whole_on_a_narrow_screen() {
    let question = json!({"questions": [{"question": "Which of them shall it be?", "header": "Choice", "type": "text"}]});
    let server = server(Script::new([Reply::new().call("ask_user", question), "Fine.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test"], 40, 24);
    terminal.wait_for("›");
    terminal.say("go");
    terminal.wait_for("Which of them");
    terminal.wait_for("your words> ");
    terminal.press("the one that stands behind all others\r");
    terminal.wait_for("Fine.");
    let rows = terminal.rows();
    let told: String = rows
        .iter()
        .filter_map(|row| row.strip_prefix("  │ "))
        .map(|row| format!("{} ", row.trim_end()))
        .collect();
    assert!(told.contains("the one that stands behind all others"), "{rows:#?}");
}
