//! The audit log: who asked for what, in lines that each hold the hash of the one before.
//!
//! A line that is changed, taken out or put in breaks the chain from there on. What the chain cannot tell by itself, having no key, is
//! that its end was cut off, or that all of it was written anew: whoever needs that keeps the last hash elsewhere.

mod bursts;
mod database;
mod file;
mod told;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::response::Response;
use charla_store::Database;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::Digest;
use crate::problem::Problem;
use crate::repeats::Answer;
use bursts::{Burst, Bursts};
use database::DatabaseLog;
pub use database::verify_database_audit;
pub use file::verify_audit;
pub(crate) use told::{question, secret, shown, told};

/// What an entry is called that says what came of an earlier one.
const RESULT: &str = "result";

/// What an entry is called that witnesses a line before it that was never finished.
const TORN: &str = "torn";
/// What an entry is called that says how many results are not in the log.
const LOST: &str = "results_lost";
/// How many results may wait to be written.
const MOST_LATE: usize = 4096;
/// The hash of that line.
const HASH: &str = "hash";

/// What is written about one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Who asked; empty where nobody is known.
    pub(crate) who: String,
    /// The address they asked from.
    pub(crate) from: String,
    /// The route's name.
    pub(crate) what: String,
    /// What it was asked about, and how it was answered where that is known.
    pub(crate) about: Map<String, Value>,
}

/// What came of a request, as the log tells it.
#[derive(Default)]
pub(crate) struct Outcome {
    status: u16,
    /// A session, a token or an account that was made, by its id.
    made: Made,
}

/// What an answer says was made.
#[derive(Default, Deserialize)]
struct Made {
    session: Option<String>,
    id: Option<String>,
}

impl Outcome {
    /// That of an answer, which is the server's own.
    pub(crate) fn of(answer: &Answer) -> Self {
        let made = serde_json::from_slice(&answer.body).unwrap_or_default();
        Self { status: answer.status.as_u16(), made }
    }

    /// That of what was done without a request.
    pub(crate) fn done(status: u16, id: Option<String>) -> Self {
        Self { status, made: Made { session: None, id } }
    }

    /// That of one whose body is still to come.
    pub(crate) fn of_response(response: &Response) -> Self {
        Self { status: response.status().as_u16(), ..Self::default() }
    }
}

impl Entry {
    /// The entry that witnesses what a crash left of another one.
    fn torn(text: &str) -> Self {
        let about = Map::from_iter([(HASH.to_owned(), Digest::of(text).text().into())]);
        Self { who: String::new(), from: String::new(), what: TORN.to_owned(), about }
    }

    /// The entry that says how many results nobody could write.
    fn lost(results: u64) -> Self {
        let about = Map::from_iter([("lost".to_owned(), results.into())]);
        Self { who: String::new(), from: String::new(), what: LOST.to_owned(), about }
    }

    /// The entry that says what came of this one.
    pub(crate) fn result(self, number: u64, outcome: Result<Outcome, &Problem>) -> Self {
        let mut about = Map::from_iter([("of".to_owned(), number.into())]);
        let mut tell = |name: &str, value: Value| drop(about.insert(name.to_owned(), value));
        match outcome {
            Ok(Outcome { status, made: Made { session, id } }) => {
                tell("status", status.into());
                session.into_iter().for_each(|session| tell("session", shown(&session)));
                id.into_iter().for_each(|id| tell("id", shown(&id)));
            }
            Err(problem) => {
                tell("status", problem.status.as_u16().into());
                tell("kind", problem.kind.into());
            }
        }
        Self { what: RESULT.to_owned(), about, ..self }
    }
}

/// A line of the log.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    number: u64,
    /// In milliseconds since 1970.
    at: u64,
    #[serde(flatten)]
    entry: Entry,
    /// The hash of the line before.
    previous: String,
    /// Of everything before it in this line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    hash: String,
}

