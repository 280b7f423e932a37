//! What a command does beyond what its name says: options with which it runs a program of one's choice, or sends files.
//!
//! An allowance that names a command names none of these unless it says them.

use charla_proto::Word;
use charla_proto::text::join_path;

use super::{Call, base_name, git};

/// Options of a program that run something or send something: letters, long options. Shortened and bundled ones count.
struct Launching {
    names: &'static [&'static str],
    letters: &'static str,
    /// Letters whose value may be glued to them: what stands behind is no letter.
    valued: &'static str,
    long: &'static [&'static str],
}

const PROGRAMS: [Launching; 14] = [
    Launching {
        names: &["tar", "gtar", "bsdtar"],
        letters: "IF",
        valued: "fCbTXHgKNV",
        long: &[
            "--use-compress-program",
            "--checkpoint-action",
            "--to-command",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
        ],
    },
    Launching { names: &["make", "gmake"], letters: "E", valued: "fCIjloW", long: &["--eval"] },
    Launching {
        names: &["curl"],
        letters: "TdFK",
        valued: "oHXuAebcmrwxyzCDEPQUYt",
        long: &["--upload-file", "--data", "--form", "--json", "--config", "--url-query"],
    },
    Launching {
        names: &["wget"],
        letters: "e",
        valued: "OPoatTwQUDIRAXlB",
        long: &["--post-", "--body-", "--execute", "--use-askpass", "--config"],
    },
    Launching { names: &["sort"], letters: "", valued: "kotST", long: &["--compress-program"] },
    Launching { names: &["rsync"], letters: "e", valued: "fBTM", long: &["--rsh", "--rsync-path"] },
    Launching { names: &["rg"], letters: "", valued: "egtTfABCmMjr", long: &["--pre", "--hostname-bin"] },
    Launching {
        names: &["fd", "fdfind"],
        letters: "xX",
        valued: "etdEoScCj",
        long: &["--exec", "--exec-batch"],
    },
    Launching { names: &["zip"], letters: "T", valued: "bnti", long: &["--unzip-command", "--test"] },
    Launching { names: &["npm", "pnpm", "yarn"], letters: "", valued: "", long: &["--script-shell"] },
    Launching { names: &["cargo"], letters: "", valued: "pjFZ", long: &["--config"] },
    Launching { names: &["go"], letters: "", valued: "", long: &["-exec", "-toolexec", "-vettool"] },
    Launching { names: &["man"], letters: "PH", valued: "MLmsSe", long: &["--pager", "--html"] },
    Launching { names: &["ssh"], letters: "oF", valued: "pilLRDbcEeIJmOQSwW", long: &[] },
];

/// Commands of git under which an option runs something; the letters are those of the option.
const GIT: [Launching; 9] = [
    Launching { names: &["push"], letters: "", valued: "o", long: &["--receive-pack", "--exec"] },
    Launching {
        names: &["fetch", "pull", "ls-remote", "fetch-pack"],
        letters: "",
        valued: "ojsX",
        long: &["--upload-pack", "--exec"],
    },
    Launching {
        names: &["clone"],
        letters: "uc",
        valued: "boj",
        long: &["--upload-pack", "--config", "--template"],
    },
    Launching { names: &["init"], letters: "", valued: "b", long: &["--template"] },
    Launching { names: &["rebase"], letters: "x", valued: "sXC", long: &["--exec"] },
    Launching { names: &["grep"], letters: "O", valued: "eABCmf", long: &["--open-files-in-pager"] },
    Launching {
        names: &["log", "show", "diff", "whatchanged", "format-patch", "stash", "reflog"],
        letters: "",
        valued: "nSGULOl",
        long: &["--ext-diff", "--textconv"],
    },
    Launching { names: &["archive"], letters: "", valued: "o", long: &["--exec", "--remote"] },
    Launching { names: &["difftool"], letters: "x", valued: "t", long: &["--extcmd"] },
];

