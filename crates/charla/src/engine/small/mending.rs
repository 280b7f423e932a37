//! Calls as they are run: where only one thing can be meant, the program knows better than the model.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use charla_proto::FunctionCall;
use charla_tools::names_under;
use serde_json::Value;

use super::conversation::{Turn, argument};
use super::grounds;
use super::place::{Place, words};
use crate::bounded;

/// Names that are looked at to find a file by its own.
const MOST_NAMES: usize = 20_000;
/// Words of a request that wants something kept and something added.
const ADDING: [&str; 4] = ["add", "append", "adding", "insert"];

/// The call as it is run; nothing where it is a change that nobody asked for.
pub(super) fn mended(
    mut call: FunctionCall,
    turn: &Turn,
    before: Option<&Turn>,
    folder: &Path,
) -> Option<FunctionCall> {
    let said = turn.said.as_str();
    match call.name.clone().as_str() {
        "list_directory" => {
            put("dir_path", found(argument(&call, "dir_path"), said, folder, Path::is_dir), &mut call)
        }
        "read_file" | "replace" => {
            put("file_path", found(argument(&call, "file_path"), said, folder, Path::is_file), &mut call);
        }
        "run_shell_command" => put("command", literal(argument(&call, "command"), said), &mut call),
        "write_file" => put("content", content(&call, said, folder), &mut call),
        "grep_search" => {
            // It shows what it found alone, and looks in the file that the last one looked in, unless another is named.
            call.args.insert("context".to_owned(), Value::from(0));
            let earlier =
                before.and_then(|turn| turn.steps.last()).map(|(call, _)| argument(call, "dir_path"));
            let earlier = earlier.filter(|path| folder.join(path).is_file()).map(str::to_owned);
            put("dir_path", only_named(said, folder, Path::is_file).or(earlier), &mut call);
            put("pattern", name_in(said, argument(&call, "pattern")), &mut call);
        }
        _ => {}
    }
    if call.name != "replace" {
        return Some(call);
    }
    if let Some((old, new)) = one_place(&call, turn, folder) {
        put("old_string", Some(old), &mut call);
        put("new_string", Some(new), &mut call);
    }
    grounds::is_asked_for(turn, argument(&call, "old_string"), argument(&call, "new_string")).then_some(call)
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

/// A line that is to be changed and stands in several places, or in longer ones, is told by the lines before it.
fn one_place(call: &FunctionCall, turn: &Turn, folder: &Path) -> Option<(String, String)> {
    let (old, new) = (argument(call, "old_string"), argument(call, "new_string"));
    let text = bounded::text(&folder.join(argument(call, "file_path"))).ok()?;
    let (place, lines) = (Place::new(turn, &text, new), text.lines().collect::<Vec<_>>());
    let at =
        place.find_text(old).map(|found| place.lines[found].at).filter(|_| text.matches(old).count() > 1)?;
    let is_one = |from: &usize| text.matches(&lines[*from..=at].join("\n")).count() == 1;
    let above = (0..at).rev().find(is_one).map(|from| lines[from..at].join("\n"))?;
    let whole = |line: &str| format!("{above}\n{line}");
    Some((whole(lines[at]), whole(&lines[at].replacen(old, new, 1))))
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

/// What is to be added to a file does not take the place of what it holds, and its last line has an end.
fn content(call: &FunctionCall, said: &str, folder: &Path) -> Option<String> {
    let new = argument(call, "content").trim_end_matches('\n');
    let adds = words(said).iter().any(|word| ADDING.contains(&word.as_str()));
    let mut kept = bounded::text(&folder.join(argument(call, "file_path"))).unwrap_or_default();
    if !adds || new.contains(kept.trim()) {
        kept.clear();
    } else if !kept.ends_with('\n') {
        kept.push('\n');
    }
    Some(format!("{kept}{new}\n")).filter(|whole| whole != "\n")
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
