//! What is asked about although a rule allows it, unless the rule names exactly this.

use std::path::Path;

use charla_proto::{Confinement, Effect, Word, WordKind};

use super::Scope;
use super::commands::{self, Arguments, Harm, Lost, Named, Operands};
use super::environment::is_about_looks;
use super::paths::{aimed_at_secret, is_free, secret, secret_include, secret_pattern};
use super::rules::{Rule, Subject, Tier};

/// What is known of the plan that an effect belongs to.
#[derive(Clone, Copy)]
pub(super) struct View {
    /// Commands run beside it that are not known to be harmless.
    pub(super) others: bool,
    /// All of it is held by the kernel as what runs unasked is.
    pub(super) walled: bool,
    /// Git is kept from showing secret files: all of it runs as what runs unasked does.
    pub(super) git_held: bool,
    /// A part of it is not understood, such as where it goes.
    pub(super) unclear: bool,
    /// It is a command line of which nothing is known, so that no other guard sees what it does.
    pub(super) unread: bool,
}

/// Why `effect` is asked about although `rule` allows it.
pub(super) fn guard(effect: &Effect, rule: &Rule, scope: &Scope, view: View) -> Option<String> {
    match effect {
        Effect::Read { path } | Effect::Write { path }
            if matches!(rule.subject, Subject::Path { .. }) || is_free(path) =>
        {
            None
        }
        Effect::Read { path } => scope
            .secret(path)
            .map(str::to_owned)
            .or_else(|| (!scope.readable(path)).then(|| "it lies outside the workspace".to_owned())),
        Effect::Write { path } if scope.is_plan(path) => None,
        Effect::Write { path } => scope
            .secret(path)
            .or_else(|| scope.protected(path))
            .map(str::to_owned)
            .or_else(|| (!scope.contains(path)).then(|| "it lies outside the workspace".to_owned())),
        Effect::Exec { words, cwd, carrier, .. } => {
            exec(words, cwd, rule, scope, view).or_else(|| too_wide(words, cwd, *carrier, rule, scope))
        }
        Effect::Env { name, .. }
            if matches!(rule.subject, Subject::Env { .. })
                || rule.bounds.environment.is_some()
                || harmless_variable(name, view.others) =>
        {
            None
        }
        Effect::Env { .. } => Some("this variable may change what commands do".into()),
        // The built-in rules allow what is understood.
        Effect::Unclear { reason, .. } if rule.tier == Tier::Default || view.unread => Some(reason.clone()),
        Effect::Unconfined if rule.allowance.confinement != Some(Confinement::Open) => {
            Some("the call wants to run outside the sandbox".to_owned())
        }
        Effect::Unclear { .. } | Effect::Unconfined | Effect::Net { .. } | Effect::Mcp { .. } => None,
    }
}

fn exec(words: &[Word], cwd: &Path, rule: &Rule, scope: &Scope, view: View) -> Option<String> {
    if matches!(rule.subject, Subject::Command(_)) {
        return None;
    }
    if let Some(reason) = discloses(words, cwd, scope, view.walled) {
        return Some(reason);
    }
    if !view.git_held && commands::base_name(words) == Some("git") && shows_unnamed(words, rule) {
        return Some("it may show secret files that git keeps; by itself it does not ask".to_owned());
    }
    let stated = rule.allowance.confinement.is_some() || rule.tier == Tier::Default;
    if !view.walled && !stated && commands::goes_through_folders(words) {
        return Some("it may show secret files of the folders it goes through".to_owned());
    }
    // Without a rule, a command that writes is asked about anyway.
    if rule.tier > Tier::Default
        && let Some(reason) = commands::writes_beyond(words, cwd, scope, rule.named_words(words))
    {
        return Some(reason);
    }
    if rule.tier > Tier::Default && view.unclear && commands::writes(words, cwd, scope) {
        return Some("where it writes cannot be told: a part of the line is not understood".to_owned());
    }
    match &rule.subject {
        Subject::Prefix(_) => beyond_prefix(words, cwd, scope, rule.named_words(words)),
        Subject::Pattern { .. } => None,
        _ => delicate(words).map(str::to_owned),
    }
}

/// True for git that shows what it keeps, unless a rule says how far it reaches, or names a command of git that does so by
/// handing it on.
fn shows_unnamed(words: &[Word], rule: &Rule) -> bool {
    if rule.allowance.confinement.is_some() {
        return false;
    }
    let named = commands::subcommand_at(words).is_some_and(|at| rule.named_words(words) > at);
    commands::shows_kept(words) && (!named || commands::is_reader(words))
}

