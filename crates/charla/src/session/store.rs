//! The sessions of a user: the latest, by id, listed, removed, forked. Any store will do.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use charla_core::session::fork::fork;
use charla_proto::{
    AgentLink, BoxFuture, CallAsked, Conversation, Fact, Inbox, JOURNAL_VERSION, Journal, JournalError,
    Mailbox, Owned, PostError, PrunedSessions, Record, Reply, Request, SessionList, SessionStarted,
    SessionStore, SessionSummary, Skipped, Snapshots, Spent, Standing,
};
use charla_store::{Store, Sync};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};

use super::error::SessionError;
use super::export::ExportForm;
use super::listed::{Listed, named};
use super::message::Message;
use super::story::SessionStory;
use crate::clock::now;
use crate::environment::Environment;
use crate::models::Prices;

/// What the session is called that somebody left last.
pub const LATEST: &str = "latest";

/// A session that is open for writing.
pub(super) struct Opened {
    /// Its id.
    pub id: String,
    /// The session itself.
    pub owned: Owned,
    /// What a person should know about its journal.
    pub notices: Vec<String>,
}

/// Which session a run goes on with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Begin {
    /// A new one.
    #[default]
    New,
    /// An earlier one.
    Resume(String),
    /// A new one that begins with what an earlier one said.
    Fork {
        /// The earlier one.
        session: String,
        /// The message that becomes its last; all of them when left out.
        at: Option<u64>,
    },
}

/// A question that waits for its answer.
#[derive(Clone, Debug)]
pub struct WaitingApproval {
    /// The session that asks.
    pub session: String,
    /// The folder it works in.
    pub folder: PathBuf,
    /// The call that the session works for, if it is an agent's.
    pub agent: Option<AgentLink>,
    /// What it asks.
    pub asked: Arc<CallAsked>,
}

/// The sessions of a user, seen from a workspace.
pub struct Sessions {
    store: Arc<dyn SessionStore>,
    directory: PathBuf,
    /// The call that a new session works for.
    agent: Option<AgentLink>,
    /// Removes the folder when the session ends.
    _temporary: Option<tempfile::TempDir>,
}

/// The files under Charla's home; nothing without a home.
pub(crate) fn home_store(environment: &Environment) -> Option<Store> {
    // A home that is named but not there is not ours to make.
    let chosen = environment.variable("CHARLA_HOME").is_some();
    let home = environment.charla_home()?;
    let usable = chosen || home.parent().is_some_and(|parent| parent.is_dir());
    usable.then(|| Store::new(home.join("sessions"), Sync::Process))
}

impl Sessions {
    pub(crate) fn new(
        store: Option<Arc<dyn SessionStore>>,
        environment: &Environment,
    ) -> Result<Self, SessionError> {
        let store = store.ok_or(SessionError::NoHome)?;
        Ok(Self { store, directory: environment.directory.clone(), agent: None, _temporary: None })
    }

    /// The same for new sessions that work for a call.
    pub(super) fn working_for(self, agent: Option<AgentLink>) -> Self {
        Self { agent, ..self }
    }

    /// A new session that is gone when it ends, for when nothing can be kept; `why` is told. What tools
    /// must put somewhere goes into a temporary folder.
    pub(super) fn temporary(
        environment: &Environment,
        id: &str,
        model: &str,
        why: &SessionError,
    ) -> (Self, Opened) {
        let place = &environment.temporary;
        let temporary = tempfile::Builder::new().prefix("charla-").tempdir_in(place).ok();
        let folder = temporary.as_ref().map_or_else(|| place.clone(), |folder| folder.path().to_owned());
        let store = Arc::new(Store::new(folder, Sync::Process));
        let directory = environment.directory.clone();
        let sessions = Self { store, directory, agent: None, _temporary: temporary };
        let owned = Owned {
            journal: Box::new(Nowhere),
            conversation: Conversation::of(&[sessions.first_record(id, model, None)]),
            skipped: Vec::new(),
            missing: Vec::new(),
            token: 0,
            mailbox: Box::new(Nowhere),
        };
        let notices = vec![format!("this conversation is not kept: {why}")];
        (sessions, Opened { id: id.to_owned(), owned, notices })
    }

    fn first_record(&self, id: &str, model: &str, parent: Option<(String, u64)>) -> Record {
        Record::new(1, now(), Fact::SessionStarted(Box::new(self.start(id, model, parent))))
    }

