//! The prompt: from the command line, from standard input, or from both.

use std::io::{IsTerminal, Read};
use std::time::Duration;

use charla::Failure;
use tokio::sync::oneshot;

/// How long standard input may be silent before we say that we wait for it.
const PATIENCE: Duration = Duration::from_secs(3);

/// Puts the prompt together. Standard input goes before the words of the command line.
///
/// A terminal is not read. Anything else is read to its end, however long that takes: leaving out what a
/// slow command was about to say would give a wrong answer. `on_wait` is called once when it takes long.
///
/// Where nothing need be said, nothing said is no mistake.
pub async fn gather(
    words: Option<String>,
    optional: bool,
    on_wait: impl FnOnce(),
) -> Result<Option<String>, Failure> {
    let terminal = is_terminal();
    let piped = if terminal { String::new() } else { read_stdin(on_wait).await? };
    if optional && words.is_none() && piped.trim().is_empty() {
        return Ok(None);
    }
    compose(words, &piped, terminal).map(Some)
}

/// True when a person types what we read.
pub fn is_terminal() -> bool {
    std::io::stdin().is_terminal()
}

/// Hides what is typed until dropped. Where the terminal cannot, typing stays visible.
pub struct HiddenInput {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl HiddenInput {
    /// From now on.
    pub fn new() -> Self {
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
    pub fn new() -> Self {
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

/// Reads standard input on a thread of its own, which is simply left behind when the run is cancelled.
async fn read_stdin(on_wait: impl FnOnce()) -> Result<String, Failure> {
    let (sender, mut receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
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

fn text_of(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        Failure::input(format!("standard input is not UTF-8 text: the byte at offset {offset} does not fit"))
            .with_hint("convert it first, for example with `iconv -t UTF-8`, or pipe text only")
    })
}

fn compose(words: Option<String>, piped: &str, terminal: bool) -> Result<String, Failure> {
    let prompt = match (words, piped.trim().is_empty()) {
        (Some(words), true) => words,
        (Some(words), false) if words.trim().is_empty() => piped.to_owned(),
        (Some(words), false) => format!("{}\n\n{words}", piped.trim_end_matches('\n')),
        (None, false) => piped.to_owned(),
        (None, true) if terminal => return Err(no_prompt("there is no prompt")),
        (None, true) => return Err(no_prompt("there is no prompt: standard input is empty")),
    };
    if prompt.trim().is_empty() {
        return Err(no_prompt("the prompt is empty"));
    }
    Ok(prompt)
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
    fn standard_input_goes_before_the_prompt() {
        let both = compose(Some("Summarise".into()), "a\nb\n", false).unwrap();
        assert_eq!(both, "a\nb\n\nSummarise");
        assert_eq!(compose(None, "only\n", false).unwrap(), "only\n");
        assert_eq!(compose(Some("only".into()), " \n", false).unwrap(), "only");
        assert_eq!(compose(Some("nul \0 is fine".into()), "", false).unwrap(), "nul \0 is fine");
    }

    #[test]
    fn no_prompt_is_an_input_error_with_a_way_out() {
        for (words, terminal) in [(None, true), (None, false), (Some("  ".to_owned()), false)] {
            let failure = compose(words, "", terminal).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Input);
            let hint = crate::wording::hint(&failure.hint.unwrap()).unwrap();
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
