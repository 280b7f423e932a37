//! The whole conversation of a session that was compressed, brought back.

use std::sync::Arc;

use charla_proto::{Content, Conversation, Fact, GenerateRequest, Record, Restored};
use charla_providers::tokens;

use super::error::SessionError;
use super::store::{Sessions, about_skipped};
use crate::clock::now;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::models::Directory;
use crate::notices::Notices;
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
pub(crate) fn restore(
    which: &str,
    environment: &Environment,
    notices: &mut dyn Notices,
) -> Result<RestoredSession, Failure> {
    let sessions = Sessions::new(environment)?;
    let id = sessions.find(which)?;
    let mut resumed = sessions.resumed(&id).map_err(|error| match error {
        SessionError::InUse(_) => Failure::from(error).with_hint(Hint::RestoreWithin),
        error => error.into(),
    })?;
    about_skipped(&resumed.skipped).iter().for_each(|notice| notices.warning(&notice.as_str().into()));
    let compressed = SentSize::of(&resumed.conversation);
    if !resumed.conversation.is_shortened() {
        let SentSize { messages, tokens } = compressed;
        return Err(Failure::conflict(format!(
            "there is nothing to restore in the session {id}: it is whole ({messages} messages, about {tokens} tokens)"
        ))
        .with_hint(Hint::ListSessions));
    }
    let seq = resumed.conversation.seq + 1;
    let record = Record { seq, at: now(), fact: Fact::Restored(Restored {}) };
    let written = resumed.journal.write(&[record]);
    written.map_err(|error| Failure::system(format!("it cannot be recorded: {error}")))?;
    drop(resumed);
    let restored = sessions.folded(&id)?;
    let whole = SentSize::of(&restored);
    let window = window(&restored.model, environment);
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
