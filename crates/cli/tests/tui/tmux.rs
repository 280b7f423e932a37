//! The same under a real terminal multiplexer, which breaks rows anew when it is resized.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use charla_testkit::{Reply, Script};
use serde_json::json;

use crate::place::{PATIENCE, Place, server};

/// A server of its own for each test.
struct Tmux {
    socket: String,
}

impl Tmux {
    fn start(place: &Place, arguments: &[&str], columns: u16, rows: u16) -> Self {
        let socket = place.path().join("tmux").display().to_string();
        let tmux = Self { socket };
        let prepared = place.process(arguments);
        let mut command = tmux.command();
        command.envs(prepared.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(place.work());
        let (columns, rows) = (columns.to_string(), rows.to_string());
        command.args(["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &rows]);
        let program = prepared.get_program().to_string_lossy().into_owned();
        let words = prepared.get_args().map(|word| word.to_string_lossy().into_owned());
        let line: Vec<String> = std::iter::once(program).chain(words).collect();
        // The pane stays after the program, so that its last words can be read.
        command.arg(format!("{}; printf 'ended %s' $?; sleep 1000", line.join(" ")));
        let made = command.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        tmux
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-S", &self.socket]);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    fn press(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat());
    }

    /// Everything in the pane, what scrolled away included.
    fn all(&self) -> String {
        let captured = self.run(&["capture-pane", "-p", "-J", "-S", "-"]);
        String::from_utf8_lossy(&captured.stdout).trim_end().to_owned()
    }

    fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let all = self.all();
            if holds(&all) {
                return all;
            }
            assert!(Instant::now() < deadline, "{what}:\n{all}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |all| all.contains(text))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn a_conversation_under_tmux_survives_resizing() {
    let lines: String = (0..60).map(|n| format!("- point {n} of the list\n")).collect();
    let touch = Reply::new().call("run_shell_command", json!({"command": "touch made"}));
    let server = server(Script::new([Reply::new().chunk(30).text(lines), touch, "All done.".into()]));
    let place = Place::with_server(&server);
    let tmux = Tmux::start(&place, &["-m", "openai/gpt-test"], 90, 30);
    tmux.wait_for("openai/gpt-test");
    tmux.press(&["list them", "Enter"]);
    tmux.wait_for("point 59");
    for (columns, rows) in [("50", "20"), ("110", "35"), ("40", "15"), ("80", "24")] {
        tmux.run(&["resize-window", "-x", columns, "-y", rows]);
        let rule = "─".repeat(columns.parse().unwrap());
        tmux.wait_until("drawn anew", |all| all.contains(&rule));
    }
    let all = tmux.wait_until("one status line", |all| all.matches("openai/gpt-test · default").count() == 1);
    for n in 0..60 {
        assert_eq!(all.matches(&format!("point {n} of the list")).count(), 1, "{n}: {all}");
    }
    tmux.press(&["make it", "Enter"]);
    tmux.wait_for("r no, with a reason");
    tmux.press(&["y"]);
    tmux.wait_for("All done.");
    assert!(place.read("made").is_some());
    tmux.press(&["C-d"]);
    let all = tmux.wait_for("ended 0");
    assert!(all.contains("charla --resume"), "{all}");
}

#[test]
fn resizing_while_an_answer_streams_leaves_every_row_once() {
    let words = "which is told in so many words that a narrow window has to break it";
    let lines: String = (0..40).map(|n| format!("- point {n}: {words}\n")).collect();
    let server = server(Script::new([Reply::new().chunk(30).text(lines).stall()]));
    let place = Place::with_server(&server);
    let tmux = Tmux::start(&place, &["-m", "openai/gpt-test"], 90, 30);
    tmux.wait_for("openai/gpt-test");
    tmux.press(&["list them", "Enter"]);
    tmux.wait_for("point 39");
    for (columns, rows) in [("45", "30"), ("90", "15"), ("60", "30"), ("40", "24"), ("90", "30")] {
        tmux.run(&["resize-window", "-x", columns, "-y", rows]);
        let rule = "─".repeat(columns.parse().unwrap());
        tmux.wait_until("drawn anew", |all| all.lines().any(|line| line == rule));
    }
    tmux.press(&["Escape"]);
    let all = tmux.wait_for("⊘ interrupted");
    let counts: Vec<usize> = (0..40).map(|n| all.matches(&format!("point {n}:")).count()).collect();
    assert!(counts.iter().all(|count| *count == 1), "{counts:?}\n{all}");
}

#[test]
fn a_row_that_was_longer_once_is_no_longer_than_it_is_when_the_window_becomes_narrow() {
    // It ends in the middle of a row, where rows of the screen's whole width stood before.
    let lines: String = (0..12).map(|n| format!("- point {n}: in few words\n")).collect();
    let server = server(Script::new([Reply::new().chunk(9).text(format!("{lines}- point 12: in")).stall()]));
    let place = Place::with_server(&server);
    let tmux = Tmux::start(&place, &["-m", "openai/gpt-test"], 100, 30);
    tmux.wait_for("openai/gpt-test");
    tmux.press(&["list them", "Enter"]);
    tmux.wait_for("point 12: in");
    for columns in ["65", "50", "100", "60"] {
        tmux.run(&["resize-window", "-x", columns, "-y", "30"]);
        let rule = "─".repeat(columns.parse().unwrap());
        tmux.wait_until("drawn anew", |all| all.lines().any(|line| line == rule));
    }
    tmux.press(&["Escape"]);
    let all = tmux.wait_for("⊘ interrupted");
    let counts: Vec<usize> = (0..13).map(|n| all.matches(&format!("point {n}:")).count()).collect();
    assert!(counts.iter().all(|count| *count == 1) && !all.contains("asking"), "{counts:?}\n{all}");
}

#[test]
fn a_window_that_becomes_smaller_while_an_answer_streams_shows_nothing_twice() {
    let words = "which is told in so many words that a narrow window has to break it";
    let line = |n: usize| format!("- point {n}: {words}\n");
    let streamed = (0..60).fold(Reply::new(), |reply, n| reply.text(line(n)).delay(20));
    let server = server(Script::new([streamed.stall()]));
    let place = Place::with_server(&server);
    let tmux = Tmux::start(&place, &["-m", "openai/gpt-test"], 80, 24);
    tmux.wait_for("openai/gpt-test");
    tmux.press(&["list them", "Enter"]);
    tmux.wait_for("point 8:");
    for (columns, rows) in [("40", "24"), ("100", "24"), ("60", "24"), ("60", "14")] {
        tmux.run(&["resize-window", "-x", columns, "-y", rows]);
        let rule = "─".repeat(columns.parse().unwrap());
        tmux.wait_until("drawn anew", |all| all.lines().any(|line| line == rule));
    }
    tmux.wait_for("point 59:");
    tmux.press(&["Escape"]);
    let all = tmux.wait_for("⊘ interrupted");
    let counts: Vec<usize> = (0..60).map(|n| all.matches(&format!("point {n}:")).count()).collect();
    assert!(counts.iter().all(|count| *count == 1), "{counts:?}\n{all}");
}
