//! Folders that git takes for its own by what lies in them, whatever their name.

use std::path::{Path, PathBuf};

use charla_proto::{Effect, GITS_OWN};
use charla_sandbox::Followed;

use super::Repository;

/// True for a bare repository, and for what a working tree or a submodule has elsewhere.
pub(crate) fn is_gits_folder(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
    has("HEAD") && ["objects", "refs", "commondir"].into_iter().any(has)
}

/// What there is to be asked about reading or writing a real path of the workspace: it belongs to a repository that lies there
/// under another name than `.git`, which is known by its name.
pub(crate) fn part_of_repository(path: &Path, roots: &[PathBuf], home: Option<&Path>) -> Option<Effect> {
    let roots: Vec<PathBuf> = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    let inside = |folder: &&Path| roots.iter().any(|root| folder.starts_with(root));
    let owns = |folder: &Path| {
        let below = path.strip_prefix(folder).ok().and_then(|below| below.iter().next());
        let is_own = || below.is_some_and(|name| GITS_OWN.iter().any(|own| name == *own));
        // A whole workspace that passes for a repository holds other files, too.
        is_gits_folder(folder) && (roots.iter().all(|root| root != folder) || is_own())
    };
    let folders = path.ancestors().take_while(inside);
    let found = folders.filter(|folder| !folder.ends_with(".git")).any(owns) || is_named(path, home);
    found.then(|| Effect::Unclear {
        what: path.display().to_string(),
        reason: "it belongs to a repository, whose hooks and settings run commands".to_owned(),
    })
}

/// True for what lies where the settings of its repository say that hooks are, and for settings that they name.
fn is_named(path: &Path, home: Option<&Path>) -> bool {
    let Some(repository) = path.parent().and_then(Repository::of) else { return false };
    let followed = Followed::of(&[&repository.folder, &repository.common], &repository.work, home);
    // A working tree as a whole is no folder of hooks.
    let mut hooks = followed.hooks.iter().filter(|hooks| !repository.work.starts_with(hooks));
    hooks.any(|hooks| path.starts_with(hooks)) || followed.files.contains(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_known_where_settings_put_them() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(root.join("scripts/deep")).unwrap();
        std::fs::write(
            root.join(".git/config"),
            "[core]\n\thooksPath = scripts\n[include]\n\tpath = ../more.cfg\n",
        )
        .unwrap();
        let is_part =
            |name: &str| part_of_repository(&root.join(name), std::slice::from_ref(&root), None).is_some();
        assert!(is_part("scripts/pre-commit") && is_part("scripts/deep/x"));
        assert!(is_part("more.cfg") && !is_part("src/more.cfg"));
        assert!(!is_part("src/main.rs") && !is_part("scripts2"));
    }

    #[test]
    fn a_repository_is_known_by_what_lies_in_it() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for folder in ["bare/objects", "bare/hooks", "tree/logs", "plain/objects", "src"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["bare/HEAD", "tree/HEAD", "tree/commondir"] {
            std::fs::write(root.join(file), "x").unwrap();
        }
        let is_part =
            |name: &str| part_of_repository(&root.join(name), std::slice::from_ref(&root), None).is_some();
        for name in ["bare/config", "bare/hooks/post-receive", "bare/new/deep", "tree/config.worktree"] {
            assert!(is_part(name), "{name}");
        }
        for name in ["plain/config", "src/main.rs", "config", "hooks/x"] {
            assert!(!is_part(name), "{name}");
        }
        std::fs::create_dir(root.join("refs")).unwrap();
        std::fs::write(root.join("HEAD"), "x").unwrap();
        assert!(is_part("hooks/x") && is_part("config") && !is_part("src/main.rs"));
    }
}
