//! Files of users that every node has: keys, settings, rules and memory, kept in the database, and encrypted there.
//!
//! Sessions read them as files of their node. Before they do, the node looks whether another one has changed something; what was changed here
//! is told to the others. A file that two nodes change at once has the text of one of them.

mod seal;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use charla::private_file;
use charla_store::{Database, DatabaseError, Patience, Value};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::access::Digest;
use crate::problem::Problem;
pub(crate) use seal::{Seal, SealError};

/// What a user keeps.
const OF_USERS: [&str; 4] = ["keys.json", "settings.json", "policies/auto-saved.toml", "CHARLA.md"];
/// What the server keeps for everybody.
const OF_THE_SERVER: [&str; 2] = ["settings.json", "token"];
/// Whose that is.
const SERVER: &str = "";
/// Where a folder says what of it the database has.
const MARKS: &str = ".shelf.json";

/// The files that all nodes have.
pub(crate) struct Shelf {
    database: Database,
    seal: Arc<Seal>,
    /// One at a time.
    turn: Mutex<()>,
}

/// One user's part of the shelf.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) person: String,
    pub(crate) folder: PathBuf,
}

/// What of a file both sides know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    version: i64,
    /// The hash of its text; nothing where there is no file.
    hash: Option<String>,
}

/// A file as the database has it.
struct Row {
    version: i64,
    text: Option<String>,
}

/// Why files are not brought up to date.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShelfError {
    #[error("{0}")]
    Away(#[from] DatabaseError),
    #[error("what users keep cannot be read or written: {0}")]
    File(#[from] io::Error),
    #[error("what users keep in the database was encrypted with another key than this node has")]
    OtherKey,
}

impl From<ShelfError> for Problem {
    fn from(error: ShelfError) -> Self {
        match error {
            ShelfError::Away(error) => Self::away(&error),
            error => Self::new(StatusCode::SERVICE_UNAVAILABLE, "kept", error.to_string()),
        }
    }
}

impl Kept {
    /// Brings the user's files up to date, here and for the other nodes.
    pub(crate) async fn sync(&self) -> Result<(), ShelfError> {
        self.shelf.sync(&self.person, &self.folder, &OF_USERS).await
    }
}

impl Shelf {
    pub(crate) fn new(database: Database, seal: Arc<Seal>) -> Self {
        Self { database, seal, turn: Mutex::default() }
    }

    /// The same for what the server keeps for everybody, in its own folder.
    pub(crate) async fn sync_server(&self, folder: &Path) -> Result<(), ShelfError> {
        self.sync(SERVER, folder, &OF_THE_SERVER).await
    }

    async fn sync(&self, person: &str, folder: &Path, names: &[&str]) -> Result<(), ShelfError> {
        let _turn = self.turn.lock().await;
        let rows = self.rows(person).await?;
        let before = marks(folder)?;
        let mut after = before.clone();
        for name in names {
            let (path, known) = (folder.join(name), before.get(*name));
            let here = read(&path)?;
            let hash = here.as_deref().map(|text| Digest::of(text).text());
            let row = rows.get(*name);
            let changed_here = known.map_or(row.is_none() && here.is_some(), |known| known.hash != hash);
            let told = match changed_here {
                true => self.put(person, name, known, here.as_deref()).await?,
                false => None,
            };
            let mark = match (told, row) {
                (Some(version), _) => Mark { version, hash },
                (None, Some(row)) if known.is_none_or(|known| known.version != row.version) => {
                    take(&path, row.text.as_deref())?;
                    Mark {
                        version: row.version,
                        hash: row.text.as_deref().map(|text| Digest::of(text).text()),
                    }
                }
                // Another node was quicker: its text comes with the next look.
                _ => continue,
            };
            after.insert((*name).to_owned(), mark);
        }
        if after != before {
            private_file::write(
                &folder.join(MARKS),
                &serde_json::to_string(&after).map_err(io::Error::from)?,
            )?;
        }
        Ok(())
    }

    async fn rows(&self, person: &str) -> Result<BTreeMap<String, Row>, ShelfError> {
        let statement = "select name, version, body from charla.files where person = $1";
        let rows = self.database.query(Patience::Brief, statement, vec![person.into()]).await?;
        let mut kept = BTreeMap::new();
        for row in &rows {
            let (name, version): (String, i64) = (row.get(0), row.get(1));
            let text = match row.get::<_, Option<Vec<u8>>>(2) {
                Some(sealed) => {
                    let text = self.seal.open(&about(person, &name), sealed);
                    Some(text.ok_or(ShelfError::OtherKey)?)
                }
                None => None,
            };
            kept.insert(name, Row { version, text });
        }
        Ok(kept)
    }

    /// Tells the others what a file holds, if none of them has changed it since: its version then.
    async fn put(
        &self,
        person: &str,
        name: &str,
        known: Option<&Mark>,
        text: Option<&str>,
    ) -> Result<Option<i64>, ShelfError> {
        let statement = "insert into charla.files as known (person, name, version, body)
            values ($1, $2, $3 + 1, case when $4 then $5 end)
            on conflict (person, name) do update set version = excluded.version, body = excluded.body
            where known.version = $3 returning version";
        let sealed = text.map(|text| self.seal.close(&about(person, name), text)).transpose()?;
        let version = known.map_or(0, |known| known.version);
        let is_there = Value::Flag(sealed.is_some());
        let body = Value::Bytes(sealed.unwrap_or_default());
        let values = vec![person.into(), name.into(), Value::Number(version), is_there, body];
        let rows = self.database.query(Patience::Brief, statement, values).await?;
        Ok(rows.first().map(|row| row.get(0)))
    }
}

/// What a sealed text is bound to: it cannot be taken for another's.
fn about(person: &str, name: &str) -> String {
    format!("{person}/{name}")
}

fn read(path: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn take(path: &Path, text: Option<&str>) -> io::Result<()> {
    match text {
        Some(text) => private_file::write(path, text),
        None => match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}

/// Marks that cannot be read are none: the database's texts count then.
fn marks(folder: &Path) -> io::Result<BTreeMap<String, Mark>> {
    Ok(read(&folder.join(MARKS))?.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}
