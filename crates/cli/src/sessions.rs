//! Sessions as the command line knows them: the latest, by id, listed, removed, forked.

use std::path::PathBuf;
use std::time::SystemTime;

use charla_proto::{
    BoxFuture, Conversation, Fact, JOURNAL_VERSION, Journal, JournalError, Record, SessionStarted,
};
use charla_store::{Opened, Resumed, Skipped, Store, Summary, Sync};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::printer::Printer;

/// A session that is open for writing.
pub struct Open {
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
    Fork(String),
}

/// The sessions of this user.
pub struct Sessions {
    store: Store,
    folder: PathBuf,
    directory: PathBuf,
    /// Removes the folder when the run ends.
    _passing: Option<tempfile::TempDir>,
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
    pub fn new(environment: &Environment) -> Result<Self, Failure> {
        // A home that is named but not there is not ours to make.
        let chosen = environment.variable("CHARLA_HOME").is_some();
        let home =
            environment.charla_home().filter(|home| chosen || home.parent().is_some_and(|it| it.is_dir()));
        let home = home.ok_or_else(|| {
            Failure::config("there is no home directory to keep conversations in")
                .with_hint("set CHARLA_HOME")
        })?;
        let folder = home.join("sessions");
        let directory = environment.directory.clone();
        Ok(Self { store: Store::new(&folder, Sync::Process), folder, directory, _passing: None })
    }

    /// A new session that is gone when the run ends, for when nothing can be kept; `why` is told. What tools
    /// must put somewhere goes into a temporary folder.
    pub fn passing(environment: &Environment, id: &str, model: &str, why: &Failure) -> (Self, Open) {
        let passing = tempfile::Builder::new().prefix("charla-").tempdir().ok();
        let folder = passing.as_ref().map_or_else(std::env::temp_dir, |folder| folder.path().to_owned());
        let directory = environment.directory.clone();
        let sessions =
            Self { store: Store::new(&folder, Sync::Process), folder, directory, _passing: passing };
        let open = Open {
            id: id.to_owned(),
            conversation: Conversation::of(&[sessions.first_record(id, model, None)]),
            journal: Box::new(NoJournal),
            notices: vec![format!("this conversation is not kept: {why}")],
        };
        (sessions, open)
    }

    fn first_record(&self, id: &str, model: &str, parent: Option<(String, u64)>) -> Record {
        let started = SessionStarted {
            version: JOURNAL_VERSION,
            session: id.to_owned(),
            cwd: self.directory.clone(),
            model: model.to_owned(),
            parent,
        };
        Record { seq: 1, at: now(), fact: Fact::SessionStarted(Box::new(started)) }
    }

    /// Where contents of changed files are kept.
    pub fn blobs(&self) -> PathBuf {
        self.folder.join("blobs")
    }

    /// Where large outputs of a session are kept.
    pub fn outputs(&self, session: &str) -> PathBuf {
        self.folder.join("outputs").join(session)
    }

    /// Opens the session a run goes on with. `id` names a new one.
    pub fn open(&self, begin: &Begin, id: &str, model: &str) -> Result<Open, Failure> {
        match begin {
            Begin::New => self.create(id, model, None),
            Begin::Resume(which) => self.resume(which),
            Begin::Fork(which) => self.create(id, model, Some(which)),
        }
    }

    fn create(&self, id: &str, model: &str, from: Option<&str>) -> Result<Open, Failure> {
        let mut kept = Vec::new();
        let mut parent = None;
        if let Some(which) = from {
            let source = self.find(which)?;
            let read = self.store.read(&source).map_err(|error| unusable(&error))?;
            let last = read.records.last().map_or(0, |record| record.seq);
            parent = Some((source, last));
            kept = read.records.into_iter().skip(1).collect();
        }
        let mut records = vec![self.first_record(id, model, parent)];
        for (record, seq) in kept.into_iter().zip(2..) {
            records.push(Record { seq, ..record });
        }
        let mut journal = self.store.create(id).map_err(|error| unusable(&error))?;
        journal.write(&records).map_err(|error| unusable(&error))?;
        let conversation = Conversation::of(&records);
        Ok(Open { id: id.to_owned(), conversation, journal: Box::new(journal), notices: Vec::new() })
    }

    fn resume(&self, which: &str) -> Result<Open, Failure> {
        let id = self.find(which)?;
        let resumed = self.resumed(&id, Hint::ForkSession)?;
        let notices = about_skipped(&resumed.skipped);
        Ok(Open { id, conversation: resumed.conversation, journal: Box::new(resumed.journal), notices })
    }

    /// Opens the session of this id to go on with it; `hint` is for when another process writes it.
    pub fn resumed(&self, id: &str, hint: Hint) -> Result<Resumed, Failure> {
        let resumed = self.store.resume(id).map_err(|error| locked(id, &error, hint))?;
        if resumed.conversation.started.is_none() {
            return Err(Failure::input(format!("the session {id} has no beginning")));
        }
        Ok(resumed)
    }

