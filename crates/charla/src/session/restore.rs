//! The whole conversation of a session that was compressed, brought back.

use std::sync::Arc;

use charla_proto::{Command, Content, Conversation, GenerateRequest, Reply};
use charla_providers::tokens;

use super::elsewhere::Elsewhere;
use super::error::SessionError;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::models::Directory;
use crate::settings;

/// A session whose conversation is whole again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredSession {
    /// Its id.
    pub session: String,
    /// What was sent of it before.
    pub compressed: SentSize,
    /// What is sent of it now.
    pub whole: SentSize,
    /// The window of its model, where it is known.
    pub window: Option<u32>,
}

/// Takes the compressions of a session back.
pub(crate) async fn restore(which: &str, mut elsewhere: Elsewhere<'_>) -> Result<RestoredSession, Failure> {
    let id = elsewhere.sessions.find(which).await?;
    let before = elsewhere.sessions.folded(&id).await?;
    let compressed = SentSize::of(&before);
    if !before.shortening.is_any() {
        let SentSize { messages, tokens } = compressed;
        return Err(Failure::conflict(format!(
            "there is nothing to restore in the session {id}: it is whole ({messages} messages, about {tokens} tokens)"
        ))
        .with_hint(Hint::ListSessions));
    }
    let (reply, _) = elsewhere.request(&id, Command::Restore, "user").await.map_err(|error| match error {
        SessionError::InUse(_) => Failure::from(error).with_hint(Hint::RestoreWithin),
        error => error.into(),
    })?;
    if let Reply::Refused(refusal) = reply {
        return Err(Failure::system(format!("it cannot be recorded: {refusal}")));
    }
    let restored = elsewhere.sessions.folded(&id).await?;
    if restored.shortening.is_any() {
        return Err(Failure::system("the journal cannot be read: the conversation is as it was"));
    }
    let whole = SentSize::of(&restored);
    let window = window(&restored.model, elsewhere.environment);
    Ok(RestoredSession { session: id, compressed, whole, window })
}

/// How much of a conversation is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentSize {
    /// Messages.
    pub messages: usize,
    /// About as many tokens.
    pub tokens: u64,
}

impl SentSize {
    fn of(conversation: &Conversation) -> Self {
        let contents: Vec<Arc<Content>> = conversation.sent().into_iter().map(|said| said.1).collect();
        let messages = contents.len();
        Self { messages, tokens: tokens::estimate(&GenerateRequest::new("", contents)) }
    }
}

/// The window of a session's model, where settings or the catalog know it. Nothing is asked of a server, and
/// settings with mistakes are no reason not to restore.
fn window(model: &str, environment: &Environment) -> Option<u32> {
    let settings = settings::load(environment, Vec::new()).ok()?.settings;
    let (entry, id) = Directory::new(&settings).resolve(model).ok()?;
    entry.model(&id?).context_window
}
