//! Listing sessions from their files alone.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek, SeekFrom};
use std::path::Path;

use charla_proto::{Fact, Glance, Record, SessionList, SessionSummary};

use crate::times::time;
use crate::title::{TitleSearch, TurnStep};

/// How much of a file's beginning is looked at, and of each line behind that: the first record and the beginning of the first
/// prompt.
const LOOK: u64 = 8 * 1024;
/// How much further the next prompt is looked for. What becomes of a prompt is looked for to the end.
const LOOK_FURTHER: u64 = 256 * 1024;
/// How much of a longer file's end is looked at for the model that answered last, and how much where that is too little.
const LOOK_BACK: [u64; 2] = [16 * 1024, 256 * 1024];

pub(crate) fn list(folder: &Path) -> io::Result<SessionList> {
    let mut listed = SessionList::default();
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
    listed
        .sessions
        .sort_unstable_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.session.cmp(&a.session)));
    Ok(listed)
}

fn summary(session: &str, path: &Path, buffer: &mut Vec<u8>) -> Result<SessionSummary, String> {
    let in_words = |error: io::Error| error.to_string();
    let mut file = File::open(path).map_err(in_words)?;
    let metadata = file.metadata().map_err(in_words)?;
    buffer.clear();
    // No more than its length: reading on would only tell that nothing comes.
    file.by_ref().take(LOOK.min(metadata.len())).read_to_end(buffer).map_err(in_words)?;
    let text = in_text(buffer);
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let mut lines = text.lines();
    let first = Record::to_look_at(lines.next().unwrap_or_default()).map_err(|error| error.to_string())?;
    let Fact::SessionStarted(started) = first.fact else {
        return Err("the first record does not start a session".to_owned());
    };
    let long = metadata.len() > LOOK;
    let prompt = match long {
        false => {
            let mut search = TitleSearch::default();
            lines.find_map(|line| search.take(TurnStep::of_line(line)?)).or_else(|| search.end())
        }
        true => title_of_long(&mut file, buffer).map_err(in_words)?,
    };
    let model = if long { model_at_the_end(&mut file, metadata.len()).map_err(in_words)? } else { None };
    let model = model.or_else(|| last_model(text));
    Ok(SessionSummary {
        session: session.to_owned(),
        modified: metadata.modified().map_err(in_words)?,
        size: metadata.len(),
        model: model.unwrap_or_else(|| started.model.clone()),
        began: time(first.at),
        started: *started,
        has_turns: prompt.is_some(),
        title: prompt.unwrap_or_default(),
    })
}

/// The title of a session whose file is longer than what was read of it.
fn title_of_long(file: &mut File, read: &[u8]) -> io::Result<Option<String>> {
    let mut search = TitleSearch::default();
    let whole = read.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (lines, cut) = read.split_at_checked(whole).unwrap_or((read, &[]));
    let lines = in_text(lines);
    let title = lines.lines().find_map(|line| search.take(TurnStep::of_line(line)?));
    // An answer that begins within what was read is an answer.
    let title = title.or_else(|| match TurnStep::of_line(&in_text(cut))? {
        answered @ TurnStep::Answered => search.take(answered),
        _ => None,
    });
    if title.is_some() {
        return Ok(title);
    }
    file.seek(SeekFrom::Start(whole as u64))?;
    let (mut rest, mut line, mut further) = (BufReader::new(file), Vec::new(), 0);
    while search.is_undecided() || further < LOOK_FURTHER {
        line.clear();
        let length = rest.by_ref().take(LOOK).read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            break;
        }
        let skipped = if line.ends_with(b"\n") { 0 } else { rest.skip_until(b'\n')? as u64 };
        further += length + skipped;
        if let Some(title) = TurnStep::of_line(&in_text(&line)).and_then(|step| search.take(step)) {
            return Ok(Some(title));
        }
        // However long refused prompts are, the next one is looked for as far behind them.
        if search.is_undecided() {
            further = 0;
        }
    }
    Ok(search.end())
}

/// The model that answered last or was chosen since, as far as the end of the file tells.
fn model_at_the_end(file: &mut File, size: u64) -> io::Result<Option<String>> {
    for look in LOOK_BACK {
        file.seek(SeekFrom::Start(size.saturating_sub(look)))?;
        let mut end = Vec::new();
        file.by_ref().take(look).read_to_end(&mut end)?;
        let model = last_model(&in_text(&end));
        if model.is_some() || look >= size {
            return Ok(model);
        }
    }
    Ok(None)
}

/// The bytes as text. Nearly always they are: making sure of that is quicker than looking for what is not.
fn in_text(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::from)
}

/// The model that the last line tells which has one. Lines that are cut tell nothing.
fn last_model(text: &str) -> Option<String> {
    let telling = |line: &&str| match Glance::kind(line) {
        Some(kind) => matches!(kind, "model_changed" | "model_content"),
        None => line.contains("\"model_changed\"") || line.contains("\"model_content\""),
    };
    text.lines().rev().filter(telling).find_map(|line| match Glance::of(line)? {
        Glance::Model(model) => Some(model),
        Glance::Prompt(_) => None,
    })
}

/// The model that a fact tells: the one that answers, or answers from now on.
pub(crate) fn model_of(fact: &Fact) -> Option<String> {
    match fact {
        Fact::ModelChanged(changed) => Some(changed.model.clone()),
        Fact::ModelContent(said) => said.content.origin.as_ref().map(|origin| origin.name()),
        _ => None,
    }
}
