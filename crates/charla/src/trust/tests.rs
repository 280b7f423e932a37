use std::fs;

use super::*;
use crate::failure::FailureKind;

/// A home and a workspace with these files in its `.charla`.
fn place(files: &[(&str, &str)]) -> (tempfile::TempDir, Environment) {
    let folder = tempfile::tempdir().unwrap();
    let mut environment = Environment::default();
    environment.home = Some(folder.path().join("home"));
    environment.directory = folder.path().join("work");
    fs::create_dir_all(folder.path().join("work/.charla/policies")).unwrap();
    for (name, text) in files {
        fs::write(folder.path().join("work/.charla").join(name), text).unwrap();
    }
    (folder, environment)
}

fn content(environment: &Environment) -> WorkspaceContent {
    WorkspaceContent::read(environment)
}

fn standing(environment: &Environment) -> Standing {
    content(environment).known(environment).unwrap()
}

#[test]
fn trust_ends_with_any_change_of_the_content_and_returns_with_it() {
    let (folder, environment) = place(&[("settings.json", "{}"), ("policies/a.toml", "")]);
    let book = TrustBook::of(&environment).unwrap();
    assert_eq!(standing(&environment), Standing::Unknown);
    book.trust(&environment.directory, content(&environment).hash()).unwrap();
    assert_eq!(standing(&environment), Standing::Trusted);
    let charla = folder.path().join("work/.charla");
    for (name, text) in [("settings.json", "{ }"), ("policies/a.toml", "#"), ("policies/b.toml", "")] {
        let before = fs::read(charla.join(name)).ok();
        fs::write(charla.join(name), text).unwrap();
        assert_eq!(standing(&environment), Standing::Changed, "{name}");
        match before {
            Some(bytes) => fs::write(charla.join(name), bytes).unwrap(),
            None => fs::remove_file(charla.join(name)).unwrap(),
        }
        assert_eq!(standing(&environment), Standing::Trusted, "{name}");
    }
    assert!(book.revoke(&environment.directory).unwrap());
    assert!(!book.revoke(&environment.directory).unwrap());
    assert_eq!(standing(&environment), Standing::Unknown);
}

#[test]
fn a_hash_never_takes_one_file_for_another() {
    let (_one, a) = place(&[("policies/a.toml", "x"), ("policies/b.toml", "")]);
    let (_two, b) = place(&[("policies/a.toml", ""), ("policies/b.toml", "x")]);
    let (_three, c) = place(&[("policies/a.toml", "x")]);
    let hashes = [content(&a).hash(), content(&b).hash(), content(&c).hash()];
    assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
}

#[test]
fn one_folder_is_one_workspace_whichever_link_leads_there() {
    let (folder, mut environment) = place(&[("settings.json", "{}")]);
    TrustBook::of(&environment).unwrap().trust(&environment.directory, content(&environment).hash()).unwrap();
    let (_other, mut stranger) = place(&[("settings.json", "{}")]);
    stranger.home.clone_from(&environment.home);
    assert_eq!(standing(&stranger), Standing::Unknown, "the same content elsewhere is not trusted");
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("work"), folder.path().join("link")).unwrap();
    environment.directory = folder.path().join("link");
    assert_eq!(standing(&environment), Standing::Trusted);
}

#[test]
fn a_run_may_demand_trust_or_bring_it() {
    let (_folder, environment) = place(&[("settings.json", "{}")]);
    let content = content(&environment);
    let ask = |exactly: Option<&str>, required| {
        let demand = TrustDemand { exactly: exactly.map(str::to_owned), required };
        content.standing(&environment, &demand).map_err(|failure| failure.kind)
    };
    let hash = content.hash();
    assert_eq!(ask(None, false), Ok(Standing::Unknown));
    assert_eq!(ask(None, true), Err(FailureKind::Untrusted));
    assert_eq!(ask(Some(&hash.to_uppercase()), true), Ok(Standing::Trusted));
    assert_eq!(ask(Some(&"0".repeat(64)), false), Err(FailureKind::Untrusted));
    assert_eq!(ask(Some("abc"), false), Err(FailureKind::Input));
    let (_empty, bare) = place(&[]);
    let demand = TrustDemand { exactly: None, required: true };
    let nothing = WorkspaceContent::read(&bare).standing(&bare, &demand);
    assert_eq!(nothing.unwrap(), Standing::Nothing);
}

