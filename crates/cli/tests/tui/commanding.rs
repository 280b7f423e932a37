//! Commands behind a `/`.

use charla_testkit::{Reply, Script, Step, Usage, When};
use serde_json::json;

use crate::place::{Place, server};
use crate::replies::last_request;
use crate::terminal::{Terminal, command, start};

#[test]
fn commands_are_listed_and_the_nearest_is_suggested() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    command(&mut terminal, "/help");
    terminal.wait_for("take the last turn's file changes back");
    terminal.wait_for("/resume, /sessions [ID]");
    command(&mut terminal, "/mcp");
    terminal.wait_for("no MCP servers are configured");
    command(&mut terminal, "/thoughts");
    terminal.wait_for("thoughts are shown whole from now on");
    terminal.press("\u{f}");
    terminal.wait_for("thoughts are one row from now on");
    command(&mut terminal, "/theme ");
    terminal.wait_for("default-light");
    terminal.wait_for("for light backgrounds");
    terminal.press("\u{1b}");
    terminal.wait_without("for light backgrounds");
    command(&mut terminal, "/statz x");
    terminal.wait_for("there is no command /statz; did you mean /stats?");
    assert!(server.requests().is_empty());
    command(&mut terminal, "/quit");
    assert_eq!(terminal.finish().code, Some(0));
}

#[test]
fn tools_are_told_beside_or_below_their_names() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    for (columns, row) in [(100, "  glob                 Finds"), (50, "  list_background_processes")] {
        let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test"], columns, 60);
        terminal.wait_for("openai/gpt-test");
        command(&mut terminal, "/tools");
        terminal.wait_for("carried");
        let rows = terminal.rows();
        assert!(rows.iter().any(|line| line.starts_with(row)), "{rows:#?}");
        let at = rows.iter().position(|line| line.starts_with("› /tools")).unwrap();
        let told = rows[at + 1..].iter().take_while(|row| !row.trim().is_empty());
        assert!(told.clone().count() > 10 && told.clone().all(|row| row.starts_with("  ")), "{rows:#?}");
    }
}

