//! The binary on a terminal of its own, seen through a model of its screen.

use std::io::{BufRead, BufReader, Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use crate::place::{PATIENCE, Place};

/// The number of the system call that writes.
const WRITE: &str = if cfg!(target_arch = "x86_64") { "1" } else { "64" };

/// Rows of scrollback that are kept.
const SCROLLBACK: usize = 200_000;

fn some(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

/// A terminal with the binary on it. What is still running when it is dropped is killed.
pub struct Terminal {
    helper: Child,
    told: BufReader<ChildStderr>,
    /// The binary's own process.
    process: String,
    orders: ChildStdin,
    pieces: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    /// Everything that was written to the terminal.
    pub bytes: Vec<u8>,
}

/// How it ended.
#[derive(Debug)]
pub struct End {
    pub code: Option<i32>,
    /// The terminal is as it was found.
    pub is_restored: bool,
    /// All rows, those that scrolled away included.
    pub rows: Vec<String>,
}

/// The binary where a session can begin.
pub fn start(place: &Place) -> Terminal {
    let mut terminal = Terminal::sized(place, &["-m", "openai/gpt-test"], 100, 40);
    terminal.wait_for("openai/gpt-test");
    terminal
}

/// Types a command, whole, and sends it.
pub fn command(terminal: &mut Terminal, line: &str) {
    terminal.press(line);
    terminal.wait_for(line);
    terminal.press("\r");
}

impl Terminal {
    pub fn start(place: &Place, arguments: &[&str]) -> Self {
        Self::sized(place, arguments, 80, 24)
    }

    pub fn sized(place: &Place, arguments: &[&str], columns: u16, rows: u16) -> Self {
        std::fs::write(place.home().join("welcomed"), "").unwrap();
        Self::first(place, arguments, columns, rows)
    }

    /// As a user has it who was never here before.
    pub fn first(place: &Place, arguments: &[&str], columns: u16, rows: u16) -> Self {
        let mut prepared = place.process(arguments);
        if !prepared.get_envs().any(|(name, _)| name == "TERM") {
            prepared.env("TERM", "xterm-256color");
        }
        Self::of(place, &prepared, columns, rows)
    }

    /// One that is not read before [`Self::go_on_reading`].
    pub fn unread(place: &Place, arguments: &[&str]) -> Self {
        std::fs::write(place.home().join("welcomed"), "").unwrap();
        let mut prepared = place.process(arguments);
        prepared.env("TERM", "xterm-256color");
        Self::ordered(place, &prepared, 80, 24, b"p\0\0\0\0")
    }

    pub fn of(place: &Place, prepared: &Command, columns: u16, rows: u16) -> Self {
        Self::ordered(place, prepared, columns, rows, b"")
    }

    /// One that gets these orders before it begins.
    fn ordered(place: &Place, prepared: &Command, columns: u16, rows: u16, orders: &[u8]) -> Self {
        let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
        let mut command = Command::new(python);
        command.env_clear().current_dir(place.work());
        command.envs(prepared.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.args(["-c", include_str!("terminal.py"), &columns.to_string(), &rows.to_string()]);
        command.arg(prepared.get_program()).args(prepared.get_args());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut helper = command.spawn().unwrap();
        helper.stdin.as_mut().unwrap().write_all(orders).unwrap();
        let mut told = BufReader::new(helper.stderr.take().unwrap());
        let mut process = String::new();
        told.read_line(&mut process).unwrap();
        let (sender, pieces) = mpsc::channel();
        let mut out = helper.stdout.take().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            told,
            process: process.trim().to_owned(),
            orders: helper.stdin.take().unwrap(),
            helper,
            pieces,
            screen: vt100::Parser::new(some(rows), some(columns), SCROLLBACK),
            bytes: Vec::new(),
        }
    }

    fn order(&mut self, letter: u8, body: &[u8]) {
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        self.orders.write_all(&[&[letter][..], &length, body].concat()).unwrap();
        self.orders.flush().unwrap();
    }

    /// Types.
    pub fn press(&mut self, keys: &str) {
        self.order(b'k', keys.as_bytes());
    }

    /// Types a line and sends it.
    pub fn say(&mut self, words: &str) {
        self.press(words);
        self.wait_for(words.get(..words.len().min(20)).unwrap_or(words));
        self.press("\r");
    }

    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.screen.screen_mut().set_size(some(rows), some(columns));
        self.order(b'r', format!("{columns} {rows}").as_bytes());
    }

    /// What the terminal shows is left where it is, from now on.
    pub fn stop_reading(&mut self) {
        self.order(b'p', b"");
    }

    /// Waits until all that was typed is taken.
    pub fn wait_taken(&mut self) {
        self.order(b't', b"");
        let mut line = String::new();
        self.told.read_line(&mut line).unwrap();
        assert_eq!(line, "taken\n");
    }

    /// Waits until the binary is held up in writing what the terminal does not read.
    pub fn wait_held_up(&self) {
        let writes = |task: &Path| {
            let read = |name: &str| std::fs::read_to_string(task.join(name)).unwrap_or_default();
            let call = read("syscall");
            read("comm").trim() == "terminal" && call.split(' ').next() == Some(WRITE)
        };
        let tasks = format!("/proc/{}/task", self.process);
        let is_held_up = || std::fs::read_dir(&tasks).unwrap().any(|task| writes(&task.unwrap().path()));
        let deadline = Instant::now() + PATIENCE;
        while !is_held_up() {
            assert!(Instant::now() < deadline, "it is not held up");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// It is read again.
    pub fn go_on_reading(&mut self) {
        self.order(b'c', b"");
    }

    /// Sends a signal to the binary.
    pub fn signal(&self, name: &str) {
        let sent =
            Command::new("kill").args([&format!("-{name}"), &self.process]).stderr(Stdio::null()).status();
        assert!(sent.is_ok());
    }

    /// Waits until the binary is stopped, as the system sees it.
    pub fn wait_stopped(&self) {
        let deadline = Instant::now() + PATIENCE;
        let state = || Command::new("ps").args(["-o", "stat=", "-p", &self.process]).output().unwrap().stdout;
        while !state().starts_with(b"T") {
            assert!(Instant::now() < deadline, "it is not stopped");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The model of the screen itself.
    pub fn model(&self) -> &vt100::Screen {
        self.screen.screen()
    }

    /// What the screen shows.
    pub fn screen(&self) -> String {
        self.screen.screen().contents()
    }

    /// All rows, those that scrolled away included.
    pub fn rows(&mut self) -> Vec<String> {
        let screen = self.screen.screen_mut();
        let (_, width) = screen.size();
        screen.set_scrollback(usize::MAX);
        let behind = screen.scrollback();
        let mut rows = Vec::new();
        for offset in (1..=behind).rev() {
            screen.set_scrollback(offset);
            rows.extend(screen.rows(0, width.get()).next());
        }
        screen.set_scrollback(0);
        rows.extend(screen.rows(0, width.get()));
        while rows.last().is_some_and(|row| row.trim().is_empty()) {
            rows.pop();
        }
        rows
    }

    /// Takes what comes within this time; false when nothing came.
    fn hear(&mut self, patience: Duration) -> bool {
        match self.pieces.recv_timeout(patience) {
            Ok(piece) => {
                self.screen.process(&piece);
                self.bytes.extend(piece);
                true
            }
            Err(_) => false,
        }
    }

    /// Waits until the screen shows this.
    pub fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Waits until the screen no longer shows this.
    pub fn wait_without(&mut self, text: &str) {
        self.wait_until(&format!("no {text}"), |screen| !screen.contains(text));
    }

    pub fn wait_until(&mut self, what: &str, holds: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(&self.screen()) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(self.hear(left), "{what:?} is not shown:\n{}", self.screen());
        }
    }

    /// Waits until the cursor is in this column.
    pub fn wait_cursor(&mut self, column: u16) {
        let deadline = Instant::now() + PATIENCE;
        while self.screen.screen().cursor_position().1 != column {
            let left = deadline.saturating_duration_since(Instant::now());
            let at = self.screen.screen().cursor_position();
            assert!(self.hear(left), "the cursor is at {at:?}, not in column {column}:\n{}", self.screen());
        }
    }

    /// Takes everything until nothing came for this long.
    pub fn settle(&mut self, quiet: Duration) {
        while self.hear(quiet) {}
    }

    /// Takes everything that comes within this time; how long it really was.
    pub fn watch(&mut self, time: Duration) -> Duration {
        let began = Instant::now();
        while let Some(left) = time.checked_sub(began.elapsed()) {
            self.hear(left);
        }
        began.elapsed()
    }

    /// Kills the binary as `kill -9` does, and waits until it is gone.
    pub fn kill(mut self) {
        self.signal("KILL");
        self.helper.wait().unwrap();
    }

    /// Waits for the end.
    pub fn finish(mut self) -> End {
        let deadline = Instant::now() + PATIENCE;
        while self.hear(deadline.saturating_duration_since(Instant::now())) {}
        assert!(Instant::now() < deadline, "it does not end:\n{}", self.screen());
        let code = self.helper.wait().unwrap().code();
        let mut told = String::new();
        self.told.read_to_string(&mut told).unwrap();
        End { code, is_restored: told.trim() == "restored", rows: self.rows() }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if matches!(self.helper.try_wait(), Ok(None)) {
            self.signal("KILL");
            let _ = self.helper.wait();
        }
    }
}
