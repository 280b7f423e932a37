//! The terminal itself: keys one by one while it is ours, and as it was found whatever ends us.

use std::io::{self, IsTerminal, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode, size};

use crate::screen::Size;

/// Pasted text comes in brackets, and the window tells when it is in front.
const ENTER: &str = "\u{1b}[?2004h\u{1b}[?1004h";
/// The same undone, a frame that was begun ended, the cursor shown and every attribute gone.
const LEAVE: &str = "\u{1b}[?2026l\u{1b}[?1004l\u{1b}[?2004l\u{1b}[0m\u{1b}[?25h";

/// The size where the terminal does not tell it.
const USUAL: Size = Size { columns: 80, rows: 24 };

/// The process has one terminal: a panic anywhere must find out whether it is to be restored.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The process's terminal, taken. Dropped, it is as it was.
#[derive(Debug)]
pub struct Terminal(());

impl Terminal {
    /// Takes the terminal.
    pub fn enter() -> io::Result<Self> {
        restore_on_panic();
        take()?;
        Ok(Self(()))
    }

    /// Writes bytes to it. A terminal that is gone is told by its signal, not here.
    pub fn write(&mut self, bytes: &str) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(bytes.as_bytes()).and_then(|()| out.flush());
    }

    /// Gives it to another program, or to the shell, for a while.
    pub fn give(&mut self) {
        restore();
    }

    /// Takes it back.
    pub fn take_back(&mut self) -> io::Result<()> {
        take()
    }

    /// False after a panic gave it back: nothing more may be drawn.
    pub fn is_taken(&self) -> bool {
        TAKEN.load(Ordering::SeqCst)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// True where a person types and reads at one terminal.
pub fn is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// How large the terminal is.
pub fn current_size() -> Size {
    match size() {
        Ok((columns, rows)) if columns > 0 && rows > 0 => Size { columns: columns.into(), rows: rows.into() },
        _ => USUAL,
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    let mut out = io::stdout().lock();
    out.write_all(ENTER.as_bytes()).and_then(|()| out.flush())
}

/// Gives the terminal back, once.
fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        // Nobody can be told where telling fails.
        let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
        let _ = disable_raw_mode();
    }
}

fn restore_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if TAKEN.load(Ordering::SeqCst) {
                restore();
                let _ = io::stdout().write_all(b"\r\n");
            }
            before(panic);
        }));
    });
}
