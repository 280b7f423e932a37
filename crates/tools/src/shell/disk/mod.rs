//! What the text of a command does not say and the disk does: where links and `..` lead, which files a pattern
//! names, which folders are repositories of their own, and which settings choose the programs that run.

mod archives;
mod history;
mod links;
mod modules;
mod remotes;
mod repository;
mod toolchain;

use std::path::{Path, PathBuf};

use charla_proto::text::join_path;
use charla_proto::{Effect, FileJudge, Word, WordKind, looks_secret};

use links::{entries, matches, walk};

use crate::git;

/// Commands that tell names, sizes or sums of files, and show none.
const NAMES_ONLY: [&str; 20] = [
    "ls",
    "dir",
    "stat",
    "df",
    "du",
    "wc",
    "file",
    "tree",
    "find",
    "test",
    "[",
    "[[",
    "echo",
    "printf",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "md5sum",
    "sha256sum",
];

/// Commands whose operands are files they write.
const EDITORS: [&str; 16] = [
    "cp", "mv", "tee", "touch", "mkdir", "rm", "rmdir", "chmod", "ln", "install", "link", "unlink",
    "truncate", "mkfifo", "sponge", "shred",
];

/// Commands that write what some of their words name, and are never let through unasked.
const WRITERS: [&str; 22] = [
    "tar", "unzip", "zip", "patch", "curl", "wget", "split", "csplit", "gzip", "rsync", "scp", "gcc", "g++",
    "cc", "clang", "rustc", "go", "ld", "dd", "objcopy", "cpio", "script",
];

/// `effects` with what the disk knows about them: a path that is reached through a link is listed under its
/// real name too, patterns are tried on the names that are there, and what a folder's settings decide is
/// unclear. Reads the file system, and changes nothing.
pub(super) fn look(
    effects: Vec<Effect>,
    roots: &[PathBuf],
    home: Option<&Path>,
    files: &FileJudge,
) -> Vec<Effect> {
    let mut disk = Disk::new(roots, home, files);
    for effect in &effects {
        match effect {
            Effect::Read { path } => {
                disk.read(Path::new("/"), path);
            }
            Effect::Write { path } => disk.write(Path::new("/"), path),
            Effect::Exec { words, cwd, command, .. } => disk.command(words, cwd, command),
            _ => {}
        }
    }
    let mut listed = super::plain(effects);
    for effect in disk.found {
        if !listed.contains(&effect) {
            listed.push(effect);
        }
    }
    listed
}

/// True for a descriptor by its number: it is one of the command's, and where ours of that number leads says nothing.
fn is_descriptor(path: &Path) -> bool {
    let number = path.strip_prefix("/dev/fd").ok().and_then(Path::to_str);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The last part of a command's name; none where only the shell knows it.
fn base_name(words: &[Word]) -> &str {
    let name = words.first().and_then(Word::known).unwrap_or_default();
    name.rsplit('/').next().unwrap_or(name)
}

fn edits_in_place(operands: &[Word]) -> bool {
    operands.iter().any(|word| word.text.starts_with("-i") || word.text.starts_with("--in"))
}

/// The disk as seen from a workspace.
struct Disk<'a> {
    /// The folders of the workspace, by the name they are known by and by their real one.
    roots: Vec<(PathBuf, PathBuf)>,
    home: Option<&'a Path>,
    /// Knows second names of files.
    files: &'a FileJudge,
    found: Vec<Effect>,
}

impl<'a> Disk<'a> {
    fn new(roots: &[PathBuf], home: Option<&'a Path>, files: &'a FileJudge) -> Self {
        let real = |root: &PathBuf| Some((root.clone(), root.canonicalize().ok()?));
        Disk { roots: roots.iter().filter_map(real).collect(), home, files, found: Vec::new() }
    }

    /// The real path of `path` as seen from `cwd`. A root that is itself reached through a link keeps the name
    /// it is known by.
    fn real(&self, cwd: &Path, path: &Path) -> PathBuf {
        let real = walk(&walk(cwd).join(path));
        self.roots
            .iter()
            .find_map(|(known, root)| Some(known.join(real.strip_prefix(root).ok()?)))
            .map_or(real, |known| join_path(&known, ""))
    }

