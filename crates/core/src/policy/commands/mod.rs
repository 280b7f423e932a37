//! Commands that are known well enough to say what they do.
//!
//! Every option has to be on a list: an option nobody has looked at is a reason to ask. Nothing here depends on
//! what is in the files, so a tool that is told by its own settings to run something (a version control hook, a
//! configured pager) counts as harmless once its folder is trusted.

mod edits;
mod expressions;
mod git;
mod git_commands;
mod git_far;
mod git_shows;
mod git_table;
mod given;
mod interpreters;
mod launches;
mod options;
mod programs;
mod questions;
mod search;
mod table;
mod taken_in;
mod writers;
mod written_words;

use std::path::Path;

use charla_proto::{Word, WordKind};

use super::Scope;
use super::paths::is_free;
pub(super) use git::{is_no_index, shown_by_attributes, sought_by_grep, subcommand_at};
pub(super) use git_commands::{Lost, lost, may_run_any};
pub(super) use git_far::{is_plainly_far, unnamed_address};
pub(super) use git_shows::{GitShows, git_shows, shows_kept};
pub(super) use given::{Arguments, Named};
pub(super) use interpreters::{hides_script, reads_input, runs_file};
pub(super) use launches::launches;
pub(super) use search::{goes_through_folders, goes_through_here, sought};
pub(super) use table::Operands;
pub(super) use writers::{names_its_reads, writes, writes_beyond};

/// What harm a command can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Harm {
    /// It only reads, and only what may be read.
    None,
    /// It changes files of the workspace, no others.
    Edits,
    /// It is not known to be harmless, for this reason.
    Possible(String),
}

/// Why a command is not harmless.
type Checked = Result<(), String>;

/// The words of a command and where it runs.
#[derive(Clone, Copy)]
struct Call<'a> {
    name: &'a str,
    words: &'a [Word],
    cwd: &'a Path,
    scope: &'a Scope,
    /// True when the kernel holds it as what runs unasked is held.
    walled: bool,
}