    fn start(&self, id: &str, model: &str, parent: Option<(String, u64)>) -> SessionStarted {
        SessionStarted {
            version: JOURNAL_VERSION,
            session: id.to_owned(),
            cwd: self.directory.clone(),
            model: model.to_owned(),
            parent,
            agent: self.agent.clone(),
            imported_up_to: None,
        }
    }

    /// Where contents of changed files are kept.
    pub(super) fn snapshots(&self) -> Arc<dyn Snapshots> {
        self.store.snapshots()
    }

    /// Where large outputs of a session are kept.
    pub(super) fn outputs(&self, session: &str) -> PathBuf {
        self.store.outputs(session)
    }

    /// The file of one of them, made again where this machine does not have it.
    pub(super) async fn output(&self, session: &str, name: &str) -> Result<PathBuf, SessionError> {
        self.store.output(session, name).await.map_err(|error| SessionError::of(session, error))
    }

    /// A new session.
    pub(super) async fn create(&self, id: &str, model: &str) -> Result<Opened, SessionError> {
        self.begin(id, &[self.first_record(id, model, None)]).await
    }

    /// A session of these records.
    pub(super) async fn begin(&self, id: &str, records: &[Record]) -> Result<Opened, SessionError> {
        let owned = self.store.create(records).await?;
        Ok(Opened { id: id.to_owned(), owned, notices: Vec::new() })
    }

    /// A new session of the name `id` that begins with what an earlier one said.
    pub(super) async fn fork(&self, which: &str, at: Option<u64>, id: &str) -> Result<Opened, SessionError> {
        let (source, records) = self.read(which).await?;
        let last = records.last().map_or(0, |record| record.seq);
        let up_to = |at: u64| Conversation::of(records.iter().take_while(|record| record.seq <= at));
        let is_message = |at: u64| at == 0 || up_to(at).contents.last().is_some_and(|(seq, _)| *seq == at);
        if let Some(at) = at.filter(|at| *at > last || !is_message(*at)) {
            let messages = up_to(last).contents.into_iter().map(|(seq, _)| seq);
            let nearest = messages.min_by_key(|seq| seq.abs_diff(at));
            return Err(SessionError::NoMessage { session: source, at, nearest });
        }
        let at = at.unwrap_or(last);
        let model = up_to(at).model;
        let forked = fork(&records, Some(at), self.start(id, &model, Some((source, at))), now());
        let notices = about_gaps(&records);
        Ok(Opened { notices, ..self.begin(id, &forked).await? })
    }

    /// The id of an earlier session that could be gone on with now, or why it cannot. Nothing is opened.
    pub async fn free_to_resume(&self, which: &str) -> Result<String, SessionError> {
        let session = self.find(which).await?;
        let version = self.summary(&session).await?.started.version;
        if version > JOURNAL_VERSION {
            return Err(SessionError::NewerVersion { session, version });
        }
        if self.is_in_use(&session).await {
            return Err(SessionError::InUse(session));
        }
        Ok(session)
    }

    /// An earlier session, to go on with it.
    pub(super) async fn resume(&self, which: &str) -> Result<Opened, SessionError> {
        let (id, passed_over) = match which {
            LATEST => self.seen(&self.list().await?.sessions).latest(&*self.store).await?,
            which => (self.find(which).await?, None),
        };
        let mut opened = self.own(&id).await?;
        if let Some(newer) = passed_over {
            opened
                .notices
                .push(format!("no model answered in the latest session, {newer}: going on with {id}"));
        }
        let began = opened.owned.conversation.started.as_ref().map(|started| started.cwd.clone());
        if let Some(began) = began.filter(|began| *began != self.directory) {
            let (began, here) = (began.display(), self.directory.display());
            opened.notices.push(format!(
                "the session {id} began in {began}; its tools work in this folder now: {here}"
            ));
        }
        Ok(opened)
    }

    /// The session of this id, to go on with it.
    pub(super) async fn own(&self, id: &str) -> Result<Opened, SessionError> {
        let owned = self.store.own(id).await.map_err(|error| SessionError::of(id, error))?;
        let version = owned.conversation.started.as_ref().map_or(0, |started| started.version);
        if version > JOURNAL_VERSION {
            return Err(SessionError::NewerVersion { session: id.to_owned(), version });
        }
        let mut notices = about_skipped(&owned.skipped);
        notices.extend(owned.missing.iter().map(|(first, last)| about_gap(*first, *last)));
        Ok(Opened { id: id.to_owned(), owned, notices })
    }

    /// Hands a request to the process that has the session of this id open.
    pub async fn post(&self, id: &str, request: &Request) -> Result<Reply, PostError> {
        let request = serde_json::to_vec(request).map_err(|error| PostError::NoReply(error.to_string()))?;
        let reply = self.store.post(id, &request).await?;
        serde_json::from_slice(&reply).map_err(|error| PostError::NoReply(error.to_string()))
    }