    /// The real path, if it is another than the text says.
    fn elsewhere(&self, cwd: &Path, path: &Path) -> Option<PathBuf> {
        if is_descriptor(&join_path(cwd, path)) {
            return None;
        }
        let real = self.real(cwd, path);
        (real != join_path(cwd, path)).then_some(real)
    }

    fn read(&mut self, cwd: &Path, path: &Path) {
        let names =
            self.elsewhere(cwd, path).into_iter().chain(self.files.first_name(&walk(&walk(cwd).join(path))));
        self.found.extend(names.map(|path| Effect::Read { path }));
    }

    fn write(&mut self, cwd: &Path, path: &Path) {
        self.found.extend(self.elsewhere(cwd, path).map(|path| Effect::Write { path }));
        let roots: Vec<PathBuf> = self.roots.iter().map(|(_, root)| root.clone()).collect();
        let real = walk(&walk(cwd).join(path));
        self.found.extend(git::part_of_repository(&real, &roots, self.home));
        self.found.extend(self.files.first_name(&real).map(|path| Effect::Write { path }));
    }

    fn unclear(&mut self, what: &str, reason: &str) {
        self.found.push(Effect::Unclear { what: what.to_owned(), reason: reason.to_owned() });
    }

    fn command(&mut self, words: &[Word], cwd: &Path, command: &str) {
        self.read(Path::new("/"), cwd);
        let name = base_name(words);
        if name.is_empty() {
            return;
        }
        let operands = words.get(1..).unwrap_or_default();
        // Git goes to the folder that it is told before it takes its other words.
        let seen_from = if name == "git" { git::folder(operands, cwd).0 } else { cwd.to_owned() };
        for word in operands {
            match word.kind {
                WordKind::Literal => {
                    self.operand(name, cwd, &word.text);
                    if seen_from != cwd {
                        self.operand(name, &seen_from, &word.text);
                    }
                }
                WordKind::Glob => self.pattern(words, cwd, word, command),
                WordKind::Single | WordKind::Unknown => {}
            }
        }
        match name {
            "sed" if edits_in_place(operands) => {
                for word in operands.iter().filter_map(Word::known).filter(|word| !word.starts_with('-')) {
                    self.write(cwd, Path::new(word));
                }
            }
            "sort" | "shuf" => {
                let written =
                    operands.iter().zip(operands.iter().skip(1)).filter(|(option, _)| option.text == "-o");
                let glued = |word: &Word| {
                    let value =
                        ["--output=", "-o"].iter().find_map(|option| word.known()?.strip_prefix(option));
                    value.filter(|value| !value.is_empty()).map(str::to_owned)
                };
                let next = written.filter_map(|(_, word)| word.known().map(str::to_owned));
                for path in next.chain(operands.iter().filter_map(glued)).collect::<Vec<_>>() {
                    self.write(cwd, Path::new(&path));
                }
            }
            "cp" | "mv" => self.carried(operands, cwd, command),
            "git" => self.git(operands, cwd, command),
            "tar" | "gtar" | "bsdtar" => self.archived(operands, cwd, command),
            _ => {}
        }
        let runs_module = modules::runs_module(name, operands);
        if runs_module && let Some(module) = modules::module_in(&walk(cwd)) {
            let reason = format!("{} may run in the place of Python's own modules", module.display());
            self.unclear(command, &reason);
        }
        if runs_module || toolchain::asks_version(name, operands) {
            let real = walk(cwd);
            let roots: Vec<&Path> = self.roots.iter().map(|(_, root)| root.as_path()).collect();
            if let Some(file) = toolchain::chosen_by(name, &real, &roots) {
                self.unclear(command, &format!("{} may choose the program that runs", file.display()));
            }
        }
    }

    /// What git would do beyond what its words say: programs it would start, secrets it keeps.
    fn git(&mut self, words: &[Word], cwd: &Path, command: &str) {
        let (folder, words) = git::folder(words, cwd);
        let real = walk(&folder);
        let roots: Vec<&Path> = self.roots.iter().map(|(_, root)| root.as_path()).collect();
        if let Some(reason) = repository::doubt(words, &real, &roots) {
            self.unclear(command, reason);
        }
        if let Some(reason) = history::doubt(words, &real) {
            self.unclear(command, &reason);
        }
        if let Some(reason) = remotes::doubt(words, &real) {
            self.unclear(command, reason);
        }
        // Under its new name, a secret is none.
        if words.first().and_then(Word::known) == Some("mv") {
            for word in words.iter().skip(1).filter_map(Word::known) {
                self.held_by(&real.join(word), command);
            }
        }
    }

