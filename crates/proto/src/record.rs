//! Records: the durable facts of a session, and the only truth about it.

mod glance;
mod json;
mod table;
mod unknown;

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{
    ApprovalMode, Args, CallStatus, Citation, CompressionStatus, Confinement, Confirmation, Content,
    Delivery, Display, FinishReason, FunctionCall, FunctionResponse, Grant, HookEffect, HookEvent,
    LlmErrorKind, Origin, Outcome, ToolErrorKind, TurnEnd, UsageMetadata,
};
use json::{Flat, Head};
use table::facts;

pub use glance::Glance;

/// The version of the journal's format, in its first record.
pub const JOURNAL_VERSION: u32 = 2;

/// One fact with its place and time. In JSON one flat object: `seq`, `at`, `kind` and the fact's fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its place in the session, from 1, without gaps.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// What happened, by kind.
    pub fact: Fact,
    /// The line it was read from, where that says more than this version understands: it is written again as it
    /// was, with this record's `seq` and `at`.
    original: Option<Box<str>>,
}

impl Record {
    /// A record of this fact.
    pub fn new(seq: u64, at: u64, fact: Fact) -> Self {
        Self { seq, at, fact, original: None }
    }
}

facts! {
    /// The first record of every journal.
    "session_started" => SessionStarted(Box<SessionStarted>),
    /// The user said something while a turn ran: it waits.
    "prompt_queued" => PromptQueued(PromptQueued),
    /// A prompt that waited was taken back.
    "prompt_withdrawn" => PromptWithdrawn(PromptWithdrawn),
    /// The user said something that joins the running turn.
    "prompt_joined" => PromptJoined(PromptJoined),
    /// The user said something and a turn began.
    "turn_started" => TurnStarted(TurnStarted),
    /// The model said something.
    "model_content" => ModelContent(Box<ModelContent>),
    /// A call waits for a person: to be let run, or with a question of its own while it runs.
    "call_asked" => CallAsked(Box<CallAsked>),
    /// A person, or a rule in a person's place, answered.
    "approval_answered" => ApprovalAnswered(Box<ApprovalAnswered>),
    /// A call is about to run. Written before it runs, so that after a crash it is known to have begun.
    "call_started" => CallStarted(CallStarted),
    /// The model answered a running call's own request.
    "sampled" => Sampled(Box<Sampled>),
    /// A call has its one response.
    "call_ended" => CallEnded(Box<CallEnded>),
    /// A person or a program calls a tool themselves. Written before it runs.
    "client_call_started" => ClientCallStarted(Box<ClientCallStarted>),
    /// Such a call is over. The model is told of it with its next request.
    "client_call_ended" => ClientCallEnded(Box<CallEnded>),
    /// Another process goes on with a turn that was left open.
    "turn_resumed" => TurnResumed(TurnResumed),
    /// The turn is over.
    "turn_ended" => TurnEnded(Box<TurnEnded>),
    /// The conversation goes on from an earlier point; what came after it no longer counts.
    "rewound" => Rewound(Rewound),
    /// A summary stands for an older part of the conversation from now on. What was said stays in the journal.
    "compressed" => Compressed(Box<Compressed>),
    /// A compression was tried and did not help. The conversation is as it was; it is written down so that the
    /// next process does not pay for the same failure again.
    "compression_failed" => CompressionFailed(CompressionFailed),
    /// The compression is taken back.
    "restored" => Restored(Restored),
    /// Large outputs of tools are sent cut from now on.
    "outputs_cut" => OutputsCut(OutputsCut),
    /// How much is allowed without asking has changed.
    "mode_changed" => ModeChanged(ModeChanged),
    /// Another model answers from now on.
    "model_changed" => ModelChanged(ModelChanged),
    /// The user took a turn's file changes back.
    "changes_undone" => ChangesUndone(ChangesReverted),
    /// The user took such an undo back.
    "changes_redone" => ChangesRedone(ChangesReverted),
    /// Hooks have changed something, or let something pass.
    "hook_acted" => HookActed(Box<HookActed>),
    /// Rules are kept for every session.
    "rules_saved" => RulesSaved(RulesSaved),
    /// What an "always" had allowed is taken back.
    "grant_revoked" => GrantRevoked(Box<GrantRevoked>),
    /// What is before this record was written elsewhere, and only tells what was said: nobody here has allowed, chosen or
    /// changed what it speaks of.
    "imported" => Imported(Imported),
}

