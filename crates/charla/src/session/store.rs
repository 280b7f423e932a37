//! The sessions of a user: the latest, by id, listed, removed, forked.

use std::path::PathBuf;
use std::sync::Arc;

use charla_core::session::fork::fork;
use charla_proto::{
    BoxFuture, CallAsked, Conversation, Fact, JOURNAL_VERSION, Journal, JournalError, Record, SessionStarted,
};
use charla_store::{Resumed, Skipped, Store, Sync};

use super::error::SessionError;
use crate::clock::now;
use crate::environment::Environment;

pub use charla_store::{Listed, Summary};

/// A session that is open for writing.
pub(super) struct Opened {
    /// Its id.
    pub id: String,
    /// What was said so far.
    pub conversation: Conversation,
    /// Where more is written.
    pub journal: Box<dyn Journal>,
    /// What a person should know about its file.
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
    /// What it asks.
    pub asked: Arc<CallAsked>,
}

/// The sessions of a user.
pub struct Sessions {
    store: Store,
    folder: PathBuf,
    directory: PathBuf,
    /// Removes the folder when the session ends.
    _temporary: Option<tempfile::TempDir>,
}

/// Keeps nothing.
struct NoJournal;

impl Journal for NoJournal {
    fn append<'a>(&'a mut self, _: &'a [Record]) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Sessions {
    /// The sessions under Charla's home.
    pub fn new(environment: &Environment) -> Result<Self, SessionError> {
        // A home that is named but not there is not ours to make.
        let chosen = environment.variable("CHARLA_HOME").is_some();
        let home =
            environment.charla_home().filter(|home| chosen || home.parent().is_some_and(|it| it.is_dir()));
        let home = home.ok_or(SessionError::NoHome)?;
        let folder = home.join("sessions");
        let directory = environment.directory.clone();
        Ok(Self { store: Store::new(&folder, Sync::Process), folder, directory, _temporary: None })
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
        let directory = environment.directory.clone();
        let sessions =
            Self { store: Store::new(&folder, Sync::Process), folder, directory, _temporary: temporary };
        let opened = Opened {
            id: id.to_owned(),
            conversation: Conversation::of(&[sessions.first_record(id, model, None)]),
            journal: Box::new(NoJournal),
            notices: vec![format!("this conversation is not kept: {why}")],
        };
        (sessions, opened)
    }

    fn first_record(&self, id: &str, model: &str, parent: Option<(String, u64)>) -> Record {
        let started = SessionStarted {
            version: JOURNAL_VERSION,
            session: id.to_owned(),
            cwd: self.directory.clone(),
            model: model.to_owned(),
            parent,
        };
        Record::new(1, now(), Fact::SessionStarted(Box::new(started)))
    }

    /// Where contents of changed files are kept.
    pub(super) fn blobs(&self) -> PathBuf {
        self.folder.join("blobs")
    }

    /// Where large outputs of a session are kept.
    pub(super) fn outputs(&self, session: &str) -> PathBuf {
        self.folder.join("outputs").join(session)
    }

    /// Opens an earlier session, or a copy of one under the name `id`.
    pub(super) fn open(&self, begin: &Begin, id: &str) -> Result<Opened, SessionError> {
        match begin {
            Begin::New => self.create(id, ""),
            Begin::Resume(which) => self.resume(which),
            Begin::Fork { session, at } => self.fork(session, *at, id),
        }
    }

    /// A new session.
    pub(super) fn create(&self, id: &str, model: &str) -> Result<Opened, SessionError> {
        self.begin(id, vec![self.first_record(id, model, None)])
    }

    fn begin(&self, id: &str, records: Vec<Record>) -> Result<Opened, SessionError> {
        let mut journal = self.store.create(id)?;
        journal.write(&records)?;
        let conversation = Conversation::of(&records);
        Ok(Opened { id: id.to_owned(), conversation, journal: Box::new(journal), notices: Vec::new() })
    }