    /// A word that may be a path, or an option with one in it.
    fn operand(&mut self, name: &str, cwd: &Path, word: &str) {
        match word.strip_prefix('-') {
            None => self.named(name, cwd, word),
            Some(option) => match option.split_once('=') {
                Some((_, value)) => self.named(name, cwd, value),
                // The value may be glued to one of several letters.
                None if !option.starts_with('-') => {
                    let values = option.char_indices().skip(1).filter_map(|(at, _)| option.get(at..));
                    for value in values.map(|value| value.trim_start_matches('@')) {
                        let is_there = walk(cwd).join(value).symlink_metadata().is_ok();
                        if is_there || value.contains('/') {
                            self.named(name, cwd, value);
                        }
                    }
                }
                None => {}
            },
        }
    }

    /// A path that a command is given.
    fn named(&mut self, name: &str, cwd: &Path, path: &str) {
        if path.is_empty() {
            return;
        }
        if EDITORS.contains(&name) {
            self.write(cwd, Path::new(path));
            self.second_name(cwd, path);
        } else if WRITERS.contains(&name) {
            let path = path.strip_prefix("of=").unwrap_or(path);
            self.found.extend(self.elsewhere(cwd, Path::new(path)).map(|path| Effect::Write { path }));
            self.second_name(cwd, path);
        } else if walk(cwd).join(path).symlink_metadata().is_ok() {
            self.read(cwd, Path::new(path));
        }
    }

    /// What is written may be read, too: as the file that it is.
    fn second_name(&mut self, cwd: &Path, path: &str) {
        let first = self.files.first_name(&walk(&walk(cwd).join(path)));
        self.found.extend(first.map(|path| Effect::Read { path }));
    }

    /// What a pattern names: links that lead elsewhere, and secrets that would be shown.
    fn pattern(&mut self, words: &[Word], cwd: &Path, word: &Word, command: &str) {
        let (name, operands) = (base_name(words), words.get(1..).unwrap_or_default());
        // Where a link leads is nothing to who is told no more than names.
        if matches!(name, "ls" | "dir" | "echo" | "printf" | "basename" | "dirname") {
            return;
        }
        let Some(paths) = matches(&walk(cwd), &word.text) else {
            return self.unclear(command, &format!("{} names too many files to be looked at", word.text));
        };
        let edits = EDITORS.contains(&name) || name == "sed" && edits_in_place(operands);
        let ended = operands.iter().take_while(|other| !std::ptr::eq(*other, word));
        let ended = ended.into_iter().any(|word| word.known() == Some("--"));
        if let Some(path) = paths.iter().find(|path| !ended && path.to_string_lossy().starts_with('-')) {
            self.unclear(command, &format!("the file {} would be taken for an option", path.display()));
        }
        for path in paths {
            if edits {
                self.found.push(Effect::Write { path: join_path(cwd, &path) });
                self.write(cwd, &path);
            }
            if !NAMES_ONLY.contains(&name) && looks_secret(&path) {
                self.found.push(Effect::Read { path: join_path(cwd, &path) });
            }
            self.read(cwd, &path);
        }
    }

    /// The files that a folder brings along when it is copied or moved.
    fn carried(&mut self, operands: &[Word], cwd: &Path, command: &str) {
        let mut paths: Vec<&str> =
            operands.iter().filter_map(Word::known).filter(|word| !word.starts_with('-')).collect();
        let Some(target) = paths.pop() else { return };
        let target = self.real(cwd, Path::new(target));
        for source in paths {
            let source = walk(cwd).join(source);
            if !source.is_dir() {
                continue;
            }
            let Some(names) = entries(&source) else {
                return self.unclear(command, "the folder is too large to be looked at");
            };
            // A file that was secret by the folder it lay in has another name afterwards, and can be read.
            let here = self.real(cwd, &source);
            self.found.extend(names.iter().map(|name| Effect::Read { path: here.join(name) }));
            self.found.extend(names.into_iter().map(|name| Effect::Write { path: target.join(name) }));
        }
    }
}