/// See [`Fact::SessionStarted`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionStarted {
    /// The journal's format.
    pub version: u32,
    /// The session's id.
    pub session: String,
    /// The folder it works in.
    pub cwd: PathBuf,
    /// `provider/model`.
    pub model: String,
    /// The session and record it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<(String, u64)>,
    /// The call of another session that it works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentLink>,
    /// Records up to this number were written elsewhere: what they say was said, and nothing of it is allowed here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_up_to: Option<u64>,
}

/// The call of another session that a session works for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentLink {
    /// The agent's name.
    pub name: String,
    /// The session that called it.
    pub session: String,
    /// The call's id there.
    pub call: String,
}

/// See [`Fact::PromptQueued`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromptQueued {
    /// The id its sender got.
    pub prompt: String,
    /// What will be said.
    pub content: Arc<Content>,
    /// What it waits for.
    #[serde(default)]
    pub delivery: Delivery,
    /// Who will have said it.
    pub by: String,
}

/// See [`Fact::PromptWithdrawn`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromptWithdrawn {
    /// The id of the prompt that no longer waits.
    pub prompt: String,
    /// Who took it back.
    pub by: String,
}

/// See [`Fact::PromptJoined`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromptJoined {
    /// The turn it joins.
    pub turn: u64,
    /// The id its sender got, or one of the session's own.
    pub prompt: String,
    /// What is said, as part of the turn.
    pub content: Arc<Content>,
    /// Who says it; `charla` for the session itself.
    pub by: String,
}

/// See [`Fact::TurnStarted`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnStarted {
    /// The turn, from 1.
    pub turn: u64,
    /// What the user said.
    pub prompt: Arc<Content>,
    /// The prompt's id; empty in journals of version 1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Who said it; empty in journals of version 1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
}

/// See [`Fact::ModelContent`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelContent {
    /// The turn it was said in.
    pub turn: u64,
    /// What it said, with its origin.
    pub content: Arc<Content>,
    /// Why the model stopped; absent when it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// Tokens of the request and the answer, as the provider counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageMetadata>,
    /// Sources it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Citation>,
    /// The hooks that gave this answer, or changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
}

/// See [`Fact::CallAsked`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallAsked {
    /// The turn of the call.
    pub turn: u64,
    /// The call's id.
    pub call: String,
    /// The approval's id, unique across sessions.
    pub approval: String,
    /// What a person is shown.
    pub confirmation: Confirmation,
    /// The approval of another session that this one stands for: an agent that works for the call asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<String>,
}

/// See [`Fact::ApprovalAnswered`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalAnswered {
    /// The question's id.
    pub approval: String,
    /// The answer, which allows or refuses the call.
    pub outcome: Outcome,
    /// Who answered; `nobody` when nobody was there.
    pub by: String,
    /// The arguments the call has from now on, where the answer changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Args>,
}

/// See [`Fact::CallStarted`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallStarted {
    /// The turn of the call.
    pub turn: u64,
    /// The call's id.
    pub call: String,
    /// The rule that allowed it, where nobody was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How far its processes reach, where it starts any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<Confinement>,
    /// Files it is about to change: what it did is known even when its process ended before it could tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
}

/// See [`Fact::ClientCallStarted`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientCallStarted {
    /// The call, with an id of its own.
    pub call: FunctionCall,
    /// Who made it, and so approved it.
    pub by: String,
    /// What comes of it stands in a prompt: the model is not told of it besides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_prompt: bool,
    /// How far its processes reach, where it starts any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<Confinement>,
    /// Files it is about to change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
}

/// See [`Fact::CallEnded`] and [`Fact::ClientCallEnded`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallEnded {
    /// The turn of the call; for a client's call, how many turns had begun.
    pub turn: u64,
    /// The call's id.
    pub call: String,
    /// How: a final status.
    pub status: CallStatus,
    /// What the model is told.
    pub response: FunctionResponse,
    /// The tool that ran last, where a hook called another one in place of the model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the person is shown, when it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<Display>,
    /// The kind of error, when it failed or was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolErrorKind>,
    /// The file that holds the whole output, when the response was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_output: Option<PathBuf>,
    /// Files it changed, for undo.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// What models cost that others asked on its behalf.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spent: Vec<Spent>,
}

/// What a model cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Who was asked, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Arc<Origin>>,
    /// Tokens, as the provider counted.
    pub usage: UsageMetadata,
}

