//! Calls as they are run: where only one thing can be meant, the program knows better than the model.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use charla_proto::FunctionCall;
use charla_tools::names_under;
use serde_json::Value;

use super::conversation::{Turn, argument};
use super::grounds;
use super::place::words;
use crate::bounded;

/// Names that are looked at to find a file by its own.
const MOST_NAMES: usize = 20_000;
/// What a request says that wants something kept and something added.
const ADDING: &str = "add|adding|append|insert|the end|the bottom|the top|the beginning";

/// The call as it is run; nothing where it is a change that nobody asked for, or one that loses what was to be kept.
pub(super) fn mended(mut call: FunctionCall, turn: &Turn, folder: &Path) -> Option<FunctionCall> {
    let said = turn.said.as_str();
    match call.name.clone().as_str() {
        "list_directory" => {
            put("dir_path", found(argument(&call, "dir_path"), said, folder, Path::is_dir), &mut call)
        }
        "read_file" | "replace" => {
            put("file_path", found(argument(&call, "file_path"), said, folder, Path::is_file), &mut call);
        }
        "run_shell_command" => put("command", literal(argument(&call, "command"), said), &mut call),
        "write_file" => put("content", Some(content(&call, said, folder)?), &mut call),
        "grep_search" => {
            // It shows what it found alone.
            call.args.insert("context".to_owned(), Value::from(0));
            put("dir_path", only_named(said, folder, Path::is_file), &mut call);
            put("pattern", name_in(said, argument(&call, "pattern")), &mut call);
        }
        _ => {}
    }
    let (old, new) = (argument(&call, "old_string"), argument(&call, "new_string"));
    (call.name != "replace" || grounds::is_asked_for(turn, old, new)).then_some(call)
}

fn put(name: &str, value: Option<String>, call: &mut FunctionCall) {
    call.args.extend(value.map(|value| (name.to_owned(), Value::from(value))));
}

fn only<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// For a path that leads nowhere: that of the only thing of this name, or of the only one that the request names.
fn found(path: &str, said: &str, folder: &Path, is_it: fn(&Path) -> bool) -> Option<String> {
    let is_lost = !folder.join(path).exists();
    is_lost.then(|| only_one(path, folder, is_it).or_else(|| only_named(said, folder, is_it)))?
}

/// The only thing in a folder whose name is that of the path, with or without an ending and whatever its case.
fn only_one(path: &str, folder: &Path, is_it: fn(&Path) -> bool) -> Option<String> {
    let (wanted, all) = (Path::new(path).file_name()?, names_under(folder, MOST_NAMES));
    let by = |part: fn(&Path) -> Option<&OsStr>| {
        let is_named = |name: &&PathBuf| part(name).is_some_and(|part| part.eq_ignore_ascii_case(wanted));
        only(all.iter().filter(is_named).filter(|name| is_it(&folder.join(name))))
    };
    by(Path::file_name).or_else(|| by(Path::file_stem))?.to_str().map(str::to_owned)
}

/// The only thing that a request names as it is written: small models leave letters out.
fn only_named(said: &str, folder: &Path, is_it: fn(&Path) -> bool) -> Option<String> {
    let named = said
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && !"/_-".contains(c)));
    let named: BTreeSet<&str> =
        named.filter(|word| word.contains(['.', '/']) && is_it(&folder.join(word))).collect();
    only(named.into_iter()).map(str::to_owned)
}

/// The only name in a request, with an underscore or a capital within, where what is searched for is a word of the model's.
fn name_in(said: &str, pattern: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words = said.split(|c| !is_part(c));
    let is_said = |word: &str| word.eq_ignore_ascii_case(pattern) || word.strip_suffix('s') == Some(pattern);
    let is_own = pattern.chars().all(is_part) && !words.clone().any(is_said);
    let is_name = |word: &&str| word.contains('_') || word.chars().skip(1).any(char::is_uppercase);
    only(words.filter(is_name)).filter(|_| is_own).map(str::to_owned)
}

/// A command that the user wrote out is run as they wrote it: between back quotes, or at the request's end, where the model went on or
/// left options out.
fn literal(command: &str, said: &str) -> Option<String> {
    let first = command.split_whitespace().next();
    let quoted = said.split('`').skip(1).step_by(2).find(|text| text.split_whitespace().next() == first);
    let words: Vec<&str> = said.trim_end_matches(['"', '\'', '.', '?', '!']).split_whitespace().collect();
    let mut ends = (0..words.len()).map(|from| words[from..].join(" "));
    let goes_on =
        |one: &str, other: &str, by: &str| one.strip_prefix(other).is_some_and(|more| more.starts_with(by));
    let is_it = |end: &String| goes_on(command, end, " ") || goes_on(end, command, " -");
    quoted.map(|text| text.trim().to_owned()).or_else(|| ends.find(is_it))
}

/// What is to be added to a file does not take the place of what it holds, and its last line has an end. Nothing where what it holds
/// cannot be kept, because it cannot be read whole as text.
fn content(call: &FunctionCall, said: &str, folder: &Path) -> Option<String> {
    let path = folder.join(argument(call, "file_path"));
    let new = argument(call, "content").trim_end_matches('\n');
    let said = format!(" {} ", words(said).join(" "));
    let adds = ADDING.split('|').any(|adding| said.contains(&format!(" {adding} ")))
        && path.try_exists().unwrap_or(true);
    let mut kept = if adds { bounded::text(&path).ok()? } else { String::new() };
    if new.contains(kept.trim()) {
        kept.clear();
    } else if !kept.ends_with('\n') {
        kept.push('\n');
    }
    Some(if new.is_empty() { kept } else { format!("{kept}{new}\n") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_a_request_names_is_meant_where_the_model_names_none() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["nginx.conf", "other.conf"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let named = |said: &str| only_named(said, folder.path(), Path::is_file);
        assert_eq!(named("what is the timeout in `nginx.conf`?").as_deref(), Some("nginx.conf"));
        assert_eq!(named("nginx.conf: nginx.conf!").as_deref(), Some("nginx.conf"));
        assert_eq!(named("compare nginx.conf and other.conf"), None);
        assert_eq!(named("what is in nginx"), None);
    }
}
