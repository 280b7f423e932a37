//! Protected places that children make which may not.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use charla_sandbox::Confinement::{Asked, Editing, Open, Reading};
use charla_sandbox::{Confinement, Consent, Extra, Places, Sandbox, Taken};

use crate::ground::Ground;

fn edited(ground: &Ground, sandbox: &Sandbox, line: &str) -> Vec<(String, PathBuf)> {
    behind(ground, sandbox, Editing, &Extra::default(), line)
}

/// Runs a line in the workspace and takes out what it made: where it stood from there, and where it is.
fn behind(
    ground: &Ground,
    sandbox: &Sandbox,
    confinement: Confinement,
    extra: &Extra,
    line: &str,
) -> Vec<(String, PathBuf)> {
    let mut cell = sandbox.prepare(confinement, &ground.path("ws"), extra).unwrap();
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
fn only_children_that_nobody_has_thought_of_are_looked_behind() {
    let ground = Ground::new();
    for (confinement, consent) in
        [(Reading, Consent::Named), (Asked, Consent::Named), (Asked, Consent::Person), (Open, Consent::Broad)]
    {
        let extra = Extra { consent, ..Extra::default() };
        let mut cell = ground.sandbox.prepare(confinement, &ground.path("ws"), &extra).unwrap();
        assert!(cell.arrivals().is_none());
    }
}

/// A workspace with a repository that was worked in.
fn repository() -> Ground {
    let ground = Ground::new();
    let setup = "rm -rf .git hooks && git init -q . && rm -r .git/hooks && git add plain && \
        git -c user.name=a -c user.email=a@x commit -qm one && mkdir docs fixture lib && echo own > docs/AGENTS.md && \
        git init -q --bare fixture/bare && git -C fixture/bare config core.fsmonitor evil";
    assert!(ground.shell(Open, setup).status.success());
    ground
}

#[test]
fn what_a_broad_rule_allows_adds_nothing_to_what_runs_or_instructs_later() {
    let cases: [(&str, &[&str]); 20] = [
        ("echo ../evil > .git/commondir", &[".git/commondir"]),
        (
            "mkdir -p .git/worktrees/n && echo x > .git/worktrees/n/HEAD && echo ../../../e > .git/worktrees/n/commondir",
            &[".git/worktrees/n/commondir"],
        ),
        ("mkdir .git/hooks && echo x > .git/hooks/pre-commit", &[".git/hooks"]),
        ("ln -s ../src .git/hooks", &[".git/hooks"]),
        (
            "echo x > .git/config.worktree && echo '* filter=x' > .git/info/attributes",
            &[".git/config.worktree", ".git/info/attributes"],
        ),
        ("echo x > src/AGENTS.md; echo y > src/plain", &["src/AGENTS.md"]),
        ("mv docs d2 && mkdir docs && echo x > docs/AGENTS.md", &["docs/AGENTS.md"]),
        ("mkdir e && git init -q e && git -C e config core.fsmonitor evil", &["e/.git/config"]),
        ("git init -q e && echo x > e/.git/hooks/post-checkout", &["e/.git/hooks"]),
        // It was there before and becomes a repository, so what is in it is not a new folder's.
        ("git init -q src && echo x > src/AGENTS.md", &["src/AGENTS.md"]),
        ("echo 'gitdir: ../fixture/bare' > src/.git", &["src/.git"]),
        ("ln -s ../fixture/bare src/.git", &["src/.git"]),
        ("mkdir b && cp -r fixture/bare/. b && rm -r b/hooks", &["b/config"]),
        // Another folder takes the place of one that was there.
        ("mkdir n && git init -q n && echo x > n/AGENTS.md && mv lib old && mv n lib", &["lib/AGENTS.md"]),
        (
            "mv .git/info i && mkdir e && echo '* filter=x' > e/attributes && ln -s ../e .git/info",
            &[".git/info/attributes"],
        ),
        (
            "mkdir -p e/n && echo x > e/n/HEAD && echo ../../src > e/n/commondir && ln -s ../e .git/worktrees",
            &[".git/worktrees/n/commondir", "e/n/commondir"],
        ),
        // Who makes a repository, or another working tree, makes what belongs to it.
        ("git init -q fresh && echo x > fresh/AGENTS.md", &[]),
        ("git clone -q . copy && git -C copy log && git init -q --bare bare2", &[]),
        (
            "git worktree add -q tree HEAD && git -C tree status && git branch more && echo x > tree/AGENTS.md",
            &[],
        ),
        ("git worktree add -q src/t HEAD && echo x > src/AGENTS.md", &["src/AGENTS.md"]),
    ];
    for (line, made) in cases {
        let ground = repository();
        let extra = Extra { consent: Consent::Broad, ..Extra::default() };
        let taken = behind(&ground, &ground.sandbox, Asked, &extra, line);
        assert_eq!(names(&taken), made, "{line}");
        for (name, to) in taken {
            assert!(ground.path("ws").join(&name).symlink_metadata().is_err(), "{line}: {name}");
            assert!(to.symlink_metadata().is_ok(), "{line}: {to:?}");
        }
        // Everything is as it was for who comes next.
        assert!(behind(&ground, &ground.sandbox, Asked, &extra, "true").is_empty(), "{line}");
    }
}

/// Hooks run programs wherever git is told to look for them.
#[test]
fn hooks_in_a_folder_that_settings_name_are_protected() {
    let ground = repository();
    let setup = "mkdir scripts && echo x > scripts/pre-commit && git config core.hooksPath scripts";
    assert!(ground.shell(Open, setup).status.success());
    let extra = Extra { consent: Consent::Broad, ..Extra::default() };
    for confinement in [Editing, Asked] {
        for line in ["echo evil > scripts/pre-commit", "echo evil > scripts/pre-push", "mv scripts s2"] {
            let output = ground.run_with(confinement, "/bin/bash", &["-c", line], &extra, |_| {});
            assert!(!output.status.success(), "{line}");
        }
    }
    assert!(ground.shell(Open, "rm -r scripts").status.success());
    let line = "mkdir scripts && echo evil > scripts/pre-push";
    for confinement in [Editing, Asked] {
        assert_eq!(names(&behind(&ground, &ground.sandbox, confinement, &extra, line)), ["scripts"]);
    }
}
