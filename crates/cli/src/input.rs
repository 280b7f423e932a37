//! The prompt: from the command line, from standard input, or from both.

use std::io::{IsTerminal, Read};
use std::time::Duration;

use charla::Failure;
use tokio::sync::oneshot;

use charla_terminal::signals::cancel_on_signals;

/// How long standard input may be silent before we say that we wait for it.
const PATIENCE: Duration = Duration::from_secs(3);

/// How much is read before anything else can happen.
#[cfg(unix)]
const MOST_AT_ONCE: usize = 16 * 1024;

/// The words of the command line, and what comes from standard input.
///
/// A terminal is not read. Anything else is read to its end, however long that takes: leaving out what a
/// slow command was about to say would give a wrong answer. `on_wait` is called once when it takes long.
///
/// Where nothing need be said, nothing said is no mistake.
pub async fn gather(
    words: Option<String>,
    optional: bool,
    on_wait: impl FnOnce(),
) -> Result<Option<(String, String)>, Failure> {
    let terminal = is_terminal();
    let piped = if terminal { String::new() } else { read_stdin(on_wait).await? };
    if optional && words.is_none() && piped.trim().is_empty() {
        return Ok(None);
    }
    said(words, piped, terminal).map(Some)
}

/// True when a person types what we read.
pub fn is_terminal() -> bool {
    std::io::stdin().is_terminal()
}

/// A line that is typed unseen. Whatever ends the wait, a signal included, the terminal shows again what is typed.
pub async fn hidden_line(ask: impl FnOnce()) -> Result<std::io::Result<String>, Failure> {
    let cancel = cancel_on_signals();
    // Signals must be ours before the first key is hidden.
    tokio::task::yield_now().await;
    let hidden = HiddenInput::new();
    ask();
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line).map(|_| line);
        let _ = sender.send(read);
    });
    let read = tokio::select! {
        () = cancel.cancelled() => Err(Failure::cancelled()),
        read = receiver => read.map_err(|_| Failure::system("the reader of standard input ended early")),
    };
    drop(hidden);
    read
}

/// Hides what is typed until dropped. Where the terminal cannot, typing stays visible.
struct HiddenInput {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl HiddenInput {
    /// From now on.
    fn new() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(std::io::stdin()).ok();
        if let Some(mut hidden) = before.clone() {
            hidden.local_modes.remove(LocalModes::ECHO);
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &hidden);
        }
        Self { before }
    }
}

#[cfg(not(unix))]
impl HiddenInput {
    /// From now on.
    fn new() -> Self {
        Self {}
    }
}

#[cfg(unix)]
impl Drop for HiddenInput {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Some(before) = &self.before {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// Reads standard input. What is yet to come is waited for on a thread of its own, which is simply left behind when
/// the run is cancelled.
async fn read_stdin(on_wait: impl FnOnce()) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    if ended_at_once(&mut bytes) {
        return text_of(bytes);
    }
    let (sender, mut receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let read = std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes);
        let _ = sender.send(read);
    });
    let read = match tokio::time::timeout(PATIENCE, &mut receiver).await {
        Ok(read) => read,
        Err(_) => {
            on_wait();
            receiver.await
        }
    };
    match read {
        Ok(Ok(bytes)) => text_of(bytes),
        Ok(Err(error)) => Err(Failure::input(format!("cannot read standard input: {error}"))),
        Err(_) => Err(Failure::system("the reader of standard input ended early")),
    }
}

/// Reads the beginning of an input that keeps nobody waiting; true when that was all of it. A run without input, or with
/// a small file, needs no thread.
#[cfg(unix)]
fn ended_at_once(bytes: &mut Vec<u8>) -> bool {
    let stdin = std::io::stdin();
    let mut buffer = [0; MOST_AT_ONCE];
    while answers_at_once(&stdin) && bytes.len() < MOST_AT_ONCE {
        match rustix::io::read(&stdin, &mut buffer) {
            Ok(0) => return true,
            Ok(count) => bytes.extend(buffer.iter().take(count)),
            // Whatever is wrong, the thread finds it, too, and tells it.
            Err(_) => return false,
        }
    }
    false
}

/// True for a file and for `/dev/null`.
#[cfg(unix)]
fn answers_at_once(input: &std::io::Stdin) -> bool {
    use rustix::fs::{FileType, fstat, stat};
    let Ok(input) = fstat(input) else { return false };
    match FileType::from_raw_mode(input.st_mode) {
        FileType::RegularFile => true,
        FileType::CharacterDevice => stat("/dev/null").is_ok_and(|null| null.st_rdev == input.st_rdev),
        _ => false,
    }
}

#[cfg(not(unix))]
fn ended_at_once(_: &mut Vec<u8>) -> bool {
    false
}

fn text_of(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        Failure::input(format!("standard input is not UTF-8 text: the byte at offset {offset} does not fit"))
            .with_hint("convert it first, for example with `iconv -t UTF-8`, or pipe text only")
    })
}

/// Something must be said, by words or by pipe.
fn said(words: Option<String>, piped: String, terminal: bool) -> Result<(String, String), Failure> {
    match words {
        _ if !piped.trim().is_empty() => Ok((words.unwrap_or_default(), piped)),
        Some(words) if !words.trim().is_empty() => Ok((words, String::new())),
        Some(_) => Err(no_prompt("the prompt is empty")),
        None if terminal => Err(no_prompt("there is no prompt")),
        None => Err(no_prompt("there is no prompt: No input provided via stdin.")),
    }
}

fn no_prompt(message: &str) -> Failure {
    Failure::input(message).with_hint(
        "ask with `charla -p \"your question\"`, or pipe text into it: git diff | charla -p \"Review this\"\n\
         `charla --help` shows more",
    )
}

#[cfg(test)]
mod tests {
    use charla::FailureKind;

    use super::*;

    #[test]
    fn words_and_standard_input_are_told_apart() {
        let both = |words: &str, piped: &str| (words.to_owned(), piped.to_owned());
        assert_eq!(said(Some("Sum".into()), "a\nb\n".into(), false).unwrap(), both("Sum", "a\nb\n"));
        assert_eq!(said(None, "only\n".into(), false).unwrap(), both("", "only\n"));
        assert_eq!(said(Some("only".into()), " \n".into(), false).unwrap(), both("only", ""));
        assert_eq!(said(Some("nul \0".into()), String::new(), false).unwrap(), both("nul \0", ""));
    }

    #[test]
    fn no_prompt_is_an_input_error_with_a_way_out() {
        for (words, terminal) in [(None, true), (None, false), (Some("  ".to_owned()), false)] {
            let failure = said(words, String::new(), terminal).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Input);
            let hint = charla_terminal::wording::hint(&failure.hint.unwrap()).unwrap();
            assert!(hint.contains("charla -p"), "{hint}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_named_by_their_offset() {
        let failure = text_of(b"abc\xff".to_vec()).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Input);
        assert!(failure.message.contains("offset 3"), "{failure}");
    }
}