impl Line {
    fn digest(&self) -> io::Result<String> {
        let bare =
            Line { hash: String::new(), entry: self.entry.clone(), previous: self.previous.clone(), ..*self };
        Ok(Digest::of(&serde_json::to_string(&bare)?).text())
    }
}

/// What a line is that cannot be read.
const NO_ENTRY: &str = "it is no entry";

/// Where the chain is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenChain {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub why: &'static str,
}

/// Goes along a chain, entry by entry.
#[derive(Debug, Default)]
struct Chain {
    /// How many entries were as they should be.
    number: u64,
    previous: String,
}

impl Chain {
    /// The entry that follows, as it is written.
    fn next(&self, entry: Entry) -> io::Result<String> {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let at = u64::try_from(at).unwrap_or(u64::MAX);
        let (number, previous) = (self.number + 1, self.previous.clone());
        let mut line = Line { number, at, entry, previous, hash: String::new() };
        line.hash = line.digest()?;
        Ok(serde_json::to_string(&line)?)
    }

    /// Where the chain is after this entry, without a look at those before.
    fn after(text: &str) -> Option<Self> {
        let line = serde_json::from_str::<Line>(text).ok()?;
        Some(Self { number: line.number, previous: line.hash })
    }

    /// The hash of the unfinished line that this entry witnesses, where it is such an entry.
    fn witnessed(text: &str) -> Option<String> {
        let line = serde_json::from_str::<Line>(text).ok().filter(|line| line.entry.what == TORN)?;
        line.entry.about.get(HASH)?.as_str().map(str::to_owned)
    }

    /// How many entries there were. `written` says that there must have been some.
    fn whole(&self, written: bool) -> Result<u64, BrokenChain> {
        match self.number {
            0 if written => {
                Err(BrokenChain { line: 1, why: "nothing is there, although something was done" })
            }
            entries => Ok(entries),
        }
    }

    /// Takes the next entry, if it is as it was written.
    fn check(&mut self, text: &str) -> io::Result<Result<(), &'static str>> {
        let Ok(line) = serde_json::from_str::<Line>(text) else { return Ok(Err(NO_ENTRY)) };
        if line.number != self.number + 1 || line.previous != self.previous {
            return Ok(Err("it does not follow the entry before it"));
        }
        // What is read is not all that may stand there: other fields, blanks, other ways to write a character.
        if line.hash != line.digest()? || serde_json::to_string(&line)? != text {
            return Ok(Err("it was changed"));
        }
        (self.number, self.previous) = (line.number, line.hash);
        Ok(Ok(()))
    }
}

/// Where the log is.
#[derive(Debug)]
enum Log {
    /// A file of this machine.
    File(PathBuf),
    /// The database that several nodes share.
    Database(DatabaseLog),
}

/// The log, and what it is still to tell.
#[derive(Debug)]
pub(crate) struct Audit {
    log: Log,
    bursts: Bursts,
    late: Mutex<Late>,
}

/// Results that could not be written yet, and how many more there were than are kept.
#[derive(Debug, Default)]
struct Late {
    results: VecDeque<Entry>,
    lost: u64,
}

impl Late {
    /// Keeps one more; the oldest gives way to it.
    fn push(&mut self, result: Entry) {
        if self.results.len() >= MOST_LATE && self.results.pop_front().is_some() {
            self.lost += 1;
        }
        self.results.push_back(result);
    }
}

impl Audit {
    /// The log that servers of this folder share; in the database, where there is one.
    pub(crate) fn new(folder: &Path, database: Option<&Database>) -> Self {
        let log = match database {
            Some(database) => Log::Database(DatabaseLog::new(database.clone())),
            None => Log::File(path_in(folder)),
        };
        Self { log, bursts: Bursts::default(), late: Mutex::default() }
    }

