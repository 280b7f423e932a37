//! Which places a session has, and what a person may add.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use charla_sandbox::Confinement::{Asked, Editing, Reading};
use charla_sandbox::{Bounds, Confinement, Consent, Extra, Places, Sandbox, Wall, isolation};

use crate::ground::{Ground, said};

#[test]
fn the_wall_is_there_and_says_so() {
    let wall = Wall::prove();
    assert!(wall.reading && wall.editing, "{wall:?}");
    assert_eq!(wall.notes, Wall::look().notes);
    for confinement in [Reading, Editing, Asked] {
        assert!(!isolation(confinement, &wall, None).starts_with("none"));
        assert!(isolation(confinement, &Wall::default(), None).starts_with("none"));
    }
}

#[test]
fn without_a_wall_nothing_is_run_in_it() {
    let ground = Ground::new();
    let places = ground.places();
    let sandbox =
        charla_sandbox::Sandbox::with_wall(places, Wall { notes: vec!["no wall".into()], ..Wall::default() });
    for confinement in [Reading, Editing] {
        let error = sandbox.prepare(confinement, &ground.path("ws"), &Extra::default()).unwrap_err();
        assert_eq!(error.to_string(), "this machine cannot confine it: no wall");
    }
    assert!(sandbox.prepare(Asked, &ground.path("ws"), &Extra::default()).is_ok());
}

#[test]
fn what_a_person_agreed_to_is_added() {
    let ground = Ground::new();
    let try_it = |extra: &Extra, line: &str| {
        ground.run_with(Asked, "/bin/bash", &["-c", line], extra, |_| {}).status.success()
    };
    let read =
        Extra { read: vec![ground.path("home/.ssh/id_rsa")], consent: Consent::Person, ..Extra::default() };
    assert!(try_it(&read, "cat $HOME/.ssh/id_rsa"));
    let by_rule = Extra { consent: Consent::Named, ..read };
    assert!(!try_it(&by_rule, "cat $HOME/.ssh/id_rsa"), "a rule is no person");
    let folder = Extra { read: vec![ground.path("home/.ssh")], ..Extra::default() };
    assert!(!try_it(&folder, "cat $HOME/.ssh/id_rsa"), "nor for a folder");
    fs::create_dir(ground.path("other")).unwrap();
    let write = Extra { write: vec![ground.path("other/new")], ..Extra::default() };
    assert!(try_it(&write, "echo x > $G/other/new"));
    assert!(!try_it(&Extra::default(), "echo x > $G/other/newer"));
    // A file that is to be made in the home does not open the home.
    let write = Extra { write: vec![ground.path("home/new")], ..Extra::default() };
    assert!(!try_it(&write, "echo x >> $HOME/.ssh/id_rsa"));
}

#[test]
fn secrets_made_later_are_hidden_too() {
    let ground = Ground::new();
    assert!(ground.shell(Reading, "cat src/main.rs").status.success());
    fs::write(ground.path("ws/src/new"), "new").unwrap();
    fs::create_dir(ground.path("ws/later")).unwrap();
    fs::write(ground.path("ws/later/.env"), "CANARY").unwrap();
    let output = ground.shell(Reading, "cat src/new; cat later/.env");
    assert!(said(&output).starts_with("new"), "{}", said(&output));
    assert!(!said(&output).contains("CANARY"));
}

