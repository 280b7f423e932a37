//! What stays closed to children that reach the whole workspace otherwise.

use std::fs;
use std::sync::Arc;

use charla_sandbox::Confinement::{Asked, Open};
use charla_sandbox::{Confinement, Consent, Extra, Places, Sandbox, Treatment};

use crate::ground::{Ground, said};

fn broad() -> Extra {
    Extra { consent: Consent::Broad, ..Extra::default() }
}

/// What a line says, whether it succeeds or not.
fn run(ground: &Ground, confinement: Confinement, consent: Consent, line: &str) -> String {
    let extra = Extra { consent, ..Extra::default() };
    said(&ground.run_with(confinement, "/bin/bash", &["-c", line], &extra, |_| {}))
}

/// A ground on which a rule denies `denied` in the workspace and `vault` beside it.
fn denying() -> Ground {
    let mut ground = Ground::new();
    for folder in ["ws/denied/deep", "vault"] {
        fs::create_dir_all(ground.path(folder)).unwrap();
    }
    for file in ["ws/denied/deep/a", "ws/denied/b", "vault/c"] {
        fs::write(ground.path(file), "UNTOLD").unwrap();
    }
    let places = ground.places();
    let (usual, vault) = (places.treatment.clone(), ground.path("vault"));
    let inside = ground.path("ws/denied");
    let denied = vec![inside.clone(), vault.clone()];
    let treatment = move |path: &std::path::Path| match path.starts_with(&vault) || path.starts_with(&inside)
    {
        true => Treatment::Hidden { guarded: false, denied: true },
        false => usual(path),
    };
    ground.sandbox = Sandbox::new(Places { denied, treatment: Arc::new(treatment), ..places });
    ground
}

#[test]
fn what_a_broad_rule_allows_gets_at_no_secret_of_the_workspace() {
    let ground = Ground::new();
    for line in [
        "tar cf - .",
        "cat .env src/.env secrets/deep/a",
        "cp .env copied; cat copied",
        "mv .env moved; cat moved",
        "ln .env linked; cat linked",
        "mv src other; cat other/.env",
        "cat < .env; cat /proc/self/cwd/.env",
        "dd if=.env 2>/dev/null",
        "find . -type f -exec cat {} +",
        "umount .env; cat .env",
        "unshare -Urm sh -c 'umount .env; cat .env'",
        "nsenter -t 1 -m cat $G/ws/.env",
        "cat /proc/1/root$G/ws/.env /proc/$PPID/root$G/ws/.env /proc/$PPID/cwd/.env",
    ] {
        let told = run(&ground, Asked, Consent::Broad, line);
        assert!(!told.contains("CANARY"), "{line}: {told}");
    }
    for confinement in [Confinement::Reading, Confinement::Editing, Asked] {
        let told = run(&ground, confinement, Consent::Broad, "cat .env || echo failed");
        assert!(told.contains("Permission denied") && told.contains("failed"), "{confinement:?}: {told}");
    }
    assert!(run(&ground, Asked, Consent::Named, "cat .env").contains("CANARY"));
    assert!(run(&ground, Asked, Consent::Person, "cat .env").contains("CANARY"));
    assert_eq!(ground.read("ws/.env"), "CANARY");
}

/// A secret goes by its path: under another one, the next child would read it.
#[test]
fn no_folder_above_a_secret_is_moved() {
    let ground = Ground::new();
    fs::create_dir_all(ground.path("ws/keys/deep")).unwrap();
    fs::write(ground.path("ws/keys/deep/.env"), "CANARY").unwrap();
    fs::create_dir_all(ground.path("ws/node_modules")).unwrap();
    let moves = [
        ("src", "s"),
        ("keys", "node_modules/k"),
        ("keys/deep", "d"),
        ("secrets", "t"),
        ("secrets/deep", "u"),
    ];
    for (from, to) in moves {
        let script = format!("import os; os.rename('{from}', '{to}')");
        let output = ground.run_with(Asked, "/usr/bin/python3", &["-c", &script], &broad(), |_| {});
        assert!(
            !output.status.success() && ground.path(&format!("ws/{from}")).exists(),
            "{from}: {}",
            said(&output)
        );
    }
    let told =
        run(&ground, Asked, Consent::Broad, "grep -r '' .; echo x > src/made; mv src/made moved; cat moved");
    assert!(!told.contains("CANARY") && told.contains("\nx\n"), "{told}");
}

