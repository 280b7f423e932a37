use std::os::unix::fs::symlink;

use super::*;

fn workspace() -> (tempfile::TempDir, ToolContext) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("work");
    fs::create_dir_all(root.join("sub")).unwrap();
    fs::write(root.join("a.txt"), "a").unwrap();
    fs::write(root.with_file_name("outside.txt"), "o").unwrap();
    (folder, ToolContext { cwd: root.clone(), roots: vec![root], ..ToolContext::default() })
}

#[test]
fn dots_and_links_that_lead_out_are_seen() {
    let (_folder, cx) = workspace();
    let outside = cx.cwd.with_file_name("outside.txt");
    symlink(&outside, cx.cwd.join("link")).unwrap();
    symlink("..", cx.cwd.join("up")).unwrap();
    symlink("sub", cx.cwd.join("alias")).unwrap();
    for path in
        ["../outside.txt", "sub/../../outside.txt", "link", "up/outside.txt", "alias/../../outside.txt"]
    {
        let place = ResolvedPath::resolve(path, &cx).unwrap();
        assert!(!place.inside && place.real == outside, "{path}: {place:?}");
        assert!(place.title(&cx).contains("outside the workspace"), "{path}");
    }
    for path in ["a.txt", "./a.txt", "sub/../a.txt", "alias/../a.txt", "up/work/a.txt"] {
        let place = ResolvedPath::resolve(path, &cx).unwrap();
        assert!(place.inside && place.real == cx.cwd.join("a.txt"), "{path}: {place:?}");
    }
}

#[test]
fn a_new_file_behind_a_link_is_where_the_link_leads() {
    let (folder, cx) = workspace();
    let elsewhere = folder.path().canonicalize().unwrap().join("elsewhere");
    symlink(&elsewhere, cx.cwd.join("broken")).unwrap();
    let place = ResolvedPath::resolve("broken/new.txt", &cx).unwrap();
    assert_eq!((place.inside, place.real), (false, elsewhere.join("new.txt")));
    let place = ResolvedPath::resolve("not/yet/../there.txt", &cx).unwrap();
    assert_eq!((place.inside, place.real), (true, cx.cwd.join("not/there.txt")));
}

#[test]
fn a_prefix_of_a_name_is_not_inside() {
    let (_folder, cx) = workspace();
    let sibling = cx.cwd.with_file_name("workshop");
    assert!(!ResolvedPath::resolve(sibling.to_str().unwrap(), &cx).unwrap().inside);
}

#[test]
fn a_link_that_is_changed_after_the_check_is_noticed() {
    let (_folder, cx) = workspace();
    let link = cx.cwd.join("link");
    symlink("a.txt", &link).unwrap();
    let place = ResolvedPath::resolve("link", &cx).unwrap();
    place.recheck().unwrap();
    fs::remove_file(&link).unwrap();
    symlink("../outside.txt", &link).unwrap();
    assert_eq!(place.recheck().unwrap_err().kind, ToolErrorKind::Conflict);
}

#[test]
fn titles_name_secrets_and_cannot_be_forged() {
    let (_folder, cx) = workspace();
    symlink(".env", cx.cwd.join("notes.txt")).unwrap();
    assert!(ResolvedPath::resolve(".env", &cx).unwrap().title(&cx).contains("may hold secrets"));
    assert!(ResolvedPath::resolve("notes.txt", &cx).unwrap().title(&cx).contains("may hold secrets"));
    let title = ResolvedPath::resolve("a\u{1b}[2K\nb", &cx).unwrap().title(&cx);
    assert!(!title.chars().any(char::is_control), "{title:?}");
}

