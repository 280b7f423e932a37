//! The screen with its terminal: lines become rows, frames are paced.

use std::time::{Duration, Instant};

use super::background::QUESTION;
use crate::screen::{Narrowing, Place, Row, Screen, Size};
use crate::terminal::{Terminal, current_size};
use crate::text::Line;
use crate::theme::Painter;
use crate::writer::Writer;

/// Not more than sixty frames a second.
const FRAME: Duration = Duration::from_micros(16_667);

/// How long a size must hold before it is drawn for: a window that is dragged has many.
const STEADY: Duration = Duration::from_millis(60);

/// The terminal, drawn on.
pub struct Display {
    terminal: Terminal,
    screen: Screen,
    painter: Painter,
    last: Option<Instant>,
    is_dirty: bool,
    /// When the terminal's new size has held for long enough.
    settles: Option<Instant>,
}

impl Display {
    /// Takes the terminal.
    pub fn new(painter: Painter, narrowing: Narrowing) -> std::io::Result<Self> {
        let terminal = Terminal::enter()?;
        let screen = Screen::new(current_size(), narrowing);
        Ok(Self { terminal, screen, painter, last: None, is_dirty: true, settles: None })
    }

    /// How large it is.
    pub fn size(&self) -> Size {
        self.screen.size()
    }

    /// How it is painted.
    pub fn painter(&mut self) -> &mut Painter {
        self.is_dirty = true;
        &mut self.painter
    }

    /// Something changed: a frame is due.
    pub fn touch(&mut self) {
        self.is_dirty = true;
    }

    /// When the next frame is due; never while nothing changes, and not before the last one is written.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        let is_due = self.is_dirty && !self.terminal.writer().is_busy();
        let next = self.last.map_or(now, |last| last + FRAME);
        is_due.then(|| self.settles.map_or(next, |settles| settles.max(next)))
    }

    /// True while the terminal has not taken all that was drawn.
    pub fn is_writing(&self) -> bool {
        self.terminal.writer().is_busy()
    }

    /// What tells when the last frame is written, while another one `waits` for it, or something else does.
    pub fn behind(&self, waits: bool) -> Option<Writer> {
        let writer = self.terminal.writer();
        ((self.is_dirty || waits) && writer.is_busy()).then(|| writer.clone())
    }

    /// Draws a frame.
    pub fn draw(&mut self, finished: &[Line], live: &[Line], cursor: Place, now: Instant) {
        self.is_dirty = false;
        self.last = Some(now);
        let finished = finished.iter().flat_map(|line| self.rows(line)).collect();
        let live = live.iter().map(|line| self.row(&line.truncate(self.size().columns))).collect();
        let bytes = self.screen.frame(finished, live, cursor);
        self.send(&bytes);
    }

    /// The terminal has another size: nothing is drawn until it has held for a moment.
    pub fn resized(&mut self, now: Instant) {
        self.settles = Some(now + STEADY);
        self.is_dirty = true;
    }

    /// True where the terminal has another size than it is drawn for.
    pub fn has_other_size(&self) -> bool {
        self.settles.is_none() && current_size() != self.size()
    }

    /// Takes the new size, if there is one. Of `settled`, which never changes, rows that stand on the screen may stay there: how many, comes back.
    pub fn resize(&mut self, settled: &[Line]) -> Option<usize> {
        self.settles.take()?;
        let columns = self.size().columns;
        let settled = settled.iter().take_while(|line| line.width() <= columns).map(|line| self.row(line));
        let settled: Vec<Row> = settled.collect();
        let (bytes, kept) = self.screen.resize(current_size(), &settled);
        self.send(&bytes);
        Some(kept)
    }

    /// Clears the screen; what scrolled away stays where it is.
    pub fn clear_screen(&mut self) {
        self.send("\u{1b}[H\u{1b}[2J");
        self.screen = self.screen.anew(self.size());
        self.is_dirty = true;
    }

    /// Rings the bell; with words, tells the desktop, too.
    pub fn ring(&mut self, words: Option<&str>) {
        let told = words.map(|words| format!("\u{1b}]9;{words}\u{7}\u{1b}]777;notify;charla;{words}\u{7}"));
        self.send(&format!("{}\u{7}", told.unwrap_or_default()));
    }

    /// Asks the terminal what stands behind its text.
    pub fn ask_background(&mut self) {
        self.send(QUESTION);
    }

    /// Puts a text into the clipboard of whoever sits at the terminal.
    pub fn copy(&mut self, base64: &str) {
        self.send(&format!("\u{1b}]52;c;{base64}\u{7}"));
    }

    /// Takes the live region away and gives the terminal to somebody else; false where it does not read.
    pub fn give(&mut self) -> bool {
        let bytes = self.screen.clear();
        self.send(&bytes);
        self.terminal.give()
    }

    /// Gives the terminal back for good; false where it does not read.
    pub fn end(mut self) -> bool {
        self.terminal.give()
    }

    /// Takes the terminal back and draws anew.
    pub fn take_back(&mut self) -> std::io::Result<()> {
        self.terminal.take_back()?;
        self.screen = self.screen.anew(current_size());
        self.is_dirty = true;
        Ok(())
    }

    /// False once a panic gave the terminal back.
    pub fn is_ours(&self) -> bool {
        self.terminal.is_taken()
    }

    fn send(&mut self, bytes: &str) {
        if !bytes.is_empty() && self.terminal.is_taken() {
            self.terminal.writer().send(bytes);
        }
    }

    fn rows(&self, line: &Line) -> Vec<Row> {
        line.wrap(self.size().columns).iter().map(|line| self.row(line)).collect()
    }

    fn row(&self, line: &Line) -> Row {
        Row { bytes: self.painter.paint(line), columns: line.width() }
    }
}
