//! Sizes, scripts and floods: what a screen must stand.

use charla_testkit::{Reply, Script};

use crate::place::{Place, server};
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
    let sent = server.requests().last().unwrap().body.to_string();
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
    let sent = server.requests().last().unwrap().body.to_string();
    assert!(sent.contains("I ran this command myself") && sent.contains("from 42"), "{sent}");
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
    assert!(server.requests().last().unwrap().body.to_string().contains("4711"));
}
