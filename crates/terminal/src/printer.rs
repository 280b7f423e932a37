//! The only place that writes to standard output and standard error.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;

use charla::{Failure, Notice, Notices, Progress};
use charla_proto::text::{behind_margin, visible};
use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;

use crate::curtain::Curtain;
use crate::exit;
use crate::wording;

/// Standard output, to see whether it still has a reader.
fn watched_output() -> io::Result<Sender> {
    Sender::from_owned_fd_unchecked(io::stdout().as_fd().try_clone_to_owned()?)
}

/// Standard output for results, standard error for everything else.
///
/// Output is gathered and goes out on [`Printer::flush`]: whoever prints decides when a reader should see
/// something. A reader that went away is remembered, not reported: see [`Printer::is_abandoned`].
pub struct Printer {
    out: BufWriter<Box<dyn Write + Send>>,
    err: Box<dyn Write + Send>,
    /// Standard output is a terminal.
    pub out_terminal: bool,
    /// Standard error is a terminal.
    pub err_terminal: bool,
    colour: bool,
    /// Standard output is the process's own, and may have a reader.
    is_read: bool,
    abandoned: bool,
    /// How many lines the next message on standard error replaces (a countdown, a command's last words).
    fleeting: usize,
    /// Shared with whoever asks questions on the same screen.
    curtain: Curtain,
    /// Pieces of the result that came while a question was open.
    later: String,
}

impl Printer {
    /// A printer on the process's streams; `plain` never colours.
    pub fn of_process(plain: bool) -> Self {
        let err_terminal = io::stderr().is_terminal();
        Self {
            out: BufWriter::with_capacity(64 * 1024, Box::new(io::stdout())),
            err: Box::new(io::stderr()),
            out_terminal: io::stdout().is_terminal(),
            err_terminal,
            colour: err_terminal && !plain,
            is_read: true,
            abandoned: false,
            fleeting: 0,
            curtain: Curtain::default(),
            later: String::new(),
        }
    }

    /// A printer on these writers, without colour; `terminal`: as if a person sat before both.
    pub fn of(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>, terminal: bool) -> Self {
        Self {
            out: BufWriter::new(out),
            err,
            out_terminal: terminal,
            err_terminal: terminal,
            colour: false,
            is_read: false,
            abandoned: false,
            fleeting: 0,
            curtain: Curtain::default(),
            later: String::new(),
        }
    }

    /// True when nobody reads standard output any more (`charla … | head -1`): time to end, quietly.
    pub fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// Nobody reads standard output any more.
    pub(crate) fn abandon(&mut self) {
        self.abandoned = true;
    }

    /// Ends when whoever reads standard output goes away, also while nothing is printed; never where that cannot be seen.
    pub(crate) fn reader_left(&self) -> impl Future<Output = ()> + use<> {
        let is_read = self.is_read && !self.out_terminal;
        async move {
            let watched = is_read.then(watched_output);
            if let Some(Ok(watched)) = watched
                && watched.ready(Interest::ERROR).await.is_ok()
            {
                return;
            }
            std::future::pending().await
        }
    }

    /// A piece of the result.
    pub fn result(&mut self, text: &str) -> Result<(), Failure> {
        if self.out_terminal && self.curtain.is_open() {
            self.later.push_str(text);
            return Ok(());
        }
        let later = std::mem::take(&mut self.later);
        let written = self.out.write_all(later.as_bytes()).and_then(|()| self.out.write_all(text.as_bytes()));
        self.settle(written)
    }

    /// Words of a model, a server or a workspace for a person at a terminal: control sequences, which could
    /// redraw the screen or type for the user, are left out.
    pub fn words(&mut self, text: &str) -> Result<(), Failure> {
        if self.out_terminal { self.result(&without_controls(text)) } else { self.result(text) }
    }

    /// Shows what was gathered.
    pub fn flush(&mut self) -> Result<(), Failure> {
        if self.out_terminal && self.curtain.is_open() {
            return Ok(());
        }
        self.result("")?;
        let written = self.out.flush();
        self.settle(written)
    }

