//! Reads the files of a skill: nothing that lies outside its folder, and never more than is of use.

use std::io::Read;
use std::path::{Path, PathBuf};

use charla_proto::FileJudge;
use charla_proto::text::{printable, readable, unmarked};
use sha2::{Digest, Sha256};

use super::{FILE, Skill};
use crate::bounded;
use crate::collection::why_closed;
use crate::front_matter::FrontMatter;

/// So much of a skill's words a model is given.
const MOST_CHARS: usize = 60_000;
/// So much of a file is read for that.
const MOST_BYTES: u64 = 1024 * 1024;
/// So many files of a folder are listed, and so deep.
const MOST_FILES: usize = 200;
const DEEPEST: usize = 4;

/// The file, if no link leads it out of the skill's folder.
pub(super) fn within_its_folder(file: &Path) -> Result<PathBuf, String> {
    let real = |path: &Path| path.canonicalize().map_err(|error| error.to_string());
    let folder = real(file.parent().unwrap_or(file))?;
    let file = real(file)?;
    match file.starts_with(&folder) {
        true => Ok(file),
        false => Err(format!("it is a link out of its folder, to {}", printable(&file))),
    }
}

/// The beginning of a file.
pub(super) fn beginning(file: &Path, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = bounded::open(file).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|error| error.to_string())
}

pub(super) fn digest(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// What a model is told that asks for a skill: its words, and what else lies in its folder.
pub(super) fn activated(skill: &Skill, judge: &FileJudge) -> Result<String, String> {
    let file = within_its_folder(&skill.folder.join(FILE))?;
    if let Some(why) = why_closed(&file, judge) {
        return Err(why);
    }
    let bytes = beginning(&file, MOST_BYTES)?;
    if skill.agreed.as_ref().is_some_and(|agreed| *agreed != digest(&bytes)) {
        return Err("its file has changed since the workspace was trusted".to_owned());
    }
    let text = String::from_utf8_lossy(&bytes);
    let body = FrontMatter::split(&text).map_or(text.as_ref(), |(_, body)| body).trim();
    let mut words: String = readable(body).chars().take(MOST_CHARS).collect();
    if words.len() < body.len() && body.chars().nth(MOST_CHARS).is_some() {
        words.push_str(&format!("\n[cut here: the rest is in {}]", printable(&file)));
    }
    let words = unmarked(&words, "activated_skill");
    let (name, owner, folder) = (&skill.name, &skill.owner, printable(&skill.folder));
    let mut told = format!("<activated_skill name=\"{name}\" from=\"{owner}\">\n{words}\n</activated_skill>");
    let files = files(&skill.folder, judge);
    if !files.is_empty() {
        told.push_str(&format!("\n\nFurther files of the skill, to be read when it says so, in {folder}:\n"));
        told.push_str(&files.join("\n"));
    }
    Ok(told)
}

/// The files of a folder but its `SKILL.md`, by their paths in it. Links are left out, and what rules close.
fn files(folder: &Path, judge: &FileJudge) -> Vec<String> {
    let mut files = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((within, depth)) = open.pop() {
        for entry in std::fs::read_dir(&within).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() && depth < DEEPEST {
                open.push((path, depth + 1));
            } else if kind.is_file() && path != folder.join(FILE) && why_closed(&path, judge).is_none() {
                files.push(printable(path.strip_prefix(folder).unwrap_or(&path)));
            }
            if files.len() > MOST_FILES {
                break;
            }
        }
    }
    files.sort();
    if files.len() > MOST_FILES {
        files.truncate(MOST_FILES);
        files.push("(and more)".to_owned());
    }
    files
}
