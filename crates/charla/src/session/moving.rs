//! A whole session on its way from one store to another: from a laptop to a server, and back.
//!
//! It arrives whole or not at all: contents of files go first, where nothing refers to them yet, and the journal last,
//! in one piece.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use charla_proto::{
    Fact, FileChange, JOURNAL_VERSION, JournalError, Record, SnapshotError, Snapshots, content_hash,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::task::spawn_blocking;

use super::error::SessionError;
use super::store::{Opened, Sessions};

/// A session with everything it needs elsewhere. Large outputs of tools stay where they are: they are named by their
/// place on that machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionBundle {
    /// All of its records.
    pub records: Vec<Record>,
    /// What changed files held, by hash; in JSON as Base64.
    #[serde(default, serialize_with = "as_text", deserialize_with = "of_text")]
    pub contents: BTreeMap<String, Vec<u8>>,
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
        if !self.records.windows(2).all(|pair| pair[0].seq < pair[1].seq) {
            return Err(SessionError::Unsound { session, why: "its records are not in order" });
        }
        if !self.contents.iter().all(|(hash, bytes)| content_hash(bytes) == *hash) {
            return Err(SessionError::Unsound { session, why: "a file's content is not what it is called" });
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
        let held = HeldSession { _opened: self.own(id).await? };
        Ok((self.bundle(id).await?, held))
    }

    /// Everything of a session as far as it is written now.
    pub async fn bundle(&self, id: &str) -> Result<SessionBundle, SessionError> {
        let records = self.records(id).await?;
        let hashes: BTreeSet<String> = records.iter().flat_map(hashes).collect();
        let snapshots = self.snapshots();
        let contents = spawn_blocking(move || load(&hashes, &snapshots)).await.map_err(broke_off)??;
        Ok(SessionBundle { records, contents })
    }

    /// Keeps a session that comes from elsewhere. One of the same id that says something else stays as it is.
    pub async fn take_in(&self, bundle: SessionBundle) -> Result<Arrival, SessionError> {
        let id = bundle.session()?.to_owned();
        let SessionBundle { records, contents } = bundle;
        let snapshots = self.snapshots();
        let kept = spawn_blocking(move || contents.values().try_for_each(|bytes| keep(bytes, &snapshots)));
        kept.await.map_err(broke_off)??;
        match self.begin(&id, &records).await {
            Ok(_) => Ok(Arrival::Kept),
            Err(SessionError::Journal(JournalError::Exists(_))) => {
                match self.records(&id).await? == records {
                    true => Ok(Arrival::Known),
                    false => Err(SessionError::Differs(id)),
                }
            }
            Err(error) => Err(error),
        }
    }
}

/// The contents that a record refers to.
fn hashes(record: &Record) -> Vec<String> {
    let changes: Vec<&FileChange> = match &record.fact {
        Fact::CallStarted(started) => started.changes.iter().collect(),
        Fact::CallEnded(ended) => ended.changes.iter().collect(),
        Fact::ChangesUndone(reverted) | Fact::ChangesRedone(reverted) => {
            reverted.files.iter().map(|file| &file.change).collect()
        }
        Fact::Rewound(rewound) => rewound.files.iter().map(|file| &file.change).collect(),
        _ => Vec::new(),
    };
    changes.into_iter().flat_map(|change| [change.before.clone(), change.after.clone()]).flatten().collect()
}

/// Contents that are no longer there cannot be taken back here either, and are left out.
fn load(
    hashes: &BTreeSet<String>,
    snapshots: &Arc<dyn Snapshots>,
) -> Result<BTreeMap<String, Vec<u8>>, SessionError> {
    let mut contents = BTreeMap::new();
    for hash in hashes {
        match snapshots.load(hash) {
            Ok(bytes) => drop(contents.insert(hash.clone(), bytes)),
            Err(SnapshotError::Missing(_) | SnapshotError::Damaged(_)) => {}
            Err(error) => return Err(failed(&error)),
        }
    }
    Ok(contents)
}

fn keep(bytes: &[u8], snapshots: &Arc<dyn Snapshots>) -> Result<(), SessionError> {
    snapshots.keep(bytes).map(drop).map_err(|error| failed(&error))
}

fn failed(error: &SnapshotError) -> SessionError {
    SessionError::Journal(JournalError::Io(error.to_string()))
}

fn broke_off(error: tokio::task::JoinError) -> SessionError {
    SessionError::Journal(JournalError::Io(error.to_string()))
}

fn as_text<S: Serializer>(contents: &BTreeMap<String, Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(contents.iter().map(|(hash, bytes)| (hash, STANDARD.encode(bytes))))
}

fn of_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Vec<u8>>, D::Error> {
    let texts = BTreeMap::<String, String>::deserialize(deserializer)?;
    let decode = |(hash, text): (String, String)| Ok((hash, STANDARD.decode(text)?));
    texts
        .into_iter()
        .map(decode)
        .collect::<Result<_, base64::DecodeError>>()
        .map_err(serde::de::Error::custom)
}
