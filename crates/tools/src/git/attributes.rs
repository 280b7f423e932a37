//! Attributes of a repository that would have git show what ours keep back.

use std::path::{Path, PathBuf};

use charla_proto::{PatternDots, pattern_may_match_secret};

use super::{Index, Repository, read};

/// True when the repository's own attributes, which count more than ours, may lift the ones that keep the content of secret
/// files out of what git shows in `cwd`. In doubt yes.
pub(crate) fn lifts_secrets(repository: &Repository, index: &Index, cwd: &Path) -> bool {
    let work = &repository.work;
    let here = cwd.ancestors().take_while(|folder| folder.starts_with(work)).map(Path::to_owned);
    let beside = index.secrets().flat_map(|entry| folders(work, &entry.path));
    let mut files: Vec<PathBuf> = here.chain(beside).map(|folder| folder.join(".gitattributes")).collect();
    files.push(repository.common.join("info/attributes"));
    // Git takes a tracked one from the index where the file is gone.
    let gone = |path: &&Path| !work.join(path).exists();
    if index.attributes().find(gone).is_some() {
        return true;
    }
    files.extend(index.attributes().map(|path| work.join(path)));
    files.sort();
    files.dedup();
    let mut present = files.iter().filter(|file| file.symlink_metadata().is_ok());
    present.any(|file| read(file).is_none_or(|text| text.lines().any(lifts)))
}

/// The folders above a file, from the top of the working tree.
fn folders(work: &Path, file: &Path) -> Vec<PathBuf> {
    file.ancestors().skip(1).map(|folder| work.join(folder)).collect()
}

/// True for a line that says how a file which may be secret is shown.
fn lifts(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let Some(pattern) = words.next().filter(|pattern| !pattern.starts_with('#')) else { return false };
    let shows = |word: &str| matches!(word, "diff" | "!diff") || word.starts_with("diff=");
    let defines = pattern.starts_with("[attr]");
    let pattern = pattern.trim_start_matches('/');
    // Any other name may be that of a file in a folder whose files are all secret; a quoted pattern may hold anything.
    let is_kind = pattern.rsplit('/').next().and_then(|name| name.strip_prefix("*."));
    let is_kind = is_kind.is_some_and(|kind| !kind.is_empty() && kind.chars().all(char::is_alphanumeric));
    let reaches = defines || !is_kind || pattern_may_match_secret(pattern, PatternDots::Matched);
    reaches && words.any(shows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_shows_files_lifts_unless_it_names_a_kind_of_files_that_are_not_secret() {
        for line in [
            ".kube/** diff",
            "[.]kube/** diff=python",
            "config diff",
            "config.json !diff",
            "conf/** diff",
            "c? diff",
            "* diff",
            "*.env diff",
            ".aws/*.py diff",
            "\"a b\" diff",
            "[attr]shown diff",
        ] {
            assert!(lifts(line), "{line}");
        }
        for line in
            ["*.py diff=python", "docs/*.pdf diff=pdf", "Cargo.lock -diff", "*.png binary", "# x diff", ""]
        {
            assert!(!lifts(line), "{line}");
        }
    }

    #[test]
    fn git_takes_for_binary_exactly_what_looks_secret() {
        const NAMES: [&str; 40] = [
            ".env",
            ".ENV",
            "a/.env",
            "a/b/.env.local",
            ".env.example",
            ".env-sample",
            ".env_local.dist",
            ".environment",
            "prod.env",
            "example.env",
            "prod.example.env",
            "my-template.env",
            "Server.PEM",
            "id_rsa",
            "id_rsa.pub",
            "id_rsa.rs",
            "deploy/id_ed25519_x",
            ".ssh/config",
            "home/.ssh/known_hosts",
            ".aws/x/y",
            "x/.config/gh/hosts.yml",
            ".kube/config",
            "a/.kube/config.old",
            "kube/config",
            ".docker/config.json",
            "docker/config.json",
            "credentials",
            "credentials.json",
            "aws_credentials.json",
            "credentials.md",
            "secrets.yml",
            "secrets.rs",
            "README.md",
            "src/env.rs",
            "process.env",
            "login data",
            ".npmrc",
            "terraform.tfvars",
            "key.p8",
            "notes.txt",
        ];
        let folder = tempfile::tempdir().unwrap();
        let git = |words: &[&str]| {
            let mut command = std::process::Command::new("git");
            let done = command.args(words).current_dir(folder.path()).output().unwrap();
            String::from_utf8(done.stdout).unwrap()
        };
        git(&["init", "-q", "."]);
        let file = folder.path().join("attributes");
        std::fs::write(&file, charla_proto::secret_attributes()).unwrap();
        let setting = format!("core.attributesFile={}", file.display());
        let said = git(&[&["-c", &setting, "check-attr", "-z", "diff", "--"][..], &NAMES].concat());
        let fields: Vec<&str> = said.split('\0').collect();
        for name in fields.chunks_exact(3) {
            let secret = charla_proto::looks_secret(Path::new(name[0]));
            assert_eq!(name[2] == "unset", secret, "{}", name[0]);
        }
        assert_eq!(fields.len() / 3, NAMES.len());
    }

    #[test]
    fn lines_that_show_secrets_are_told_from_ordinary_ones() {
        for line in [
            "* diff",
            ".env diff",
            "*.pem diff=pem",
            ".e* !diff",
            "[attr]open diff",
            "\".env\" diff",
            "* text diff",
        ] {
            assert!(lifts(line), "{line}");
        }
        for line in
            ["*.cs diff=csharp", "*.md diff", "* text=auto", "*.png binary", ".env -diff", "# * diff", ""]
        {
            assert!(!lifts(line), "{line}");
        }
    }
}