#[test]
fn everyday_commands_work() {
    let ground = Ground::new();
    let reading = [
        "ls -la",
        "cat plain | sort | uniq -c",
        "find . -name '*.rs' | head",
        "grep -rs main src/main.rs",
        "git --version",
        "wc -l <<< x",
        "diff <(echo a) <(echo a)",
        "sed -n 1p plain",
        "awk '{print}' plain",
        "date",
        "id",
        "uname -a",
        "nproc",
        "python3 -c 'print(1)'",
        "perl -e 'print 1'",
        "stat plain",
        "du -s src",
        "tail -n 3 plain",
        "echo x > /dev/null",
        "mktemp",
        "tr a b < plain",
        "sha256sum plain",
        "file=plain; test -r $file",
    ];
    for line in reading {
        for confinement in [Reading, Editing, Asked] {
            let output = ground.shell(confinement, line);
            assert!(output.status.success(), "{confinement:?} {line}: {}", said(&output));
        }
    }
    let editing = [
        "sed -i s/plain/x/ plain",
        "touch new",
        "cp plain copy",
        "cp -p plain copy2",
        "mv copy moved",
        "mkdir -p a/b",
        "rm -r a",
        "echo x >> plain",
        "tee t < plain",
    ];
    for confinement in [Editing, Asked] {
        let ground = Ground::new();
        for line in editing {
            let output = ground.shell(confinement, line);
            assert!(output.status.success(), "{confinement:?} {line}: {}", said(&output));
        }
    }
}

#[test]
fn a_tool_chain_outside_of_the_home_is_readable_when_it_is_one_and_safe() {
    let ground = Ground::new();
    let bin = ground.path("chain/bin");
    for folder in ["chain/bin", "chain/lib", "chain/tools"] {
        fs::create_dir_all(ground.path(folder)).unwrap();
    }
    fs::write(ground.path("chain/lib/module"), "loaded").unwrap();
    let mode = |mode| fs::set_permissions(ground.path("chain"), PermissionsExt::from_mode(mode)).unwrap();
    let reads = |programs: &[&Path]| {
        let programs = programs.iter().map(|path| path.to_path_buf()).collect();
        let sandbox = Sandbox::new(Places { programs, ..ground.places() });
        let mut command = Command::new("/bin/cat");
        command.arg(ground.path("chain/lib/module")).current_dir(ground.path("ws"));
        sandbox.prepare(Reading, &ground.path("ws"), &Extra::default()).unwrap().apply(&mut command);
        command.output().unwrap().status.success()
    };
    mode(0o755);
    assert!(reads(&[&bin]));
    assert!(!reads(&[]) && !reads(&[&ground.path("chain/tools")]));
    mode(0o777);
    assert!(!reads(&[&bin]), "others can write it");
    mode(0o755);
    fs::create_dir(ground.path("chain/.ssh")).unwrap();
    assert!(!reads(&[&bin]), "it is a home");
    fs::remove_dir(ground.path("chain/.ssh")).unwrap();
    assert!(reads(&[&bin]));
}

#[test]
fn what_git_keeps_is_read_where_git_alone_reads_and_nowhere_else() {
    let ground = Ground::new();
    let git = |folder: &str, words: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(words);
        assert!(command.current_dir(ground.path(folder)).status().unwrap().success(), "{words:?}");
    };
    fs::create_dir(ground.path("ws/bare")).unwrap();
    fs::write(ground.path("ws/.gitattributes"), "").unwrap();
    git("ws", &["init", "-q", "."]);
    git("ws", &["add", "-f", ".env"]);
    git("ws", &["commit", "-qm", "Keep"]);
    git("ws", &["clone", "-q", "--bare", ".", "bare"]);
    let objects =
        "find .git/objects bare/objects -type f | xargs cat 2>&1 | grep -v denied | head -c 10 | wc -c";
    let show = "git --no-pager show HEAD:.env";
    for confinement in [Reading, Editing] {
        let run = |line: &str, extra: &Extra| {
            said(&ground.run_with(confinement, "/bin/bash", &["-c", line], extra, |_| {}))
        };
        let closed = Extra::default();
        assert_eq!(run(objects, &closed).lines().last(), Some("0"), "{confinement}");
        assert!(!run(show, &closed).contains("CANARY"), "{confinement}");
        assert!(run("cat .git/HEAD", &closed).contains("ref:"), "{confinement}");
        let open = Extra { git: vec![ground.path("ws/.git")], ..Extra::default() };
        assert!(run(show, &open).contains("CANARY"), "{confinement}");
        let others = "find bare/objects -type f | xargs cat 2>&1 | grep -v denied | head -c 10 | wc -c";
        assert_eq!(run(others, &open).lines().last(), Some("0"), "{confinement}");
    }
    let searching = Extra { searches: true, ..Extra::default() };
    let line = "grep -r no-such-words .git bare; echo $?; cat .git/objects/*/*";
    let found = said(&ground.run_with(Reading, "/bin/bash", &["-c", line], &searching, |_| {}));
    assert!(found.starts_with("1\n") && !found.contains("denied"), "{found}");
    assert!(said(&ground.shell(Asked, show)).contains("CANARY"));
}

