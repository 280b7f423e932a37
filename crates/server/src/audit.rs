//! The audit log: who asked for what, in lines that each hold the hash of the one before.
//!
//! A line that is changed, taken out or put in breaks the chain from there on. What the chain cannot tell by itself is
//! that its end was cut off: whoever needs that keeps the last hash elsewhere.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use charla::private_file;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::Digest;

/// The longest line that is read back to go on from.
const MAX_LINE: u64 = 64 * 1024;

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

/// Where the chain is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenChain {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub why: &'static str,
}

/// The log's file.
#[derive(Clone, Debug)]
pub(crate) struct Audit {
    path: PathBuf,
}

impl Audit {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Writes an entry. When this returns, it survives the process, as records do. Several servers of one user take turns.
    pub(crate) async fn write(&self, entry: Entry) -> io::Result<()> {
        let path = self.path.clone();
        let written = tokio::task::spawn_blocking(move || append(&path, entry)).await;
        written.map_err(io::Error::other)?
    }
}

fn append(path: &Path, entry: Entry) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private_file::make_folder(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.lock()?;
    let (number, previous, torn) = end(&mut file)?;
    let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let at = u64::try_from(at).unwrap_or(u64::MAX);
    let mut line = Line { number: number + 1, at, entry, previous, hash: String::new() };
    line.hash = line.digest()?;
    // A line that a crash has cut gets an end of its own, and stays for whoever looks.
    let mut text = if torn { String::from("\n") } else { String::new() };
    text.push_str(&serde_json::to_string(&line)?);
    text.push('\n');
    file.write_all(text.as_bytes())
}

/// The last whole line's number and hash, and whether something unfinished follows it.
fn end(file: &mut File) -> io::Result<(u64, String, bool)> {
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(2 * MAX_LINE)))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    let text = String::from_utf8_lossy(&tail);
    let last = text.lines().rev().find_map(|line| serde_json::from_str::<Line>(line).ok());
    let torn = !text.is_empty() && !text.ends_with('\n');
    Ok(last.map_or((0, String::new(), torn), |line| (line.number, line.hash, torn)))
}

/// How many entries a log has, if its chain is whole.
pub fn verify_audit(path: &Path) -> io::Result<Result<u64, BrokenChain>> {
    let (mut number, mut previous) = (0, String::new());
    for (at, text) in (1..).zip(BufReader::new(File::open(path)?).lines()) {
        let broken = |why| Ok(Err(BrokenChain { line: at, why }));
        let Ok(line) = serde_json::from_str::<Line>(&text?) else { return broken("it is no entry") };
        if line.number != number + 1 || line.previous != previous {
            return broken("it does not follow the entry before it");
        }
        if line.hash != line.digest()? {
            return broken("it was changed");
        }
        (number, previous) = (line.number, line.hash);
    }
    Ok(Ok(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(what: &str) -> Entry {
        Entry { who: "anna".into(), from: "127.0.0.1".into(), what: what.into(), about: Map::new() }
    }

    fn log(entries: usize) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server/audit.jsonl");
        (0..entries).for_each(|number| append(&path, entry(&format!("e{number}"))).unwrap());
        (folder, path)
    }

    #[test]
    fn a_log_that_nobody_touched_is_whole() {
        let (_folder, path) = log(5);
        assert_eq!(verify_audit(&path).unwrap(), Ok(5));
    }

    #[test]
    fn a_line_that_is_changed_taken_out_moved_or_put_in_is_found() {
        let (_folder, path) = log(4);
        let whole = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = whole.lines().collect();
        let changed = lines[1].replace("e1", "e9");
        let cases: [(Vec<&str>, u64); 5] = [
            (vec![lines[0], &changed, lines[2], lines[3]], 2),
            (vec![lines[0], lines[2], lines[3]], 2),
            (vec![lines[1], lines[2], lines[3]], 1),
            (vec![lines[0], lines[2], lines[1], lines[3]], 2),
            (vec![lines[0], lines[0], lines[1]], 2),
        ];
        for (lines, line) in cases {
            std::fs::write(&path, lines.join("\n")).unwrap();
            assert_eq!(verify_audit(&path).unwrap().unwrap_err().line, line, "{lines:?}");
        }
    }

    #[test]
    fn a_line_that_a_crash_has_cut_is_found_and_the_log_goes_on() {
        let (_folder, path) = log(2);
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, whole.get(..whole.len() - 20).unwrap()).unwrap();
        append(&path, entry("next")).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert_eq!(verify_audit(&path).unwrap().unwrap_err().line, 2);
    }

    #[test]
    fn many_that_write_at_once_make_one_chain() {
        let (_folder, path) = log(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..10).for_each(|_| append(&path, entry("x")).unwrap()));
            }
        });
        assert_eq!(verify_audit(&path).unwrap(), Ok(80));
    }
}
