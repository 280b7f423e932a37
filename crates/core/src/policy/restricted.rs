//! Whether a command's words name, or may name, a path that a rule restricts.

use std::path::Path;

use charla_proto::text::join_path;
use charla_proto::{Word, WordKind};
use globset::GlobSet;

use super::Scope;
use super::commands::{self, GitShows, Operands};
use super::matching::Match;

/// Programs whose first word is a command of theirs, never a path.
const WITH_COMMANDS: [&str; 22] = [
    "cargo",
    "npm",
    "npx",
    "pnpm",
    "yarn",
    "bun",
    "deno",
    "go",
    "pip",
    "pip3",
    "uv",
    "poetry",
    "docker",
    "podman",
    "kubectl",
    "helm",
    "terraform",
    "gh",
    "rustup",
    "dotnet",
    "systemctl",
    "brew",
];

/// What a rule restricts, where it holds.
pub(super) struct Restriction<'a> {
    pub(super) globs: &'a GlobSet,
    pub(super) patterns: &'a [String],
    pub(super) scope: &'a Scope,
}

/// How far a command goes with a path that it is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// It tells its name.
    Name,
    /// It opens that file.
    Itself,
    /// It goes through everything below, or may.
    Below,
}

impl Restriction<'_> {
    /// Whether `words`, run in `cwd`, are about what is restricted. Of a carrier, what it starts is judged by itself.
    pub(super) fn touched_by(&self, words: &[Word], cwd: &Path, carrier: bool) -> Match {
        let name = commands::base_name(words).unwrap_or_default();
        let operands = commands::operands_of(name);
        if operands == Some(Operands::Nothing) {
            return Match::No;
        }
        let rest = words.get(1..).unwrap_or_default();
        let sought = commands::sought(words);
        // What is looked for in files is no path; the script of another program may have one in it.
        let searches = matches!(name, "grep" | "egrep" | "fgrep" | "rg");
        let is_sought = |word: &&Word| searches && sought.iter().any(|known| std::ptr::eq(*known, *word));
        let mut said = rest.iter().filter(|word| !is_sought(word));
        if said.clone().any(|word| self.names(word, cwd)) {
            return Match::Yes;
        }
        match name {
            _ if carrier => Match::No,
            "git" => self.touched_by_git(words, cwd),
            _ if commands::goes_through_here(words) && self.scope.may_reach(self.patterns, cwd) => {
                Match::Maybe
            }
            _ if said.any(|word| self.mentions(word, cwd)) => Match::Maybe,
            _ => {
                let first = rest.first().filter(|_| WITH_COMMANDS.contains(&name));
                let no_path = sought.into_iter().chain(first);
                self.any(rest, &no_path.collect::<Vec<_>>(), cwd, reach_of(name, words))
            }
        }
    }

    /// True when a word says the path itself, alone or in a part.
    fn names(&self, word: &Word, cwd: &Path) -> bool {
        word.known().is_some_and(|text| self.is_said_by(text, cwd))
    }

    /// True when a text says the path itself, alone or in a part.
    fn is_said_by(&self, text: &str, cwd: &Path) -> bool {
        let is_meant =
            |path: &str| !path.is_empty() && self.scope.restricted_by(self.globs, &join_path(cwd, path));
        let mut parts = text.split(['=', ':', '@']).chain([text]);
        parts.any(is_meant) || path_of_address(text).is_some_and(|path| is_meant(&path))
    }

    /// True when a script, or whatever else a word is to a program, has the path in it.
    fn mentions(&self, word: &Word, cwd: &Path) -> bool {
        let in_path = |c: char| c.is_alphanumeric() || "_-./~+%".contains(c);
        let mut parts = word.text.split(|c: char| !in_path(c)).filter(|part| part.contains('/'));
        parts.any(|part| self.is_said_by(part, cwd))
    }

    /// Whether a variable with this value is about what is restricted: programs may open what it names.
    pub(super) fn touched_by_value(&self, name: &str, value: &Word) -> Match {
        let here = self.scope.roots.first().map_or(Path::new("/"), |root| root.as_path());
        // Git would work with other files than its words say.
        let moved = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"];
        let moves = moved.contains(&name) && self.is_in_workspace(here);
        let says = value.known().is_some_and(|text| self.is_said_by(text, here));
        if says || moves { Match::Maybe } else { Match::No }
    }

    /// Whether one of the words may turn out to name it; those of `no_path` name none.
    fn any(&self, words: &[Word], no_path: &[&Word], cwd: &Path, reach: Reach) -> Match {
        let may = |word: &&Word| match word.kind {
            WordKind::Single | WordKind::Unknown => true,
            _ if no_path.iter().any(|known| std::ptr::eq(*known, *word)) => false,
            WordKind::Literal => {
                self.is_glued(word, cwd) || reach != Reach::Name && self.is_reached(word, cwd, reach)
            }
            // What matches no file stays as it is written.
            WordKind::Glob => {
                let address = path_of_address(&word.text);
                self.may_match(&join_path(cwd, address.as_deref().unwrap_or(&word.text)), reach)
            }
        };
        if words.iter().any(|word| may(&word)) { Match::Maybe } else { Match::No }
    }

    /// True for a word with which it may be reached. An option is none, unless it has a value.
    fn is_reached(&self, word: &Word, cwd: &Path, reach: Reach) -> bool {
        if let Some(path) = path_of_address(&word.text) {
            return self.may_match(Path::new(&path), reach);
        }
        // `docker -v secrets:/x`
        if let Some((first, _)) = word.text.split_once(':').filter(|(first, _)| !first.is_empty()) {
            return self.may_match(&join_path(cwd, first), reach)
                || self.may_match(&join_path(cwd, &word.text), reach);
        }
        let path = match word.text.split_once('=') {
            Some((option, value)) if option.starts_with('-') => value,
            None if word.text.starts_with('-') && word.text.len() > 1 && !word.text.contains('/') => {
                return false;
            }
            _ => word.text.as_str(),
        };
        self.may_match(&join_path(cwd, path), reach)
    }

    /// True for a short option, alone or among others, to which the path may be glued: `-Tsecrets/a`, `-sTsecrets/a`.
    fn is_glued(&self, word: &Word, cwd: &Path) -> bool {
        let Some(letters) = word.text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
            return false;
        };
        let values = letters.char_indices().skip(1).filter_map(|(at, _)| letters.get(at..));
        values
            .map(|value| value.trim_start_matches(['@', '=']))
            .any(|value| !value.is_empty() && self.scope.may_name(self.patterns, &join_path(cwd, value)))
    }

    fn may_match(&self, path: &Path, reach: Reach) -> bool {
        match reach {
            Reach::Name | Reach::Itself => self.scope.may_name(self.patterns, path),
            Reach::Below => self.scope.may_reach(self.patterns, path),
        }
    }

    /// Git shows files that no word names: all that it tracks, unless paths behind `--` say which.
    fn touched_by_git(&self, words: &[Word], cwd: &Path) -> Match {
        let unknown = |word: &Word| matches!(word.kind, WordKind::Single | WordKind::Unknown);
        if words.iter().any(unknown) {
            return Match::Maybe;
        }
        let rest = words.get(1..).unwrap_or_default();
        match commands::git_shows(words) {
            GitShows::Names => self.any(rest, &rest.iter().collect::<Vec<_>>(), cwd, Reach::Name),
            GitShows::Contents { paths } => {
                let plain = |word: &Word| {
                    word.known()
                        .is_some_and(|text| !text.starts_with(':') && !text.contains(['*', '?', '[', '\\']))
                };
                let reached = match !paths.is_empty() && paths.iter().all(plain) {
                    true => paths.iter().any(|word| self.is_reached(word, cwd, Reach::Below)),
                    false => self.is_in_workspace(cwd),
                };
                if reached { Match::Maybe } else { Match::No }
            }
            GitShows::Unknown { subcommand } => {
                let first: Vec<&Word> = words.get(subcommand).into_iter().collect();
                self.any(rest, &first, cwd, Reach::Below)
            }
        }
    }

    /// True where it may lie in the workspace that a command in `cwd` works in.
    fn is_in_workspace(&self, cwd: &Path) -> bool {
        let around = self.scope.roots.iter().filter(|root| cwd.starts_with(root));
        around.map(|root| root.as_path()).chain([cwd]).any(|root| self.scope.may_reach(self.patterns, root))
    }
}

fn reach_of(name: &str, words: &[Word]) -> Reach {
    match commands::operands_of(name) {
        // In folders it compares what they hold.
        _ if name == "diff" || commands::goes_through_folders(words) => Reach::Below,
        Some(Operands::Names) => Reach::Name,
        Some(Operands::Contents | Operands::Patterned) => Reach::Itself,
        Some(Operands::Nothing) | None => Reach::Below,
    }
}

/// The path of an address such as `file:///w/a%62`, in any part of a word. What such an address says in braces and brackets is left
/// as it is: programs read them as patterns.
fn path_of_address(text: &str) -> Option<String> {
    let at = text.to_ascii_lowercase().find("file:")?;
    let behind = text.get(at + "file:".len()..)?;
    // A host before the path is this machine.
    let path = match behind.strip_prefix("//") {
        Some(rest) => rest.get(rest.find('/')?..)?,
        None => behind,
    };
    Some(percent_decoded(path))
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let pair = behind.get(..2).filter(|_| *first == b'%').and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
