//! Commands that run what somebody wrote into a file, a pipe or a word: nobody has read that.

use std::path::Path;

use charla_proto::Word;

use super::{Harm, base_name, harm, is_known, is_reader, trusted_name};
use crate::policy::Scope;

const SHELLS: [&str; 11] =
    ["sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "ash", "busybox"];

const LANGUAGES: [&str; 21] = [
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

fn is_language(name: &str) -> bool {
    let python = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    python.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
        || LANGUAGES.contains(&name)
}

/// True for a command that may run any other, by a script that is not part of the plan.
pub(in crate::policy) fn hides_script(words: &[Word], cwd: &Path, scope: &Scope) -> bool {
    let Some(name) = base_name(words) else { return false };
    match name {
        "sed" | "awk" | "gawk" | "mawk" => harm(words, cwd, scope, false) != Harm::None,
        name if SHELLS.contains(&name) || BUILDERS.contains(&name) || is_language(name) => {
            harm(words, cwd, scope, false) != Harm::None
        }
        _ => trusted_name(words).is_none(),
    }
}

/// True for a command that runs a file, which may say something else the next time.
pub(in crate::policy) fn runs_file(words: &[Word]) -> bool {
    let Some(name) = base_name(words) else { return false };
    let interprets = SHELLS.contains(&name) || is_language(name);
    trusted_name(words).is_none() || BUILDERS.contains(&name) || interprets && script_of(words).is_some()
}

/// True for a command whose standard input decides what it does: `python3 -`, `bash`, `… | sh`.
pub(in crate::policy) fn reads_input(words: &[Word], fed: bool) -> bool {
    let Some(name) = base_name(words) else { return true };
    let input = |word: &Word| {
        let text = word.text.as_str();
        text == "-" || text.starts_with("/dev/stdin") || text.starts_with("/dev/fd/") || text.ends_with("=-")
    };
    let rest = words.get(1..).unwrap_or_default();
    let interprets = SHELLS.contains(&name) || is_language(name);
    let given =
        |word: &Word| matches!(word.text.as_str(), "-c" | "-e" | "-m" | "-r" | "-E" | "--eval" | "-p");
    let combined = |word: &Word| {
        let letters = word.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        SHELLS.contains(&name) && letters.is_some_and(|letters| letters.contains('s'))
    };
    rest.iter().any(input)
        || (fed && !(is_known(name) && name != "git" || is_reader(words)))
        || (interprets && rest.iter().any(combined))
        || (interprets && script_of(words).is_none() && !rest.iter().any(given) && !asks_version(rest))
}

/// The first word that is no option.
fn script_of(words: &[Word]) -> Option<&Word> {
    words.iter().skip(1).find(|word| !word.text.starts_with('-'))
}

fn asks_version(words: &[Word]) -> bool {
    matches!(words, [word] if matches!(word.known(), Some("--version" | "-V" | "-v" | "--help")))
}