    /// True while some process has the session of this id open.
    pub(crate) async fn is_in_use(&self, id: &str) -> bool {
        self.store.is_owned(id).await
    }

    /// Those of these sessions that some process has open, with the node it is, where nodes share them.
    pub async fn in_use(&self, ids: &[String]) -> HashMap<String, String> {
        self.store.owned(ids).await
    }

    /// The session of exactly this id, briefly.
    pub async fn summary(&self, id: &str) -> Result<SessionSummary, SessionError> {
        let found = self.store.find(id).await?;
        found.ok_or_else(|| SessionError::Unknown(id.to_owned()))
    }

    /// Sessions of processes that have died, where others are to go on with them. One that works for another session's call
    /// goes on with that.
    pub async fn abandoned(&self) -> Result<Vec<String>, SessionError> {
        let mut own = Vec::new();
        for id in self.store.abandoned().await? {
            let summary = self.store.find(&id).await?;
            if summary.is_none_or(|summary| summary.started.agent.is_none()) {
                own.push(id);
            }
        }
        Ok(own)
    }

    /// Takes a session of a process that has died from it, so that nobody has it open.
    pub async fn free(&self, id: &str) -> Result<(), SessionError> {
        self.own(id).await.map(drop)
    }

    /// Waits until something may have been written elsewhere; only a hint.
    pub async fn changed(&self) {
        self.store.changed().await;
    }

    /// Where the sessions stand in which something is under way or waits, where the store keeps that; nothing where each one's records tell.
    pub async fn standings(&self) -> Result<Option<HashMap<String, Standing>>, SessionError> {
        Ok(self.store.standings().await?)
    }

    /// What a session's records add up to, as far as it is needed to go on.
    pub async fn folded(&self, id: &str) -> Result<Conversation, SessionError> {
        self.store.fold(id).await.map_err(|error| SessionError::of(id, error))
    }

    /// The sessions of this workspace, the latest first.
    pub(super) async fn here(&self) -> Result<Vec<String>, SessionError> {
        let here = self.list().await?.sessions.into_iter().filter(|session| self.is_here(session));
        Ok(here.map(|session| session.session).collect())
    }

    /// The id meant by a number, `latest`, an id, or the beginning of one, which may be all digits, too.
    pub async fn find(&self, which: &str) -> Result<String, SessionError> {
        let sessions = self.list().await?.sessions;
        let listed = self.seen(&sessions);
        if let Some(id) = listed.numbered(which) {
            return Ok(id.to_owned());
        }
        match which {
            LATEST => listed.latest(&*self.store).await.map(|(id, _)| id),
            which => named(which, sessions.iter().map(|session| session.session.as_str())),
        }
    }

    fn seen<'a>(&'a self, sessions: &'a [SessionSummary]) -> Listed<'a> {
        Listed { sessions, directory: &self.directory }
    }

    /// The ids of this folder's sessions in the order of their numbers, from 1 for the oldest, as Gemini CLI counts them.
    pub fn in_order<'a>(&'a self, listed: &'a [SessionSummary]) -> Vec<&'a str> {
        self.seen(listed).in_order()
    }

    /// Reads a session.
    pub async fn read(&self, which: &str) -> Result<(String, Vec<Record>), SessionError> {
        let id = self.find(which).await?;
        let records = self.records(&id).await?;
        Ok((id, records))
    }

    /// True unless all that its records tell is how the session of this id began and what was chosen. One that cannot be read counts
    /// as used; one that is not there has nothing to lose.
    pub(super) async fn is_used(&self, id: &str) -> bool {
        let is_use = |record: Record| {
            use Fact::{HookActed, ModeChanged, ModelChanged, SessionStarted};
            let choice =
                matches!(record.fact, SessionStarted(_) | ModeChanged(_) | ModelChanged(_) | HookActed(_));
            std::future::ready(!choice)
        };
        let found = self.store.read_after(id, 0).try_any(is_use).await;
        found.unwrap_or_else(|error| !matches!(error, JournalError::Missing(_)))
    }

    /// Every record of the session of this id.
    pub(super) async fn records(&self, id: &str) -> Result<Vec<Record>, SessionError> {
        self.records_after(id, 0).await
    }

    /// Every record of the session of this id after number `after`.
    pub async fn records_after(&self, id: &str, after: u64) -> Result<Vec<Record>, SessionError> {
        self.stream_after(id, after).try_collect().await
    }

