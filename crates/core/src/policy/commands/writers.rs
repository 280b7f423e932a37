//! Where commands write that are known to: an allowance that does not name the place is not about files that run or
//! instruct later, nor about what lies outside the workspace.
//!
//! Only what the words say counts. What a program does by itself (a script, an archive, a patch) is the kernel's affair.

use std::path::Path;

use charla_proto::text::join_path;
use charla_proto::{Word, WordKind};

use super::given::{Arguments, Named, Place, may_be_option};
use super::programs::{self, Files, Program, Writes};
use super::written_words::{awk, following, git, outputs, values_behind};
use super::{Call, base_name, edits, expressions, launches, trusted_name};
use crate::policy::Scope;
use crate::policy::paths::is_free;

/// Why a command writes more than ordinary files of the workspace, as its words say. The first `named` words are what
/// the allowance itself says.
pub(in crate::policy) fn writes_beyond(
    words: &[Word],
    cwd: &Path,
    scope: &Scope,
    named: usize,
) -> Option<String> {
    let call = Call { name: base_name(words)?, words, cwd, scope, walled: false };
    let beyond =
        started_by(call).find_map(|(at, words)| writes_beyond(words, cwd, scope, named.saturating_sub(at)));
    if beyond.is_some() {
        return beyond;
    }
    let places = match written(call) {
        Ok(places) => places,
        Err(reason) => return Some(reason),
    };
    places.iter().filter(|place| place.at >= named).find_map(|place| ordinary(call, &place.word).err())
}

/// True for a command that names something it would write, wherever that is.
pub(in crate::policy) fn writes(words: &[Word], cwd: &Path, scope: &Scope) -> bool {
    let Some(name) = base_name(words) else { return false };
    let call = Call { name, words, cwd, scope, walled: false };
    started_by(call).any(|(_, words)| writes(words, cwd, scope))
        || written(call).is_ok_and(|places| !places.is_empty())
}

/// True for a command that writes, and reads nothing that no word of it names: a program that is merely told where to write may
/// read anything.
pub(in crate::policy) fn names_its_reads(words: &[Word], cwd: &Path, scope: &Scope) -> bool {
    let Some(name) = trusted_name(words) else { return false };
    let named = match name {
        "git" => launches(words, cwd, scope, 1).is_none(),
        "dd" | "find" => true,
        _ => programs::writes(name).is_some_and(|writes| !writes.reads_more),
    };
    named && writes(words, cwd, scope)
}

/// What a program that starts others may start, by the place where it begins.
fn started_by(call: Call<'_>) -> impl Iterator<Item = (usize, &[Word])> {
    let begins = if CARRYING.contains(&call.name) { 1..call.words.len() } else { 0..0 };
    let writers = begins.filter(move |at| call.words.get(*at).is_some_and(is_writer));
    writers.filter_map(move |at| Some((at, call.words.get(at..)?)))
}

fn is_writer(word: &Word) -> bool {
    let name = word.known().map(|name| name.rsplit('/').next().unwrap_or(name));
    let apart = ["git", "tar", "dd", "sed"];
    name.is_some_and(|name| apart.contains(&name) || programs::writes(name).is_some())
}

fn written(call: Call<'_>) -> Result<Vec<Place>, String> {
    match call.name {
        "git" => return Ok(git(call)),
        "tar" => return tar(call),
        "dd" => return Ok(values_behind(call, &["of="])),
        "find" => return Ok(following(call, &["-fprint", "-fprint0", "-fprintf", "-fls"])),
        "sed" => return sed(call),
        "awk" | "gawk" | "mawk" => return Ok(awk(call)),
        _ => {}
    }
    let Some((program, writes)) =
        programs::find(call.name).and_then(|program| Some((program, program.writes?)))
    else {
        return Ok(outputs(call));
    };
    let given = read(call, program, writes)?;
    let targets = targets(&given, writes);
    let mut places = arriving(call, writes, &given, &targets);
    let has = |letters: &'static str| given.has(Named::new(letters, &[]));
    let acts = (writes.only_with.is_empty() || has(writes.only_with)) && !has(writes.unless);
    let mut operands = given.operands;
    places.extend(match writes.files {
        _ if !acts => Vec::new(),
        Files::Every | Files::Moved => operands,
        Files::Copied if targets.is_empty() => operands.split_off(operands.len().saturating_sub(1)),
        Files::First => operands.into_iter().take(1).collect(),
        Files::Behind => operands.into_iter().skip(1).collect(),
        Files::Copied | Files::Fetched | Files::None => Vec::new(),
    });
    places.extend(targets);
    Ok(places)
}

