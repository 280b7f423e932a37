//! `charla restore`: the whole conversation of a session that was compressed, brought back.

use std::sync::Arc;

use charla_proto::{Content, Conversation, Fact, GenerateRequest, Record, Restored};
use charla_providers::tokens;
use clap::Args;

use crate::compression::too_much;
use crate::directory::Directory;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::printer::Printer;
use crate::sessions::{Sessions, about_skipped, now};
use crate::settings;

/// Arguments of `charla restore`.
#[derive(Args, Debug)]
pub struct RestoreArgs {
    /// The session: `latest` of this folder, an id, or the beginning of one.
    #[arg(value_name = "SESSION", default_value = "latest", hide_default_value = true)]
    session: String,
}

/// Runs `charla restore`.
pub fn run(args: &RestoreArgs, environment: &Environment, printer: &mut Printer) -> Result<(), Failure> {
    let sessions = Sessions::new(environment)?;
    let id = sessions.find(&args.session)?;
    let mut resumed = sessions.resumed(&id, Hint::RestoreWithin)?;
    about_skipped(&resumed.skipped).iter().for_each(|notice| printer.warning(notice));
    let short = Sent::of(&resumed.conversation);
    if !resumed.conversation.is_shortened() {
        let (messages, tokens) = (short.messages, short.tokens);
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
    let whole = Sent::of(&restored);
    printer.result(&format!(
        "restored the session {id}: {} messages, about {} tokens (compressed: {} messages, about {} tokens)\n",
        whole.messages, whole.tokens, short.messages, short.tokens
    ))?;
    printer.flush()?;
    if let Some(warning) =
        window(&restored.model, environment).and_then(|window| too_much(whole.tokens, window))
    {
        printer.warning(&warning);
    }
    Ok(())
}

/// How much of a conversation is sent.
struct Sent {
    messages: usize,
    tokens: u64,
}

impl Sent {
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
