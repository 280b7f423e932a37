//! What the settings of a git repository would make git do.

use std::path::Path;

use charla_proto::{Word, carries_credential};

use crate::git::{Repository, is_known};

/// Keys whose values are programs that commands which only read may start, or name files with more settings. The
/// pager is none of them: children get their own.
const RUNS: [&str; 11] = [
    "external",
    "textconv",
    "command",
    "clean",
    "smudge",
    "process",
    "program",
    "path",
    "hookspath",
    "worktreeconfig",
    "alternaterefscommand",
];

const NESTED: &str = "the settings of a repository inside the workspace may run programs";
const PROGRAMS: &str = "the settings of this repository may run programs";
const ELSEWHERE: &str =
    "the repository keeps its contents in a folder of the workspace that is not named as git's";
const CREDENTIAL: &str = "the address of a remote carries a credential, which it may show";

/// Why git with these words should not run unasked in `cwd`. All paths are real ones.
pub(super) fn doubt(words: &[Word], cwd: &Path, roots: &[&Path]) -> Option<&'static str> {
    let inside = |folder: &&Path| roots.iter().any(|root| folder.starts_with(root) && folder != root);
    let is_repository = |folder: &Path| folder.join(".git").exists() || folder.join("HEAD").exists();
    if cwd.ancestors().take_while(inside).any(is_repository) {
        return Some(NESTED);
    }
    // A workspace may itself pass for a bare repository.
    let bare = |root: &&Path| root.join("HEAD").exists() && root.join("objects").exists();
    if roots.iter().filter(|root| cwd.starts_with(root)).any(bare) {
        return Some(PROGRAMS);
    }
    let root = cwd.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    if !roots.iter().any(|known| root.starts_with(known)) {
        // A folder above the workspace is the user's own affair; git itself refuses those of others.
        return None;
    }
    let repository = Repository::of(cwd);
    let kept =
        repository.iter().flat_map(Repository::folders).filter_map(|folder| folder.canonicalize().ok());
    if kept.into_iter().any(|folder| !is_known(&folder, roots)) {
        return Some(ELSEWHERE);
    }
    match repository.and_then(|repository| repository.settings()) {
        None => Some(PROGRAMS),
        Some(settings) if runs_programs(&settings) => Some(PROGRAMS),
        Some(settings) if carries_credential(&settings) && tells_remotes(words) => Some(CREDENTIAL),
        Some(_) => None,
    }
}

/// True for a git command that may show the address of a remote.
fn tells_remotes(words: &[Word]) -> bool {
    let mut words = words.iter().map(Word::known);
    match words.next().flatten() {
        Some("remote" | "submodule" | "ls-remote" | "var") | None => true,
        // Settings of the user, and how things look.
        Some("config") => {
            let told = ["user.", "core.", "color.", "init.", "commit.", "--", "get"];
            words.any(|word| {
                word.is_none_or(|word| !told.iter().any(|start| word.to_lowercase().starts_with(start)))
            })
        }
        // A branch's remote may be an address.
        Some("for-each-ref" | "branch" | "tag") => {
            words.any(|word| word.is_none_or(|word| word.contains("%(") && word.contains("remote")))
        }
        Some(_) => false,
    }
}

/// True when a key that runs something is set. `core.fsmonitor` is switched off for unasked commands, and a plain
/// yes or no names no program.
fn runs_programs(settings: &str) -> bool {
    settings.to_lowercase().lines().any(|line| {
        // A key may follow its section on the same line.
        let line = line.rsplit(']').next().unwrap_or(line).trim();
        let (key, value) = line.split_once('=').map_or((line, ""), |(key, value)| (key.trim(), value.trim()));
        match key {
            "fsmonitor" => !matches!(value, "" | "true" | "false" | "yes" | "no" | "on" | "off" | "0" | "1"),
            key => RUNS.contains(&key),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_run_programs_are_told_from_ordinary_ones() {
        let plain = "[core]\n\tbare = false\n\tfsmonitor = true\n[remote \"origin\"]\n\turl = git@host:a/b\n\tfetch = +refs\n[branch \"x\"]\n\tmerge = y\n";
        assert!(!runs_programs(plain));
        for line in [
            "fsmonitor = ./evil",
            "FSMonitor=evil.sh",
            "external = ./x",
            "textconv = x",
            "[diff \"a\"] command = x",
            "[filter \"f\"]\nclean = x",
            "[include]\npath = ../other",
            "hooksPath = x",
        ] {
            assert!(runs_programs(line), "{line}");
        }
    }

    #[test]
    fn an_address_with_a_credential_is_told_from_one_with_a_user() {
        assert!(carries_credential("url = https://user:token@host/x"));
        assert!(carries_credential("url = https://ghp_0123456789abcdef0123@host/x"));
        assert!(!carries_credential("url = ssh://git@host/x"));
        assert!(!carries_credential("url = https://host/x@y"));
    }
}
