//! The branch that a workspace is on.

use std::path::Path;

use charla_proto::text::printable;

use super::{Repository, read};

/// Nobody reads a longer name.
const LONGEST: usize = 40;

/// The branch of the repository that holds a folder, or the beginning of the commit it is at; nothing outside of one. Blocks on
/// the disk, and starts no program.
pub fn git_branch(folder: &Path) -> Option<String> {
    let repository = Repository::of(&folder.canonicalize().ok()?)?;
    let head = read(&repository.folder.join("HEAD"))?;
    let head = head.trim();
    let name = match head.strip_prefix("ref: ") {
        Some(reference) => reference.strip_prefix("refs/heads/").unwrap_or(reference).to_owned(),
        None => head.chars().take(8).collect(),
    };
    Some(printable(Path::new(&name)).chars().take(LONGEST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_read_from_the_repository_above() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        std::fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/feature/x\n").unwrap();
        assert_eq!(git_branch(&inner).as_deref(), Some("feature/x"));
        std::fs::write(folder.path().join(".git/HEAD"), "0123456789abcdef\n").unwrap();
        assert_eq!(git_branch(&inner).as_deref(), Some("01234567"));
        std::fs::write(folder.path().join("a/.git"), "gitdir: ../.git\n").unwrap();
        assert_eq!(git_branch(&inner).as_deref(), Some("01234567"));
    }
}
