use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use super::*;
use crate::failure::FailureKind;

/// Surroundings with a folder of their own and these variables.
fn surroundings(variables: &[(&str, &str)]) -> (tempfile::TempDir, Environment) {
    let folder = tempfile::tempdir().unwrap();
    let mut environment = Environment::of(variables.iter().copied());
    environment.home = Some(folder.path().to_owned());
    environment.directory = folder.path().to_owned();
    (folder, environment)
}

fn command(command: &str) -> Result<Option<FoundKey>, Failure> {
    let (_folder, environment) = surroundings(&[]);
    Keys::new(&environment).find("openai", Some(&KeySource::Command(command.into())), &[])
}

#[test]
fn a_key_comes_from_the_first_variable_that_is_set() {
    let (_folder, environment) = surroundings(&[("SECOND", "k2"), ("FIRST", "")]);
    let found = Keys::new(&environment).find("p", None, &["FIRST", "SECOND"]).unwrap().unwrap();
    assert_eq!(found.key.expose_secret(), "k2");
    assert_eq!(found.place, KeyPlace::Variable("SECOND".into()));
}

#[test]
fn the_source_in_the_settings_beats_the_variables_and_never_falls_through() {
    let (_folder, environment) = surroundings(&[("OPENAI_API_KEY", "k1"), ("MINE", "k2")]);
    let keys = Keys::new(&environment);
    let find = |name: &str| keys.find("openai", Some(&KeySource::Env(name.into())), &["OPENAI_API_KEY"]);
    assert_eq!(find("MINE").unwrap().unwrap().key.expose_secret(), "k2");
    let failure = find("MISSING").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Auth);
    assert_snapshot!(failure, @"no key for openai: $MISSING is not set");
}

#[test]
fn a_command_gives_its_trimmed_output() {
    let found = command("printf ' sk-1\\n\\n'; echo noise >&2").unwrap().unwrap();
    assert_eq!(found.key.expose_secret(), "sk-1");
}

#[test]
fn a_command_that_fails_says_why_and_is_an_auth_failure() {
    let failure = command("echo; echo 'vault is locked' >&2; echo more >&2; exit 3").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Auth);
    assert_snapshot!(failure, @"no key for openai: the key command failed (exit status: 3): vault is locked");
    assert_snapshot!(command("true").unwrap_err(), @"no key for openai: the key command printed nothing");
    assert_snapshot!(command("echo sk-1 sk-2").unwrap_err(), @"no key for openai: the key command printed more than one word");
}

#[test]
fn kept_keys_are_private_and_can_be_removed() {
    let (_folder, environment) = surroundings(&[]);
    let keys = Keys::new(&environment);
    let ring = keys.ring().unwrap();
    assert!(keys.find("openai", None, &[]).unwrap().is_none());

    ring.set("openai", &"sk-1".to_owned().into()).unwrap();
    ring.set("groq", &"gsk-1".to_owned().into()).unwrap();
    assert_eq!(fs::metadata(&ring.path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(keys.find("openai", None, &[]).unwrap().unwrap().key.expose_secret(), "sk-1");

    assert!(ring.remove("openai").unwrap());
    assert!(!ring.remove("openai").unwrap());
    assert!(keys.find("openai", None, &[]).unwrap().is_none());
    assert!(keys.find("groq", None, &[]).unwrap().is_some());
}

#[test]
fn kept_keys_that_others_can_read_are_refused_with_the_remedy() {
    let (folder, environment) = surroundings(&[]);
    let keys = Keys::new(&environment);
    let ring = keys.ring().unwrap();
    ring.set("openai", &"sk-1".to_owned().into()).unwrap();
    fs::set_permissions(&ring.path, fs::Permissions::from_mode(0o644)).unwrap();
    let failure = keys.find("openai", None, &[]).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Config);
    let home = folder.path().display().to_string();
    assert_snapshot!(failure.message.replace(&home, "~"), @"~/.charla/keys.json holds keys but others can read it (mode 644)");
    assert_eq!(failure.hint, Some(format!("chmod 600 '{home}/.charla/keys.json'").into()));
}

#[test]
fn a_broken_file_of_keys_is_refused_without_quoting_it() {
    let (_folder, environment) = surroundings(&[]);
    let keys = Keys::new(&environment);
    let ring = keys.ring().unwrap();
    ring.set("openai", &"sk-1".to_owned().into()).unwrap();
    fs::write(&ring.path, "{\"openai\": sk-secret}").unwrap();
    let failure = keys.find("openai", None, &[]).unwrap_err();
    assert!(failure.message.ends_with("keys.json:1:12: not an object of provider and key"), "{failure}");
}

#[test]
fn a_key_is_never_in_debug_output() {
    let (_folder, environment) = surroundings(&[("K", "sk-secret")]);
    let found = Keys::new(&environment).find("p", None, &["K"]).unwrap();
    assert!(!format!("{found:?}").contains("sk-secret"));
}