    fn fork(&self, which: &str, at: Option<u64>, id: &str) -> Result<Opened, SessionError> {
        let source = self.find(which)?;
        let read = self.store.read(&source)?;
        let last = read.records.last().map_or(0, |record| record.seq);
        if at.is_some_and(|at| at > last) {
            return Err(SessionError::NoMessage { session: source, at: at.unwrap_or_default() });
        }
        let at = at.unwrap_or(last);
        let model = Conversation::of(read.records.iter().take_while(|record| record.seq <= at)).model;
        let Fact::SessionStarted(started) = self.first_record(id, &model, Some((source, at))).fact else {
            return Err(SessionError::NoBeginning(id.to_owned()));
        };
        let records = fork(&read.records, Some(at), *started, now());
        let notices = about_skipped(&read.skipped);
        Ok(Opened { notices, ..self.begin(id, records)? })
    }

    fn resume(&self, which: &str) -> Result<Opened, SessionError> {
        let id = self.find(which)?;
        let resumed = self.resumed(&id)?;
        let notices = about_skipped(&resumed.skipped);
        Ok(Opened { id, conversation: resumed.conversation, journal: Box::new(resumed.journal), notices })
    }

    /// Opens the session of this id to go on with it.
    pub(super) fn resumed(&self, id: &str) -> Result<Resumed, SessionError> {
        let resumed = self.store.resume(id).map_err(|error| SessionError::of(id, error))?;
        if resumed.conversation.started.is_none() {
            return Err(SessionError::NoBeginning(id.to_owned()));
        }
        Ok(resumed)
    }

    /// What a session's records add up to, as far as it is needed to go on.
    pub(super) fn folded(&self, id: &str) -> Result<Conversation, SessionError> {
        Ok(self.store.fold(id)?)
    }

    /// The sessions of this workspace, the latest first.
    pub(super) fn here(&self) -> Result<Vec<String>, SessionError> {
        let here = self.list()?.sessions.into_iter().filter(|session| self.is_here(session));
        Ok(here.map(|session| session.session).collect())
    }

    /// The id meant by `latest`, an id, or the beginning of one.
    pub fn find(&self, which: &str) -> Result<String, SessionError> {
        let sessions = self.list()?.sessions;
        if which == "latest" {
            let here = sessions.iter().find(|session| self.is_here(session));
            return here.map(|session| session.session.clone()).ok_or(SessionError::NoneHere);
        }
        let found: Vec<&Summary> =
            sessions.iter().filter(|session| session.session.starts_with(which)).collect();
        match found.as_slice() {
            [one] => Ok(one.session.clone()),
            [] => Err(SessionError::Unknown(which.to_owned())),
            several => match several.iter().find(|session| session.session == which) {
                Some(exact) => Ok(exact.session.clone()),
                None => Err(SessionError::Ambiguous { which: which.to_owned(), count: several.len() }),
            },
        }
    }

    /// Reads a session.
    pub fn read(&self, which: &str) -> Result<(String, Vec<Record>), SessionError> {
        let id = self.find(which)?;
        let read = self.store.read(&id)?;
        Ok((id, read.records))
    }

    /// Every session, the latest first, and files that cannot be read as one.
    pub fn list(&self) -> Result<Listed, SessionError> {
        Ok(self.store.list()?)
    }

    /// True when a session is one of this workspace.
    pub fn is_here(&self, session: &Summary) -> bool {
        session.started.cwd == self.directory
    }

    /// Removes a session for good; says which.
    pub fn delete(&self, which: &str) -> Result<String, SessionError> {
        let id = self.find(which)?;
        self.store.delete(&id)?;
        Ok(id)
    }

    /// Every question of every session that waits for an answer.
    pub fn approvals(&self) -> Result<Vec<WaitingApproval>, SessionError> {
        let mut waiting = Vec::new();
        for session in self.list()?.sessions {
            let conversation = self.folded(&session.session)?;
            let asked = conversation
                .open_approvals()
                .map(|open| WaitingApproval { session: session.session.clone(), asked: open.asked.clone() });
            waiting.extend(asked);
        }
        Ok(waiting)
    }
}

/// What a person should know about lines that were skipped.
pub(super) fn about_skipped(skipped: &[Skipped]) -> Vec<String> {
    let notice = |skipped: &Skipped| {
        format!("the session's journal: line {} was skipped: {}", skipped.line, skipped.reason)
    };
    skipped.iter().map(notice).collect()
}