#[test]
fn what_a_protected_link_leads_to_is_not_written() {
    let ground = Ground::new();
    fs::create_dir(ground.path("ws/docs")).unwrap();
    fs::write(ground.path("ws/docs/agents.md"), "be good").unwrap();
    fs::remove_file(ground.path("ws/AGENTS.md")).unwrap();
    std::os::unix::fs::symlink("docs/agents.md", ground.path("ws/AGENTS.md")).unwrap();
    ground.shell(Editing, "echo bad > docs/agents.md; echo more > docs/other.md");
    assert_eq!(ground.read("ws/docs/agents.md"), "be good");
    assert_eq!(ground.read("ws/docs/other.md"), "more\n");
}

/// What lies in a folder that is readable beside the workspace, by name: its text and whether a child reads it.
const BESIDE: [(&str, &str, bool); 6] = [
    ("SKILL.md", "Do it.", true),
    ("deep/script", "done", true),
    (".env", "CANARY", false),
    ("deep/.env", "CANARY", false),
    (".git/objects/aa/blob", "CANARY", false),
    (".git/HEAD", "ref", true),
];

#[test]
fn a_folder_beside_the_workspace_is_read_without_its_secrets_and_what_git_keeps() {
    for (name, bounds) in [("home/skill", None), ("home/.charla/skills/s", Some(Bounds::default()))] {
        let mut ground = Ground::new();
        for (file, text, _) in BESIDE {
            let file = ground.path(name).join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        fs::write(ground.path("home/.charla_beside"), "CANARY").unwrap();
        let sandbox = Sandbox::new(Places { readable: vec![ground.path(name)], ..ground.places() });
        let confinements: &[Confinement] = match bounds {
            Some(_) => &[Reading, Editing, Asked],
            None => &[Reading, Editing],
        };
        ground.sandbox = match bounds {
            Some(bounds) => sandbox.within(bounds),
            None => sandbox,
        };
        for &confinement in confinements {
            for (file, text, is_read) in BESIDE {
                let output = ground.shell(confinement, &format!("cat $G/{name}/{file}"));
                assert_eq!(output.status.success(), is_read, "{confinement:?} {file}: {}", said(&output));
                assert_eq!(said(&output).contains(text), is_read, "{confinement:?} {file}");
            }
            assert!(!ground.shell(confinement, "cat $G/home/.charla_beside").status.success());
            assert!(!ground.shell(confinement, &format!("touch $G/{name}/new")).status.success());
        }
    }
}

#[test]
fn a_folder_that_is_the_workspace_or_holds_it_opens_nothing() {
    for name in ["ws", "ws/src", "", "home/link"] {
        let mut ground = Ground::new();
        std::os::unix::fs::symlink(ground.path("ws"), ground.path("home/link")).unwrap();
        fs::create_dir_all(ground.path("ws/.git/objects/aa")).unwrap();
        fs::write(ground.path("ws/.git/objects/aa/blob"), "CANARY").unwrap();
        ground.sandbox = Sandbox::new(Places { readable: vec![ground.path(name)], ..ground.places() });
        for confinement in [Reading, Editing] {
            for file in ["ws/.env", "ws/src/.env", "ws/secrets/deep/a", "ws/.git/objects/aa/blob", "outside"]
            {
                let output = ground.shell(confinement, &format!("cat $G/{file}"));
                assert!(!said(&output).contains("CANARY"), "{name} {confinement:?} {file}");
            }
        }
        let plain = ground.shell(Reading, "cat plain src/main.rs");
        assert!(plain.status.success(), "{name}: {}", said(&plain));
    }
}

#[test]
fn in_a_home_that_is_the_workspace_the_folder_alone_is_open_of_what_is_secret() {
    let mut ground = Ground::new();
    for (file, text) in [("skills/s/a", "plain"), ("skills/s/.env", "CANARY"), ("keys.json", "CANARY")] {
        let file = ground.path("home/.charla").join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let (roots, readable) = (vec![ground.path("home")], vec![ground.path("home/.charla/skills/s")]);
    ground.sandbox = Sandbox::new(Places { roots, readable, ..ground.places() });
    assert!(ground.shell(Reading, "cat $HOME/.charla/skills/s/a").status.success());
    let closed = ground.shell(Reading, "cat $HOME/.charla/skills/s/.env $HOME/.charla/keys.json");
    assert!(!said(&closed).contains("CANARY"), "{}", said(&closed));
}

/// What `charla import --keys` reads, among it.
#[test]
fn where_other_agents_keep_keys_no_confined_child_reads() {
    let ground = Ground::new();
    for file in [
        ".claude.json",
        ".claude/settings.json",
        ".codex/auth.json",
        ".config/opencode/opencode.json",
        ".env",
        ".gemini/.env",
        ".local/share/opencode/auth.json",
        ".qwen/.env",
        ".qwen/settings.json",
    ] {
        let path = ground.path("home").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "CANARY").unwrap();
        for confinement in [Reading, Editing, Asked] {
            let output = ground.shell(confinement, &format!("cat $HOME/{file}"));
            assert!(!said(&output).contains("CANARY"), "{confinement:?} {file}");
        }
    }
}

/// What runs later is written by what a person was shown, not by what a rule allows.
#[test]
fn only_a_person_lets_a_command_change_what_runs_later() {
    let ground = Ground::new();
    let home = ground.path("home");
    for folder in
        [".local/bin", ".cargo/bin", ".cargo/registry", ".nvm", "go/bin", "go/pkg", ".cache", ".rustup"]
    {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    for file in [".cargo/env", ".cargo/config.toml", ".nvm/nvm.sh"] {
        fs::write(home.join(file), "").unwrap();
    }
    let agreed = Extra { consent: Consent::Person, ..Extra::default() };
    let try_it = |extra: &Extra, file: &str| {
        let line = format!("echo x > $HOME/{file}");
        ground.run_with(Asked, "/bin/bash", &["-c", &line], extra, |_| {}).status.success()
    };
    for file in [
        ".local/bin/ls",
        ".cargo/bin/cargo",
        ".cargo/env",
        ".cargo/config.toml",
        ".nvm/nvm.sh",
        ".nvm/new",
        "go/bin/x",
        ".rustup/settings.toml",
    ] {
        assert!(!try_it(&Extra::default(), file), "{file}");
        assert!(try_it(&agreed, file), "{file}");
    }
    for file in [".cargo/registry/x", "go/pkg/x", ".cache/x"] {
        assert!(try_it(&Extra::default(), file), "{file}");
    }
}

#[test]
fn a_secret_is_closed_where_its_link_leads() {
    let ground = Ground::new();
    let (secret, real) = (ground.path("home/.aws"), ground.path("elsewhere"));
    fs::create_dir_all(&real).unwrap();
    fs::write(real.join("credentials"), "CANARY").unwrap();
    let _ = fs::remove_dir_all(&secret);
    std::os::unix::fs::symlink(&real, &secret).unwrap();
    let line = "cat $HOME/.aws/credentials $G/elsewhere/credentials";
    let output = ground.run_with(Asked, "/bin/bash", &["-c", line], &Extra::default(), |_| {});
    assert!(!said(&output).contains("CANARY"), "{}", said(&output));
}
