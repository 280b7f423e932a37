//! The terminal itself: keys one by one while it is ours, and as it was found whatever ends us.

use std::io::{self, IsTerminal, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::terminal::{disable_raw_mode, enable_raw_mode, size};
use tokio::sync::Notify;

use crate::screen::Size;
use crate::writer::Writer;

/// Pasted text comes in brackets, and the window tells when it is in front.
const ENTER: &str = "\u{1b}[?2004h\u{1b}[?1004h";
/// The same undone, a frame that was begun ended, the cursor shown and every attribute gone.
const LEAVE: &str = "\u{1b}[?2026l\u{1b}[?1004l\u{1b}[?2004l\u{1b}[0m\u{1b}[?25h";

/// The size where the terminal does not tell it.
const USUAL: Size = Size { columns: 80, rows: 24 };

/// The process has one terminal: a panic anywhere must find out whether it is to be restored.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Told when a panic has given it back.
static LOST: Notify = Notify::const_new();

/// How long a terminal that does not read is waited for before it is given back as it is.
const PATIENCE: Duration = Duration::from_secs(1);

/// The process's terminal, taken. Dropped, it is as it was.
pub struct Terminal {
    writer: Writer,
}

impl Terminal {
    /// Takes the terminal.
    pub fn enter() -> io::Result<Self> {
        restore_on_panic();
        let mut terminal = Self { writer: Writer::new(output()?)? };
        terminal.take_back()?;
        Ok(terminal)
    }

    /// What writes to it.
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Gives it to another program, or to the shell, for a while; false where it did not take all that was written.
    pub fn give(&mut self) -> bool {
        if TAKEN.swap(false, Ordering::SeqCst) {
            self.writer.send(LEAVE);
            let is_written = self.writer.drain(PATIENCE);
            let _ = disable_raw_mode();
            return is_written;
        }
        true
    }

    /// Takes it back.
    pub fn take_back(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        self.writer.send(ENTER);
        Ok(())
    }

    /// False after a panic gave it back: nothing more may be drawn.
    pub fn is_taken(&self) -> bool {
        TAKEN.load(Ordering::SeqCst)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.give();
    }
}

/// Comes back once a panic, in whatever thread, has given the terminal back.
pub async fn lost() {
    LOST.notified().await;
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

/// Standard output without its lock: whoever holds that may be held up.
#[cfg(unix)]
fn output() -> io::Result<std::fs::File> {
    use std::os::fd::AsFd;
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

#[cfg(not(unix))]
fn output() -> io::Result<io::Stdout> {
    Ok(io::stdout())
}

/// Gives the terminal back in a panic, without anybody's help.
fn restore() {
    // Nobody can be told where telling fails.
    let _ = output().and_then(|mut out| out.write_all(format!("{LEAVE}\r\n").as_bytes()));
    let _ = disable_raw_mode();
}

fn restore_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if TAKEN.swap(false, Ordering::SeqCst) {
                restore();
                LOST.notify_one();
            }
            before(panic);
        }));
    });
}
