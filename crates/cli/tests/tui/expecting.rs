//! What people expect who come from other terminals, and scripts that drive Gemini CLI.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use charla_testkit::{Reply, Script, Server};
use serde_json::json;

use crate::journal::records;
use crate::place::{PATIENCE, Place, server};
use crate::replies::{CHOICES, last_request, shell};
use crate::terminal::{Terminal, command, start};

const MODEL: [&str; 2] = ["-m", "openai/gpt-test"];
#[test]
fn a_resumed_conversation_shows_calls_as_they_were() {
    let call = shell("echo printed-by-it; exit 4");
    let server = server(Script::new([call, "Done.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::sized(&place, &[&MODEL[..], &["--approval-mode", "yolo"]].concat(), 100, 40);
    terminal.wait_for("openai/gpt-test");
    terminal.say("!echo by-hand");
    terminal.wait_for("│ by-hand");
    terminal.say("run it");
    terminal.wait_for("Done.");
    let shown = |terminal: &mut Terminal| -> Vec<String> {
        let rows = terminal.rows();
        rows.into_iter().filter(|row| row.contains("echo") || row.contains('│')).collect()
    };
    let before = shown(&mut terminal);
    terminal.press("\u{4}");
    terminal.finish();
    let mut terminal = Terminal::sized(&place, &["--resume"], 100, 40);
    terminal.wait_for("Done.");
    let after = shown(&mut terminal);
    assert!(
        after.iter().any(|row| row.starts_with("✗ run_shell_command") && row.ends_with("exit 4")),
        "{after:#?}"
    );
    assert!(after.iter().any(|row| row.contains("│ printed-by-it")), "{after:#?}");
    assert!(before.ends_with(&after), "{before:#?} {after:#?}");
}

#[test]
fn enter_runs_a_command_and_sends_a_file_that_are_typed_in_full() {
    let server = server(Script::new(["Read."]));
    let place = Place::with_server(&server).file("notes.txt", "the number is 4711\n");
    let mut terminal = start(&place);
    terminal.press("/model");
    terminal.wait_for("▸ /model");
    terminal.press("\r");
    terminal.wait_for("typing narrows");
    terminal.wait_for("✓ now");
    terminal.press("\u{1b}");
    terminal.wait_without("typing narrows");
    terminal.press("see @notes.txt");
    terminal.wait_for("▸ @notes.txt");
    terminal.press("\r");
    terminal.wait_for("Read.");
    assert!(last_request(&server).contains("4711"));
    // What is not typed in full is completed first.
    terminal.press("/sta");
    terminal.wait_for("▸ /stats");
    terminal.press("\r");
    terminal.wait_for("system prompt");
}

#[test]
fn a_question_of_the_model_is_a_list() {
    let question = json!({"question": "Which colour?", "header": "Colour", "type": "choice", "options": [
        {"label": "red", "description": "warm"}, {"label": "blue", "description": "cold"}]});
    let call = Reply::new().call("ask_user", json!({ "questions": [question] }));
    let server = server(Script::new([call, "Chosen.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.say("paint");
    terminal.wait_for("▸  1 │ red  warm");
    terminal.wait_for("↑ ↓ Enter, or type");
    terminal.wait_for("ask_user  Which colour?");
    assert!(!terminal.screen().contains('{'), "{}", terminal.screen());
    terminal.press("\u{1b}[B");
    terminal.wait_for("▸  2 │ blue  cold");
    terminal.press("\r");
    terminal.wait_for("Chosen.");
    assert!(last_request(&server).contains("blue"));
}

#[test]
fn a_word_that_begins_with_yes_or_no_is_no_answer_to_the_model() {
    let question = |words: &str| json!({"question": words, "header": "Sure", "type": "yesno"});
    let asked = json!({ "questions": [question("Shall I?"), question("Really?")] });
    let server = server(Script::new([Reply::new().call("ask_user", asked), "Heard.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.say("ask");
    terminal.wait_for("Shall I?");
    terminal.wait_for("↑ ↓ Enter, or type");
    terminal.press("not today\r");
    // It takes keys once it has been seen.
    terminal.wait_until("the next question", |screen| {
        screen.contains("│ Really?") && screen.contains("↑ ↓ Enter, or type")
    });
    terminal.press("y");
    terminal.wait_for("Heard.");
    let told = last_request(&server);
    assert!(told.contains("not today") && told.contains("yes"), "{told}");
}

#[test]
fn a_command_of_ones_own_never_takes_the_place_of_one_of_ours() {
    let server = server(Script::new(["One.", "Two."]));
    let place = Place::with_server(&server);
    std::fs::create_dir_all(place.home().join("commands")).unwrap();
    std::fs::write(place.home().join("commands/help.toml"), "prompt = \"Say mine.\"\n").unwrap();
    let mut terminal = start(&place);
    terminal.wait_for("/help is built in");
    terminal.press("/help\r");
    terminal.wait_for("Ctrl-C twice");
    assert!(server.requests().is_empty());
    terminal.press("/user.help\r");
    terminal.wait_for("One.");
    assert!(last_request(&server).contains("Say mine."));
    terminal.press("\u{4}");
    terminal.finish();
    // Without a screen they are there, too.
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test", "--screen-reader"], 100, 40);
    terminal.wait_for("/help lists commands");
    terminal.press("/user.help\r");
    terminal.wait_for("Two.");
}

#[test]
fn init_asks_the_model_for_an_instruction_file_whose_writing_is_asked_about() {
    let write = Reply::new().call("write_file", json!({"file_path": "AGENTS.md", "content": "# Here\n"}));
    let server = server(Script::new([write, "Written.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    for (command, told) in [("/skills", "there are no skills"), ("/agents", "there are no agents")] {
        terminal.press(&format!("{command}\r"));
        terminal.wait_for(told);
    }
    terminal.press("/init keep it short\r");
    terminal.wait_for("r no, with a reason");
    assert!(place.read("AGENTS.md").is_none());
    terminal.press("y");
    terminal.wait_for("Written.");
    assert_eq!(place.read("AGENTS.md").as_deref(), Some("# Here\n"));
    let asked = server.requests()[0].body.to_string();
    assert!(asked.contains("Write AGENTS.md") && asked.contains("Besides: keep it short"), "{asked}");
}

#[test]
fn commands_within_a_command_of_ones_own_are_answered_by_a_key_recorded_and_judged() {
    let server = server(Script::new(["One.", "Two."]));
    let place = Place::with_server(&server);
    std::fs::create_dir_all(place.home().join("commands")).unwrap();
    let prompt = "prompt = \"It says !{echo $((40 + 2))} and !{touch denied}\"\n";
    std::fs::write(place.home().join("commands/told.toml"), prompt).unwrap();
    std::fs::create_dir_all(place.home().join("policies")).unwrap();
    let rule = "[[rule]]\ncommandPrefix = \"touch\"\ndecision = \"deny\"\n";
    std::fs::write(place.home().join("policies/mine.toml"), rule).unwrap();
    let mut terminal = start(&place);
    terminal.press("/told\r");
    terminal.wait_for("run this for /told?");
    terminal.press("n");
    terminal.wait_without("run this for /told?");
    terminal.press("/told\r");
    terminal.wait_for("run this for /told?");
    terminal.press("y");
    terminal.wait_for("the prompt is not said");
    assert!(server.requests().is_empty() && place.read("denied").is_none());
    let prompt = "prompt = \"It says !{echo $((40 + 2))}.\"\n";
    std::fs::write(place.home().join("commands/told.toml"), prompt).unwrap();
    terminal.press("\u{4}");
    terminal.finish();
    let mut terminal = start(&place);
    terminal.press("/told\r");
    terminal.wait_for("run this for /told?");
    terminal.press("y");
    terminal.wait_for("One.");
    assert!(last_request(&server).contains("It says 42."));
    assert!(records(&place).iter().any(|record| record["kind"] == "client_call_ended"));
}

#[test]
fn the_words_that_scripts_wait_for_are_there() {
    let write = Reply::new().call("write_file", json!({"file_path": "a.txt", "content": "new\n"}));
    let server = server(Script::new([write, shell("touch b"), "Done.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.wait_for("  Type your message or @path/to/file");
    terminal.wait_for("/help");
    terminal.press("wrong");
    terminal.wait_for("› wrong");
    terminal.press("\u{15}");
    terminal.wait_for("  Type your message or @path/to/file");
    terminal.press("/compress\r");
    terminal.wait_for("Nothing to compress.");
    terminal.say("write");
    terminal.wait_for("Allow?");
    terminal.wait_for(CHOICES);
    terminal.press("4");
    terminal.wait_for("Cancelled");
    assert_eq!(place.read("a.txt"), None);
    terminal.wait_without("Esc stops");
    terminal.say("touch");
    terminal.wait_for(CHOICES);
    terminal.press("\r");
    terminal.wait_for("Done.");
    assert!(place.read("b").is_some());
    terminal.press("\u{3}");
    terminal.wait_for("Press Ctrl+C again to exit");
    terminal.press("\u{3}");
    let end = terminal.finish();
    assert_eq!(end.code, Some(130));
    assert!(end.rows.join("\n").contains("Agent powering down. Goodbye!"), "{:?}", end.rows);
    let last = end.rows.iter().rfind(|row| !row.trim().is_empty());
    assert!(last.is_some_and(|row| row.starts_with("go on with: charla --resume")), "{:?}", end.rows);
}

#[test]
fn every_beginning_of_what_is_typed_is_written_in_one_piece() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    let words = "say hello to everybody in the harbour, please";
    let beginnings = || (1..=words.len()).map(|end| words.get(..end).unwrap());
    for (typed, key) in beginnings().zip(words.chars()) {
        terminal.press(&key.to_string());
        terminal.wait_for(&format!("› {}", typed.trim_end()));
    }
    let mut plain = String::new();
    let mut rest = std::str::from_utf8(&terminal.bytes).unwrap();
    while let Some((before, behind)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = behind.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, behind)| behind);
    }
    plain.push_str(rest);
    for typed in beginnings() {
        assert!(plain.contains(typed), "{typed:?} is not in {plain:?}");
    }
}

#[test]
fn a_yes_in_full_letters_is_one_answer_and_no_message() {
    let server = server(Script::new([shell("touch a"), "Done.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.say("go");
    terminal.wait_for(CHOICES);
    terminal.press("yes\r");
    terminal.wait_for("Done.");
    terminal.wait_for("  Type your message");
    assert!(place.read("a").is_some());
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn lists_are_told_as_they_are() {
    let server = server(Script::echo());
    let place = Place::with_server(&server).file("AGENTS.md", "Be brief.\n");
    let mut terminal = start(&place);
    for (line, answer) in [
        ("/policy", " in plan"),
        ("/memory", "the model is told what these files say:"),
        ("/export talk.xyz", "talk.xyz names no form"),
        ("/theme terminal", "theme terminal, kept in"),
    ] {
        terminal.press(&format!("{line}\r"));
        terminal.wait_for(answer);
    }
    assert!(std::fs::read_to_string(place.home().join("settings.json")).unwrap().contains("\"terminal\""));
}

#[test]
fn what_happens_is_in_the_telemetry_file_while_the_terminal_runs() {
    let server = server(Script::new([shell("echo one"), "Done.".into()]));
    let hooks = json!({"BeforeTool": [{"hooks": [{"command": "cat > /dev/null"}]}]});
    let place = Place::with_server(&server).settings(&json!({"hooks": hooks}).to_string());
    let place = place
        .variable("GEMINI_TELEMETRY_ENABLED", "true")
        .variable("GEMINI_TELEMETRY_TARGET", "local")
        .variable("GEMINI_TELEMETRY_OUTFILE", "telemetry.log");
    let mut terminal = start(&place);
    command(&mut terminal, "/mode yolo");
    terminal.wait_for("yolo: nothing asks");
    terminal.say("go");
    terminal.wait_for("Done.");
    let wanted = ["user_prompt", "api_request", "tool_call", "hook_call", "session.count"];
    let deadline = Instant::now() + PATIENCE;
    let missing = || {
        let written = place.read("telemetry.log").unwrap_or_default();
        wanted.iter().find(|name| !written.contains(&format!("gemini_cli.{name}"))).copied()
    };
    while let Some(name) = missing() {
        assert!(Instant::now() < deadline, "{name} is not on disk while the program runs");
        std::thread::sleep(Duration::from_millis(20));
    }
    // It runs still.
    terminal.press("more");
    terminal.wait_for("› more");
}

#[test]
fn what_a_background_process_wrote_is_read_by_its_number() {
    // The number is known once the process runs: another model is told it then.
    let begin = json!({"command": "echo written by it; sleep 1000", "is_background": true});
    let begin = Reply::new().call("run_shell_command", begin);
    let first = server(Script::new([begin, "One.".into()]));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let place =
        Place::with_server(&first).variable("ANTHROPIC_BASE_URL", &format!("http://127.0.0.1:{port}"));
    let mut terminal = start(&place);
    command(&mut terminal, "/mode yolo");
    terminal.wait_for("yolo: nothing asks");
    terminal.say("go");
    terminal.wait_for("One.");
    let told = first.requests()[1].body.to_string();
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    let pid: i32 = told
        .split("PID: ")
        .skip(1)
        .map(digits)
        .find_map(|digits| digits.parse().ok())
        .unwrap_or_else(|| panic!("no number of a process in {told}"));
    let read = Reply::new().call("read_background_output", json!({"pid": pid, "lines": 5, "delay_ms": 10}));
    let second = Server::start_on(port, Script::new([read, "Two.".into()]), None).unwrap();
    command(&mut terminal, "/model anthropic/claude-test");
    terminal.wait_for("anthropic/claude-test answers from now on");
    terminal.say("and now?");
    terminal.wait_for("Two.");
    let asked = second.requests();
    let results = asked[1].body["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(results.contains("written by it") && results.contains("running"), "{results}");
}
