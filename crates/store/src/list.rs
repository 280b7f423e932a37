//! Listing sessions from their files alone.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::time::SystemTime;

use charla_proto::{Fact, Record, SessionStarted};

/// How much of a file is looked at: the first record and the beginning of the first prompt.
const LOOK: u64 = 8 * 1024;

/// One session, briefly.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Its id.
    pub session: String,
    /// When it was written to last.
    pub modified: SystemTime,
    /// Its size in bytes.
    pub size: u64,
    /// Its first record.
    pub started: SessionStarted,
    /// The beginning of its first prompt.
    pub title: String,
}

/// All sessions, and files that look like one but are not.
#[derive(Debug, Default)]
pub struct Listed {
    /// The sessions, the one written to last first.
    pub sessions: Vec<Summary>,
    /// Files that cannot be read as a session, with the reason.
    pub unreadable: Vec<(String, String)>,
}

pub(crate) fn list(folder: &Path) -> io::Result<Listed> {
    let mut listed = Listed::default();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(listed),
        Err(error) => return Err(error),
    };
    let mut buffer = Vec::with_capacity(LOOK as usize);
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(session) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else { continue };
        match summary(session, &entry.path(), &mut buffer) {
            Ok(summary) => listed.sessions.push(summary),
            Err(reason) => listed.unreadable.push((session.to_owned(), reason)),
        }
    }
    listed.sessions.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.session.cmp(&a.session)));
    Ok(listed)
}

fn summary(session: &str, path: &Path, buffer: &mut Vec<u8>) -> Result<Summary, String> {
    let in_words = |error: io::Error| error.to_string();
    let file = File::open(path).map_err(in_words)?;
    let metadata = file.metadata().map_err(in_words)?;
    buffer.clear();
    file.take(LOOK).read_to_end(buffer).map_err(in_words)?;
    let text = String::from_utf8_lossy(buffer);
    let mut lines = text.lines();
    let first = Record::from_json(lines.next().unwrap_or_default()).map_err(|error| error.to_string())?;
    let Fact::SessionStarted(started) = first.fact else {
        return Err("the first record does not start a session".to_owned());
    };
    let title = lines.find(|line| line.contains("\"turn_started\"")).map(title).unwrap_or_default();
    Ok(Summary {
        session: session.to_owned(),
        modified: metadata.modified().map_err(in_words)?,
        size: metadata.len(),
        started: *started,
        title,
    })
}

/// The beginning of a prompt, from a line that may be cut.
fn title(line: &str) -> String {
    let words = match Record::from_json(line) {
        Ok(Record { fact: Fact::TurnStarted(started), .. }) => started.prompt.text(),
        _ => cut_text(line),
    };
    let one_line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.chars().take(80).collect()
}

/// The first text of a cut line: its JSON string as far as it goes.
fn cut_text(line: &str) -> String {
    let Some((_, rest)) = line.split_once("\"text\":\"") else { return String::new() };
    let mut out = String::new();
    let mut escaped = false;
    for c in rest.chars().take(200) {
        match (escaped, c) {
            (false, '"') => break,
            (false, '\\') => escaped = true,
            (true, 'n' | 't' | 'r') => {
                out.push(' ');
                escaped = false;
            }
            (_, c) => {
                out.push(c);
                escaped = false;
            }
        }
    }
    out
}
