//! Tools at work, stopping, and the terminal in other hands meanwhile.

use std::time::{Duration, Instant};

use charla_testkit::{Reply, Script};

use crate::journal::records;
use crate::place::{PATIENCE, Place, server};
use crate::replies::shell;
use crate::terminal::Terminal;

fn working(place: &Place, prompt: &str) -> Terminal {
    let mut terminal = Terminal::start(place, &["-m", "openai/gpt-test", "--approval-mode", "yolo"]);
    terminal.wait_for("›");
    terminal.say(prompt);
    terminal
}

#[test]
fn a_tool_shows_its_output_while_it_runs_and_its_end_afterwards() {
    let command = "echo started; while [ ! -e go ]; do sleep 0.05; done; seq 1 40";
    let server = server(Script::new([shell(command), "Done.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = working(&place, "count");
    terminal.wait_for("│ started");
    std::fs::write(place.work().join("go"), "").unwrap();
    terminal.wait_for("Done.");
    let shown = terminal.rows().join("\n");
    assert!(shown.contains("✓ run_shell_command"), "{shown}");
    assert!(shown.contains("more lines"), "{shown}");
    assert!(shown.contains("│ 40"), "{shown}");
}

#[test]
fn ten_thousand_lines_of_output_keep_the_screen_small() {
    let server = server(Script::new([
        shell("seq 1 10000; head -c 1000000 /dev/zero | tr '\\0' x; echo"),
        "Done.".into(),
    ]));
    let place = Place::with_server(&server);
    let mut terminal = working(&place, "much");
    terminal.wait_for("Done.");
    let rows = terminal.rows();
    assert!(rows.len() < 60, "{} rows", rows.len());
    assert!(terminal.bytes.len() < 200_000, "{} bytes", terminal.bytes.len());
}

#[test]
fn escape_stops_model_and_tools_at_once() {
    let server = server(Script::new([shell("touch began; sleep 600"), "Well.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = working(&place, "sleep");
    terminal.wait_for("working");
    while place.read("began").is_none() {
        terminal.settle(Duration::from_millis(20));
    }
    let pressed = Instant::now();
    terminal.press("\u{1b}");
    terminal.wait_for("stopped");
    // Generous: the machine may be busy. What matters is that nobody waited for the tool.
    assert!(pressed.elapsed() < Duration::from_secs(20));
    terminal.say("go on");
    terminal.wait_for("Well.");
}

/// How long it takes from Esc until the turn's end is recorded, at best: the machine may be busy.
fn from_escape_to_end(place: &Place, terminal: &mut Terminal, is_under_way: impl Fn() -> bool) -> u64 {
    let ends = |place: &Place| -> Vec<u64> {
        let records = records(place);
        let ends = records.iter().filter(|record| record["kind"] == "turn_ended");
        ends.filter_map(|record| record["at"].as_u64()).collect()
    };
    let mut best = u64::MAX;
    for round in 0..5 {
        terminal.say(&format!("round {round}"));
        let deadline = Instant::now() + PATIENCE;
        while !is_under_way() {
            assert!(Instant::now() < deadline, "{}", terminal.screen());
            terminal.settle(Duration::from_millis(20));
        }
        let before = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let pressed = u64::try_from(before.as_millis()).unwrap();
        terminal.press("\u{1b}");
        terminal.wait_until("the end", |_| ends(place).len() > round);
        best = best.min(ends(place)[round].saturating_sub(pressed));
        terminal.wait_without("Esc stops");
        if best <= 500 {
            break;
        }
    }
    best
}

#[test]
fn escape_stops_a_stuck_server_within_half_a_second() {
    let server = server(Script::new([(); 5].map(|()| Reply::new().stall())));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("openai/gpt-test");
    let asked = std::cell::Cell::new(0);
    let took = from_escape_to_end(&place, &mut terminal, || {
        let is_new = server.requests().len() > asked.get();
        asked.set(server.requests().len());
        is_new
    });
    assert!(took <= 500, "{took} ms");
}

#[test]
fn escape_stops_a_tool_that_hears_no_signal_within_half_a_second() {
    for command in ["touch began; sleep 600", "trap '' TERM INT; touch began; while :; do sleep 1; done"] {
        let server = server(Script::new([(); 5].map(|()| shell(command))));
        let place = Place::with_server(&server);
        let arguments = ["-m", "openai/gpt-test", "--approval-mode", "yolo"];
        let mut terminal = Terminal::start(&place, &arguments);
        terminal.wait_for("openai/gpt-test");
        let began = place.work().join("began");
        let took = from_escape_to_end(&place, &mut terminal, || std::fs::remove_file(&began).is_ok());
        assert!(took <= 500, "{command}: {took} ms");
    }
}

#[test]
fn a_terminal_that_nobody_reads_holds_up_nothing_and_loses_nothing() {
    let lines: String = (0..4000).map(|n| format!("- point {n} of a long list of points\n")).collect();
    let server = server(Script::new([Reply::new().chunk(400).text(lines), Reply::new().text("Short.")]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("openai/gpt-test");
    terminal.stop_reading();
    terminal.press("list them\r");
    wait_for_end(&place, 1);
    terminal.go_on_reading();
    terminal.wait_for("point 3999");
    terminal.wait_without("Esc stops");
    let rows = terminal.rows().join("\n");
    let missing: Vec<usize> =
        (0..4000).filter(|n| rows.matches(&format!("point {n} of")).count() != 1).collect();
    assert!(missing.is_empty(), "{missing:?}");
    terminal.say("once more");
    terminal.wait_for("Short.");
}

#[test]
fn a_terminal_that_nobody_reads_does_not_keep_the_program_from_ending() {
    let lines: String = (0..4000).map(|n| format!("- point {n} of a long list of points\n")).collect();
    let server = server(Script::new([Reply::new().chunk(400).text(lines)]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("openai/gpt-test");
    terminal.stop_reading();
    terminal.press("list them\r");
    wait_for_end(&place, 1);
    terminal.signal("TERM");
    let end = terminal.finish();
    assert_eq!((end.code, end.is_restored), (Some(130), true));
}

/// Waits until so many turns have ended, whatever the terminal shows.
fn wait_for_end(place: &Place, turns: usize) {
    let deadline = Instant::now() + PATIENCE;
    while records(place).iter().filter(|record| record["kind"] == "turn_ended").count() < turns {
        assert!(Instant::now() < deadline, "the turn does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_stream_is_stopped_in_the_middle_and_the_conversation_goes_on() {
    let server = server(Script::new([Reply::new().text("Half an answer. ").stall(), "Whole.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = working(&place, "begin");
    terminal.wait_for("Half an answer.");
    terminal.press("\u{3}");
    terminal.wait_for("stopped");
    assert!(terminal.rows().join("\n").contains("Half an answer."), "{}", terminal.screen());
    terminal.say("go on");
    terminal.wait_for("Whole.");
}

#[test]
fn it_stops_and_continues_like_any_program() {
    let server = server(Script::new(["Still here."]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("›");
    terminal.press("draft");
    terminal.wait_for("› draft");
    terminal.signal("TSTP");
    // Stopped, the terminal is the shell's: nothing of ours is on it.
    terminal.wait_without("› draft");
    terminal.wait_stopped();
    terminal.signal("CONT");
    terminal.wait_for("› draft");
    terminal.press("\r");
    terminal.wait_for("Still here.");
    terminal.press("\u{4}");
    let end = terminal.finish();
    assert_eq!((end.code, end.is_restored), (Some(0), true));
}

#[test]
fn a_running_spinner_writes_little_and_an_idle_screen_nothing() {
    let server = server(Script::new([Reply::new().text("Thinking hard. ").stall()]));
    let place = Place::with_server(&server);
    let mut terminal = working(&place, "wait");
    terminal.wait_for("Thinking hard.");
    let before = terminal.bytes.len();
    let time = terminal.watch(Duration::from_secs(2));
    let rate = (terminal.bytes.len() - before) as f64 / time.as_secs_f64();
    assert!(rate < 5000.0, "{rate} bytes a second");
    let frames = String::from_utf8_lossy(&terminal.bytes).into_owned();
    assert!(!frames.contains("\u{1b}[2J"), "a full clear");
    terminal.press("\u{1b}");
    terminal.wait_for("stopped");
    terminal.settle(Duration::from_millis(500));
    let before = terminal.bytes.len();
    terminal.watch(Duration::from_millis(1500));
    assert_eq!(terminal.bytes.len(), before);
}