    fn settle(&mut self, written: io::Result<()>) -> Result<(), Failure> {
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.abandoned = true;
                Ok(())
            }
            Err(error) => Err(Failure::system(format!("cannot write to standard output: {error}"))),
            Ok(()) => Ok(()),
        }
    }

    /// A line for the person, beside the result. Where words of others make several of it, as in a warning or a failure, none of
    /// them can pass for a line of ours.
    pub fn note(&mut self, text: &str) {
        let line = format!("{}\n", self.paint(&behind_margin(text), DIM));
        self.tell(&line);
    }

    /// Thoughts and the like: shown as they come, dimmed.
    pub fn aside(&mut self, text: &str) {
        let text = self.paint(text, DIM);
        self.tell(&text);
    }

    /// Something that may matter.
    pub fn warning(&mut self, text: &str) {
        let line = format!("{} {}\n", self.paint("warning:", YELLOW), behind_margin(text));
        self.tell(&line);
    }

    /// What happened and what to do.
    pub fn failure(&mut self, failure: &Failure) {
        let mut text = format!("{} {}\n", self.paint("error:", RED), behind_margin(&failure.message));
        if let Some(hint) = failure.hint.as_ref().and_then(wording::hint) {
            let mut lines = hint.lines();
            let first = lines.next().unwrap_or_default();
            text.push_str(&format!("{} {}\n", self.paint("hint:", CYAN), visible(first)));
            lines.for_each(|line| text.push_str(&format!("      {}\n", visible(line))));
        }
        self.tell(&text);
    }

    /// Tells why a run ends; its exit code.
    pub fn refuse(&mut self, failure: &Failure) -> i32 {
        self.failure(failure);
        exit::code(failure.kind)
    }

    /// A question, as it is, with no line end added: nothing else is drawn until [`Printer::close_card`].
    pub fn card(&mut self, text: &str) {
        let text = without_controls(text).into_owned();
        let curtain = self.curtain.clone();
        curtain.ask(&text, |text| self.write_error(text));
    }

    /// Begins a question on a screen that is ours: whatever state something left the terminal in is undone. `plain` for one
    /// that knows no sequences.
    pub fn begin_card(&mut self, plain: bool) {
        let curtain = self.curtain.clone();
        curtain.ask(if plain { "\r\n" } else { FRESH_SCREEN }, |text| self.write_error(text));
    }

    /// The question has its answer, or needs none any more.
    pub fn close_card(&mut self) {
        let curtain = self.curtain.clone();
        curtain.close(|text| self.write_error(text));
    }

    /// Another printer on the same screen, coloured like this one.
    pub fn another(&self) -> Self {
        Self { curtain: self.curtain.clone(), ..Self::of_process(!self.colour) }
    }

    /// A document for programs, on standard error.
    pub fn error_document(&mut self, document: &str) {
        self.tell(&format!("{document}\n"));
    }

    /// Lines that the next ones replace. Nothing when standard error is no terminal.
    pub fn fleeting(&mut self, text: &str) {
        if !self.err_terminal || self.curtain.is_open() {
            return;
        }
        self.clear_fleeting();
        let width = terminal_width();
        // A line that is broken by the terminal could not be taken away.
        let cut = |line: &str| self.paint(&fitting(line, width), DIM);
        let lines: Vec<String> = text.lines().map(cut).collect();
        self.tell(&lines.join("\n"));
        self.fleeting = lines.len();
    }

    /// Takes the fleeting lines away.
    pub fn clear_fleeting(&mut self) {
        let lines = std::mem::take(&mut self.fleeting);
        if lines > 0 && !self.curtain.is_open() {
            self.write_error(&format!("\r\u{1b}[K{}", "\u{1b}[1A\u{1b}[K".repeat(lines - 1)));
        }
    }

    fn tell(&mut self, text: &str) {
        self.clear_fleeting();
        let curtain = self.curtain.clone();
        curtain.draw(text, |text| self.write_error(text));
    }

    /// Nobody can be told that telling failed.
    fn write_error(&mut self, text: &str) {
        let _ = self.err.write_all(text.as_bytes()).and_then(|()| self.err.flush());
    }

    fn paint(&self, text: &str, style: &str) -> String {
        let text = without_controls(text);
        if self.colour { format!("\u{1b}[{style}m{text}\u{1b}[0m") } else { text.into_owned() }
    }
}

impl Notices for Printer {
    fn note(&mut self, notice: &Notice) {
        self.note(&wording::notice(notice));
    }

    fn warning(&mut self, notice: &Notice) {
        self.warning(&wording::notice(notice));
    }

    fn progress(&mut self, progress: Progress<'_>) {
        match (self.err_terminal, progress.began) {
            (true, _) => {
                self.clear_fleeting();
                self.fleeting(progress.state);
            }
            (false, Some(began)) => self.note(began),
            (false, None) => {}
        }
    }

