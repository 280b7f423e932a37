//! What somebody may reach whose own word does not reach beyond the workspace.

use charla_sandbox::{Bounds, Confinement, Extra, Sandbox, Wall, isolation};

use super::ground::{Ground, said};

fn ground(network: bool) -> Ground {
    let mut ground = Ground::new();
    ground.sandbox = Sandbox::new(ground.places()).within(Bounds { network });
    ground
}

const AGREED: [Confinement; 2] = [Confinement::Asked, Confinement::Open];

#[test]
fn the_workspace_is_all_theirs_and_nothing_else_is() {
    let ground = ground(false);
    for confinement in AGREED {
        let inside = "echo x > new && cat .env && echo y >> .git/config && chmod +x new && echo z > $TMPDIR/a && ./script.sh";
        let output = ground.shell(confinement, inside);
        assert!(output.status.success(), "{confinement:?}: {}", said(&output));
        for line in [
            "cat $G/outside/file",
            "cat way_out/file",
            "echo x > $G/outside/new",
            "ls $G/home",
            "cat $G/home/.ssh/id_rsa",
            "echo x > /tmp/charla-bounds-test",
            "ls /tmp",
            "cat /etc/shadow",
            "cat /proc/1/environ",
        ] {
            let output = ground.shell(confinement, line);
            assert!(!output.status.success(), "{confinement:?}: {line}: {}", said(&output));
        }
    }
}

/// Whoever may write the folder above can exchange a workspace for a link to another's.
#[test]
fn a_workspace_that_was_exchanged_for_a_link_leads_nowhere() {
    let ground = ground(false);
    let other = ground.path("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("secret"), "CANARY").unwrap();
    std::fs::rename(ground.path("ws"), ground.path("moved")).unwrap();
    std::os::unix::fs::symlink(&other, ground.path("ws")).unwrap();
    for confinement in [Confinement::Reading, Confinement::Editing, Confinement::Asked, Confinement::Open] {
        for line in ["cat secret", "echo x > planted", "cat $G/other/secret"] {
            // Where it cannot even be prepared, nothing runs.
            if ground.sandbox.prepare(confinement, &ground.path("ws"), &Extra::default()).is_ok() {
                let output = ground.shell(confinement, line);
                assert!(!output.status.success(), "{confinement:?}: {line}: {}", said(&output));
            }
        }
    }
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 1, "nothing was planted");
}

#[test]
fn the_network_is_theirs_only_where_it_was_given() {
    let connect = "socket.socket(socket.AF_INET).bind(('127.0.0.1', 0))";
    for confinement in AGREED {
        assert!(!ground(false).python(confinement, connect).status.success());
        let output = ground(true).python(confinement, connect);
        assert!(output.status.success(), "{}", said(&output));
        let outside = ground(true).shell(confinement, "cat $G/outside/file");
        assert!(!outside.status.success(), "{}", said(&outside));
    }
}

#[test]
fn nothing_is_started_where_the_kernel_does_not_hold_it_and_the_words_say_so() {
    let ground = ground(false);
    let sandbox = Sandbox::with_wall(ground.places(), Wall::default()).within(Bounds::default());
    for confinement in AGREED {
        assert!(sandbox.prepare(confinement, &ground.path("ws"), &Default::default()).is_err());
        assert!(isolation(confinement, &Wall::default(), Some(Bounds::default())).contains("will not run"));
        assert!(isolation(confinement, &Wall::look(), Some(Bounds::default())).contains("no network"));
    }
}
