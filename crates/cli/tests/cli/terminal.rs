//! A terminal that stays open while the test does something else.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Instant;

use crate::place::{PATIENCE, Place};

/// The binary on a terminal. What is still running when it is dropped is killed.
pub struct Terminal {
    helper: Child,
    /// The binary's own process.
    process: String,
    typing: ChildStdin,
    pieces: Receiver<Vec<u8>>,
    shown: Vec<u8>,
    /// How much of it was waited for already.
    seen: usize,
}

impl Terminal {
    pub fn start(place: &Place, arguments: &[&str]) -> Self {
        Self::of(place, &place.process(arguments))
    }

    /// A shell in which `$CHARLA` is the binary.
    pub fn shell(place: &Place, script: &str) -> Self {
        let binary = place.process(&[]);
        let mut shell = Command::new("/bin/sh");
        shell.envs(binary.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.env("CHARLA", binary.get_program()).args(["-c", script]);
        Self::of(place, &shell)
    }

    fn of(place: &Place, prepared: &Command) -> Self {
        let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
        let mut command = Command::new(python);
        command.env_clear().current_dir(place.work());
        command.envs(prepared.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.args(["-c", include_str!("live_terminal.py")]);
        command.arg(prepared.get_program()).args(prepared.get_args());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut helper = command.spawn().unwrap();
        let mut process = String::new();
        BufReader::new(helper.stderr.take().unwrap()).read_line(&mut process).unwrap();
        let (sender, pieces) = mpsc::channel();
        let mut out = helper.stdout.take().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let (process, typing) = (process.trim().to_owned(), helper.stdin.take().unwrap());
        Self { helper, process, typing, pieces, shown: Vec::new(), seen: 0 }
    }

    /// Everything the terminal has shown.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }

    /// Waits until this is shown, after what was waited for before.
    pub fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let fresh = &self.shown[self.seen..];
            if let Some(at) = fresh.windows(text.len()).position(|window| window == text.as_bytes()) {
                self.seen += at + text.len();
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(piece) => self.shown.extend(piece),
                Err(error) => panic!("{text:?} is not shown ({error}): {}", self.shown()),
            }
        }
    }

    pub fn type_in(&mut self, text: &str) {
        self.type_bytes(text.as_bytes());
    }

    pub fn type_bytes(&mut self, bytes: &[u8]) {
        self.typing.write_all(bytes).unwrap();
    }

    /// Sends the binary a signal, such as `-TERM`.
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.process]).stderr(Stdio::null()).status();
        assert!(sent.is_ok());
    }

    /// Kills the binary as `kill -9` does, and waits until it is gone.
    pub fn kill(mut self) {
        self.signal("-9");
        self.helper.wait().unwrap();
    }

    /// Waits for the end; the exit code and all that was shown.
    pub fn finish(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + PATIENCE;
        while let Ok(piece) = self.pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.shown.extend(piece);
        }
        assert!(Instant::now() < deadline, "it does not end: {}", self.shown());
        (self.helper.wait().unwrap().code(), self.shown())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if matches!(self.helper.try_wait(), Ok(None)) {
            self.signal("-9");
            let _ = self.helper.wait();
        }
    }
}