/// What git's own commands are that run no program of one's choice; others may be aliases, or programs.
const ORDINARY: [&str; 45] = [
    "add",
    "am",
    "annotate",
    "apply",
    "bisect",
    "branch",
    "checkout",
    "cherry-pick",
    "clean",
    "clone",
    "commit",
    "config",
    "fetch",
    "fsck",
    "gc",
    "grep",
    "help",
    "init",
    "ls-remote",
    "merge",
    "mv",
    "notes",
    "prune",
    "pull",
    "push",
    "range-diff",
    "rebase",
    "reflog",
    "remote",
    "repack",
    "reset",
    "restore",
    "revert",
    "rm",
    "show-branch",
    "sparse-checkout",
    "stash",
    "submodule",
    "switch",
    "tag",
    "update-index",
    "update-ref",
    "worktree",
    "write-tree",
    "commit-tree",
];

/// Pairs of words behind git that run what follows.
const RUNNING: [(&str, &str); 3] = [("bisect", "run"), ("submodule", "foreach"), ("hook", "run")];

/// Why a command does more than its name says. The first `named` words are what the allowance itself says.
pub(in crate::policy) fn launches(
    words: &[Word],
    cwd: &std::path::Path,
    scope: &crate::policy::Scope,
    named: usize,
) -> Option<String> {
    let name = base_name(words)?;
    let call = Call { name, words, cwd, scope, walled: false };
    if name == "git" {
        return git_launches(call, named);
    }
    let launching = PROGRAMS.iter().find(|program| program.names.contains(&name))?;
    // `tar cIf x a.tar f`: without a dash, every letter is an option, and the values follow.
    let bundle =
        words.get(1).and_then(Word::known).filter(|_| named <= 1 && launching.names.contains(&"tar"));
    if let Some(bundle) = bundle.filter(|bundle| !bundle.starts_with('-'))
        && bundle.contains(|letter| launching.letters.contains(letter))
    {
        return Some(format!("the option {bundle} runs or sends something, and was not named"));
    }
    launching.option_among(words.get(named.max(1)..)?)
}

fn git_launches(call: Call<'_>, named: usize) -> Option<String> {
    let Some(at) = git::subcommand_at(call.words) else {
        return (call.words.len() > named.max(1)).then(|| "which git command runs is not known".to_owned());
    };
    let subcommand = call.words.get(at).and_then(Word::known).unwrap_or_default();
    if named <= at {
        let before = call.words.get(named.max(1)..at).unwrap_or_default();
        let global = before_subcommand(call, before);
        if global.is_some() {
            return global;
        }
        if !ORDINARY.contains(&subcommand) && !git::reads(subcommand) {
            return Some(format!("git {subcommand} may run programs, or show what git keeps"));
        }
    }
    let rest = call.words.get(named.max(at + 1)..).unwrap_or_default();
    let second = rest.iter().find_map(|word| word.known().filter(|word| !word.starts_with('-')));
    if named <= at + 1 && RUNNING.iter().any(|(first, then)| *first == subcommand && second == Some(*then)) {
        return Some(format!("git {subcommand} runs the command that it is given"));
    }
    GIT.iter().find(|command| command.names.contains(&subcommand))?.option_among(rest)
}

