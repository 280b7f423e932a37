//! Commands that users write: their places are filled, and the prompt is said.

use std::time::Instant;

use charla::custom_command::Piece;
use charla::session::{FilledPrompt, Filler, expand_server_prompt, fill, server_prompt};
use charla_core::CancellationToken;
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
        let filling = {
            let cancel = cancel.clone();
            async move { fill(&pieces, &session, Filler { by: ME, unread: false, cancel: &cancel }).await }
        };
        self.compose_by(filling, cancel, now);
    }

    /// Says a prompt of an MCP server, if one has this name.
    pub(super) fn server_prompt(&mut self, name: &str, arguments: &str, now: Instant) -> bool {
        let servers = self.link().and_then(|link| link.servers().cloned());
        let Some(servers) = servers else { return false };
        let Some(prompt) = server_prompt(&servers, name) else { return false };
        let (arguments, cancel) = (arguments.to_owned(), CancellationToken::new());
        let filling = {
            let cancel = cancel.clone();
            async move {
                tokio::select! {
                    filled = expand_server_prompt(&servers, &prompt, &arguments) => filled,
                    () = cancel.cancelled() => Err(Refusal::Nothing { why: "it was stopped".to_owned() }),
                }
            }
        };
        self.compose_by(filling, cancel, now);
        true
    }

    fn compose_by(
        &mut self,
        filling: impl Future<Output = Result<FilledPrompt, Refusal>> + Send + 'static,
        cancel: CancellationToken,
        now: Instant,
    ) {
        self.person.composing = Some(cancel);
        self.activity.progress(Some("composing".to_owned()), now);
        let tell = self.base.tell.clone();
        tokio::spawn(async move {
            let message = filling.await.map(|FilledPrompt { text, typed }| Message {
                text,
                typed,
                files: Vec::new(),
                when: When::Now,
            });
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
