//! The screen with its terminal: lines become rows, frames are paced.

use std::time::{Duration, Instant};

use crate::screen::{Place, Row, Screen, Size};
use crate::terminal::{Terminal, current_size};
use crate::text::Line;
use crate::theme::Painter;

/// Not more than sixty frames a second.
const FRAME: Duration = Duration::from_micros(16_667);

/// The terminal, drawn on.
pub struct Display {
    terminal: Terminal,
    screen: Screen,
    painter: Painter,
    last: Option<Instant>,
    is_dirty: bool,
}

impl Display {
    /// Takes the terminal.
    pub fn new(painter: Painter) -> std::io::Result<Self> {
        let terminal = Terminal::enter()?;
        Ok(Self { terminal, screen: Screen::new(current_size()), painter, last: None, is_dirty: true })
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

    /// When the next frame is due; never while nothing changes.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        self.is_dirty.then(|| self.last.map_or(now, |last| last + FRAME))
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

    /// The terminal has another size.
    pub fn resize(&mut self) {
        let bytes = self.screen.resize(current_size());
        self.send(&bytes);
        self.is_dirty = true;
    }

    /// Clears the screen; what scrolled away stays where it is.
    pub fn clear_screen(&mut self) {
        self.send("\u{1b}[H\u{1b}[2J");
        self.screen = Screen::new(self.size());
        self.is_dirty = true;
    }

    /// Rings the bell; with words, tells the desktop, too.
    pub fn ring(&mut self, words: Option<&str>) {
        let told = words.map(|words| format!("\u{1b}]9;{words}\u{7}\u{1b}]777;notify;charla;{words}\u{7}"));
        self.send(&format!("{}\u{7}", told.unwrap_or_default()));
    }

    /// Puts a text into the clipboard of whoever sits at the terminal.
    pub fn copy(&mut self, base64: &str) {
        self.send(&format!("\u{1b}]52;c;{base64}\u{7}"));
    }

    /// Takes the live region away and gives the terminal to somebody else.
    pub fn give(&mut self) {
        let bytes = self.screen.clear();
        self.send(&bytes);
        self.terminal.give();
    }

    /// Takes the terminal back and draws anew.
    pub fn take_back(&mut self) -> std::io::Result<()> {
        self.terminal.take_back()?;
        self.screen = Screen::new(current_size());
        self.is_dirty = true;
        Ok(())
    }

    /// False once a panic gave the terminal back.
    pub fn is_ours(&self) -> bool {
        self.terminal.is_taken()
    }

    fn send(&mut self, bytes: &str) {
        if !bytes.is_empty() && self.terminal.is_taken() {
            self.terminal.write(bytes);
        }
    }

    fn rows(&self, line: &Line) -> Vec<Row> {
        line.wrap(self.size().columns).iter().map(|line| self.row(line)).collect()
    }

    fn row(&self, line: &Line) -> Row {
        Row { bytes: self.painter.paint(line), columns: line.width() }
    }
}
