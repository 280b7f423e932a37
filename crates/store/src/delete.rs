//! Removing sessions, and with them whatever only they refer to.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use charla_proto::{JournalError, PrunedSessions};

use crate::{ARRIVING, Blobs, Store, existing, failed, owner};

/// What is younger than this and belongs to nobody may be just about to: another process keeps a content before it
/// records it.
const YOUNG: Duration = Duration::from_secs(3600);

/// What journals refer to beside themselves.
#[derive(Default)]
pub(crate) struct References {
    /// Contents of changed files, by hash.
    pub(crate) contents: HashSet<String>,
    /// Sessions whose large outputs are named: a fork names those of its parent.
    pub(crate) outputs: HashSet<String>,
}

impl References {
    fn read(&mut self, file: File) -> io::Result<()> {
        let mut reader = BufReader::with_capacity(256 * 1024, file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            self.note(&String::from_utf8_lossy(&line));
            line.clear();
        }
        Ok(())
    }

    /// Looks at the text alone, so that records of any version count. Quotes within texts are escaped there.
    pub(crate) fn note(&mut self, line: &str) {
        for key in ["\"before\":\"", "\"after\":\""] {
            let hashes = line.split(key).skip(1).filter_map(|rest| rest.split('"').next());
            self.contents.extend(hashes.map(str::to_owned));
        }
        let outputs = line.split("/outputs/").skip(1).filter_map(|rest| rest.split_once('/'));
        self.outputs.extend(outputs.map(|(session, _)| session.to_owned()));
    }

    /// What all sessions of a folder refer to.
    fn of_all(folder: &Path) -> io::Result<Self> {
        let mut references = Self::default();
        for (_, path) in journals(folder)? {
            match File::open(&path) {
                Ok(file) => references.read(file)?,
                // Removed by somebody else meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(references)
    }
}

impl Store {
    /// Removes a session for good, with the contents and outputs that no other one refers to. Refused while
    /// another process writes it.
    pub(crate) fn delete(&self, session: &str) -> Result<(), JournalError> {
        let own = self.remove(session)?;
        let sweep = || {
            let others = References::of_all(&self.folder)?;
            self.sweep(&own, &others)
        };
        sweep().map(drop).map_err(|error| failed(&self.folder, &error))
    }

    /// Removes sessions, all but those in use, and then everything no session refers to.
    pub(crate) fn prune(&self, sessions: &[String]) -> Result<PrunedSessions, JournalError> {
        let mut pruned = PrunedSessions::default();
        let mut own = References::default();
        for session in sessions {
            match self.remove(session) {
                Ok(references) => {
                    own.contents.extend(references.contents);
                    own.outputs.extend(references.outputs);
                    pruned.deleted.push(session.clone());
                }
                Err(JournalError::Locked(_)) => pruned.in_use.push(session.clone()),
                Err(JournalError::Missing(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let mut sweep = || {
            let others = References::of_all(&self.folder)?;
            pruned.freed = self.sweep(&own, &others)? + self.sweep_lost(&others)?;
            io::Result::Ok(())
        };
        sweep().map_err(|error| failed(&self.folder, &error))?;
        Ok(pruned)
    }

    /// Removes a session's journal; what it referred to.
    fn remove(&self, session: &str) -> Result<References, JournalError> {
        let path = self.path(session)?;
        let gate = self.gate(session, &path)?;
        let file = existing(OpenOptions::new().read(true).append(true), session, &path)?;
        owner::lock(&file, &path)?;
        let mut references = References::default();
        references.read(file).map_err(|error| failed(&path, &error))?;
        references.outputs.insert(session.to_owned());
        fs::remove_file(&path).map_err(|error| failed(&path, &error))?;
        gate.remove();
        Ok(references)
    }

    /// Removes what was referred to and is no longer; how many bytes.
    fn sweep(&self, gone: &References, used: &References) -> io::Result<u64> {
        let mut freed = 0;
        for session in gone.outputs.difference(&used.outputs) {
            let is_plain = self.path(session).is_ok_and(|journal| !journal.exists());
            if is_plain {
                freed += remove_folder(&self.outputs_of(session))?;
            }
        }
        let blobs = self.blobs();
        for path in gone.contents.difference(&used.contents).filter_map(|hash| blobs.path(hash)) {
            freed += remove_file(&path)?;
        }
        Ok(freed)
    }

    /// Removes what no session refers to, such as what a killed process left.
    fn sweep_lost(&self, used: &References) -> io::Result<u64> {
        let mut freed = 0;
        for shelf in entries(&self.folder.join("blobs"))? {
            for content in entries(&shelf)? {
                let hash = format!("{}{}", name(&shelf), name(&content));
                if !used.contents.contains(&hash) && is_old(&content) {
                    freed += remove_file(&content)?;
                }
            }
        }
        for unfinished in entries(&self.folder)? {
            if name(&unfinished).starts_with(ARRIVING) && is_old(&unfinished) {
                freed += remove_file(&unfinished)?;
            }
        }
        for folder in entries(&self.folder.join("outputs"))? {
            let session = name(&folder);
            let alive = self.path(&session).is_ok_and(|journal| journal.exists());
            if !alive && !used.outputs.contains(&session) && is_old(&folder) {
                freed += remove_folder(&folder)?;
            }
        }
        Ok(freed)
    }

    pub(crate) fn blobs(&self) -> Blobs {
        Blobs::new(self.folder.join("blobs"))
    }
}

/// The journals of a folder: session and file.
fn journals(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let paths = entries(folder)?.into_iter();
    let journal = |path: PathBuf| Some((name(&path).strip_suffix(".jsonl")?.to_owned(), path));
    Ok(paths.filter_map(journal).collect())
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn is_old(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|data| data.modified());
    let age = modified.map(|then| SystemTime::now().duration_since(then).unwrap_or_default());
    age.is_ok_and(|age| age > YOUNG)
}

fn remove_file(path: &Path) -> io::Result<u64> {
    let size = fs::metadata(path).map_or(0, |data| data.len());
    match fs::remove_file(path) {
        Ok(()) => Ok(size),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

fn remove_folder(folder: &Path) -> io::Result<u64> {
    let files = entries(folder)?;
    let size = files.iter().filter_map(|file| fs::metadata(file).ok()).map(|data| data.len()).sum();
    match fs::remove_dir_all(folder) {
        Ok(()) => Ok(size),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}
