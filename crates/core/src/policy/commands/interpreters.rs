//! Commands that run what somebody wrote into a file, a pipe or a word: nobody has read that.

use std::path::Path;

use charla_proto::Word;

use super::git_commands::may_run_any;
use super::launches::runs_program;
use super::{Harm, base_name, harm, is_known, is_reader, trusted_name};
use crate::policy::Scope;

const SHELLS: [&str; 11] =
    ["sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "ash", "busybox"];

const LANGUAGES: [&str; 24] = [
    "python",
    "pypy",
    "guile",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "expect",
    "Rscript",
    "julia",
    "osascript",
    "pwsh",
    "ed",
    "ex",
    "vi",
    "vim",
    "nvim",
    "emacs",
];

/// Programs that do what a file of the workspace says.
const BUILDERS: [&str; 12] =
    ["make", "gmake", "just", "ninja", "rake", "task", "npm", "npx", "yarn", "pnpm", "source", "."];

/// Programs that run a script or a program of the workspace with one of these commands; with any, where none is named. What only
/// builds or tests is left to the kernel.
const RUNNERS: [(&str, &[&str]); 18] = [
    ("cargo", &["run", "r"]),
    ("go", &["generate", "run", "tool"]),
    ("uv", &["run", "tool", "x"]),
    ("uvx", &[]),
    ("pipx", &["run"]),
    ("poetry", &["run", "shell"]),
    ("pdm", &["run"]),
    ("hatch", &["run", "shell"]),
    ("pipenv", &["run", "shell"]),
    ("bundle", &["exec"]),
    ("ts-node", &[]),
    ("tsx", &[]),
    ("bunx", &[]),
    ("pnpx", &[]),
    ("dotnet", &["run", "script", "fsi"]),
    ("java", &[]),
    ("swift", &["run"]),
    ("zig", &["run"]),
];

/// The name of a program without the number of its version: `perl` of `perl5.36`.
fn without_version(name: &str) -> &str {
    name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.' || last == '-')
}

fn is_language(name: &str) -> bool {
    let plain = without_version(name);
    LANGUAGES.contains(&name) || LANGUAGES.contains(&plain)
}

fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name) || SHELLS.contains(&without_version(name))
}

/// True for a program that is told to run what the workspace holds. The first word that is no option is its command; one that only
/// the shell knows may be any.
fn is_runner(name: &str, words: &[Word]) -> bool {
    let plain = without_version(name);
    let Some((_, running)) = RUNNERS.iter().find(|(known, _)| *known == plain) else { return false };
    let first = words.iter().skip(1).find(|word| !word.text.starts_with(['-', '+']));
    let runs = |word: &Word| word.known().is_none_or(|word| running.contains(&word));
    running.is_empty() || first.is_some_and(runs)
}

/// True for a command that may run any other, by a script that is not part of the plan.
pub(in crate::policy) fn hides_script(words: &[Word], cwd: &Path, scope: &Scope) -> bool {
    let Some(name) = base_name(words) else { return false };
    match name {
        "git" => may_run_any(words),
        name if is_shell(name) || BUILDERS.contains(&name) || is_language(name) || is_runner(name, words) => {
            harm(words, cwd, scope, false) != Harm::None
        }
        _ => trusted_name(words).is_none() || runs_program(words, cwd, scope, 1).is_some(),
    }
}

/// True for a command that runs a file, which may say something else the next time.
pub(in crate::policy) fn runs_file(words: &[Word]) -> bool {
    let Some(name) = base_name(words) else { return false };
    let interprets = is_shell(name) || is_language(name);
    trusted_name(words).is_none() || BUILDERS.contains(&name) || interprets && script_of(words).is_some()
}

/// True for a command whose standard input decides what it does: `python3 -`, `bash`, `… | sh`.
pub(in crate::policy) fn reads_input(words: &[Word], fed: bool) -> bool {
    let Some(name) = base_name(words) else { return true };
    let rest = words.get(1..).unwrap_or_default();
    let interprets = is_shell(name) || is_language(name);
    let given =
        |word: &Word| matches!(word.text.as_str(), "-c" | "-e" | "-m" | "-r" | "-E" | "--eval" | "-p");
    let combined = |word: &Word| {
        let letters = word.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        is_shell(name) && letters.is_some_and(|letters| letters.contains('s'))
    };
    rest.iter().any(|word| names_input(&word.text))
        || (fed && !(is_known(name) && name != "git" || is_reader(words)))
        || (interprets && rest.iter().any(combined))
        || (interprets && script_of(words).is_none() && !rest.iter().any(given) && !asks_version(rest))
}

/// True for a word that names standard input, or another descriptor, alone or behind an option: `-f-`, `-f/dev/stdin`.
fn names_input(text: &str) -> bool {
    let of_process = text.split_once("/proc/").is_some_and(|(_, rest)| rest.contains("/fd/"));
    let glued = text
        .strip_prefix('-')
        .and_then(|rest| rest.strip_suffix('-'))
        .is_some_and(|letters| letters.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    text == "-"
        || text.ends_with("=-")
        || glued && text.len() > 2
        || text.contains("/dev/stdin")
        || text.contains("/dev/fd/")
        || of_process
}

/// The first word that is no option.
fn script_of(words: &[Word]) -> Option<&Word> {
    words.iter().skip(1).find(|word| !word.text.starts_with('-'))
}

fn asks_version(words: &[Word]) -> bool {
    matches!(words, [word] if matches!(word.known(), Some("--version" | "-V" | "-v" | "--help")))
}
