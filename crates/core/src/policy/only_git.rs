//! Who reads files in a command line that runs git.
//!
//! The kernel keeps the contents that git keeps from everything that runs unasked, but for a line in which nothing but git
//! reads files: it cannot tell the processes of one line apart. So a line in which git needs them, and another command may
//! read them too, asks.

use std::path::Path;

use charla_proto::{Effect, Plan, Word, WordKind};

use super::Scope;
use super::commands::{self, Arguments, Harm, Named, Operands};
use super::paths::is_free;

/// Commands of the shell, and others beside those of the table, that show no file.
const BLIND: [&str; 38] = [
    "test", "[", "[[", "printf", "date", "wait", "hostname", "umask", "ulimit", "command", "getconf", "set",
    "unset", "export", "readonly", "declare", "local", "typeset", "read", "cd", "pushd", "popd", "find",
    "fd", "fdfind", "env", "printenv", "tee", "mkdir", "touch", "rm", "rmdir", "chmod", "mv", "wc", "file",
    "let", "trap",
];

/// The same, of sums.
const SUMS: [&str; 8] =
    ["cksum", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"];

/// Commands that hand on names which only they know.
const SPREADING: [&str; 5] = ["find", "fd", "fdfind", "xargs", "watch"];

/// Commands of git that need none of the contents.
const LISTING: [&str; 5] = ["ls-files", "config", "remote", "version", "check-ignore"];

/// Questions to `git rev-parse` that are not about a revision.
const ABOUT_PLACES: [&str; 8] = [
    "--show-toplevel",
    "--show-prefix",
    "--show-cdup",
    "--git-dir",
    "--absolute-git-dir",
    "--git-common-dir",
    "--is-inside-work-tree",
    "--is-bare-repository",
];

/// True when the plan runs git as it is known to only read, and nothing else in it reads what git keeps.
pub(super) fn only_git_reads(plan: &Plan, scope: &Scope) -> bool {
    let known = |effect: &Effect| match effect {
        Effect::Exec { words, cwd, .. } if is_git(words) => {
            !compares_any(words) && commands::harm(words, cwd, scope, true) == Harm::None
        }
        effect => !reads(effect, plan),
    };
    plan.effects.iter().any(runs_git) && plan.effects.iter().all(known)
}

/// Why an effect is asked about beside git.
pub(super) fn doubt(effect: &Effect, plan: &Plan) -> Option<String> {
    let shows = |effect: &Effect| match effect {
        Effect::Exec { words, .. } => is_git(words) && !lists(words) && !compares_any(words),
        _ => false,
    };
    (plan.effects.iter().any(shows) && reads(effect, plan)).then(|| {
        "beside git it might read what git keeps, secrets too; run by itself it does not ask".to_owned()
    })
}

fn runs_git(effect: &Effect) -> bool {
    matches!(effect, Effect::Exec { words, .. } if is_git(words))
}

fn is_git(words: &[Word]) -> bool {
    commands::trusted_name(words) == Some("git")
}

/// True for git that reads files as others do, its own among them.
fn compares_any(words: &[Word]) -> bool {
    words.iter().any(commands::is_no_index)
}

/// True for git that needs no contents: it lists names, or tells settings.
fn lists(words: &[Word]) -> bool {
    let mut rest = words.iter().skip(1).map(Word::known);
    match rest.next().flatten() {
        Some("rev-parse") => rest.all(|word| word.is_some_and(|word| ABOUT_PLACES.contains(&word))),
        Some("branch") => rest.eq([Some("--show-current")]),
        Some(name) => LISTING.contains(&name),
        None => false,
    }
}

/// True for what may read a file of git's.
fn reads(effect: &Effect, plan: &Plan) -> bool {
    match effect {
        Effect::Read { path } => path.iter().any(|part| is_gits(&part.to_string_lossy())),
        Effect::Exec { carrier: true, words, .. } => commands::trusted_name(words).is_none(),
        Effect::Exec { words, fed, cwd, .. } => {
            let inside = cwd.iter().any(|part| part.eq_ignore_ascii_case(".git"));
            match is_git(words) {
                true => compares_any(words),
                false => shows_files(words, *fed, inside, plan),
            }
        }
        Effect::Unclear { .. } | Effect::Unconfined => true,
        Effect::Write { .. } | Effect::Env { .. } | Effect::Net { .. } | Effect::Mcp { .. } => false,
    }
}

/// True for a command that may show a file of git's; `inside`: it runs in git's folder.
fn shows_files(words: &[Word], fed: bool, inside: bool, plan: &Plan) -> bool {
    let Some(name) = commands::trusted_name(words) else { return true };
    if BLIND.contains(&name) || SUMS.contains(&name) {
        return false;
    }
    let patterned = match commands::operands_of(name) {
        Some(Operands::Nothing | Operands::Names) => return false,
        Some(Operands::Contents) => false,
        Some(Operands::Patterned) => true,
        None if name == "cp" => false,
        None => return true,
    };
    let spreads = |effect: &Effect| match effect {
        Effect::Exec { words, .. } => {
            commands::base_name(words).is_some_and(|name| SPREADING.contains(&name))
        }
        _ => false,
    };
    let rest = words.get(1..).unwrap_or_default();
    let operands: Vec<&Word> = rest.iter().filter(|word| !is_option(word)).collect();
    let recursive = is_recursive(words, fed && operands.len() < 2);
    // What the text is compared with, or done to it, is no file.
    let files = operands.get(usize::from(patterned && !takes_pattern(words))..).unwrap_or_default();
    let unread = patterned && operands.first().is_some_and(|word| word.known().is_none());
    // In the folders it compares, it follows links.
    let follows = name == "diff" && recursive;
    unread
        || follows
        || inside && !files.is_empty()
        || plan.effects.iter().any(spreads) && !files.is_empty()
        || recursive && files.is_empty()
        || rest.iter().filter(|word| is_option(word)).any(|word| names_gits(&word.text))
        || files.iter().any(|word| may_name_gits(word, recursive))
}

fn is_option(word: &Word) -> bool {
    word.kind.is_literal() && word.text.starts_with('-') && word.text != "-"
}

/// True when an option gives the pattern or the script.
fn takes_pattern(words: &[Word]) -> bool {
    const GIVEN: Named = Named::new("ef", &["--regexp", "--expression", "--file"]);
    Arguments::of(words, 1, &[GIVEN]).has(GIVEN)
}

/// True for a command that goes through folders; `reads_input` where it is given none, and its input instead.
fn is_recursive(words: &[Word], reads_input: bool) -> bool {
    match commands::base_name(words) {
        Some("rg") => !reads_input,
        Some("cp") => Arguments::of(words, 1, &[]).has(Named::new("rRa", &["--recursive", "--archive"])),
        _ => commands::goes_through_folders(words),
    }
}

fn may_name_gits(word: &Word, recursive: bool) -> bool {
    let text = word.text.as_str();
    let climbs = text.starts_with(['/', '~']) || Path::new(text).iter().any(|part| part == "..");
    let whole = text.split('/').all(|part| matches!(part, "" | "."));
    match word.kind {
        // What another command of the line says.
        WordKind::Literal if is_free(Path::new(text)) => false,
        WordKind::Literal => names_gits(text) || recursive && (climbs || whole),
        // A wildcard of the shell matches no leading dot.
        WordKind::Glob => {
            let hidden =
                |part: &str| part.starts_with(['.', '@', '+', '!']) && part.contains(['*', '?', '[', '(']);
            names_gits(text) || climbs || text.contains('{') || text.split('/').any(hidden)
        }
        WordKind::Single | WordKind::Unknown => true,
    }
}

/// True when a part of a path in the word is git's.
fn names_gits(text: &str) -> bool {
    text.split(['/', '=']).any(is_gits)
}

fn is_gits(part: &str) -> bool {
    part.to_ascii_lowercase().ends_with(".git")
}
