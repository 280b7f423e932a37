//! Calls as they are run: where only one thing can be meant, the program knows better than the model.

use std::path::{Path, PathBuf};

use charla_proto::FunctionCall;
use serde_json::Value;

use super::conversation::Turn;
use super::place::Place;
use crate::bounded;

/// Entries that are looked at to find a file by its name.
const MOST_ENTRIES: usize = 20_000;
/// Folders that are not looked into: what is in them is not written by hand.
const PASSED_OVER: [&str; 4] = [".git", "node_modules", "target", "__pycache__"];
/// Words of a request that wants something kept and something added.
const ADDING: [&str; 4] = ["add", "append", "adding", "insert"];

/// Stand before what takes the place of something.
const INSTEAD: [&str; 4] = ["with", "by", "to", "into"];

/// The call as it is run.
pub(super) fn mended(
    mut call: FunctionCall,
    turn: &Turn,
    before: Option<&Turn>,
    folder: &Path,
) -> FunctionCall {
    match call.name.as_str() {
        "read_file" => find(&mut call, "file_path", turn, folder, |path| path.is_file()),
        "replace" => {
            find(&mut call, "file_path", turn, folder, |path| path.is_file());
            keep_words(&mut call, &turn.said);
            one_place(&mut call, turn, folder);
        }
        "list_directory" => find(&mut call, "dir_path", turn, folder, |path| path.is_dir()),
        "run_shell_command" => keep_literal(&mut call, &turn.said),
        "write_file" => {
            keep_content(&mut call, &turn.said, folder);
            end_line(&mut call);
        }
        "grep_search" => {
            keep_pattern(&mut call, &turn.said);
            search_where_asked(&mut call, turn, before, folder);
        }
        _ => {}
    }
    call
}

fn argument<'a>(call: &'a FunctionCall, name: &str) -> &'a str {
    call.args.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn set(call: &mut FunctionCall, name: &str, value: String) {
    call.args.insert(name.to_owned(), Value::from(value));
}

/// A path that leads nowhere becomes that of the only thing of this name, or of the only one that the request names.
fn find(call: &mut FunctionCall, name: &str, turn: &Turn, folder: &Path, is_it: impl Fn(&Path) -> bool) {
    let given = argument(call, name).trim().to_owned();
    if given.is_empty() || folder.join(&given).exists() {
        return;
    }
    if let Some(found) = only_one(&given, folder, &is_it).or_else(|| only_named(&turn.said, folder, &is_it)) {
        set(call, name, found);
    }
}

/// The only thing that a request names as it is written: small models leave letters out.
fn only_named(said: &str, folder: &Path, is_it: impl Fn(&Path) -> bool) -> Option<String> {
    let bare =
        |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric() && !"/_-".contains(c)).to_owned();
    let mut named: Vec<String> = said.split_whitespace().map(bare).collect();
    named.retain(|word| word.contains(['.', '/']) && is_it(&folder.join(word)));
    named.dedup();
    let [only] = named.as_slice() else { return None };
    Some(only.clone())
}