#[test]
fn what_a_broad_rule_allows_writes_no_protected_place_and_everything_else() {
    let ground = Ground::new();
    fs::write(ground.path("ws/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::create_dir_all(ground.path("ws/.git/modules/deep/er/hooks")).unwrap();
    fs::write(ground.path("ws/.git/modules/deep/er/HEAD"), "ref: refs/heads/main\n").unwrap();
    for line in [
        "echo x > .git/hooks/pre-commit",
        "echo x >> .git/config",
        "echo x > new; mv new .git/config",
        "rm .git/config",
        "rmdir .git/hooks",
        "mv .git/hooks aside",
        "mv .git aside",
        "echo x > hooks/post-commit",
        "echo x > .git/modules/deep/er/hooks/x",
        "echo x >> AGENTS.md",
        "rm AGENTS.md",
        "echo x > new; mv new AGENTS.md",
        "ln -f plain AGENTS.md",
        "truncate -s 0 AGENTS.md",
        "chmod 777 AGENTS.md",
    ] {
        let output = ground.run_with(Asked, "/bin/bash", &["-c", line], &broad(), |_| {});
        assert!(!output.status.success(), "{line}");
    }
    assert_eq!(ground.read("ws/AGENTS.md"), "be good");
    assert_eq!(ground.read("ws/.git/config"), "[core]\n");
    assert!(!ground.path("ws/.git/hooks/pre-commit").exists());
    for line in [
        "echo x > made; mkdir -p a/b; mv made a/b; rm -r a",
        "echo x > .git/index.lock; mv .git/index.lock .git/index",
        "mkdir -p .git/objects/ab; echo x > .git/objects/ab/cd",
        "echo x > .git/HEAD.lock; mv .git/HEAD.lock .git/HEAD",
        "./script.sh",
        "echo x > $HOME/.cache/x",
        "echo x > /tmp/charla-wall-$$; rm /tmp/charla-wall-$$",
        "cat .git/config AGENTS.md",
    ] {
        let output = ground.run_with(Asked, "/bin/bash", &["-c", line], &broad(), |_| {});
        assert!(output.status.success(), "{line}: {}", said(&output));
    }
}

#[test]
fn what_a_rule_denies_is_closed_whatever_runs() {
    let ground = denying();
    let lines = [
        "cat denied/b denied/deep/a $G/vault/c",
        "grep -r UNT .; grep -r UNT $G/vault",
        "tar cf - denied; tar cf - -C $G vault",
        "mv denied other; cat other/b",
        "mv denied/deep other; mv $G/vault $G/other; cat other/a $G/other/c",
        "python3 -c 'print(open(\"denied/b\").read())'",
        "umount denied/b; cat denied/b",
        "umount -l denied/deep/a; cat denied/deep/a",
        "unshare -m sh -c 'umount denied/b; cat denied/b'",
        "unshare -Urm sh -c 'umount denied/b; cat denied/b'",
        "mount --bind / /mnt; cat /mnt$G/ws/denied/b",
        "nsenter -t 1 -m cat $G/ws/denied/b",
        "cat /proc/1/root$G/ws/denied/b /proc/$PPID/root$G/ws/denied/b /proc/$PPID/cwd/denied/b",
    ];
    for line in lines {
        for (confinement, consent) in [
            (Open, Consent::Broad),
            (Asked, Consent::Broad),
            (Asked, Consent::Named),
            (Asked, Consent::Person),
        ] {
            let told = run(&ground, confinement, consent, line);
            assert!(!told.contains("UNTOLD"), "{line} in {confinement:?}: {told}");
        }
    }
    // What is denied goes by its path, so it stays where it is.
    assert_eq!(ground.read("ws/denied/deep/a") + &ground.read("vault/c"), "UNTOLDUNTOLD");
    // Everything else is as it was, the secrets of the workspace too.
    let told = run(&ground, Open, Consent::Broad, "cat .env plain && echo x > new && echo y > denied/new");
    assert!(told.contains("CANARYplain"), "{told}");
    assert!(ground.path("ws/new").exists());
    // Who said all words of a command, or saw it without a confinement, meant it.
    for consent in [Consent::Named, Consent::Person] {
        assert!(run(&ground, Open, consent, "cat denied/b").contains("UNTOLD"));
    }
    let lasting = Extra { lasting: true, ..Extra::default() };
    let output = ground.run_with(Asked, "/bin/bash", &["-c", "cat denied/b $G/vault/c"], &lasting, |_| {});
    assert!(!said(&output).contains("UNTOLD"), "{}", said(&output));
}

/// An empty folder would look as if everything in it had been removed, and be committed as such.
#[test]
fn version_control_does_not_take_what_is_closed_for_removed() {
    let ground = denying();
    let git = "git -c user.name=a -c user.email=a@x";
    let setup = format!("rm -rf .git && git init -q . && git add -A && {git} commit -qm one");
    assert!(ground.run_with(Open, "/bin/bash", &["-c", &setup], &Extra::default(), |_| {}).status.success());
    let line = format!("echo more >> plain; git add -A; {git} commit -qam two; git ls-files denied");
    let told = run(&ground, Open, Consent::Broad, &line);
    assert!(told.contains("denied/b\n") && told.contains("denied/deep/a\n"), "{told}");
    let told = run(&ground, Open, Consent::Named, "git status --short; git show HEAD:denied/b");
    assert!(told.contains("UNTOLD"), "{told}");
}

/// The rights belong to the file, whatever its name.
#[test]
fn a_second_name_of_a_secret_is_closed_wherever_it_is() {
    let ground = denying();
    fs::create_dir_all(ground.path("ws/far/away")).unwrap();
    for (file, name) in [(".env", "one"), ("secrets/deep/a", "two"), ("denied/b", "three")] {
        fs::hard_link(ground.path("ws").join(file), ground.path("ws/far/away").join(name)).unwrap();
    }
    fs::write(ground.path("ws/far/away/plain"), "plain").unwrap();
    for confinement in [Confinement::Reading, Confinement::Editing, Asked] {
        let told = run(&ground, confinement, Consent::Broad, "cat far/away/*; cat twin");
        assert!(told.contains("plain") && !told.contains("CANARY") && !told.contains("UNTOLD"), "{told}");
    }
    let told = run(&ground, Open, Consent::Broad, "cat far/away/*");
    assert!(told.contains("CANARY") && !told.contains("UNTOLD"), "{told}");
}

/// A home that lies among what everybody writes is held as others are.
#[test]
fn of_a_home_in_a_temporary_folder_builds_write_their_caches() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let ground = Ground::new();
    let home = folder.path().canonicalize().unwrap().join("home");
    for name in [".cache", ".config/fish"] {
        fs::create_dir_all(home.join(name)).unwrap();
    }
    fs::create_dir(home.with_file_name("beside")).unwrap();
    fs::write(home.join(".bashrc"), "as it was").unwrap();
    let sandbox = Sandbox::new(Places { home: Some(home.clone()), ..ground.places() });
    let ground = Ground { sandbox, ..ground };
    for consent in [Consent::Broad, Consent::Named, Consent::Person] {
        let told = |line: &str| {
            let extra = Extra { consent, ..Extra::default() };
            ground.run_with(Asked, "/bin/bash", &["-c", line], &extra, |command| {
                command.env("HOME", &home);
            })
        };
        for line in [
            "echo evil >> ~/.bashrc",
            "echo evil > ~/.bash_profile",
            "echo evil > ~/.config/fish/config.fish",
            "rm ~/.bashrc",
            "mv ~ $HOME-2",
        ] {
            assert!(!told(line).status.success(), "{line} for {consent:?}");
        }
        for line in ["echo x > ~/.cache/x", "echo x > $HOME/../beside/x", "echo x > made", "cat ~/.bashrc"] {
            let output = told(line);
            assert!(output.status.success(), "{line} for {consent:?}: {}", said(&output));
        }
    }
    assert_eq!(fs::read_to_string(home.join(".bashrc")).unwrap(), "as it was");
}

#[test]
fn second_names_of_protected_files_and_what_git_is_told_to_read_are_not_written() {
    let ground = Ground::new();
    fs::hard_link(ground.path("ws/AGENTS.md"), ground.path("ws/AAA")).unwrap();
    fs::hard_link(ground.path("ws/.git/config"), ground.path("ws/settings")).unwrap();
    fs::create_dir_all(ground.path("ws/global")).unwrap();
    for (name, text) in [
        ("ws/.git/HEAD", "ref: refs/heads/main\n"),
        ("ws/.git/config", "[include]\n\tpath = ../more.cfg\n"),
        ("ws/more.cfg", "[user]\n\tname = a\n"),
        ("ws/global/pre-commit", "x"),
        ("home/.gitconfig", "[core]\n\thooksPath = global\n"),
    ] {
        fs::write(ground.path(name), text).unwrap();
    }
    let first = |name: &str| ground.sandbox.first_name(&ground.path(name));
    assert_eq!(first("ws/AAA"), Some(ground.path("ws/AGENTS.md")));
    assert_eq!(first("ws/settings"), Some(ground.path("ws/.git/config")));
    assert_eq!(first("ws/AGENTS.md"), None);
    for line in ["echo x >> AAA", "echo x >> settings", "echo x >> more.cfg", "echo x > global/pre-commit"] {
        for confinement in [Confinement::Editing, Asked] {
            let output = ground.run_with(confinement, "/bin/bash", &["-c", line], &broad(), |_| {});
            assert!(!output.status.success(), "{line} in {confinement:?}");
        }
    }
}