/// Why the options before git's command are more than a place in the workspace.
fn before_subcommand(call: Call<'_>, before: &[Word]) -> Option<String> {
    const HARMLESS: [&str; 4] =
        ["--no-pager", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"];
    let mut words = before.iter();
    while let Some(word) = words.next() {
        match word.known() {
            Some("-C") => {
                let place = words.next().and_then(Word::known);
                let inside = place.is_some_and(|place| call.scope.contains(&join_path(call.cwd, place)));
                if !inside {
                    return Some("git works outside the workspace".to_owned());
                }
            }
            Some(option) if HARMLESS.contains(&option) => {}
            _ => return Some(format!("the option {} of git was not named", word.text)),
        }
    }
    None
}

impl Launching {
    /// Names the first of the words that is one of the options.
    fn option_among(&self, words: &[Word]) -> Option<String> {
        let options = words.iter().take_while(|word| word.known() != Some("--"));
        let mut known = options.filter_map(Word::known);
        let found = known.find(|text| self.has_long(text) || self.has_letter(text))?;
        Some(format!("the option {found} runs or sends something, and was not named"))
    }

    /// An option, shortened as far as programs take it, or longer than the family's name.
    fn has_long(&self, text: &str) -> bool {
        let name = text.split('=').next().unwrap_or(text);
        let single = self.long.iter().any(|long| !long.starts_with("--"));
        if single {
            return self.long.iter().any(|long| name == *long || name.strip_prefix('-') == Some(long));
        }
        name.len() > 2
            && name.starts_with("--")
            && self.long.iter().any(|long| long.starts_with(name) || name.starts_with(long))
    }

    fn has_letter(&self, text: &str) -> bool {
        let Some(letters) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
            return false;
        };
        let mut before = letters.chars().take_while(|letter| !self.valued.contains(*letter));
        before.any(|letter| self.letters.contains(letter))
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::policy::Scope;

    fn told(line: &str, named: usize) -> Option<String> {
        let scope = Scope { roots: vec![PathBuf::from("/w")], ..Scope::default() };
        let words: Vec<Word> = line.split(' ').map(Word::literal).collect();
        launches(&words, Path::new("/w"), &scope, named)
    }

    #[test]
    fn an_option_that_runs_or_sends_is_known_however_it_is_written() {
        for (line, named) in [
            ("git push --exe=./x origin", 2),
            ("git push --e=./x .", 2),
            ("git push --r ./x .", 2),
            ("git clone --u=./x a b", 2),
            ("git fetch --u ./x .", 2),
            ("git rebase --e ./x main", 2),
            ("tar cIf ./y a.tar f", 1),
            ("tar xFf ./y a.tar", 1),
            ("tar If ./y a.tar f", 1),
            ("git push --receive-pack ./x origin", 2),
            ("git fetch --upload-pac=./x origin", 2),
            ("git clone -qu ./x a b", 2),
            ("git clone -qc a=b a b", 2),
            ("git rebase -x ./x main", 1),
            ("git rebase -ix ./x main", 2),
            ("git rebase --exec=./x main", 2),
            ("git -c alias.x=!./x x", 1),
            ("git --exec-path=. status", 1),
            ("git --config-env=a=b status", 1),
            ("git -C .. status", 1),
            ("git co", 1),
            ("git filter-branch x", 1),
            ("git difftool -x ./x", 1),
            ("git fast-export --all", 1),
            ("git format-patch --stdout HEAD", 1),
            ("git bisect run ./x", 1),
            ("git bisect run ./x", 2),
            ("git submodule --quiet foreach ./x", 2),
            ("git grep -O./x a", 2),
            ("tar -cf a --checkpoint-action=exec=./x b", 1),
            ("tar --to-comm=./x -xf a", 1),
            ("tar -cI ./x -f a b", 1),
            ("make --eval=x", 1),
            ("curl -T f example.org", 1),
            ("curl -sd @f example.org", 1),
            ("curl --data-binary @f example.org", 1),
            ("curl --form a=@f example.org", 1),
            ("go test -exec ./x", 2),
        ] {
            assert!(told(line, named).is_some(), "{line}");
        }
        for (line, named) in [
            ("git push origin main", 2),
            ("git push -u origin main", 1),
            ("git -C sub --no-pager status", 1),
            ("git commit -m x", 1),
            ("git commit -m --exec", 1),
            ("git rebase main", 1),
            ("git rebase -x ./x main", 3),
            ("git lg", 2),
            ("git bisect run ./x", 3),
            ("git clone -c a=b x", 3),
            ("tar -czf a.tar.gz src", 1),
            ("tar -xf INDEX.tar", 1),
            ("tar -xfINDEX.tar", 1),
            ("tar cf INDEX.tar f", 1),
            ("tar xzf a.tgz", 1),
            ("tar cIf ./y a.tar f", 2),
            ("make all -j4", 1),
            ("make -fExtra", 1),
            ("curl -sSL -o f https://example.org", 1),
            ("curl -HFoo:bar https://example.org", 1),
            ("curl -d @f example.org", 2),
            ("cargo test --all", 2),
            ("npm test -- --exec", 2),
        ] {
            assert_eq!(told(line, named), None, "{line}");
        }
    }
}