/// A name that is searched for is the one that the user wrote: small models leave letters out.
fn keep_pattern(call: &mut FunctionCall, said: &str) {
    let pattern = argument(call, "pattern");
    if said.to_lowercase().contains(&pattern.to_lowercase()) {
        return;
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let is_name = |word: &&str| {
        word.contains('_')
            || word
                .chars()
                .zip(word.chars().skip(1))
                .any(|(one, next)| one.is_alphanumeric() && next.is_uppercase())
    };
    let names: Vec<&str> = said.split(|c| !is_part(c)).filter(is_name).collect();
    if let [name] = names.as_slice()
        && pattern.chars().all(is_part)
    {
        set(call, "pattern", (*name).to_owned());
    }
}

/// A search looks in the file that the request names, or after a search in one file, in the same; it shows what it found alone.
fn search_where_asked(call: &mut FunctionCall, turn: &Turn, before: Option<&Turn>, folder: &Path) {
    let earlier = || before?.steps.last()?.argument("dir_path").map(str::to_owned);
    if let Some(file) = only_named(&turn.said, folder, |path| path.is_file()).or_else(earlier) {
        set(call, "dir_path", file);
    }
    call.args.insert("context".to_owned(), Value::from(0));
}

/// "Replace A with B": B is what the user wrote, where the model wrote something else.
fn keep_words(call: &mut FunctionCall, said: &str) {
    let (old, new) = (argument(call, "old_string"), argument(call, "new_string"));
    let Some((_, rest)) = said.split_once(old).filter(|_| !old.is_empty() && !said.contains(new)) else {
        return;
    };
    let mut words = rest.split_whitespace().skip_while(|word| !INSTEAD.contains(word)).skip(1);
    let Some(word) = words.next().map(|word| word.trim_matches(['"', '\'', '`', '.', '?', '!'])) else {
        return;
    };
    // Of several words, it cannot be told which are meant.
    if !word.is_empty() && words.next().is_none_or(|next| next == "in") {
        let word = word.to_owned();
        set(call, "new_string", word);
    }
}

/// The last line of a file has an end, so that the next one is not added to it.
fn end_line(call: &mut FunctionCall) {
    let content = argument(call, "content");
    if !content.is_empty() && !content.ends_with('\n') {
        let whole = format!("{content}\n");
        set(call, "content", whole);
    }
}

/// A line that is to be changed and stands in several places, or in longer ones, is told by the line before it.
fn one_place(call: &mut FunctionCall, turn: &Turn, folder: &Path) {
    let (old, new) = (argument(call, "old_string").to_owned(), argument(call, "new_string").to_owned());
    let Ok(text) = bounded::text(&folder.join(argument(call, "file_path"))) else { return };
    if text.matches(&old).count() < 2 {
        return;
    }
    let place = Place::new(turn, &text, &new);
    let lines: Vec<&str> = text.lines().collect();
    let Some(at) = place.find(&old) else { return };
    let from = lines.get(at.saturating_sub(1)..=at).unwrap_or_default().join("\n");
    if text.matches(&from).count() == 1 {
        let before = from.strip_suffix(lines.get(at).copied().unwrap_or_default()).unwrap_or_default();
        let changed = lines.get(at).map(|line| line.replacen(&old, &new, 1)).unwrap_or_default();
        set(call, "new_string", format!("{before}{changed}"));
        set(call, "old_string", from.clone());
    }
}

/// The only thing in a folder whose name is that of the path, with or without an ending and whatever its case.
fn only_one(path: &str, folder: &Path, is_it: impl Fn(&Path) -> bool) -> Option<String> {
    let wanted = Path::new(path).file_name()?.to_str()?.to_lowercase();
    let all = entries(folder);
    let named = |is_named: &dyn Fn(&Path) -> bool| {
        let mut found = all.iter().filter(|entry| is_named(entry) && is_it(entry));
        let first = found.next()?;
        found.next().is_none().then(|| first.strip_prefix(folder).ok()?.to_str().map(str::to_owned))?
    };
    let name = |entry: &Path| entry.file_name().and_then(|name| name.to_str()).map(str::to_lowercase);
    let stem = |entry: &Path| entry.file_stem().and_then(|name| name.to_str()).map(str::to_lowercase);
    let exact = named(&|entry| name(entry).is_some_and(|name| name == wanted));
    exact.or_else(|| named(&|entry| stem(entry).is_some_and(|stem| stem == wanted)))
}

/// What lies in a folder and below it; links are not followed.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = open.pop()
        && found.len() < MOST_ENTRIES
    {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            let passed_over = PASSED_OVER.iter().any(|name| entry.file_name() == *name);
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !passed_over {
                open.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}

/// A command that the user wrote out is run as they wrote it.
fn keep_literal(call: &mut FunctionCall, said: &str) {
    let command = argument(call, "command").to_owned();
    let Some(first) = command.split_whitespace().next() else { return };
    let quoted =
        said.split('`').skip(1).step_by(2).find(|text| text.split_whitespace().next() == Some(first));
    let literal = quoted.or_else(|| {
        // All from the command's first word to the request's end, where the model went on.
        let at = said.match_indices(first).map(|(at, _)| at).find(|at| begins_word(said, *at))?;
        let rest = said.get(at..)?.trim_end_matches(['.', '?', '!', '"', '\'']).trim();
        command.strip_prefix(rest)?.starts_with(' ').then_some(rest)
    });
    if let Some(literal) = literal {
        set(call, "command", literal.trim().to_owned());
    }
}

fn begins_word(text: &str, at: usize) -> bool {
    text.get(..at).and_then(|before| before.chars().next_back()).is_none_or(|c| !c.is_alphanumeric())
}

/// What is to be added to a file does not take the place of what it holds.
fn keep_content(call: &mut FunctionCall, said: &str, folder: &Path) {
    let adds =
        said.split(|c: char| !c.is_alphabetic()).any(|word| ADDING.contains(&word.to_lowercase().as_str()));
    let Ok(old) = bounded::text(&folder.join(argument(call, "file_path"))) else { return };
    let new = argument(call, "content");
    if !adds || old.trim().is_empty() || new.contains(old.trim()) {
        return;
    }
    let between = if old.ends_with('\n') { "" } else { "\n" };
    let whole = format!("{old}{between}{}\n", new.trim_end_matches('\n'));
    set(call, "content", whole);
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
        let named = |said: &str| only_named(said, folder.path(), |path| path.is_file());
        assert_eq!(named("what is the timeout in `nginx.conf`?").as_deref(), Some("nginx.conf"));
        assert_eq!(named("nginx.conf: nginx.conf!").as_deref(), Some("nginx.conf"));
        assert_eq!(named("compare nginx.conf and other.conf"), None);
        assert_eq!(named("what is in nginx"), None);
    }
}