    fn progress_done(&mut self) {
        self.clear_fleeting();
    }
}

/// Leaves the alternate screen, a scroll region, a character set, insert mode and every attribute; wraps lines and shows the
/// cursor; then begins a line with nothing below it. The region is reset between saving and restoring the cursor, which it
/// would send home.
const FRESH_SCREEN: &str =
    "\u{1b}[?1047l\u{1b}7\u{1b}[r\u{1b}8\u{1b}[0m\u{1b}(B\u{f}\u{1b}[4l\u{1b}[?7h\u{1b}[?25h\r\n\u{1b}[J";

const DIM: &str = "2";
const RED: &str = "31";
const YELLOW: &str = "33";
const CYAN: &str = "36";

/// How many characters a line of the terminal takes, one left for its cursor.
fn terminal_width() -> usize {
    #[cfg(unix)]
    let columns = rustix::termios::tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
    #[cfg(not(unix))]
    let columns = 0;
    if columns == 0 { 79 } else { columns.saturating_sub(1).max(1) }
}

/// As much of a line as fits. Characters beyond ASCII may be two columns wide.
fn fitting(line: &str, width: usize) -> String {
    let mut taken = 0;
    let spread = line.replace('\t', "    ");
    let fits = |c: &char| {
        taken += if c.is_ascii() { 1 } else { 2 };
        taken <= width
    };
    spread.chars().take_while(fits).collect()
}

/// What moves the cursor, or turns the direction of writing, so that text reads as what it is not.
fn is_control(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && c != '\n' && c != '\t'
}

fn without_controls(text: &str) -> Cow<'_, str> {
    if text.contains(is_control) {
        Cow::Owned(text.chars().filter(|c| !is_control(*c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Gone;

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_left_is_no_failure() {
        let mut printer = Printer::of(Box::new(Gone), Box::new(io::sink()), false);
        printer.result("answer").unwrap();
        printer.flush().unwrap();
        assert!(printer.is_abandoned());
    }

    /// A screen that several printers write to.
    #[derive(Clone, Default)]
    struct Screen(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nothing_is_drawn_between_a_question_and_its_answer() {
        let screen = Screen::default();
        let printer = || Printer::of(Box::new(screen.clone()), Box::new(screen.clone()), true);
        let mut view = printer();
        let mut asker = Printer { curtain: view.curtain.clone(), ..printer() };
        view.fleeting("waiting");
        asker.begin_card(true);
        asker.card("run it? ");
        view.clear_fleeting();
        view.note("a note");
        view.fleeting("fleeting");
        view.warning("a warning");
        view.words("words").unwrap();
        view.flush().unwrap();
        asker.note("a note of its own");
        let shown = || String::from_utf8(screen.0.lock().unwrap().clone()).unwrap();
        assert_eq!(shown(), "waiting\r\nrun it? ");
        asker.close_card();
        view.flush().unwrap();
        let rest = "a note\nwarning: a warning\na note of its own\nwords";
        assert_eq!(shown(), format!("waiting\r\nrun it? {rest}"));
    }

    #[test]
    fn no_name_in_a_message_can_pass_for_a_line_of_ours() {
        let screen = Screen::default();
        let mut printer = Printer::of(Box::new(io::sink()), Box::new(screen.clone()), false);
        let name = "a\nerror: forged\r\u{1b}[1Ahint: run it\n";
        printer.warning(name);
        printer.note(name);
        printer.failure(&Failure::input(name).with_hint(name));
        let shown = String::from_utf8(screen.0.lock().unwrap().clone()).unwrap();
        let second = "  │ error: forged\\u{d}\\u{1b}[1Ahint: run it\n";
        let hint = "hint: a\n      error: forged\\u{d}\\u{1b}[1Ahint: run it\n";
        assert_eq!(shown, format!("warning: a\n{second}a\n{second}error: a\n{second}{hint}"));
    }

    #[test]
    fn a_terminal_gets_no_control_sequences_of_a_model() {
        assert_eq!(without_controls("a\u{1b}[2Jb\tc\n\u{9b}d\re"), "a[2Jb\tc\nde");
        assert_eq!(
            without_controls("a\u{202e}b\u{2066}c\u{200f}d \u{5e9} \u{1f468}\u{200d}\u{1f469}"),
            "abcd \u{5e9} \u{1f468}\u{200d}\u{1f469}"
        );
    }
}
