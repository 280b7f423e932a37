//! Commands that users write: their places are filled, and the prompt is said.

use std::time::Instant;

use charla::custom_command::Piece;
use charla::session::fill;
use charla_core::CancellationToken;
use charla_core::session::SessionHandle;
use charla_proto::Refusal;

use super::ME;
use super::commands::Choice;
use super::news::News;
use super::state::App;
use crate::composer::{Message, When};
use crate::picker::{Item, Picker};
use crate::text::Role;

impl App {
    /// Runs a command that a user wrote, if there is one of this name. Whoever typed it is asked before anything runs.
    pub(super) fn custom(&mut self, name: &str, arguments: &str, now: Instant) -> bool {
        let Some(command) = self.base.custom.iter().find(|command| command.name == name) else {
            return false;
        };
        let pieces = command.expand(arguments);
        let lines: Vec<String> = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Shell(line) => Some(line.clone()),
                _ => None,
            })
            .collect();
        if lines.is_empty() {
            self.compose(pieces, now);
            return true;
        }
        self.transcript.tell(Role::Plain, "it would run, as if you had typed it:");
        lines.iter().for_each(|line| self.transcript.tell(Role::Code, &format!("  {line}")));
        let item = |label: &str, choice| Item { label: label.to_owned(), detail: String::new(), choice };
        let items = vec![item("no", Choice::Nothing), item("yes, run and send", Choice::Compose(pieces))];
        self.picker = Some(Picker::new(&format!("run this for /{name}?"), items).with_keys(&['n', 'y']));
        true
    }

    /// Fills the places of a prompt beside the screen; [`News::Composed`] brings it.
    pub(super) fn compose(&mut self, pieces: Vec<Piece>, now: Instant) {
        let Some(link) = self.link() else {
            return self.transcript.tell(Role::Warning, "the session is not open yet");
        };
        let session = link.handle().clone();
        let cancel = CancellationToken::new();
        self.person.composing = Some(cancel.clone());
        self.activity.progress(Some("composing".to_owned()), now);
        let tell = self.base.tell.clone();
        tokio::spawn(async move {
            let message = filled(&pieces, &session, &cancel).await;
            let _ = tell.send(News::Composed(message));
        });
    }

    /// The prompt is ready, or was given up.
    pub(super) fn composed(&mut self, message: Result<Message, Refusal>, now: Instant) {
        self.person.composing = None;
        self.activity.progress(None, now);
        match (message, self.link()) {
            (Ok(message), Some(link)) => link.say(message),
            (Ok(_), None) => {}
            (Err(why), _) => self.transcript.tell(Role::Warning, &format!("the prompt is not said: {why}")),
        }
    }
}

/// The prompt with its places filled, or why it cannot be. Files come along by name.
async fn filled(
    pieces: &[Piece],
    session: &SessionHandle,
    cancel: &CancellationToken,
) -> Result<Message, Refusal> {
    let (text, files) = fill(pieces, session, ME, cancel).await?;
    let typed = files.iter().map(|path| format!("@\"{path}\" ")).collect();
    Ok(Message { text, typed, files: Vec::new(), when: When::Now })
}
