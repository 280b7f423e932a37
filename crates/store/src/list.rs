//! Listing sessions from their files alone.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek, SeekFrom};
use std::path::Path;

use charla_proto::{Fact, Glance, NOTE, Record, SessionList, SessionSummary, own_words};

use crate::times::time;

/// How much of a file's beginning is looked at: the first record and the beginning of the first prompt.
const LOOK: u64 = 8 * 1024;
/// How much more, where that holds no prompt.
const LOOK_FURTHER: u64 = 256 * 1024;
/// How much of a longer file's end is looked at for the model that answered last, and how much where that is too little.
const LOOK_BACK: [u64; 2] = [16 * 1024, 256 * 1024];

/// The title of a session whose prompts were all refused by hooks.
const REFUSED: &str = "[refused by a hook]";

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
    listed.sessions.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.session.cmp(&a.session)));
    Ok(listed)
}

fn summary(session: &str, path: &Path, buffer: &mut Vec<u8>) -> Result<SessionSummary, String> {
    let in_words = |error: io::Error| error.to_string();
    let mut file = File::open(path).map_err(in_words)?;
    let metadata = file.metadata().map_err(in_words)?;
    buffer.clear();
    file.by_ref().take(LOOK).read_to_end(buffer).map_err(in_words)?;
    let text = in_text(buffer);
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let mut lines = text.lines();
    let first = Record::from_json(lines.next().unwrap_or_default()).map_err(|error| error.to_string())?;
    let Fact::SessionStarted(started) = first.fact else {
        return Err("the first record does not start a session".to_owned());
    };
    let (long, mut further) = (metadata.len() > LOOK, Vec::new());
    let prompt = first_title(lines);
    // What people did before they said something may be long.
    let prompt = match prompt {
        None if long => {
            file.by_ref().take(LOOK_FURTHER).read_to_end(&mut further).map_err(in_words)?;
            first_title(in_text(&further).lines())
        }
        prompt => prompt,
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
    let telling = |line: &&str| line.contains("\"model_changed\"") || line.contains("\"model_content\"");
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

/// What the first prompt of these lines says that hooks let through; where they refused all, a word about that.
fn first_title<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut refused = None;
    while let Some(start) = lines.find(|line| line.contains("\"turn_started\"")) {
        let mut is_answered = false;
        let end = lines.find(|line| {
            is_answered |= line.contains("\"model_content\"");
            line.contains("\"turn_ended\"")
        });
        let is_refused = !is_answered && end.is_some_and(|end| end.contains("\"hook_blocked\""));
        if !is_refused {
            return Some(title(start));
        }
        refused = Some(REFUSED.to_owned());
    }
    refused
}

/// The beginning of a prompt, from a line that may be cut.
fn title(line: &str) -> String {
    let words = match Glance::of(line) {
        Some(Glance::Prompt(prompt)) => own_words(&prompt).unwrap_or_default().to_owned(),
        _ => cut_text(line),
    };
    title_of(&words)
}

/// The beginning of a prompt, on one line.
pub(crate) fn title_of(words: &str) -> String {
    let one_line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.chars().take(80).collect()
}

/// The first text of a cut line that is no note: its JSON string as far as it goes.
fn cut_text(line: &str) -> String {
    let mut texts = line.split("\"text\":\"").skip(1);
    let Some(rest) = texts.find(|text| !text.starts_with(NOTE)) else { return String::new() };
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