    /// What a session's records add up to, as far as it is needed to go on.
    pub fn folded(&self, id: &str) -> Result<Conversation, Failure> {
        self.store.fold(id).map_err(|error| unusable(&error))
    }

    /// Opens the session of this id for writing; `hint` is for when another process writes it.
    pub fn lock(&self, id: &str, hint: Hint) -> Result<Opened, Failure> {
        self.store.open(id).map_err(|error| locked(id, &error, hint))
    }

    /// The sessions of this folder, the latest first.
    pub fn here(&self) -> Result<Vec<String>, Failure> {
        let here = |session: &Summary| session.started.cwd == self.directory;
        Ok(self.list()?.into_iter().filter(here).map(|session| session.session).collect())
    }

    /// The id meant by `latest`, an id, or the beginning of one.
    pub fn find(&self, which: &str) -> Result<String, Failure> {
        let sessions = self.list()?;
        if which == "latest" {
            let here = sessions.iter().find(|session| session.started.cwd == self.directory);
            return here.map(|session| session.session.clone()).ok_or_else(|| {
                Failure::input("there is no session of this folder to go on with")
                    .with_hint(Hint::ListSessions)
            });
        }
        let found: Vec<&Summary> =
            sessions.iter().filter(|session| session.session.starts_with(which)).collect();
        match found.as_slice() {
            [one] => Ok(one.session.clone()),
            [] => Err(Failure::input(format!("there is no session `{which}`")).with_hint(Hint::ListSessions)),
            several => match several.iter().find(|session| session.session == which) {
                Some(exact) => Ok(exact.session.clone()),
                None => {
                    Err(Failure::input(format!("`{which}` is the beginning of {} sessions", several.len()))
                        .with_hint("give more of the id"))
                }
            },
        }
    }

    fn list(&self) -> Result<Vec<Summary>, Failure> {
        Ok(self.store.list().map_err(|error| unusable(&error))?.sessions)
    }

    /// Reads a session.
    pub fn read(&self, which: &str) -> Result<(String, Vec<Record>), Failure> {
        let id = self.find(which)?;
        let read = self.store.read(&id).map_err(|error| unusable(&error))?;
        Ok((id, read.records))
    }

    /// Prints every session, the latest first.
    pub fn print(&self, printer: &mut Printer) -> Result<(), Failure> {
        let listed = self.store.list().map_err(|error| unusable(&error))?;
        for (session, reason) in &listed.unreadable {
            printer.warning(&format!("the session {session} cannot be read: {reason}"));
        }
        for session in &listed.sessions {
            let age = SystemTime::now().duration_since(session.modified).unwrap_or_default();
            let here = if session.started.cwd == self.directory { "*" } else { " " };
            printer.words(&format!(
                "{} {here} {:>8}  {}  {}\n",
                session.session,
                in_words(age.as_secs()),
                session.started.model,
                session.title
            ))?;
        }
        if listed.sessions.is_empty() {
            printer.note("there are no sessions yet");
        }
        Ok(())
    }

    /// Removes a session for good.
    pub fn delete(&self, which: &str, printer: &mut Printer) -> Result<(), Failure> {
        let id = self.find(which)?;
        self.store.delete(&id).map_err(|error| unusable(&error))?;
        printer.note(&format!("deleted the session {id}"));
        Ok(())
    }

    /// Every question of every session that waits for an answer.
    pub fn approvals(&self, printer: &mut Printer) -> Result<(), Failure> {
        let mut waiting = 0;
        for session in self.list()? {
            for open in self.folded(&session.session)?.open_approvals() {
                waiting += 1;
                let confirmation = &open.asked.confirmation;
                let line =
                    format!("{}  {}  {}\n", open.asked.approval, confirmation.tool, confirmation.title);
                printer.words(&line)?;
            }
        }
        if waiting == 0 {
            printer.note("nothing waits for approval");
        }
        Ok(())
    }
}

/// Milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// What a person should know about lines that were skipped.
pub fn about_skipped(skipped: &[Skipped]) -> Vec<String> {
    let notice = |skipped: &Skipped| {
        format!("the session's journal: line {} was skipped: {}", skipped.line, skipped.reason)
    };
    skipped.iter().map(notice).collect()
}

fn locked(id: &str, error: &JournalError, hint: Hint) -> Failure {
    match error {
        JournalError::Locked(_) => {
            Failure::input(format!("the session {id} is in use by another process")).with_hint(hint)
        }
        _ => unusable(error),
    }
}

fn unusable(error: &JournalError) -> Failure {
    Failure::system(error.to_string()).with_hint("CHARLA_HOME names another folder for conversations")
}

fn in_words(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}