/// Programs that start another by its words and whose own options nobody has looked at.
const CARRYING: [&str; 34] = [
    "flock",
    "unshare",
    "setpriv",
    "fakeroot",
    "strace",
    "ltrace",
    "chrt",
    "numactl",
    "prlimit",
    "setarch",
    "linux32",
    "linux64",
    "nsenter",
    "chroot",
    "bwrap",
    "firejail",
    "proot",
    "xvfb-run",
    "systemd-run",
    "systemd-inhibit",
    "env",
    "xargs",
    "nice",
    "ionice",
    "nohup",
    "setsid",
    "stdbuf",
    "timeout",
    "taskset",
    "time",
    "parallel",
    "watch",
    "chronic",
    "dbus-run-session",
];

/// What a program is given, unless a word that only the shell knows may be something that is written.
fn read<'a>(call: Call<'a>, program: &Program, writes: Writes) -> Result<Arguments<'a>, String> {
    let given = Arguments::of(call.words, 1, &program.with_values());
    let ended = call.words.iter().position(|word| word.known() == Some("--")).unwrap_or(usize::MAX);
    let doubtful =
        |place: &&Place| place.word.known().is_none() && !is_harmless(&place.word, writes, place.at > ended);
    match given.operands.iter().find(doubtful) {
        Some(place) => Err(format!("which files {} names is only known to the shell", place.word.text)),
        None => Ok(given),
    }
}

/// The values of options that name something to be written.
fn targets(given: &Arguments<'_>, writes: Writes) -> Vec<Place> {
    let written = given.options.iter().filter(|option| option.is(writes.targets));
    written.filter_map(|option| option.value.clone()).collect()
}

/// True for a word that only the shell knows and that is no reason to ask: a pattern that cannot become an option, or an
/// operand that is not written.
fn is_harmless(word: &Word, writes: Writes, ended: bool) -> bool {
    match word.kind {
        WordKind::Glob => ended || !word.text.starts_with(['*', '?', '[', '-']),
        WordKind::Single if matches!(writes.files, Files::Fetched | Files::None) => true,
        // Whether it writes at all is seen later.
        _ => !writes.only_with.is_empty(),
    }
}

/// What is copied, moved or fetched into a folder arrives there under its own name.
fn arriving(call: Call<'_>, writes: Writes, given: &Arguments<'_>, targets: &[Place]) -> Vec<Place> {
    const BY_ITS_NAME: Named = Named::new("O", &["--remote-name", "--remote-name-all"]);
    let (sources, folders) = match writes.files {
        Files::Copied | Files::Moved if targets.is_empty() => {
            let Some((last, sources)) = given.operands.split_last() else { return Vec::new() };
            // `ln -s /a/b` makes `b`.
            let folder = if sources.is_empty() { Word::literal(".") } else { last.word.clone() };
            (if sources.is_empty() { given.operands.as_slice() } else { sources }, vec![folder])
        }
        Files::Copied | Files::Moved => (given.operands.as_slice(), words_of(targets)),
        Files::Fetched if call.name == "wget" || given.has(BY_ITS_NAME) => {
            let folders = words_of(targets).into_iter().chain([Word::literal(".")]).collect();
            (given.operands.as_slice(), folders)
        }
        _ => return Vec::new(),
    };
    let whole = given.has(Named::new("", &["--parents"]));
    let arrive = |source: &Place| {
        let fetched = writes.files == Files::Fetched;
        let text = source.word.known().or(fetched.then_some(source.word.text.as_str()))?;
        let text = text.split(['?', '#']).next().filter(|_| fetched).unwrap_or(text);
        let name = text.rsplit('/').find(|part| !part.is_empty());
        let name = if whole { Some(text.trim_start_matches('/')) } else { name };
        name.filter(|name| !matches!(*name, "." | "..")).map(|name| (source.at, name.to_owned()))
    };
    let names: Vec<(usize, String)> = sources.iter().filter_map(arrive).collect();
    let known = folders.iter().filter_map(Word::known);
    known
        .flat_map(|folder| {
            names.iter().map(move |(at, name)| {
                let folder = folder.trim_end_matches('/');
                Place { at: *at, word: Word::literal(format!("{folder}/{name}")) }
            })
        })
        .collect()
}

fn words_of(places: &[Place]) -> Vec<Word> {
    places.iter().map(|place| place.word.clone()).collect()
}

