//! Whatever ends the program, the terminal is as it was found.

use std::process::{Command, Stdio};

/// Set for the process that is to panic.
const VICTIM: &str = "CHARLA_TEST_VICTIM";

/// Takes the terminal and panics, in the process that is told to; nothing elsewhere.
#[test]
fn a_victim_panics_while_it_has_the_terminal() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    let _terminal = charla_tui::terminal::Terminal::enter().unwrap();
    panic!("as it was told");
}

#[test]
fn a_panic_gives_the_terminal_back_before_it_is_told() {
    let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let helper = include_str!("../../cli/tests/tui/terminal.py");
    let victim = ["a_victim_panics_while_it_has_the_terminal", "--exact", "--nocapture"];
    let run = Command::new(python)
        .args(["-c", helper, "80", "24"])
        .arg(std::env::current_exe().unwrap())
        .args(victim)
        .env(VICTIM, "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&run.stdout);
    assert!(String::from_utf8_lossy(&run.stderr).ends_with("restored\n"), "{run:?}");
    let (back, told) = (shown.find("\u{1b}[?2004l").unwrap(), shown.find("as it was told").unwrap());
    assert!(back < told, "{shown:?}");
}