#[test]
fn another_model_answers_from_now_on() {
    let server = server(Script::new(["One.", "Two."]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.say("first");
    terminal.wait_for("One.");
    command(&mut terminal, "/model anthropic/claude-test");
    terminal.wait_for("anthropic/claude-test answers from now on");
    terminal.say("second");
    terminal.wait_for("Two.");
    terminal.wait_for("anthropic/claude-test ·");
    command(&mut terminal, "/stats");
    terminal.wait_for("system prompt");
    terminal.wait_for("█");
    command(&mut terminal, "/doctor");
    terminal.wait_for("anthropic/claude-test is chosen");
}

#[test]
fn a_fork_goes_on_in_a_copy_and_says_of_what() {
    let server = server(Script::new(["Of apples.", "Of pears."]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.say("apples");
    terminal.wait_for("Of apples.");
    command(&mut terminal, "/fork");
    terminal.wait_for("from here on in a copy of ");
    terminal.wait_without("opening the session");
    terminal.say("pears");
    terminal.wait_for("Of pears.");
    assert!(last_request(&server).contains("apples"));
    assert_eq!(place.journals().len(), 2);
}

#[test]
fn models_that_are_ready_are_chosen_from_a_list() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    command(&mut terminal, "/model ");
    terminal.wait_for("typing narrows");
    terminal.press("anthropic");
    terminal.wait_for("▸ anthropic/");
    terminal.press("\r");
    terminal.wait_for("answers from now on");
}

#[test]
fn modes_change_by_command_and_by_shift_tab() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.press("\u{1b}[Z");
    terminal.wait_for("· auto_edit");
    terminal.press("\u{1b}[Z");
    terminal.wait_for("· plan");
    terminal.press("\u{1b}[Z");
    terminal.wait_for("· default");
    command(&mut terminal, "/mode yolo");
    terminal.wait_for("yolo: nothing asks");
}

#[test]
fn file_changes_are_undone_and_the_conversation_rewound() {
    let write = Reply::new().call("write_file", json!({"file_path": "a.txt", "content": "new\n"}));
    let server = server(Script::new([write, "Written.".into(), "Gone.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    command(&mut terminal, "/mode auto_edit");
    terminal.wait_for("· auto_edit");
    terminal.say("write it");
    terminal.wait_for("Written.");
    assert_eq!(place.read("a.txt").as_deref(), Some("new\n"));
    command(&mut terminal, "/undo");
    terminal.wait_for("undone: 1 file (a.txt) of turn 1");
    assert_eq!(place.read("a.txt"), None);
    command(&mut terminal, "/redo");
    terminal.wait_for("redone: 1 file (a.txt) of turn 1");
    command(&mut terminal, "/rewind");
    terminal.wait_for("go back to");
    terminal.wait_for("you    write it");
    assert!(!terminal.screen().contains("result of"), "{}", terminal.screen());
    terminal.press("write it\r");
    terminal.wait_for("files stay as they are");
    terminal.press("files go\r");
    terminal.wait_for("rewound to the beginning; put back: 1 file (a.txt)");
    assert_eq!(place.read("a.txt"), None);
    // What was said is in the line again, and is said once.
    terminal.press(" again\r");
    terminal.wait_for("Gone.");
    let sent = last_request(&server);
    assert!(sent.contains("write it again") && sent.matches("write it").count() == 1, "{sent}");
}

#[test]
fn a_session_that_is_not_there_is_told_and_nothing_changes() {
    let server = server(Script::new(["Of apples."]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.say("apples");
    terminal.wait_for("Of apples.");
    command(&mut terminal, "/mode auto_edit");
    terminal.wait_for("· auto_edit");
    command(&mut terminal, "/resume zz");
    terminal.wait_for("there is no session `zz`");
    command(&mut terminal, "/resume latest");
    terminal.wait_for("this is the session that goes on here");
    command(&mut terminal, "/mode foo");
    terminal.wait_for("there is no mode foo");
    terminal.press("\u{1b}");
    terminal.wait_without("nothing asks");
    command(&mut terminal, "/quit");
    let rows = terminal.finish().rows.join("\n");
    assert_eq!(rows.matches("Of apples.").count(), 1, "{rows}");
}

#[test]
fn a_conversation_is_compressed_and_brought_back() {
    let honest = Reply::new().step(Step::Snapshot("rule ".into()));
    let long = "Here is all that I found out about it. ".repeat(60);
    let server = server(Script::always(long).rule(When::text("Write the snapshot now."), honest));
    let place = Place::with_server(&server);
    assert_eq!(place.run(&["-m", "openai/gpt-test", "-p", "rule 0: be brief"]).code, Some(0));
    for n in 1..6 {
        assert_eq!(place.run(&["--resume", "-p", &format!("rule {n}: keep file-{n}")]).code, Some(0));
    }
    let mut terminal = Terminal::sized(&place, &["--resume", "latest"], 100, 40);
    terminal.wait_for("openai/gpt-test");
    command(&mut terminal, "/uncompress");
    terminal.wait_for("Nothing is compressed: the conversation is whole.");
    command(&mut terminal, "/compress");
    terminal.wait_for("Chat history compressed");
    command(&mut terminal, "/uncompress");
    terminal.wait_for("the whole conversation is back");
    command(&mut terminal, "/settings");
    terminal.wait_for("yours are in ");
}

#[test]
fn a_conversation_of_one_turn_is_compressed() {
    let honest = Reply::new().step(Step::Snapshot("rule ".into()));
    let long = "Here is all that I found out about it. ".repeat(60);
    let server = server(Script::always(long).rule(When::text("Write the snapshot now."), honest));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.say("rule 0: be brief");
    terminal.wait_for("found out about it.");
    command(&mut terminal, "/compress");
    terminal.wait_for("Chat history compressed");
    terminal.say("and now?");
    terminal.wait_until("an answer", |_| last_request(&server).contains("and now?"));
    let asked = last_request(&server);
    assert!(asked.contains("rule 0: be brief") && !asked.contains("all that I found out"), "{asked}");
}

#[test]
fn stats_tell_what_was_used_before_a_conversation_was_resumed() {
    let usage = |prompt, output| Usage { prompt, output, ..Usage::default() };
    let one = Reply::new().text("One.").usage(usage(4000, 300));
    let two = Reply::new().text("Two.").usage(usage(5000, 400));
    let server = server(Script::new([one, two]));
    let place = Place::with_server(&server);
    assert_eq!(place.run(&["-m", "openai/gpt-test", "-p", "first"]).code, Some(0));
    let mut terminal = Terminal::sized(&place, &["--resume", "latest"], 120, 40);
    terminal.wait_for("↑4.0k ↓300");
    terminal.say("second");
    terminal.wait_for("Two.");
    terminal.wait_for("↑9.0k ↓700");
    command(&mut terminal, "/stats");
    terminal.wait_for("openai/gpt-test  2 answers · 9.0k in (0 cached) · 700 out");
    terminal.press("\u{4}");
    terminal.finish();
    let arguments = ["--resume", "latest", "--screen-reader"];
    let mut terminal = Terminal::sized(&place, &arguments, 120, 40);
    terminal.wait_for("/help lists commands");
    terminal.press("/stats\r");
    terminal.wait_for("openai/gpt-test  2 answers · 9.0k in (0 cached) · 700 out");
}

#[test]
fn the_branch_is_told_after_a_switch_of_ones_own() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let git = |arguments: &[&str]| {
        let done =
            std::process::Command::new("git").args(arguments).current_dir(place.work()).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q", "-b", "harbour"]);
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test"], 120, 40);
    terminal.wait_for("⎇ harbour");
    terminal.wait_for("openai/gpt-test");
    terminal.press("!git checkout -q -b lighthouse\r");
    terminal.wait_for("⎇ lighthouse");
}

#[test]
fn the_last_answer_of_a_resumed_conversation_is_copied() {
    let server = server(Script::new(["Of apples."]));
    let place = Place::with_server(&server);
    let run = place.run(&["-m", "openai/gpt-test", "-p", "apples"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let mut terminal = Terminal::sized(&place, &["--resume", "latest"], 100, 40);
    terminal.wait_for("Of apples.");
    terminal.wait_for("openai/gpt-test");
    command(&mut terminal, "/copy");
    terminal.wait_for("copied, where the terminal allows it");
}

#[test]
fn a_conversation_is_left_for_another_and_taken_up_again() {
    let server = server(Script::new(["Of apples.", "Of pears."]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.say("apples");
    terminal.wait_for("Of apples.");
    command(&mut terminal, "/clear");
    terminal.wait_without("opening the session");
    terminal.say("pears");
    terminal.wait_for("Of pears.");
    assert_eq!(place.journals().len(), 2);
    let second = last_request(&server);
    assert!(!second.contains("apples"), "{second}");
    command(&mut terminal, "/resume ");
    terminal.wait_for("go on with");
    terminal.press("apples\r");
    terminal.wait_until("the earlier answer again", |screen| screen.matches("Of apples.").count() > 1);
    command(&mut terminal, "/export talk.md");
    terminal.wait_for("written to");
    assert!(place.read("talk.md").unwrap().contains("Of apples."));
    std::fs::write(place.work().join("README.md"), "mine").unwrap();
    command(&mut terminal, "/export README.md");
    terminal.wait_for("to overwrite it");
    assert_eq!(place.read("README.md").as_deref(), Some("mine"));
    command(&mut terminal, "/export! README.md");
    terminal.wait_until("that it is written, too", |screen| screen.matches("written to").count() == 2);
    assert!(place.read("README.md").unwrap().contains("Of apples."));
}

#[test]
fn a_command_of_ones_own_asks_before_it_runs_and_says_its_prompt() {
    let server = server(Script::new(["A fine message."]));
    let place = Place::with_server(&server);
    std::fs::create_dir(place.home().join("commands")).unwrap();
    let text =
        "description = \"Tell a story\"\nprompt = \"Tell of {{args}}: !{echo made $((6 * 7)) | tee made}\"\n";
    std::fs::write(place.home().join("commands/tale.toml"), text).unwrap();
    let mut terminal = start(&place);
    command(&mut terminal, "/tale ships ");
    terminal.wait_for("run this for /tale?");
    assert!(place.read("made").is_none());
    terminal.press("run\r");
    terminal.wait_for("A fine message.");
    assert!(place.read("made").is_some());
    let sent = last_request(&server);
    assert!(sent.contains("Tell of ships:") && sent.matches("made 42").count() == 1, "{sent}");
    assert!(!sent.contains("called run_shell_command"), "{sent}");
    command(&mut terminal, "/rewind");
    terminal.wait_for("you    Tell of ships: made 42");
}

#[test]
fn where_nothing_was_said_there_is_nothing_to_copy_and_a_turn_that_is_left_is_told() {
    let server = server(Script::new([Reply::new().text("Half of it. ").stall(), "Again.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    command(&mut terminal, "/fork");
    terminal.wait_for("there is nothing to copy");
    command(&mut terminal, "/export talk.md");
    terminal.wait_for("there is nothing to export");
    assert!(place.read("talk.md").is_none());
    terminal.say("go");
    terminal.wait_for("Half of it.");
    command(&mut terminal, "/clear");
    terminal.wait_for("the turn is interrupted");
    terminal.say("anew");
    terminal.wait_for("Again.");
    command(&mut terminal, "/quit");
    assert_eq!(terminal.finish().code, Some(0));
}