/// A place in the workspace that neither runs nor instructs later.
fn ordinary(call: Call<'_>, word: &Word) -> Result<(), String> {
    let text = word.text.as_str();
    match word.kind {
        WordKind::Literal if text.is_empty() || text == "-" || is_free(Path::new(text)) => Ok(()),
        WordKind::Literal if text.starts_with('~') => Err(format!("{text} lies outside the workspace")),
        WordKind::Literal if call.scope.roots.contains(&join_path(call.cwd, text)) => Ok(()),
        WordKind::Literal => edits::ordinary(call, &join_path(call.cwd, text), text),
        WordKind::Glob => edits::pattern(call, word),
        WordKind::Single | WordKind::Unknown => {
            Err(format!("which files {text} names is only known to the shell"))
        }
    }
}

/// The archive that is made, the folder that is filled, the members that are taken out.
fn tar(call: Call<'_>) -> Result<Vec<Place>, String> {
    const VALUED: &str = "bTXKNVILFH";
    let says = |letters: &str, long: &[&str]| {
        call.words.iter().enumerate().skip(1).filter_map(|(at, word)| Some((at, word.known()?))).any(
            |(at, text)| match text.strip_prefix("--") {
                Some(_) => long.iter().any(|long| long.starts_with(text) || text.starts_with(long)),
                None => (at == 1 || text.starts_with('-')) && text.contains(|c| letters.contains(c)),
            },
        )
    };
    let creates = says("cruA", &["--create", "--append", "--update", "--catenate", "--concatenate"]);
    let extracts = says("x", &["--extract", "--get"]);
    let valued =
        Named::new(VALUED, &["--exclude", "--exclude-from", "--files-from", "--transform", "--xform"]);
    let archive = Named::new("f", &["--file"]);
    let into: &[&str] = &["--directory", "--one-top-level", "--index-file", "--listed-incremental"];
    let into = Named::new("Cg", into);
    let valued = if creates { [valued, Named::NONE] } else { [valued, archive] };
    let written = if creates { [into, archive] } else { [into, Named::NONE] };
    // `tar xfC a.tar folder`: without a dash, the values follow in the order of the letters.
    let bundled = call.words.get(1).and_then(Word::known).filter(|text| !text.starts_with('-'));
    let values: Vec<char> =
        bundled.unwrap_or_default().chars().filter(|c| "fCg".contains(*c) || VALUED.contains(*c)).collect();
    let start = if bundled.is_some() { 2 } else { 1 };
    let mut places: Vec<Place> = Vec::new();
    for (offset, letter) in values.iter().enumerate() {
        let at = start + offset;
        let written = "Cg".contains(*letter) || *letter == 'f' && creates;
        places.extend(call.words.get(at).filter(|_| written).map(|word| Place { at, word: word.clone() }));
    }
    let skipped = start + values.len();
    let rest: Vec<Word> = call.words.iter().take(1).chain(call.words.iter().skip(skipped)).cloned().collect();
    let given = Arguments::of(&rest, 1, &[valued, written].concat());
    let operands = given.operands.into_iter().filter(|_| extracts);
    if let Some(place) = operands.clone().find(|place| may_be_option(&place.word)) {
        return Err(format!("which files {} names is only known to the shell", place.word.text));
    }
    let targets = given.options.iter().filter(|option| written.iter().any(|named| option.is(*named)));
    let all = targets.filter_map(|option| option.value.clone()).chain(operands);
    places.extend(all.map(|place| Place { at: place.at + skipped - 1, ..place }));
    Ok(places)
}

/// The files of `sed -i`, and those that a script names.
fn sed(call: Call<'_>) -> Result<Vec<Place>, String> {
    let given = expressions::sed_arguments(call.words);
    let expression = Named::new("e", &["--expression"]);
    let mut scripts: Vec<Place> = given
        .options
        .iter()
        .filter(|option| option.is(expression))
        .filter_map(|option| option.value.clone())
        .collect();
    let in_place = given.has(Named::new("i", &["--in-place"]));
    let from_file = given.has(Named::new("f", &["--file"]));
    let mut operands = given.operands;
    if let Some(place) = operands.iter().find(|place| in_place && may_be_option(&place.word)) {
        return Err(format!("which files {} names is only known to the shell", place.word.text));
    }
    if scripts.is_empty() && !from_file && !operands.is_empty() {
        scripts.push(operands.remove(0));
    }
    operands.retain(|_| in_place);
    for script in scripts {
        let files = script.word.known().map(expressions::files_of_sed).unwrap_or_default();
        operands.extend(files.into_iter().map(|file| Place { at: script.at, word: Word::literal(file) }));
    }
    Ok(operands)
}