#[test]
fn the_users_own_folder_needs_no_trust() {
    let (folder, mut environment) = place(&[("policies/a.toml", "")]);
    environment.home = Some(folder.path().join("work"));
    assert!(content(&environment).is_empty());
}

#[cfg(unix)]
#[test]
fn the_book_is_private_and_a_broken_one_trusts_nobody() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, environment) = place(&[("settings.json", "{}")]);
    let book = TrustBook::of(&environment).unwrap();
    book.trust(&environment.directory, content(&environment).hash()).unwrap();
    assert_eq!(fs::metadata(book.path()).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(book.path(), "{ broken").unwrap();
    let failure = content(&environment).known(&environment).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Config);
}

#[test]
fn a_link_to_the_users_own_settings_frees_that_file_alone() {
    let (folder, environment) = place(&[("policies/a.toml", "")]);
    fs::create_dir_all(folder.path().join("home/.charla")).unwrap();
    fs::write(folder.path().join("home/.charla/settings.json"), "{}").unwrap();
    let link = folder.path().join("work/.charla/settings.json");
    std::os::unix::fs::symlink("../../home/.charla/settings.json", link).unwrap();
    let content = content(&environment);
    assert_eq!(content.names().collect::<Vec<_>>(), ["policies/a.toml"]);
    assert_eq!(content.left_out(), []);
    let demand = TrustDemand { required: true, ..TrustDemand::default() };
    assert!(content.standing(&environment, &demand).is_err(), "the rules are not the user's");
}

#[test]
fn what_is_very_large_is_left_out() {
    let (folder, environment) = place(&[("settings.json", "{}"), ("policies/a.toml", "")]);
    for name in ["settings.json", "policies/a.toml"] {
        let file =
            fs::OpenOptions::new().write(true).open(folder.path().join("work/.charla").join(name)).unwrap();
        file.set_len(crate::bounded::MOST_BYTES + 1).unwrap();
    }
    let content = content(&environment);
    assert!(content.is_empty());
    assert!(content.left_out().iter().all(|file| file.reason.contains("are not read")), "{content:?}");
    assert_eq!(content.left_out().len(), 2);
}

/// Who exchanges a folder for a link between the look and the reading has nothing read from there.
#[test]
fn a_link_that_comes_meanwhile_is_not_followed() {
    let (folder, mut environment) = place(&[("settings.json", "{}")]);
    environment.guest = Some(guest());
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("secret/policies")).unwrap();
    fs::write(at("secret/settings.json"), "elsewhere").unwrap();
    fs::write(at("secret/policies/a.toml"), "elsewhere").unwrap();
    std::os::unix::fs::symlink(at("secret"), at("link")).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (shown, aside, link) = (at("work/.charla"), at("aside"), at("link"));
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                for (from, to) in [(&shown, &aside), (&link, &shown), (&shown, &link), (&aside, &shown)] {
                    fs::rename(from, to).unwrap();
                }
            }
        });
        let read = (0..4000).map(|_| content(&environment).files);
        let stolen = read.flatten().find(|(_, bytes)| bytes == b"elsewhere");
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(stolen, None);
    });
}

/// A guest's folder is as it was given: where it leads by now, nothing is read.
#[test]
fn a_guests_folder_that_became_a_link_brings_nothing() {
    let (folder, mut environment) = place(&[("settings.json", "{}")]);
    let real = environment.directory.canonicalize().unwrap();
    (environment.guest, environment.directory) = (Some(guest()), real.clone());
    assert_eq!(content(&environment).files.len(), 1);
    fs::rename(&real, folder.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &real).unwrap();
    let found = content(&environment);
    assert!(found.files.is_empty() && found.left_out[0].reason.contains("a link out of the workspace"));
}

fn guest() -> crate::environment::Guest {
    crate::environment::Guest { settings: "/none".into(), policies: "/none".into(), network: false }
}