/// Why a command does more than the first `named` of its words say: those are what a rule allows by name.
fn beyond_prefix(words: &[Word], cwd: &Path, scope: &Scope, named: usize) -> Option<String> {
    if commands::harm(words, cwd, scope, false) == Harm::None {
        return None;
    }
    let said = words.get(..named).unwrap_or_default();
    let known: Vec<Word> = words.iter().filter(|word| word.known().is_some()).cloned().collect();
    let is_git = commands::base_name(words) == Some("git");
    let discards = match commands::lost(&known) {
        lost if !is_git || lost <= commands::lost(said) => None,
        Lost::ForGood => Some(DISCARDS),
        _ => {
            Some("it may discard changes that are not committed; git switch changes the branch without that")
        }
    };
    let beyond = delicate(&known).filter(|_| !is_git && delicate(said).is_none());
    discards
        .or(beyond)
        .map(str::to_owned)
        .or_else(|| commands::launches(words, cwd, scope, named))
        .or_else(|| commands::unnamed_address(words, named))
}

/// Why a command goes beyond what a narrow rule was written for: the flag names a command, not all its options.
fn too_wide(words: &[Word], cwd: &Path, carrier: bool, rule: &Rule, scope: &Scope) -> Option<String> {
    if !rule.allowance.narrow || !rule.names_command() || carrier {
        return None;
    }
    if commands::is_reader(words) {
        return match commands::harm(words, cwd, scope, false) {
            Harm::Possible(reason) => Some(reason),
            Harm::None | Harm::Edits => None,
        };
    }
    const REACHING: [&str; 8] = [
        "--output",
        "--exec",
        "--upload-pack",
        "--receive-pack",
        "--config",
        "--ext-diff",
        "--textconv",
        "--open-files-in-pager",
    ];
    // Shortened, or one of a family: `--outp`, `--output-dir`.
    let reaches = |text: &str| {
        let name = text.split('=').next().unwrap_or(text);
        REACHING.iter().any(|option| name.starts_with(option) || name.len() > 4 && option.starts_with(name))
    };
    words.iter().skip(1).find_map(|word| match word.known() {
        None if word.kind == WordKind::Glob => None,
        None => Some(format!("{} may turn out to be an option", word.text)),
        Some(text) if reaches(text) => Some(format!("the option {text} was not named")),
        Some(text) => {
            let path = text.split_once('=').map_or(text, |(_, value)| value);
            let climbs = path.starts_with('/') || path.split('/').any(|part| part == "..");
            let outside =
                path.starts_with('~') || climbs && !scope.readable(&charla_proto::text::join_path(cwd, path));
            outside.then(|| format!("{text} lies outside the workspace"))
        }
    })
}

/// Why a command may show a secret. Behind the wall, which files a word only the shell knows will name is left to the
/// kernel: it hides those that are secret.
pub(super) fn discloses(words: &[Word], cwd: &Path, scope: &Scope, walled: bool) -> Option<String> {
    let name = commands::base_name(words)?;
    let operands = commands::operands_of(name);
    if matches!(operands, Some(Operands::Nothing | Operands::Names)) {
        return None;
    }
    let shows_files = operands.is_some();
    if shows_files && let Some(reason) = secret(&cwd.to_string_lossy()) {
        return Some(format!("{}: {reason}", cwd.display()));
    }
    let harmless = if walled { named_only(name, words) } else { Vec::new() };
    words.iter().enumerate().skip(1).find_map(|(index, word)| {
        if word.kind == WordKind::Literal && harmless.iter().any(|known| std::ptr::eq(*known, word)) {
            return None;
        }
        let before = words.get(index - 1);
        let reason = match word.kind {
            WordKind::Literal if is_pattern(name, word, before) => {
                secret(&word.text).or_else(|| secret_include(&word.text))
            }
            WordKind::Literal => secret(&word.text).or_else(|| of_home(&word.text, cwd, scope)),
            WordKind::Glob if walled && name != "git" => aimed_at_secret(&word.text),
            WordKind::Single | WordKind::Unknown if walled && name != "git" => secret(&word.text),
            WordKind::Glob => secret_pattern(&word.text).filter(|_| shows_files || name == "git"),
            WordKind::Single | WordKind::Unknown => {
                shows_files.then_some("what it reads is only known to the shell")
            }
        };
        reason.map(|reason| format!("{}: {reason}", word.text))
    })
}

/// Why a word names a place below the home that holds secrets, or a folder of such.
fn of_home(text: &str, cwd: &Path, scope: &Scope) -> Option<&'static str> {
    let mut parts = text.split(['=', ':', '@', ',']).chain([text]).filter(|part| part.contains('/'));
    let found = parts.any(|part| scope.is_secret_of_home(&charla_proto::text::join_path(cwd, part)));
    found.then_some("it may hold secrets")
}

