//! The commands of git that talk to another machine, in forms that run nothing but git.

use charla_proto::Word;

use super::base_name;
use super::git::subcommand_at;
use super::options::{Doubt, sort};
use super::table::Options;

/// What a command may be given to stay plain: letters, letters with a value, long options.
struct Plain {
    name: &'static str,
    letters: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
}

/// Every option is spelled out: git takes shortened ones, and some of those run programs.
const PLAIN: [Plain; 5] = [
    Plain {
        name: "push",
        letters: "ufnvqd",
        valued: "",
        long: &[
            "--set-upstream",
            "--force",
            "--force-with-lease",
            "--force-if-includes",
            "--tags",
            "--follow-tags",
            "--all",
            "--branches",
            "--delete",
            "--prune",
            "--dry-run",
            "--porcelain",
            "--progress",
            "--no-progress",
            "--verbose",
            "--quiet",
            "--atomic",
            "--no-verify",
        ],
    },
    Plain { name: "fetch", letters: "apPtnqvf", valued: "j", long: FETCHING },
    Plain { name: "pull", letters: "apqvrtn", valued: "j", long: FETCHING },
    Plain {
        name: "clone",
        letters: "qvn",
        valued: "bj",
        long: &[
            "--branch=",
            "--depth=",
            "--single-branch",
            "--no-single-branch",
            "--no-tags",
            "--no-checkout",
            "--filter=",
            "--sparse",
            "--bare",
            "--mirror",
            "--progress",
            "--quiet",
            "--verbose",
            "--jobs=",
            "--shallow-since=",
        ],
    },
    Plain {
        name: "ls-remote",
        letters: "htq",
        valued: "",
        long: &[
            "--heads",
            "--branches",
            "--tags",
            "--refs",
            "--quiet",
            "--exit-code",
            "--symref",
            "--get-url",
            "--sort=",
        ],
    },
];

const FETCHING: &[&str] = &[
    "--all",
    "--prune",
    "--prune-tags",
    "--tags",
    "--no-tags",
    "--depth=",
    "--deepen=",
    "--unshallow",
    "--shallow-since=",
    "--quiet",
    "--verbose",
    "--dry-run",
    "--force",
    "--progress",
    "--no-progress",
    "--jobs=",
    "--rebase",
    "--no-rebase",
    "--ff",
    "--ff-only",
    "--no-ff",
    "--autostash",
    "--no-autostash",
    "--no-edit",
    "--no-recurse-submodules",
];

/// True for git that reaches another machine and runs nothing on this one: every word is known, every option is on the
/// list, and what it talks to is no folder, whose hooks would run.
pub(in crate::policy) fn is_plainly_far(words: &[Word]) -> bool {
    let Some(name) = words.get(1).and_then(Word::known) else { return false };
    let Some(plain) = PLAIN.iter().find(|plain| plain.name == name) else { return false };
    let rest = words.get(2..).unwrap_or_default();
    if rest.iter().any(|word| word.known().is_none()) {
        return false;
    }
    let options = Options::Only { letters: plain.letters, long: plain.long };
    let Ok(sorted) = sort(rest, options, plain.valued, Doubt::Option) else { return false };
    sorted.operands.first().is_none_or(|remote| is_far(&remote.text))
}

/// Commands that settle which address git talks to: who names them means that.
const CHOOSING: [&str; 3] = ["clone", "remote", "submodule"];

/// Why git talks to an address, or is told one, that is not among the first `named` words, which a rule names: which machines a repository
/// knows is a person's to say.
pub(in crate::policy) fn unnamed_address(words: &[Word], named: usize) -> Option<String> {
    let at = subcommand_at(words).filter(|_| base_name(words) == Some("git"))?;
    let name = words.get(at)?.known()?;
    if !PLAIN.iter().any(|plain| plain.name == name) && !CHOOSING.contains(&name) {
        return None;
    }
    if CHOOSING.contains(&name) && named > at {
        return None;
    }
    let rest = words.iter().enumerate().skip(at + 1).filter_map(|(at, word)| Some((at, word.known()?)));
    let first = rest.clone().find(|(_, text)| !text.starts_with('-')).map(|(at, _)| at);
    let is_address = |(at, text): &(usize, &str)| {
        let value = text.split_once('=').filter(|_| text.starts_with('-')).map_or(*text, |(_, value)| value);
        let by_host = |(host, path): (&str, &str)| is_name(host) && !host.is_empty() && !path.is_empty();
        let said = if Some(*at) == first || CHOOSING.contains(&name) { value.split_once(':') } else { None };
        value.contains("://") || is_far(value) && value != "origin" || said.is_some_and(by_host)
    };
    let (_, address) = rest.clone().filter(|(at, _)| *at >= named).find(is_address)?;
    Some(format!("{address} is an address that no rule names, and no remote that the repository knows"))
}

/// True for what is no path: a name that is none of the remotes' would be taken for a folder.
fn is_far(remote: &str) -> bool {
    let by_url = ["https://", "http://", "ssh://", "git://"].iter().any(|scheme| remote.starts_with(scheme));
    let by_host = remote
        .split_once(':')
        .is_some_and(|(host, path)| host.contains('@') && is_name(host) && !path.is_empty());
    remote == "origin" || by_url || by_host && !remote.contains("::")
}

fn is_name(host: &str) -> bool {
    !host.starts_with(['-', '.', '/']) && !host.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn far(line: &str) -> bool {
        is_plainly_far(&line.split(' ').map(Word::literal).collect::<Vec<_>>())
    }

    #[test]
    fn git_is_plainly_far_when_every_option_is_spelled_out_and_the_remote_is_no_folder() {
        for line in [
            "git push",
            "git push origin main",
            "git push -u origin HEAD",
            "git push --force-with-lease origin main",
            "git fetch --all --prune",
            "git fetch origin main --depth 1",
            "git pull --rebase origin main",
            "git clone https://example.org/a.git",
            "git clone -b main git@example.org:a/b.git there",
            "git ls-remote --heads origin",
        ] {
            assert!(far(line), "{line}");
        }
        for line in [
            "git push --exe=./x . main:q",
            "git push --exec=./x origin",
            "git push --receive-pack=./x origin",
            "git push --rec ./x origin",
            "git fetch --upload-pac=./x . main",
            "git fetch --upload-pack ./x origin",
            "git clone -qu ./x . cc",
            "git clone -u ./x git@example.org:a",
            "git clone -c a=b git@example.org:a",
            "git clone --templ=x git@example.org:a",
            "git push ./evil.git main",
            "git push /w/evil.git main",
            "git push evil main",
            "git push file:///w/evil.git",
            "git push .",
            "git push ext::./x",
            "git push a@b::x",
            "git push ./a@b:x",
            "git fetch --multiple origin evil",
            "git -c a=b push origin",
            "git submodule update",
            "git -C x push",
        ] {
            assert!(!far(line), "{line}");
        }
    }
}
