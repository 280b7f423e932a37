//! Large outputs of tools: files that tools read again, kept in the database so that other nodes have them.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use charla_proto::JournalError;
use tokio::task::spawn_blocking;

use super::Database;
use super::connections::{Lane, Patience, Value};
use crate::make_private_folder;

/// The outputs of one session.
pub(super) struct Outputs {
    database: Database,
    space: String,
    session: String,
    folder: PathBuf,
    /// Those that the database has.
    kept: HashSet<String>,
}

impl Outputs {
    pub(super) fn new(database: Database, space: &str, session: &str, folder: PathBuf) -> Self {
        let (space, session) = (space.to_owned(), session.to_owned());
        Self { database, space, session, folder, kept: HashSet::new() }
    }

    /// Keeps files that are new, as long as the session's row has this key and this token; false where it has not. Done before a record
    /// that names them is written.
    pub(super) async fn keep(&mut self, key: i64, token: i64) -> Result<bool, JournalError> {
        let (folder, kept) = (self.folder.clone(), self.kept.clone());
        let files = on_a_thread(&self.folder, move || new_files(&folder, &kept)).await?;
        for (name, bytes) in files {
            let statement = "with mine as (
                    select key from charla.sessions where key = $5 and token = $6 for share)
                insert into charla.outputs (space, session, name, bytes) select $1, $2, $3, $4 from mine
                on conflict (space, session, name) do update set bytes = excluded.bytes returning name";
            let values = vec![
                self.space.as_str().into(),
                self.session.as_str().into(),
                name.as_str().into(),
                Value::Bytes(bytes),
                Value::Number(key),
                Value::Number(token),
            ];
            let rows = self.database.query_in(Lane::Writing, Patience::Endless, statement, values).await?;
            if rows.is_empty() {
                return Ok(false);
            }
            self.kept.insert(name);
        }
        Ok(true)
    }

    /// Makes the files again that this session's records name and this machine does not have. `all` is the folder that
    /// has a folder for each session.
    pub(super) async fn restore(&mut self, all: &Path, key: i64) -> Result<(), JournalError> {
        let statement = "select session, name from charla.outputs where space = $1 and (session = $2
            or session in (select name from charla.mentions where session = $3 and kind = 'outputs'))";
        let values = vec![self.space.as_str().into(), self.session.as_str().into(), Value::Number(key)];
        let rows = self.database.query_in(Lane::Reading, Patience::Brief, statement, values).await?;
        for row in rows {
            let (session, name): (String, String) = (row.get(0), row.get(1));
            if !is_plain(&session) || !is_plain(&name) {
                continue;
            }
            let path = all.join(&session).join(&name);
            if !path.exists() {
                self.restore_one(&session, &name, path).await?;
            }
            if session == self.session {
                self.kept.insert(name);
            }
        }
        Ok(())
    }

    /// The file of this name, made again where this machine does not have it.
    pub(super) async fn file(&self, name: &str) -> Result<PathBuf, JournalError> {
        let path = self.folder.join(name);
        if is_plain(name) && !path.exists() {
            self.restore_one(&self.session, name, path.clone()).await?;
        }
        Ok(path)
    }

    async fn restore_one(&self, session: &str, name: &str, path: PathBuf) -> Result<(), JournalError> {
        let statement = "select bytes from charla.outputs where space = $1 and session = $2 and name = $3";
        let values = vec![self.space.as_str().into(), session.into(), name.into()];
        let rows = self.database.query_in(Lane::Reading, Patience::Brief, statement, values).await?;
        let Some(row) = rows.first() else { return Ok(()) };
        let bytes: Vec<u8> = row.get(0);
        let place = path.clone();
        on_a_thread(&place, move || write(&path, &bytes)).await
    }
}

/// A name that leads nowhere else.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

/// The files of a folder that are not kept yet.
fn new_files(folder: &Path, kept: &HashSet<String>) -> io::Result<Vec<(String, Vec<u8>)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if is_plain(&name) && !kept.contains(&name) && entry.file_type()?.is_file() {
            files.push((name, fs::read(entry.path())?));
        }
    }
    Ok(files)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    make_private_folder(folder)?;
    let file = tempfile::NamedTempFile::new_in(folder)?;
    fs::write(file.path(), bytes)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

async fn on_a_thread<T: Send + 'static>(
    place: &Path,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, JournalError> {
    let done = spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(|error| crate::failed(place, &error))
}