impl Spent {
    /// Who was asked, as `provider/model`; `model` where that is not known.
    pub fn model(&self, model: &str) -> String {
        let named = self.origin.as_ref().map(|origin| origin.name());
        named.unwrap_or_else(|| model.to_owned())
    }
}

/// A file a call changed: what was there before and after, by content hash. The texts are kept by the
/// store beside the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file's path.
    pub path: PathBuf,
    /// Hash of the bytes before; absent when there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Hash of the bytes after; absent when it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// See [`Fact::TurnResumed`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnResumed {
    /// The turn that goes on.
    pub turn: u64,
    /// Somebody is there to be asked.
    pub somebody: bool,
}

/// See [`Fact::TurnEnded`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnEnded {
    /// The turn that is over.
    pub turn: u64,
    /// How it ended, for every front end the same.
    pub end: TurnEnd,
    /// In words, where there is more to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The kind of error that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<LlmErrorKind>,
    /// Who wanted it; absent when nobody in particular did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// See [`Fact::Rewound`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rewound {
    /// The conversation is as it was right after this record.
    pub to: u64,
    /// Files that were put back with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<RevertedFile>,
    /// Who wanted it; absent when nobody in particular did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// See [`Fact::Compressed`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compressed {
    /// What stands for the older part, said by the user.
    pub summary: Arc<Content>,
    /// The model's acknowledgement of it.
    pub acknowledgement: Arc<Content>,
    /// The record of the first content that stays as it is.
    pub kept_from: u64,
    /// The prompt of the turn under way, with its record: it stays, too, when even the first steps of its turn
    /// are summarized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<(u64, Arc<Content>)>,
    /// Tokens before and after, counted the same way.
    pub tokens: (u64, u64),
    /// What the summary cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageMetadata>,
}

/// See [`Fact::CompressionFailed`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompressionFailed {
    /// What went wrong with it.
    pub status: CompressionStatus,
    /// Tokens of the conversation then.
    pub tokens: u64,
    /// The model that was asked, as its provider knows it: another one may do better.
    pub model: String,
    /// What the summary cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageMetadata>,
}

/// See [`Fact::Restored`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restored {
    /// Who wanted it; absent when nobody in particular did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// See [`Fact::OutputsCut`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputsCut {
    /// The ids of the calls whose results are cut.
    pub calls: Vec<String>,
    /// How many characters are kept of each.
    pub kept: usize,
    /// Where the whole outputs are, in the words the model is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_in: Option<String>,
}

/// See [`Fact::ModeChanged`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModeChanged {
    /// The mode from now on.
    pub mode: ApprovalMode,
    /// Who wanted it; absent when nobody in particular did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// See [`Fact::ModelChanged`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelChanged {
    /// `provider/model` from now on.
    pub model: String,
    /// Who wanted it; absent when nobody in particular did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// See [`Fact::Sampled`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// The turn.
    pub turn: u64,
    /// The call.
    pub call: String,
    /// The answer, as the call got it.
    pub content: Arc<Content>,
    /// Sources it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Citation>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageMetadata>,
}

/// See [`Fact::RulesSaved`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RulesSaved {
    /// The rules, as TOML.
    pub rules: String,
    /// Where they are kept.
    pub place: String,
    /// Who wanted it.
    pub by: String,
}

/// See [`Fact::GrantRevoked`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantRevoked {
    /// The question whose answer it was.
    pub approval: String,
    /// What it had allowed.
    pub grant: Grant,
    /// Who took it back.
    pub by: String,
    /// A rule was saved with it, which stays.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub saved: bool,
}

/// See [`Fact::HookActed`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookActed {
    /// The turn; before the first one 0.
    pub turn: u64,
    /// The point of the session.
    pub event: HookEvent,
    /// The names of the hooks that ran there.
    pub hook: String,
    /// What came of it.
    pub effect: HookEffect,
}

/// See [`Fact::Imported`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    /// Where it came from, in words.
    pub from: String,
}

/// See [`Fact::ChangesUndone`] and [`Fact::ChangesRedone`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangesReverted {
    /// The turn whose changes they were.
    pub turn: u64,
    /// What became of each file.
    pub files: Vec<RevertedFile>,
    /// Who wanted it; absent when nobody in particular did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A file that was put back: what it held until then, and holds since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevertedFile {
    /// The file, and its contents before and after.
    #[serde(flatten)]
    pub change: FileChange,
    /// The permissions it had until then, where the system has such; a file that comes back gets them again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

#[cfg(test)]
mod tests;
