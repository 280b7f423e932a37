//! Questions about calls in windows of any size: nothing is allowed that was not in sight.

use charla_testkit::{Reply, Script};
use serde_json::json;

use crate::place::{Place, server};
use crate::terminal::Terminal;

/// Many lines, and the same with one of them changed.
fn texts() -> (String, String) {
    let before: String = (1..=50).map(|n| format!("line {n}\n")).collect();
    let after = before.replace("line 40\n", "EVIL\n");
    (before, after)
}

/// A change of one line in a file of many, asked about in a window of this size.
fn editing(place: &Place, columns: u16, rows: u16) -> Terminal {
    let mut terminal = Terminal::sized(place, &["-m", "openai/gpt-test"], columns, rows);
    terminal.wait_for("›");
    terminal.say("go");
    terminal.wait_for("Allow?");
    terminal
}

#[test]
fn the_changed_lines_of_an_edit_are_in_sight_before_it_is_allowed() {
    let (before, after) = texts();
    for (columns, rows) in [(80, 24), (40, 12), (20, 6)] {
        let call = Reply::new().call("write_file", json!({"file_path": "big.txt", "content": &after}));
        let server = server(Script::new([call, "Done.".into()]));
        let place = Place::with_server(&server).file("big.txt", &before);
        let mut terminal = editing(&place, columns, rows);
        if rows < 12 {
            terminal.wait_for("Allow? Enlarge the");
            terminal.press("y");
            terminal.press("\r");
            terminal.resize(80, 24);
        }
        terminal
            .wait_until("the change", |screen| screen.contains("│ -line 40") && screen.contains("│ +EVIL"));
        assert_eq!(place.read("big.txt").as_deref(), Some(before.as_str()));
        terminal.wait_for("Allow? y once");
        terminal.press("y");
        terminal.wait_for("Done.");
        assert_eq!(place.read("big.txt").as_deref(), Some(after.as_str()));
    }
}

#[test]
fn a_long_command_is_gone_through_before_it_is_allowed() {
    let command: String = (0..60).map(|n| format!("echo {n} >> all\n")).collect();
    let call = Reply::new().call("run_shell_command", json!({"command": command}));
    let server = server(Script::new([call, "Done.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = editing(&place, 80, 24);
    terminal.wait_for("rows unseen");
    terminal.press("y\r");
    let mut missing = usize::MAX;
    while missing > 0 {
        terminal.press("\u{1b}[6~");
        let unseen = |screen: &str| {
            let row = screen.lines().find(|row| row.contains("unseen")).unwrap_or_default();
            row.split_whitespace().find_map(|word| word.parse().ok()).unwrap_or(0)
        };
        terminal.wait_until("more of it", |screen| unseen(screen) < missing && screen.contains("Allow?"));
        assert!(place.read("all").is_none());
        missing = unseen(&terminal.screen());
    }
    terminal.press("y");
    terminal.wait_for("Done.");
    assert!(place.read("all").is_some());
}