#[test]
fn malformed_paths_loops_and_special_files_are_refused() {
    let (_folder, cx) = workspace();
    symlink("loop", cx.cwd.join("loop")).unwrap();
    for path in ["", "  ", "a\0b", &"x/".repeat(4000), &"x".repeat(300), "~/x", "loop", "loop/a"] {
        assert!(ResolvedPath::resolve(path, &cx).is_err(), "{path}");
    }
    for path in ["/dev/zero", "/proc/kmsg", "/proc/self/mem", "/dev/stdin"] {
        let error = ResolvedPath::resolve(path, &cx).and_then(|place| place.read(1000)).unwrap_err();
        assert!(
            [ToolErrorKind::SpecialFile, ToolErrorKind::NotFound].contains(&error.kind),
            "{path}: {error:?}"
        );
    }
    let read = |path: &str| ResolvedPath::resolve(path, &cx).unwrap().read(1000).unwrap_err().kind;
    assert_eq!(read("sub"), ToolErrorKind::IsADirectory);
    assert_eq!(read("none"), ToolErrorKind::NotFound);
    assert_eq!(read("a.txt/none"), ToolErrorKind::NotFound);
}

#[test]
fn a_file_over_the_limit_is_not_read() {
    let (_folder, cx) = workspace();
    fs::write(cx.cwd.join("big"), vec![b'x'; 101]).unwrap();
    let place = ResolvedPath::resolve("big", &cx).unwrap();
    assert_eq!(place.read(100).unwrap_err().kind, ToolErrorKind::TooLarge);
    assert_eq!(place.read(101).unwrap().len(), 101);
}

#[test]
fn a_tree_of_the_kernel_holds_no_ordinary_files_but_those_in_shared_memory() {
    let found = rustix::fs::stat("Cargo.toml").unwrap();
    for special in ["/proc/version", "/sys/power/state", "/dev/stdin", "/dev/shmem/x"] {
        assert!(matches!(kind_of(Path::new(special), &found), FileKind::Special(_)), "{special}");
    }
    for ordinary in ["/dev/shm/work/notes.txt", "/home/anna/proc/x", "/device/x"] {
        assert!(matches!(kind_of(Path::new(ordinary), &found), FileKind::File { .. }), "{ordinary}");
    }
}

#[test]
fn what_the_kernel_knows_by_heart_is_what_a_walk_finds() {
    let (_folder, cx) = workspace();
    symlink("../outside.txt", cx.cwd.join("link")).unwrap();
    symlink("..", cx.cwd.join("up")).unwrap();
    symlink("sub", cx.cwd.join("alias")).unwrap();
    let outside = cx.cwd.with_file_name("outside.txt");
    let plain = ["a.txt", "./a.txt", "sub", "sub/", ".", outside.to_str().unwrap()];
    let odd = ["link", "up/work/a.txt", "alias", "sub/../a.txt", "../outside.txt", "a.txt/x", "new", ""];
    for path in plain.iter().chain(&odd) {
        if let Some(known) = ResolvedPath::known(path, &cx) {
            assert_eq!(Ok(known), ResolvedPath::resolve(path, &cx), "{path}");
            assert!(plain.contains(path), "{path}");
        }
    }
    // A workspace that is reached through a link is walked to.
    symlink(&cx.cwd, cx.cwd.with_file_name("other")).unwrap();
    let root = cx.cwd.with_file_name("other");
    let linked = ToolContext { cwd: root.clone(), roots: vec![root], ..ToolContext::default() };
    assert_eq!(ResolvedPath::known("a.txt", &linked), None);
    // Where the kernel can be asked, it knows what was just made.
    if folder::is_known_without_links(&cx.cwd) {
        assert!(plain.iter().all(|path| ResolvedPath::known(path, &cx).is_some()));
    }
}

#[test]
fn a_folder_that_has_become_a_link_is_noticed() {
    let (_folder, cx) = workspace();
    fs::write(cx.cwd.join("sub/b.txt"), "b").unwrap();
    let place =
        ResolvedPath::known("sub/b.txt", &cx).or(ResolvedPath::resolve("sub/b.txt", &cx).ok()).unwrap();
    place.recheck().unwrap();
    fs::rename(cx.cwd.join("sub"), cx.cwd.with_file_name("moved")).unwrap();
    symlink("../moved", cx.cwd.join("sub")).unwrap();
    assert!(place.recheck().is_err());
    assert!(place.read(100).is_err());
}
