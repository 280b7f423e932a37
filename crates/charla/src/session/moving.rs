//! A whole session on its way from one store to another: from a laptop to a server, and back.
//!
//! It arrives whole or not at all, its journal in one piece. What a journal from elsewhere says is said, and nothing more:
//! [`Sessions::take_in`] is the one way in, and ends it with a record after which nothing of it is allowed here. What changed files
//! held stays behind: changes that were made elsewhere cannot be taken back here.

use charla_core::session::import::{import, is_import_of};
use charla_proto::{Fact, JOURNAL_VERSION, JournalError, Record};
use charla_store::is_plain_id;
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

use super::error::SessionError;
use super::store::{Opened, Sessions};
use crate::clock::now;

/// The largest number that a record of a session that comes in may have: there must be room for what follows.
const LAST: u64 = u64::MAX >> 16;
/// How many numbers may be missing between two of its records. Readers take a far greater step for damage.
const MOST_MISSING: u64 = 10_000;

/// A session with everything it needs elsewhere. Large outputs of tools stay where they are: they are named by their
/// place on that machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionBundle {
    /// All of its records.
    pub records: Vec<Record>,
}

/// A session that nobody else writes until this is dropped.
pub struct HeldSession {
    _opened: Opened,
}

/// What became of a session that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// It is here now.
    Kept,
    /// It was here already, the same.
    Known,
}

impl SessionBundle {
    /// The session's id; an error when this is no session that can be gone on with here.
    pub fn session(&self) -> Result<&str, SessionError> {
        let started = match self.records.first().map(|record| &record.fact) {
            Some(Fact::SessionStarted(started)) => started,
            _ => return Err(SessionError::NoBeginning(String::new())),
        };
        let (session, version) = (started.session.clone(), started.version);
        if version > JOURNAL_VERSION {
            return Err(SessionError::NewerVersion { session, version });
        }
        let unsound = |why| Err(SessionError::Unsound { session: session.clone(), why });
        if !is_plain_id(&session) || is_word_for_another(&session) {
            return unsound("its id is none");
        }
        let begins = |record: &Record| matches!(record.fact, Fact::SessionStarted(_));
        if self.records.iter().filter(|record| begins(record)).count() > 1 {
            return unsound("it begins more than once");
        }
        let mut last = 0;
        for record in &self.records {
            if !(1..=MOST_MISSING).contains(&record.seq.saturating_sub(last)) {
                return unsound("its records are not in order");
            }
            last = record.seq;
        }
        if self.last() > LAST {
            return unsound("its records have numbers that are too large");
        }
        Ok(&started.session)
    }

    /// The number of its last record.
    pub fn last(&self) -> u64 {
        self.records.last().map_or(0, |record| record.seq)
    }
}

impl Sessions {
    /// Everything of a session, to keep it elsewhere; nothing is written to it meanwhile. Refused while somebody writes it.
    pub async fn hold(&self, id: &str) -> Result<(SessionBundle, HeldSession), SessionError> {
        let held = self.held(id).await?;
        Ok((self.bundle(id).await?, held))
    }

    /// The session, for nobody else to write meanwhile; refused while somebody does.
    pub async fn held(&self, id: &str) -> Result<HeldSession, SessionError> {
        Ok(HeldSession { _opened: self.own(id).await? })
    }

    /// Everything of a session as far as it is written now.
    pub async fn bundle(&self, id: &str) -> Result<SessionBundle, SessionError> {
        Ok(SessionBundle { records: self.records(id).await? })
    }

    /// Keeps a session that comes `from` elsewhere, under another id where `renamed` is one. One of the same id that says something
    /// else stays as it is.
    pub async fn take_in(
        &self,
        bundle: &SessionBundle,
        renamed: Option<&str>,
        from: &str,
    ) -> Result<Arrival, SessionError> {
        let id = renamed.unwrap_or(bundle.session()?);
        let records = import(&bundle.records, renamed, from, now());
        match self.begin(id, &records).await {
            Ok(opened) => {
                drop(opened);
                self.reads_as(id, &records).await.map(|()| Arrival::Kept)
            }
            Err(SessionError::Journal(JournalError::Exists(_))) => {
                // One that is longer is another.
                let most = bundle.records.len() + 2;
                let kept: Vec<Record> = self.stream_after(id, 0).take(most).try_collect().await?;
                match kept == bundle.records || is_import_of(&kept, &bundle.records) {
                    true => Ok(Arrival::Known),
                    false => Err(SessionError::Differs(id.to_owned())),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// A journal that is read otherwise than it was written would not end with the record that allows nothing: it does not stay.
    async fn reads_as(&self, id: &str, written: &[Record]) -> Result<(), SessionError> {
        let mut written = written.iter();
        let mut read = self.stream_after(id, 0);
        let mut is_same = true;
        while let Some(record) = read.try_next().await? {
            is_same &= written.next() == Some(&record);
        }
        if is_same && written.next().is_none() {
            return Ok(());
        }
        self.removed(&[id.to_owned()]).await?;
        Err(SessionError::Unsound { session: id.to_owned(), why: "it is not read as it was written" })
    }
}

/// What stands for something else where a session is named: the latest one, and the place that sessions are sent to.
const OTHER_WORDS: [&str; 2] = ["latest", "import"];

/// True for what people and programs say to mean something else: such a word, or a session's place in a list.
fn is_word_for_another(id: &str) -> bool {
    OTHER_WORDS.contains(&id) || id.bytes().all(|byte| byte.is_ascii_digit())
}