/// Words that may look like a secret's name behind the wall: what is looked for in files, and paths of which git shows no content.
fn named_only<'a>(name: &str, words: &'a [Word]) -> Vec<&'a Word> {
    if name != "git" {
        return commands::sought(words);
    }
    let says = |word: &&Word| ["--grep=", "--author="].iter().any(|option| word.text.starts_with(option));
    let named = commands::shown_by_attributes(words).iter().chain(commands::sought_by_grep(words));
    named.chain(words.iter().filter(says)).collect()
}

/// True for a word that the command itself reads as a pattern of file names: `git grep x -- '.e*'`, `rg -g '.e*'`.
fn is_pattern(name: &str, word: &Word, before: Option<&Word>) -> bool {
    let wild = word.text.contains(['*', '?', '[']);
    match name {
        "git" => wild && word.text.starts_with(['.', '*', '?', '[', ':']),
        "rg" => {
            let glob = |text: &str| matches!(text, "-g" | "--glob" | "--iglob");
            wild && (before.and_then(Word::known).is_some_and(glob) || word.text.starts_with("--glob="))
        }
        _ => false,
    }
}

/// Why a command deserves a look even where commands are allowed in general.
pub(super) fn delicate(words: &[Word]) -> Option<&'static str> {
    let name = commands::base_name(words)?;
    let may = |letters, long| Arguments::of(words, 1, &[]).may_have(Named::new(letters, long));
    match name {
        "sudo" | "doas" | "su" | "pkexec" | "run0" => Some("it acts with more rights than you have"),
        "ssh" | "scp" | "sftp" | "rsync" => Some("it reaches another machine"),
        "rm" | "unlink" if may("rRf", &["--recursive", "--force"]) => Some("it removes without asking"),
        "dd" | "shred" | "wipefs" | "fdisk" | "parted" | "blkdiscard" => Some("it can destroy data for good"),
        name if name.starts_with("mkfs") => Some("it can destroy data for good"),
        "shutdown" | "reboot" | "halt" | "poweroff" | "init" => Some("it stops the machine"),
        "chmod" | "chown" | "chgrp" if may("R", &["--recursive"]) => {
            Some("it changes rights in a whole tree")
        }
        "find" if may_delete(words) => Some("it removes without asking"),
        "git" if commands::lost(words) == Lost::ForGood => Some(DISCARDS),
        "crontab" | "systemctl" | "at" | "launchctl" => Some("it makes the machine run commands by itself"),
        _ => None,
    }
}

const DISCARDS: &str = "it can discard work for good";

/// True when one of the words of `find` is `-delete`, or may be; what a test is given is no action.
fn may_delete(words: &[Word]) -> bool {
    let tested = |word: Option<&Word>| word.and_then(Word::known).is_some_and(|word| word.starts_with('-'));
    words.iter().enumerate().skip(1).any(|(index, word)| match word.kind {
        WordKind::Literal => word.text == "-delete",
        WordKind::Single => !tested(words.get(index - 1)),
        WordKind::Glob => word.text.starts_with(['*', '?', '[', '-']),
        WordKind::Unknown => true,
    })
}

/// True for variables that change what is shown, not what is done. With `others`, programs run that may read any
/// name: then only names no program is known to look at count.
pub(super) fn harmless_variable(name: &str, others: bool) -> bool {
    const NAMES: [&str; 10] = [
        "TZ",
        "RUST_LOG",
        "CI",
        "NODE_ENV",
        "DEBUG",
        "VERBOSE",
        "PYTHONUNBUFFERED",
        "PYTHONDONTWRITEBYTECODE",
        "DEBIAN_FRONTEND",
        "REPLY",
    ];
    // What people call the variables of a line, and no program looks at.
    const OWN: [&str; 34] = [
        "BASE", "BRANCH", "COMMIT", "COUNT", "CURRENT", "DATE", "DEST", "DIR", "DIRS", "END", "FILE",
        "FILES", "FIRST", "HASH", "HEAD", "LAST", "LATEST", "LINE", "NAME", "NOW", "OUT", "OUTPUT", "PREV",
        "RESULT", "REV", "ROOT", "SHA", "SRC", "START", "STATUS", "TAG", "TODAY", "TOTAL", "VERSION",
    ];
    const READ: [&str; 9] = ["path", "prefix", "shell", "editor", "pager", "browser", "cc", "cxx", "config"];
    let lower_case = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && name.starts_with(|c: char| c.is_ascii_lowercase());
    let looked_at = name.contains('_') || READ.contains(&name);
    NAMES.contains(&name)
        || is_about_looks(name)
        || (!others
            && (OWN.contains(&name) || name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_uppercase())))
        || (lower_case && !name.ends_with("proxy") && !(others && looked_at))
}
