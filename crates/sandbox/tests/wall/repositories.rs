//! Repositories in the workspace, by whatever name, and programs that stay.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use charla_sandbox::Confinement::{Asked, Editing, Reading};
use charla_sandbox::Extra;

use crate::ground::{Ground, said};

/// A repository that is laid out as git's folder is.
fn bare(ground: &Ground, folder: &str) {
    for name in ["objects", "refs", "hooks", "lfs"] {
        fs::create_dir_all(ground.path(folder).join(name)).unwrap();
    }
    for (name, text) in
        [("HEAD", "ref"), ("config", "[core]\n"), ("lfs/a", "UNHEARD"), ("objects/b", "UNHEARD")]
    {
        fs::write(ground.path(folder).join(name), text).unwrap();
    }
}

#[test]
fn what_is_on_no_list_of_a_repository_is_not_read() {
    let ground = Ground::new();
    bare(&ground, "ws/spare");
    for name in ["objects", "refs", "logs"] {
        fs::create_dir_all(ground.path("ws/.git").join(name)).unwrap();
    }
    fs::write(ground.path("ws/.git/HEAD"), "ref").unwrap();
    fs::write(ground.path("ws/.git/unheard-of"), "UNHEARD").unwrap();
    fs::write(ground.path("ws/.git/logs/HEAD"), "UNHEARD").unwrap();
    for confinement in [Reading, Editing] {
        let output = ground.shell(confinement, "grep -rs UNHEARD .; cat .git/unheard-of spare/lfs/a");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("UNHEARD"), "{}", said(&output));
        let output = ground.shell(confinement, "cat .git/HEAD .git/config spare/HEAD spare/config");
        assert_eq!(said(&output), "ref[core]\nref[core]\n", "{confinement:?}");
    }
    let extra = Extra { git: vec![ground.path("ws/.git")], ..Extra::default() };
    let output = ground.run_with(Reading, "/bin/cat", &[".git/unheard-of"], &extra, |_| {});
    assert_eq!(said(&output), "UNHEARD");
}

#[test]
fn a_repository_of_any_name_is_not_edited() {
    let ground = Ground::new();
    bare(&ground, "ws/spare");
    fs::create_dir(ground.path("ws/half")).unwrap();
    fs::write(ground.path("ws/half/HEAD"), "ref").unwrap();
    for line in [
        "echo x > spare/hooks/post-receive",
        "echo x >> spare/config",
        "mv spare/config other",
        "rm spare/HEAD",
        "chmod 777 spare/hooks",
        "mkdir half/objects",
        "echo x > half/config",
        "mv spare elsewhere",
    ] {
        assert!(!ground.shell(Editing, line).status.success(), "{line}");
    }
    assert!(ground.shell(Editing, "echo x > src/config && mkdir src/hooks").status.success());
    assert_eq!(ground.read("ws/spare/config"), "[core]\n");
}

#[test]
fn a_workspace_that_is_a_repository_is_edited_but_for_what_git_obeys() {
    let ground = Ground::new();
    fs::remove_file(ground.path("ws/hooks")).unwrap();
    bare(&ground, "ws");
    for line in ["echo x > hooks/update", "echo x >> config", "touch refs/x"] {
        assert!(!ground.shell(Editing, line).status.success(), "{line}");
    }
    let output = ground.shell(Editing, "echo x > src/new && echo x >> plain");
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn a_program_that_stays_changes_no_mode_of_what_it_may_not_write() {
    let ground = Ground::new();
    let mode = |name: &str| fs::metadata(ground.path(name)).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(ground.path("home/.ssh/id_rsa"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(ground.path("home/.cargo/credentials.toml"), fs::Permissions::from_mode(0o600))
        .unwrap();
    let extra = Extra { lasting: true, ..Extra::default() };
    let lasting = |line: &str| ground.run_with(Asked, "/bin/bash", &["-c", line], &extra, |_| {});
    for line in [
        "chmod 644 $HOME/.ssh/id_rsa",
        "chmod 755 $HOME/.ssh",
        "chmod 644 $HOME/.cargo/credentials.toml",
        "touch -d yesterday $G/outside",
        "chmod 777 $HOME/notes/plan",
    ] {
        assert!(!lasting(line).status.success(), "{line}");
    }
    assert_eq!((mode("home/.ssh/id_rsa"), mode("home/.cargo/credentials.toml")), (0o600, 0o600));
    let fine = "touch new && chmod 755 new && mkdir $HOME/.cache/x && chmod 700 $HOME/.cache/x";
    let output = lasting(fine);
    assert!(output.status.success(), "{}", said(&output));
}