    /// Writes an entry; its number. When this returns, it survives the process, as records do. Several servers of one user take turns.
    pub(crate) async fn write(&self, entry: Entry) -> io::Result<u64> {
        match &self.log {
            Log::File(path) => {
                let path = path.clone();
                let written = tokio::task::spawn_blocking(move || file::append(&path, entry)).await;
                written.map_err(io::Error::other)?
            }
            Log::Database(log) => log.append(entry).await,
        }
    }

    /// Writes what came of an earlier entry. That is done already: where it cannot be written now, it is written later.
    pub(crate) async fn write_result(&self, result: Entry) {
        if let Err(error) = self.write(result.clone()).await {
            tracing::warn!("what came of a request is not in the audit log yet: {error}");
            self.late().push(result);
        }
    }

    fn late(&self) -> MutexGuard<'_, Late> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an attempt that nobody listened to; it is in the log with the others of its burst when that is over.
    pub(crate) fn count(&self, from: &str, attempt: Entry) {
        self.bursts.count(from, attempt, Instant::now());
    }

    /// Writes down the bursts that are over, and results that came late.
    pub(crate) async fn tell_bursts(&self) {
        self.tell_late().await;
        self.tell(self.bursts.take_over(Instant::now())).await;
    }

    async fn tell_late(&self) {
        let Late { mut results, lost } = std::mem::take(&mut *self.late());
        if lost > 0 && self.write(Entry::lost(lost)).await.is_err() {
            self.late().lost += lost;
        }
        while let Some(result) = results.pop_front() {
            if self.write(result.clone()).await.is_err() {
                // Nor are the others written now.
                let mut late = self.late();
                results.push_front(result);
                results.append(&mut late.results);
                results.into_iter().for_each(|result| late.push(result));
                return;
            }
        }
    }

    /// True once every result is written, or told to be lost.
    pub(crate) fn is_told(&self) -> bool {
        let late = self.late();
        late.results.is_empty() && late.lost == 0
    }

    /// Writes down all of them, when the server ends.
    pub(crate) async fn tell_rest(&self) {
        self.tell_late().await;
        self.tell(self.bursts.take_all()).await;
    }

    /// What cannot be written is tried again with the next ones.
    async fn tell(&self, bursts: Vec<Burst>) {
        for burst in bursts {
            if let Err(error) = self.write(burst.entry()).await {
                tracing::warn!("attempts that were refused are not in the audit log yet: {error}");
                self.bursts.put_back(burst);
            }
        }
    }
}

/// The log in the folder of a server.
pub(crate) fn path_in(folder: &Path) -> PathBuf {
    folder.join("audit.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(number: u64) -> Entry {
        let about = Map::from_iter([("of".to_owned(), number.into())]);
        Entry { who: "anna".into(), from: "::1".into(), what: RESULT.into(), about }
    }

    #[tokio::test]
    async fn results_that_cannot_be_written_wait_in_order_and_not_without_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(folder.path());
        // Nothing is written to a folder.
        std::fs::create_dir(&path).unwrap();
        let audit = Audit::new(folder.path(), None);
        for number in 0..3 {
            audit.write_result(result(number)).await;
        }
        audit.tell_bursts().await;
        assert!(!audit.is_told());
        let all = MOST_LATE as u64 + 2;
        (3..all).for_each(|number| audit.late().push(result(number)));
        std::fs::remove_dir(&path).unwrap();
        audit.tell_bursts().await;
        assert!(audit.is_told());
        assert_eq!(verify_audit(&path).unwrap(), Ok(1 + MOST_LATE as u64));
        let text = std::fs::read_to_string(&path).unwrap();
        let about = |line: &str| serde_json::from_str::<Line>(line).unwrap().entry.about;
        let mut lines = text.lines().map(about);
        assert_eq!(lines.next().unwrap()["lost"], 2);
        let told: Vec<u64> = lines.map(|about| about["of"].as_u64().unwrap()).collect();
        assert_eq!(told, (2..all).collect::<Vec<_>>());
    }
}
