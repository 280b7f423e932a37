//! Reading files of other programs: bounded, and of any shape.

use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use serde_json::Value;

use super::Finding;

/// Larger files are left.
const LARGEST: u64 = 16 * 1024 * 1024;
/// So many commands are looked at.
const MOST_FILES: usize = 500;

/// The text of a file; nothing where there is none. What is there and cannot be read is told.
pub(super) fn text(path: &Path, findings: &mut Vec<Finding>) -> Option<String> {
    let about = std::fs::metadata(path).ok()?;
    let why = match about.is_file() && about.len() <= LARGEST {
        false => "it is no file, or very large".to_owned(),
        true => match std::fs::read(path).map(String::from_utf8) {
            Ok(Ok(text)) => return Some(text),
            Ok(Err(_)) => "it is no text".to_owned(),
            Err(error) => error.to_string(),
        },
    };
    findings.push(Finding::Left { what: path.display().to_string(), why });
    None
}

/// The JSON of a file, comments allowed.
pub(super) fn json(path: &Path, findings: &mut Vec<Finding>) -> Option<Value> {
    let text = text(path, findings)?;
    // Only the place is told: what is quoted could be a secret.
    match jsonc_parser::parse_to_serde_value::<Value>(&text, &ParseOptions::default()) {
        Ok(value) => Some(value),
        Err(error) => {
            let why = format!("it is no JSON (line {})", error.line_display());
            findings.push(Finding::Left { what: path.display().to_string(), why });
            None
        }
    }
}

/// The files in a folder and those below that end so, by their paths in it.
pub(super) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(inner) = open.pop() {
        let Ok(entries) = std::fs::read_dir(folder.join(&inner)) else { continue };
        for entry in entries.flatten() {
            let path = inner.join(entry.file_name());
            let is_deep = path.components().count() > 4;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !is_deep => open.push(path),
                Ok(kind) if kind.is_file() && path.extension().is_some_and(|found| found == ending) => {
                    found.push(path);
                }
                _ => {}
            }
        }
        if found.len() + open.len() > MOST_FILES {
            break;
        }
    }
    found.sort();
    found.truncate(MOST_FILES);
    found
}

/// The value of a variable in a file of variables.
pub(super) fn variable(text: &str, name: &str) -> Option<String> {
    let value = text.lines().find_map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        line.strip_prefix(name)?.trim_start().strip_prefix('=')
    })?;
    let value = value.trim().trim_matches(['"', '\'']).to_owned();
    (!value.is_empty()).then_some(value)
}