    /// The same one by one: whoever stops early has read little more than they took.
    pub fn stream_after(&self, id: &str, after: u64) -> BoxStream<'static, Result<Record, SessionError>> {
        let session = id.to_owned();
        let records = self.store.read_after(id, after);
        records.map_err(move |error| SessionError::of(&session, error)).boxed()
    }

    /// The messages of a session, oldest first.
    pub async fn messages(&self, which: &str) -> Result<(String, Vec<Message>), SessionError> {
        let (id, records) = self.read(which).await?;
        let contents = Conversation::of(&records).contents;
        let before = std::iter::once(0).chain(contents.iter().map(|(seq, _)| *seq));
        let messages = contents.iter().zip(before);
        Ok((id, messages.map(|((seq, content), before)| Message::of(*seq, content, before)).collect()))
    }

    /// Every session, the latest first, and what cannot be read as one.
    pub async fn list(&self) -> Result<SessionList, SessionError> {
        Ok(self.store.list().await?)
    }

    /// True when a session is one of this workspace.
    pub fn is_here(&self, session: &SessionSummary) -> bool {
        session.started.cwd == self.directory
    }

    /// A session as people read it.
    pub async fn story(&self, which: &str, prices: &Prices) -> Result<SessionStory, SessionError> {
        let (id, records) = self.read(which).await?;
        SessionStory::of(&records, prices).ok_or(SessionError::NoBeginning(id))
    }

    /// A session as a document.
    pub async fn export(
        &self,
        which: &str,
        form: ExportForm,
        prices: &Prices,
    ) -> Result<String, SessionError> {
        let (id, records) = self.read(which).await?;
        form.of(&id, &records, prices)
    }

    /// Removes a session for good, also one that cannot be read; says which.
    pub async fn delete(&self, which: &str) -> Result<String, SessionError> {
        let id = match self.find(which).await {
            Err(SessionError::Unknown(_)) => {
                let unreadable = self.list().await?.unreadable;
                named(which, unreadable.iter().map(|(session, _)| session.as_str()))?
            }
            found => found?,
        };
        self.store.delete(&id).await.map_err(|error| SessionError::of(&id, error))?;
        Ok(id)
    }

    /// Removes these sessions, but none that is in use.
    pub(super) async fn removed(&self, ids: &[String]) -> Result<PrunedSessions, SessionError> {
        Ok(self.store.prune(ids).await?)
    }

    /// What models have cost in the session of this id, by who was asked. What cannot be read counts for nothing.
    pub(super) async fn spent(&self, id: &str) -> Vec<Spent> {
        let mut spent: Vec<Spent> = Vec::new();
        for record in self.records(id).await.unwrap_or_default() {
            let (origin, usage) = match record.fact {
                Fact::ModelContent(said) => (said.content.origin.clone(), said.usage),
                Fact::Compressed(compressed) => (None, compressed.usage),
                Fact::Sampled(sampled) => (None, sampled.usage),
                _ => continue,
            };
            let Some(usage) = usage else { continue };
            match spent.iter_mut().find(|known| known.origin == origin) {
                Some(known) => known.usage.add(&usage),
                None => spent.push(Spent { origin, usage }),
            }
        }
        spent
    }
}

/// Where nothing is kept and nobody is heard.
struct Nowhere;

impl Journal for Nowhere {
    fn append<'a>(&'a mut self, _: &'a [Record]) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Mailbox for Nowhere {
    fn listen(&self) -> BoxFuture<'_, Result<Inbox, PostError>> {
        let why = "the session is not kept".to_owned();
        Box::pin(std::future::ready(Err(PostError::Unreachable(why))))
    }
}

/// What a person should know about lines that were skipped.
fn about_skipped(skipped: &[Skipped]) -> Vec<String> {
    let notice = |skipped: &Skipped| {
        format!("the session's journal: line {} was skipped: {}", skipped.line, skipped.reason)
    };
    skipped.iter().map(notice).collect()
}

/// What a person should know about records that are not there: their numbers have no gaps otherwise.
fn about_gaps(records: &[Record]) -> Vec<String> {
    let numbers = records.windows(2).filter_map(|pair| match pair {
        [before, after] if after.seq > before.seq + 1 => Some((before.seq + 1, after.seq - 1)),
        _ => None,
    });
    numbers.map(|(first, last)| about_gap(first, last)).collect()
}

fn about_gap(first: u64, last: u64) -> String {
    match first == last {
        true => format!("the session's journal: record {first} cannot be read"),
        false => format!("the session's journal: records {first} to {last} cannot be read"),
    }
}
