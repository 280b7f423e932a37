//! What a command does beyond what its name says: options with which it runs a program of one's choice, or sends files.
//!
//! An allowance that names a command names none of these unless it says them.

use std::path::Path;

use charla_proto::Word;
use charla_proto::text::join_path;

use super::given::Arguments;
use super::taken_in::taken_in;
use super::{Call, base_name, expressions, git, git_commands, programs};
use crate::policy::Scope;

/// Why a command does more than its name says. The first `named` words are what the allowance itself says.
pub(in crate::policy) fn launches(words: &[Word], cwd: &Path, scope: &Scope, named: usize) -> Option<String> {
    let taken = || {
        let call = Call { name: base_name(words)?, words, cwd, scope, walled: false };
        taken_in(call, named)
    };
    runs_program(words, cwd, scope, named).or_else(taken).or_else(|| {
        let program = programs::find(base_name(words)?)?;
        let given = Arguments::of(words, named.max(1), &program.with_values());
        given.find(program.sends).map(|option| not_named(option.text))
    })
}

/// Why a command runs a program of one's choice that its name does not say.
pub(in crate::policy) fn runs_program(
    words: &[Word],
    cwd: &Path,
    scope: &Scope,
    named: usize,
) -> Option<String> {
    let name = base_name(words)?;
    let call = Call { name, words, cwd, scope, walled: false };
    match name {
        "git" => return git_launches(call, named),
        "sed" | "awk" | "gawk" | "mawk" => return expressions::runs_program(call, named),
        _ => {}
    }
    let program = programs::find(name)?;
    // `tar cIf x a.tar f`: without a dash, every letter is an option, and the values follow.
    let bundle = words.get(1).and_then(Word::known).filter(|_| named <= 1 && program.names.contains(&"tar"));
    if let Some(bundle) = bundle.filter(|bundle| !bundle.starts_with('-'))
        && bundle.contains(|letter| program.runs.letters.contains(letter))
    {
        return Some(not_named(bundle));
    }
    let given = Arguments::of(words, named.max(1), &program.with_values());
    let by_operand =
        given.operands.iter().map(|place| place.word.text.as_str()).find(|word| runs_by(name, word));
    given.find(program.runs).map(|option| option.text).or(by_operand).map(not_named)
}

fn not_named(option: &str) -> String {
    format!("the option {option} runs or sends something, and was not named")
}

/// True for a word that is no option, and with which a program runs what it says.
fn runs_by(name: &str, word: &str) -> bool {
    match name {
        "ex" | "vi" | "vim" | "nvim" => word.starts_with('+'),
        "make" | "gmake" => ["SHELL", ".SHELLFLAGS", "MAKEFLAGS"].iter().any(|name| {
            word.strip_prefix(name)
                .is_some_and(|rest| rest.trim_start_matches([':', '+', '?']).starts_with('='))
        }),
        _ => false,
    }
}

fn git_launches(call: Call<'_>, named: usize) -> Option<String> {
    let Some(at) = git::subcommand_at(call.words) else {
        return (call.words.len() > named.max(1)).then(|| "which git command runs is not known".to_owned());
    };
    let subcommand = call.words.get(at).and_then(Word::known).unwrap_or_default();
    let command = git_commands::find(subcommand);
    if named <= at {
        let before = call.words.get(named.max(1)..at).unwrap_or_default();
        let global = before_subcommand(call, before);
        if global.is_some() {
            return global;
        }
        if !command.is_some_and(|command| command.ordinary) && !git::reads(subcommand) {
            return Some(format!("git {subcommand} may run programs, or show what git keeps"));
        }
    }
    let command = command?;
    if named <= at + 1 && command.runs_by(call.words, at) {
        return Some(format!("git {subcommand} runs the command that it is given"));
    }
    let given = Arguments::of(call.words, named.max(at + 1), &[command.valued]);
    given.find(command.runs).map(|option| not_named(option.text))
}

/// Why the options before git's command are more than a place in the workspace.
fn before_subcommand(call: Call<'_>, before: &[Word]) -> Option<String> {
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
            Some(option) if git::BEFORE.contains(&option) => {}
            _ => return Some(format!("the option {} of git was not named", word.text)),
        }
    }
    None
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
            ("make -f -", 1),
            ("make -f-", 1),
            ("make -sf /dev/stdin all", 1),
            ("make --file=-", 1),
            ("make --makefile /dev/fd/3", 1),
            ("git apply", 1),
            ("git apply -p1 -", 1),
            ("git am --keep", 1),
            ("git apply /dev/stdin", 1),
            ("curl file:///etc/passwd", 1),
            ("curl FILE:///w/.env", 1),
            ("curl file:///w/%2eenv", 1),
            ("curl file:///w/{.env,a}", 1),
            ("curl file:///w/[.]env", 1),
            ("curl {file,http}:///w/a", 1),
            ("curl file:///w/src/../.env", 1),
            ("curl file://localhost/w/a", 1),
            ("curl file:/w/a", 1),
            ("curl --url file:///etc/passwd", 1),
            ("curl --proto-default file /w/a", 1),
            ("curl -o #1 https://example.org/{a,b}", 1),
            ("curl -o out https://example.org/[1-3]", 1),
            ("curl -O https://example.org/{AGENTS.md,b}", 1),
            ("curl -H @f https://example.org", 1),
            ("curl --proxy-header @f https://example.org", 1),
            ("curl -b f https://example.org", 1),
            ("curl -w @f https://example.org", 1),
            ("curl --variable a@f https://example.org", 1),
            ("curl --etag-compare f https://example.org", 1),
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
            ("make -f build.mk all", 1),
            ("git apply fix.patch", 1),
            ("git apply", 2),
            ("git am --abort", 1),
            ("curl file:///w/src/a.txt", 1),
            ("curl https://example.org/[1-3]", 1),
            ("curl -o out https://example.org/a#b", 1),
            ("curl -b a=b -w %{http_code} https://example.org", 1),
            ("curl localhost:8080/x", 1),
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
