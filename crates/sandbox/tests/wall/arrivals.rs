//! Protected places that editing children make.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use charla_sandbox::Confinement::{Asked, Editing, Reading};
use charla_sandbox::{Extra, Places, Sandbox, Taken};

use crate::ground::Ground;

/// Runs a line in the workspace and takes out what it made: where it stood from there, and where it is.
fn edited(ground: &Ground, sandbox: &Sandbox, line: &str) -> Vec<(String, PathBuf)> {
    let mut cell = sandbox.prepare(Editing, &ground.path("ws"), &Extra::default()).unwrap();
    let arrivals = cell.arrivals().unwrap();
    let mut command = Command::new("/bin/bash");
    command.args(["-c", line]).current_dir(ground.path("ws"));
    cell.apply(&mut command);
    assert!(command.status().unwrap().success(), "{line}");
    let place = |Taken { from, to }: Taken| {
        let from = from.strip_prefix(ground.path("ws")).unwrap().display().to_string();
        (from, to.unwrap_or_else(|why| panic!("{line}: {why}")))
    };
    arrivals.take_out().unwrap().into_iter().map(place).collect()
}

fn names(taken: &[(String, PathBuf)]) -> Vec<&str> {
    taken.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn what_an_editing_child_makes_and_may_not_make_is_moved_out_and_nothing_else() {
    let ground = Ground::new();
    let cases: [(&str, &[&str]); 12] = [
        ("touch new && mkdir -p a/b && rm new", &[]),
        ("echo x > src/AGENTS.md", &["src/AGENTS.md"]),
        ("mkdir -p b/.git/hooks && touch b/.git/hooks/pre-commit b/.git/AGENTS.md b/kept", &["b/.git"]),
        ("ln -s plain a/AGENTS.md", &["a/AGENTS.md"]),
        ("ln -s /nowhere a/AGENTS.md && mkdir a/.git", &["a/.git", "a/AGENTS.md"]),
        ("touch c && mv c a/AGENTS.md", &["a/AGENTS.md"]),
        ("ln plain a/AGENTS.md", &["a/AGENTS.md"]),
        ("mkfifo a/AGENTS.md", &["a/AGENTS.md"]),
        // Hidden folders, and hidden names that are protected as well.
        (
            "mkdir -p d/secrets/deep/.git && touch d/secrets/a .npmrc .env2",
            &[".npmrc", "d/secrets/deep/.git"],
        ),
        // Modes do not keep it there.
        ("mkdir e && touch e/AGENTS.md && chmod 555 e", &["e/AGENTS.md"]),
        ("mkdir -p f/.git && chmod 000 f/.git", &["f/.git"]),
        ("mkdir $'g\\n' && touch $'g\\n/AGENTS.md'", &["g\n/AGENTS.md"]),
    ];
    for (line, made) in cases {
        let taken = edited(&ground, &ground.sandbox, line);
        assert_eq!(names(&taken), made, "{line}");
        for (name, to) in taken {
            assert!(ground.path("ws").join(&name).symlink_metadata().is_err(), "{line}: {name}");
            assert!(
                to.symlink_metadata().is_ok() && to.starts_with(ground.path("private")),
                "{line}: {to:?}"
            );
        }
    }
    for stays in ["ws/AGENTS.md", "ws/.git/config", "ws/b/kept", "ws/d/secrets/a", "ws/plain", "ws/.env2"] {
        assert!(ground.path(stays).exists(), "{stays}");
    }
}

#[test]
fn places_that_were_there_stay_and_their_stand_ins_do_not() {
    let ground = Ground::new();
    fs::create_dir_all(ground.path("ws/docs/inner")).unwrap();
    for (name, text) in
        [("docs/AGENTS.md", "own"), ("docs/inner/AGENTS.md", "own"), ("node_modules/x/AGENTS.md", "")]
    {
        fs::create_dir_all(ground.path("ws").join(name).parent().unwrap()).unwrap();
        fs::write(ground.path("ws").join(name), text).unwrap();
    }
    symlink("../plain", ground.path("ws/src/AGENTS.md")).unwrap();
    let cases: [(&str, &[&str]); 6] = [
        ("mv docs papers", &[]),
        ("mv papers p2 && mkdir papers && echo evil > papers/AGENTS.md", &["papers/AGENTS.md"]),
        // The folder is hidden where nobody looks, and another takes its place.
        (
            "mv p2/inner node_modules/i && mkdir p2/inner && echo evil > p2/inner/AGENTS.md",
            &["p2/inner/AGENTS.md"],
        ),
        ("mv src source", &[]),
        ("ln -sfn /nowhere source/AGENTS.md", &["source/AGENTS.md"]),
        ("mv node_modules/i p2/i2", &["p2/i2/AGENTS.md"]),
    ];
    for (line, made) in cases {
        assert_eq!(names(&edited(&ground, &ground.sandbox, line)), made, "{line}");
    }
    assert_eq!(ground.read("ws/p2/AGENTS.md"), "own");
}

#[test]
fn what_is_moved_to_another_file_system_is_whole() {
    let ground = Ground::new();
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    let sandbox = Sandbox::new(Places { temporary: elsewhere.path().to_owned(), ..ground.places() });
    let line = "mkdir -p a/.git/hooks && echo run > a/.git/hooks/pre-commit && ln -s hooks a/.git/way";
    let taken = edited(&ground, &sandbox, line);
    assert_eq!(names(&taken), ["a/.git"]);
    let to = &taken[0].1;
    assert_eq!(fs::read_to_string(to.join("hooks/pre-commit")).unwrap(), "run\n");
    assert_eq!(fs::read_link(to.join("way")).unwrap(), Path::new("hooks"));
    assert!(!ground.path("ws/a/.git").exists());
}

#[test]
fn only_editing_children_are_looked_behind() {
    let ground = Ground::new();
    for confinement in [Reading, Asked] {
        let mut cell = ground.sandbox.prepare(confinement, &ground.path("ws"), &Extra::default()).unwrap();
        assert!(cell.arrivals().is_none());
    }
}
