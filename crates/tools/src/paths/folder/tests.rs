use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("real/deep")).unwrap();
    fs::write(root.join("real/deep/file"), "text").unwrap();
    symlink("real", root.join("link")).unwrap();
    symlink("real/deep/file", root.join("file_link")).unwrap();
    (folder, root)
}

#[test]
fn the_kernel_and_the_walk_by_hand_open_the_same() {
    let (_folder, root) = folder();
    for opener in [open, walk] {
        opener(&root.join("real/deep/file"), FILE).unwrap();
        opener(&root.join("real/deep"), FOLDER).unwrap();
        opener(Path::new("/"), FOLDER).unwrap();
        for path in ["link/deep/file", "link/deep", "link", "file_link"] {
            let flags = if path == "file_link" { FILE } else { FOLDER };
            let error = opener(&root.join(path), flags).unwrap_err();
            assert!(is_link(&error), "{path}: {error}");
        }
        for (path, kind) in [
            ("none", io::ErrorKind::NotFound),
            ("none/deep", io::ErrorKind::NotFound),
            ("real/deep/file/x", io::ErrorKind::NotADirectory),
        ] {
            assert_eq!(opener(&root.join(path), FILE).unwrap_err().kind(), kind, "{path}");
        }
    }
    assert!(walk(&root.join("real/../real"), FOLDER).is_err());
}

#[test]
fn nothing_is_made_or_written_through_a_link() {
    let (_folder, root) = folder();
    assert!(Folder::made_for(&root.join("link/new/file")).is_err_and(|error| is_link(&error)));
    assert!(!root.join("real/new").exists());
    let path = root.join("real/new/er/file");
    let (made, name) = Folder::made_for(&path).unwrap();
    made.create(name, b"one", None).unwrap();
    assert_eq!(made.create(name, b"two", None).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    made.overwrite(name, b"three").unwrap();
    assert_eq!(fs::read(root.join("real/new/er/file")).unwrap(), b"three");
    assert_eq!(made.names().unwrap(), ["file"], "nothing is left over");
    let path = root.join("file_link");
    let (top, name) = Folder::of(&path).unwrap();
    assert!(top.overwrite(name, b"x").is_err() && top.file(name).is_err());
    assert_eq!(fs::read(root.join("real/deep/file")).unwrap(), b"text");
}