/// Devices that never come to an end.
const ENDLESS: [&str; 4] = ["/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// What harm `words` can do when they run in `cwd`; `walled` when the kernel holds them as what runs unasked is held.
pub(super) fn harm(words: &[Word], cwd: &Path, scope: &Scope, walled: bool) -> Harm {
    let Some(name) = trusted_name(words) else { return Harm::Possible("this command is not known".into()) };
    let call = Call { name, words: words.get(1..).unwrap_or_default(), cwd, scope, walled };
    let looks_only = ["ls", "dir", "stat", "readlink", "realpath", "file", "echo", "printf", "test", "["];
    if !looks_only.contains(&name) && call.words.iter().any(|word| ENDLESS.contains(&word.text.as_str())) {
        return Harm::Possible("reading it never ends".into());
    }
    if edits::is_editor(call) {
        return edits::check(call).map_or_else(Harm::Possible, |()| Harm::Edits);
    }
    reads_only(call).map_or_else(Harm::Possible, |()| Harm::None)
}

/// True for a command that is known, whether it is harmless or not.
pub(super) fn is_known(name: &str) -> bool {
    let checked = ["git", "date", "hostname", "ps", "cd", "pushd", "popd", "read", "set", "printf"];
    operands_of(name).is_some()
        || checked.contains(&name)
        || programs::find(name).is_some_and(|program| program.edits.is_some())
}

/// True for a command that is made to read, so that whatever else a form of it does is not what it is for.
pub(super) fn is_reader(words: &[Word]) -> bool {
    match (base_name(words), words.get(1).and_then(Word::known)) {
        (Some("git"), Some(subcommand)) => git::reads(subcommand),
        (Some(name), _) => operands_of(name).is_some(),
        (None, _) => false,
    }
}

/// The last part of the command's name.
pub(super) fn base_name(words: &[Word]) -> Option<&str> {
    let name = words.first()?.known()?;
    name.rsplit('/').next()
}

/// What a known command does with the files it is given.
pub(super) fn operands_of(name: &str) -> Option<Operands> {
    match name {
        "rg" | "grep" | "egrep" | "fgrep" | "sed" | "awk" | "jq" => Some(Operands::Patterned),
        "find" | "fd" | "cd" | "pushd" | "test" | "[" | "[[" => Some(Operands::Names),
        _ => table::find(name).map(|spec| spec.operands),
    }
}

/// The command's name, if it is looked up in the usual places.
pub(super) fn trusted_name(words: &[Word]) -> Option<&str> {
    let name = words.first()?.known()?;
    match name.rsplit_once('/') {
        None => Some(name),
        Some(("/bin" | "/usr/bin" | "/usr/local/bin", base)) => Some(base),
        Some(_) => None,
    }
}

fn reads_only(call: Call<'_>) -> Checked {
    if questions::asks_about_program(call) {
        return Ok(());
    }
    match call.name {
        "git" => git::check(call),
        "find" => search::find(call),
        "grep" | "egrep" | "fgrep" => search::grep(call),
        "rg" => search::ripgrep(call),
        "fd" | "fdfind" => search::fd(call),
        "sed" => expressions::sed(call),
        "awk" | "gawk" | "mawk" => expressions::awk(call),
        "jq" => expressions::jq(call),
        "python" | "python3" => expressions::json_tool(call),
        "test" | "[" => expressions::test(call),
        "[[" => expressions::condition(call),
        "printf" => match call.words.first() {
            Some(word) if word.known().is_some_and(|format| !format.starts_with('-')) => Ok(()),
            _ => Err("its format is not known".into()),
        },
        "date" => date(call),
        "man" | "whatis" | "apropos" => questions::manual(call),
        "wait" => only(call, |word| word.bytes().all(|byte| byte.is_ascii_digit())),
        "hostname" => only(call, |word| matches!(word, "-f" | "-s" | "-i" | "-I")),
        "diff" if !call.walled && call.words.iter().any(may_be_folder) => {
            Err("it shows every file of a folder, links out of it too".into())
        }
        "ps" | "pgrep" | "top" | "pstree" | "lsof" => Err(OTHERS.into()),
        "df" | "mount" | "findmnt" => Err("what runs unasked does not get to see the table of mounts".into()),
        // Secrets were taken out of the variables of what runs unasked.
        "env" if call.walled && call.words.is_empty() => Ok(()),
        "printenv" if call.walled => only(call, |word| !word.starts_with('-')),
        "tee" => only(call, |word| is_free(Path::new(word)) || matches!(word, "-a" | "--append")),
        "umask" => only(call, |word| word == "-S"),
        "ulimit" => only(call, |word| word.starts_with('-')),
        "tar" => lists_archive(call),
        "unzip" => match call.words {
            [list, rest @ ..] if matches!(list.known(), Some("-l" | "-v" | "-Z1")) => {
                rest.iter().try_for_each(|word| options::readable(call, word))
            }
            _ => Err("it may write files".into()),
        },
        "gzip" | "xz" => match call.words {
            [list, files @ ..]
                if matches!(list.known(), Some("-l" | "-lv" | "--list"))
                    && files.iter().all(|word| word.known().is_some_and(|word| !word.starts_with('-'))) =>
            {
                files.iter().try_for_each(|word| options::readable(call, word))
            }
            _ => Err("it may write files".into()),
        },
        // Once it only asks, the rest are names.
        "command" => match call.words.first().and_then(Word::known) {
            Some("-v" | "-V" | "-pv" | "-pV") => Ok(()),
            _ => Err("what it starts is not known".into()),
        },
        "getconf" => only(call, |word| word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')),
        // Without a word to set, it prints every variable.
        "set" if call.words.is_empty() => Err("it shows every variable, secrets included".into()),
        "set" => only(call, |word| matches!(word, "pipefail") || shell_options(word)),
        "export" | "readonly" | "declare" | "local" | "typeset" => declares(call),
        "read" => only(call, |word| !word.starts_with('-') || word == "-r"),
        "cd" | "pushd" | "popd" => Ok(()),
        name => match table::find(name) {
            Some(spec) => options::check(call, spec),
            None => Err("it is not known to be harmless".into()),
        },
    }
}

/// True for a word that may name a folder: none of them has an ending, as files do.
fn may_be_folder(word: &Word) -> bool {
    let name = word.text.rsplit('/').next().unwrap_or_default();
    let has_ending = name.trim_start_matches('.').contains('.');
    !word.text.starts_with('-') && (!has_ending || !word.kind.is_literal())
}

const OTHERS: &str = "what runs unasked does not get to see other processes";

/// `date` that tells the time: an operand that is no format would set it.
fn date(call: Call<'_>) -> Checked {
    const LONG: &[&str] =
        &["--utc", "--universal", "--date=", "--iso-8601", "--rfc-3339=", "--rfc-email", "--reference="];
    let options = table::Options::Only { letters: "uRIhmns", long: LONG };
    // `-Iseconds`; `-s` sets it.
    let plain: Vec<Word> = call.words.iter().filter(|word| !word.text.starts_with("-I")).cloned().collect();
    let sorted = options::sort(&plain, options, "dr", options::Doubt::Option)?;
    if sorted.has("-s") {
        return Err("it sets the clock".into());
    }
    match sorted.operands.iter().find(|word| !word.text.starts_with('+')) {
        Some(word) => Err(format!("{} may set the clock", word.text)),
        None => Ok(()),
    }
}

/// `tar -tf archive`.
fn lists_archive(call: Call<'_>) -> Checked {
    let Some((letters, files)) = call.words.split_first() else { return Err("it has nothing to do".into()) };
    let letters = letters.known().map(|word| word.trim_start_matches('-')).unwrap_or_default();
    let lists =
        letters.contains('t') && letters.ends_with('f') && letters.chars().all(|c| "tvzjJaf".contains(c));
    match lists && files.iter().all(|word| word.known().is_some_and(|word| !word.starts_with('-'))) {
        true => files.iter().take(1).try_for_each(|word| options::readable(call, word)),
        false => Err("it may write files or run programs".into()),
    }
}

/// `-e`, `-eu`, `-euo`, `+x`.
fn shell_options(word: &str) -> bool {
    word.strip_prefix(['-', '+'])
        .is_some_and(|letters| !letters.is_empty() && letters.chars().all(|c| "euxo".contains(c)))
}

/// The variables themselves are effects of their own.
fn declares(call: Call<'_>) -> Checked {
    if call.words.iter().all(|word| word.text.starts_with('-')) {
        return Err("it shows every variable, secrets included".into());
    }
    for word in call.words {
        let option = word.text.starts_with('-');
        if option && !matches!(word.known(), Some("-x" | "-r" | "-g")) {
            return Err(format!("the option {} is not known to be harmless", word.text));
        }
        let several = matches!(word.kind, WordKind::Glob | WordKind::Unknown);
        if !option && (several || word.known().is_none() && !word.text.contains('=')) {
            return Err("which variable it sets is only known to the shell".into());
        }
    }
    Ok(())
}

/// Every word is known and allowed.
fn only(call: Call<'_>, allowed: impl Fn(&str) -> bool) -> Checked {
    match call.words.iter().find(|word| !word.known().is_some_and(&allowed)) {
        Some(word) => Err(format!("{} is not known to be harmless", word.text)),
        None => Ok(()),
    }
}
