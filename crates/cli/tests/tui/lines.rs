//! A conversation line by line, for screen readers.

use charla_testkit::{Reply, Script};
use serde_json::json;

use crate::place::{Place, server};
use crate::terminal::Terminal;

#[test]
fn every_command_is_understood_or_says_what_to_use_instead() {
    let write = Reply::new().call("write_file", json!({"file_path": "a.txt", "content": "new\n"}));
    let server = server(Script::new([write, "Written.".into(), "Seen.".into()]));
    let place = Place::with_server(&server);
    let arguments = ["-m", "openai/gpt-test", "--screen-reader", "--approval-mode", "auto_edit"];
    let mut terminal = Terminal::sized(&place, &arguments, 120, 60);
    terminal.wait_for("/help lists commands");
    for (line, answer) in [
        ("/help", "!COMMAND: run a command yourself"),
        ("/theme", "this needs a screen"),
        ("/modle", "did you mean /model?"),
        ("/model", "anthropic/"),
        ("/tools", "run_shell_command"),
        ("/mode", "auto_edit holds"),
        ("/mode foo", "there is no mode foo"),
        ("write it", "Written."),
        ("/undo", "done: 1 file (a.txt) of turn 1"),
        ("!echo by $((40 + 2))", "by 42"),
        ("what did I do?", "Seen."),
        ("/export talk.md", "written to"),
    ] {
        terminal.press(&format!("{line}\r"));
        terminal.wait_for(answer);
    }
    assert_eq!(place.read("a.txt"), None);
    let sent = server.requests().last().unwrap().body.to_string();
    assert!(sent.contains("by 42") && sent.contains("called run_shell_command themselves"), "{sent}");
    terminal.press("/quit\r");
    assert_eq!(terminal.finish().code, Some(0));
}

#[test]
fn a_card_is_told_without_drawn_characters_and_the_farewell_has_a_row_of_its_own() {
    let run = Reply::new().call("run_shell_command", json!({"command": "touch made"}));
    let server = server(Script::new([run, "Made.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test", "--screen-reader"], 120, 60);
    terminal.wait_for("/help lists commands");
    terminal.press("make it with @/etc/passwd\r");
    terminal.wait_for("question: may run_shell_command run?");
    terminal.press("y\r");
    terminal.wait_for("Made.");
    terminal.wait_until("a new prompt", |screen| screen.trim_end().ends_with('>'));
    terminal.press("\u{4}");
    let rows = terminal.finish().rows;
    assert!(rows.iter().any(|row| row.starts_with("go on with: charla --resume")), "{rows:#?}");
    let all = rows.join("\n");
    assert!(!all.contains(['│', '─', '┆']), "{all}");
    assert!(all.contains("@/etc/passwd is not attached") && !all.contains("--attach"), "{all}");
}
