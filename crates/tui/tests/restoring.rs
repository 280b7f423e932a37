//! Whatever ends the program, the terminal is as it was found.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

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

/// The same in a thread beside the one that waits.
#[tokio::test]
async fn a_victim_panics_beside_whoever_has_the_terminal() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    let _terminal = charla_tui::terminal::Terminal::enter().unwrap();
    let beside = std::thread::spawn(|| panic!("as it was told"));
    charla_tui::terminal::lost().await;
    assert!(beside.join().is_err());
    println!("noticed");
}

/// What a victim's terminal shows, once it is as it was found.
fn shown(victim: &str) -> String {
    let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let helper = include_str!("../../cli/tests/tui/terminal.py");
    let run = Command::new(python)
        .args(["-c", helper, "80", "24"])
        .arg(std::env::current_exe().unwrap())
        .args([victim, "--exact", "--nocapture"])
        .env(VICTIM, "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&run.stderr).ends_with("restored\n"), "{run:?}");
    String::from_utf8_lossy(&run.stdout).into_owned()
}

#[test]
fn a_panic_gives_the_terminal_back_before_it_is_told() {
    let shown = shown("a_victim_panics_while_it_has_the_terminal");
    let (back, told) = (shown.find("\u{1b}[?2004l").unwrap(), shown.find("as it was told").unwrap());
    assert!(back < told, "{shown:?}");
}

#[test]
fn a_panic_elsewhere_is_noticed_by_whoever_waits() {
    let shown = shown("a_victim_panics_beside_whoever_has_the_terminal");
    assert!(shown.contains("as it was told") && shown.contains("noticed"), "{shown:?}");
}
