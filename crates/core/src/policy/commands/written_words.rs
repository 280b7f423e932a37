//! The words with which commands say what they write, where that is not a row of the table.

use charla_proto::Word;
use charla_proto::text::join_path;

use super::given::{Arguments, Named, Place};
use super::{Call, git_commands};

/// The values of words that begin so.
pub(super) fn values_behind(call: Call<'_>, keys: &[&str]) -> Vec<Place> {
    let value = |(at, word): (usize, &Word)| {
        let value = keys.iter().find_map(|key| word.text.strip_prefix(key))?;
        Some(Place { at, word: Word { text: value.to_owned(), kind: word.kind } })
    };
    call.words.iter().enumerate().filter_map(value).collect()
}

/// The words behind these.
pub(super) fn following(call: Call<'_>, options: &[&str]) -> Vec<Place> {
    let pairs = call.words.iter().zip(call.words.iter().skip(1)).enumerate();
    let behind = pairs.filter(|(_, (option, _))| option.known().is_some_and(|text| options.contains(&text)));
    behind.map(|(at, (_, word))| Place { at: at + 1, word: word.clone() }).collect()
}

/// What options of any program say about its output: `-o FILE`, `--output=FILE`.
pub(super) fn outputs(call: Call<'_>) -> Vec<Place> {
    const BEHIND: [&str; 7] =
        ["-o", "-out", "--out", "--output", "--output-file", "--output-dir", "--out-dir"];
    const GLUED: [&str; 7] =
        ["--out=", "--output=", "--output-file=", "--output-dir=", "--out-dir=", "--outdir=", "--outfile="];
    let glued = |(at, word): (usize, &Word)| {
        let value = word.known()?.strip_prefix("-o").filter(|value| value.starts_with(['/', '~', '.']))?;
        Some(Place { at, word: Word::literal(value) })
    };
    let mut places: Vec<Place> = following(call, &BEHIND);
    places.extend(values_behind(call, &GLUED));
    // What only the shell knows may be any program's option or none.
    places.retain(|place| place.word.kind.is_literal());
    places.extend(call.words.iter().enumerate().filter_map(glued));
    places
}

/// Git writes files as its work; beyond that it is told where to put its output, which folder to fill, or what to do from now on.
pub(super) fn git(call: Call<'_>) -> Vec<Place> {
    let mut places = outputs(call);
    places.extend(following(call, &["--output-directory"]));
    places.extend(values_behind(call, &["-o"]));
    places.extend(values_behind(call, &["--output-directory="]));
    let subcommand = super::git::subcommand_at(call.words);
    let name = subcommand.and_then(|at| call.words.get(at)).and_then(Word::known);
    if let Some(at) = subcommand.filter(|_| name == Some("config"))
        && super::git::check(Call { words: call.words.get(1..).unwrap_or_default(), ..call }).is_err()
    {
        places.push(Place { at, word: Word::literal(".git/config") });
    }
    let behind = call.words.iter().enumerate().skip(subcommand.map_or(1, |at| at + 1));
    if name == Some("mv") {
        let named = behind.clone().filter(|(_, word)| !word.text.starts_with('-'));
        places.extend(named.map(|(at, word)| Place { at, word: word.clone() }));
    }
    // Hooks come out of a template.
    if let Some((at, _)) = behind.clone().find(|(_, word)| word.text.starts_with("--te"))
        && matches!(name, Some("init" | "clone"))
    {
        places.push(Place { at, word: Word::literal(".git/hooks") });
    }
    const FILLING: [&str; 8] =
        ["clone", "init", "worktree", "submodule", "bundle", "archive", "format-patch", "checkout-index"];
    places.extend(filled(call, subcommand, name.unwrap_or_default()));
    if !name.is_some_and(super::git::reads) {
        places.extend(following(call, &["-C", "--git-dir", "--work-tree"]));
        places.extend(values_behind(call, &["--git-dir=", "--work-tree="]));
    }
    if !name.is_none_or(|name| FILLING.contains(&name)) {
        return places;
    }
    let leads_outside = |(at, word): (usize, &Word)| {
        let text = word.known()?;
        let path = text.split_once('=').map_or(text, |(_, value)| value);
        let climbs = path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..");
        let outside = climbs && !readable(call, path);
        outside.then(|| Place { at, word: Word::literal(path) })
    };
    places.extend(call.words.iter().enumerate().skip(1).filter_map(leads_outside));
    places
}

/// The folder or file that a command of git makes because its words say so.
fn filled(call: Call<'_>, subcommand: Option<usize>, name: &str) -> Vec<Place> {
    let Some(at) = subcommand else { return Vec::new() };
    let valued = git_commands::find(name).map(|command| command.valued).unwrap_or_default();
    const PREFIX: Named = Named::new("", &["--prefix"]);
    let given = Arguments::of(call.words, at + 1, &[valued, PREFIX]);
    let second = given.operand(0).unwrap_or_default();
    let number = match (name, second) {
        ("init", _) => 0,
        ("clone", _) | ("worktree", "add") | ("bundle", "create") => 1,
        ("worktree", "move") | ("submodule", "add") => 2,
        ("checkout-index", _) => {
            let prefixes = given.options.iter().filter(|option| option.is(PREFIX));
            return prefixes.filter_map(|option| option.value.clone()).collect();
        }
        _ => return Vec::new(),
    };
    let named: Vec<Place> = given.operands.iter().skip(number).take(1).cloned().collect();
    match (name, given.operands.first()) {
        // By the last part of the address.
        ("clone", Some(address)) if named.is_empty() => {
            let part = address.word.text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
            let folder = part.strip_suffix(".git").unwrap_or(part);
            vec![Place { at: address.at, word: Word::literal(folder) }]
        }
        _ => named,
    }
}

fn readable(call: Call<'_>, path: &str) -> bool {
    !path.starts_with('~') && call.scope.readable(&join_path(call.cwd, path))
}

/// The files that a program of awk names behind `>`.
pub(super) fn awk(call: Call<'_>) -> Vec<Place> {
    let named = |(at, word): (usize, &Word)| {
        let behind = word.text.split('>').skip(1).filter_map(|behind| behind.trim_start().strip_prefix('"'));
        let files: Vec<Place> = behind
            .filter_map(|text| text.split('"').next())
            .map(|file| Place { at, word: Word::literal(file) })
            .collect();
        files
    };
    call.words.iter().enumerate().skip(1).flat_map(named).collect()
}
