//! The second names of folders and files: what is kept for us and for other agents is known by its usual name wherever a
//! variable or a link has put it.

use std::path::{Path, PathBuf};

use charla_core::policy::Link;

use crate::environment::Environment;

/// Variables that move the folder of another agent, what to add to their value, and the folder's usual name.
const MOVED: [(&str, &str, &str); 4] = [
    ("CLAUDE_CONFIG_DIR", "", "~/.claude"),
    ("CODEX_HOME", "", "~/.codex"),
    ("XDG_CONFIG_HOME", "opencode", "~/.opencode"),
    ("XDG_DATA_HOME", "opencode", "~/.opencode"),
];

/// The second names in these surroundings.
pub(super) fn of(environment: &Environment) -> Vec<Link> {
    let own = [
        (environment.charla_home(), "~/.charla"),
        (environment.cache(), "~/.charla/cache"),
        (environment.gemini_home(), "~/.gemini"),
    ];
    let own = own.into_iter().filter_map(|(folder, name)| Some((folder?, name)));
    let moved = MOVED.into_iter().filter_map(|(variable, below, name)| {
        let folder = Path::new(environment.variable(variable).filter(|value| !value.is_empty())?);
        Some((folder.join(below), name))
    });
    let known = own.chain(moved).flat_map(|(folder, name)| under_both(&folder, Path::new(name)));
    let in_home = environment.home.iter().flat_map(|home| linked_in(home));
    known.chain(in_home).chain(environment.home.as_deref().and_then(link)).collect()
}

/// A place as it is written and as it is reached.
fn under_both(folder: &Path, name: &Path) -> Vec<Link> {
    let mut places = vec![folder.components().collect(), real(folder)];
    places.dedup();
    places.into_iter().map(|real| Link { name: name.to_owned(), real }).collect()
}

/// The links among a home's hidden files: who keeps them in a repository has them under two names.
fn linked_in(home: &Path) -> Vec<Link> {
    let entries = std::fs::read_dir(home).into_iter().flatten().flatten();
    let hidden = entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"."));
    let links = hidden.filter(|entry| entry.file_type().is_ok_and(|found| found.is_symlink()));
    links.filter_map(|entry| link(&entry.path())).collect()
}

/// The link that a path is or goes through, if it does.
pub(super) fn link(path: &Path) -> Option<Link> {
    let real = real(path);
    (real != path).then(|| Link { name: path.to_owned(), real })
}

/// Where a path leads, with every link followed; what is not there yet stays as it is written.
pub(super) fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match there {
        Some((above, found)) => {
            let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
            found.components().chain(rest.components()).collect()
        }
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use charla_core::policy::Decision;
    use charla_proto::{ApprovalMode, Args, Effect, Lane, Plan, Policy, Preview};

    use super::*;
    use crate::session::rules::{RulePlaces, rule_book};

    #[test]
    fn rules_about_a_home_hold_where_it_is_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("home/.charla/policies")).unwrap();
        symlink("home", root.join("home-link")).unwrap();
        let rules = "[[rule]]\ntool = '*'\npath = '~/vault/**'\ndecision = 'deny'\n\
                     [[rule]]\ntool = '*'\npath = '~/notes/**'\ndecision = 'allow'\n";
        fs::write(root.join("home/.charla/policies/own.toml"), rules).unwrap();
        let mut environment = Environment::of([("UNUSED", "")]).in_workspace(root.join("work"));
        environment.home = Some(root.join("home-link"));
        for home in ["home", "home-link"] {
            let read = |name: &str| Effect::Read { path: root.join(home).join(name) };
            let vault = decide(&environment, read("vault/v.txt"), ApprovalMode::Yolo);
            assert_eq!(vault, Decision::Deny, "{home}");
            assert_eq!(decide(&environment, read("notes/n.txt"), ApprovalMode::Default), Decision::Allow);
            assert_eq!(decide(&environment, read("other/n.txt"), ApprovalMode::Default), Decision::Ask);
        }
    }

    #[test]
    fn a_denial_holds_through_links_and_in_every_spelling() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for made in ["home/.charla/policies", "home/vault", "work/store", "work/secrets", "beyond"] {
            fs::create_dir_all(root.join(made)).unwrap();
        }
        symlink("store", root.join("work/private")).unwrap();
        symlink("../beyond", root.join("work/linked")).unwrap();
        symlink("work", root.join("work-link")).unwrap();
        let mut environment = Environment::of([("UNUSED", "")]).in_workspace(root.join("work"));
        environment.home = Some(root.join("home"));
        let root_text = root.display();
        let spellings = ["secrets", "secrets/", "./secrets/**", "secrets//**", "secrets/./**"];
        let secrets = spellings.map(|pattern| (pattern.to_owned(), "work/secrets/a/b.txt"));
        let more = [
            (format!("{root_text}/work//secrets/**"), "work/secrets/a.txt"),
            (format!("{root_text}/work-link/secrets/**"), "work/secrets/a.txt"),
            ("private/**".to_owned(), "work/store/k.txt"),
            ("private/k.txt".to_owned(), "work/store/k.txt"),
            ("linked/**".to_owned(), "beyond/m.txt"),
            ("~/vault".to_owned(), "home/vault/v.txt"),
            ("~/vault/".to_owned(), "home/vault/v.txt"),
            ("~/./vault/**".to_owned(), "home/vault/v.txt"),
        ];
        for (pattern, file) in secrets.into_iter().chain(more) {
            for (decision, expected) in [("deny", Decision::Deny), ("ask", Decision::Ask)] {
                let rule = format!("[[rule]]\ntool = '*'\npath = '{pattern}'\ndecision = '{decision}'\n");
                fs::write(root.join("home/.charla/policies/own.toml"), rule).unwrap();
                let read = |file: &str| Effect::Read { path: root.join(file) };
                assert_eq!(decide(&environment, read(file), ApprovalMode::Yolo), expected, "{pattern}");
                let other = decide(&environment, read("home/other.txt"), ApprovalMode::Yolo);
                assert_eq!(other, Decision::Allow, "{pattern}");
            }
            // What is allowed is what is there, and a folder is not all that is in it.
            let rule = format!("[[rule]]\ntool = '*'\npath = '{pattern}'\ndecision = 'allow'\n");
            fs::write(root.join("home/.charla/policies/own.toml"), rule).unwrap();
            let write = decide(&environment, Effect::Write { path: root.join(file) }, ApprovalMode::Default);
            let whole = pattern.ends_with("/**") && !pattern.contains("link") && !pattern.contains("private");
            let expected = if whole { Decision::Allow } else { Decision::Ask };
            assert_eq!(write, expected, "{pattern}");
        }
    }

    fn decide(environment: &Environment, effect: Effect, mode: ApprovalMode) -> Decision {
        let tool = if matches!(effect, Effect::Read { .. }) { "read_file" } else { "write_file" };
        let plan = Plan {
            tool: tool.to_owned(),
            args: Args::new(),
            title: String::new(),
            effects: vec![effect],
            preview: Preview::None,
            lane: Lane::Shared,
        };
        let roots = std::slice::from_ref(&environment.directory);
        let book = rule_book(&RulePlaces::of(environment), roots, &[]).unwrap();
        Decision::from(&book.judge(&plan, mode))
    }

    #[test]
    fn the_homes_of_agents_are_known_wherever_variables_and_links_have_put_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for made in ["home/cfg", "home/dot/charla", "home/dot/gemini", "home/dot/ssh", "home/claude"] {
            fs::create_dir_all(root.join(made)).unwrap();
        }
        symlink("cfg", root.join("home/cfg-link")).unwrap();
        symlink("home", root.join("home-link")).unwrap();
        fs::write(root.join("home/dot/bashrc"), "").unwrap();
        for name in ["charla", "gemini", "ssh", "bashrc"] {
            symlink(Path::new("dot").join(name), root.join("home").join(format!(".{name}"))).unwrap();
        }
        let named = |variable: &str, value: &str, home: &str| {
            let mut environment = Environment::of([(variable, root.join(value))]).in_workspace(&root);
            environment.home = Some(root.join(home));
            environment
        };
        let unmoved = || named("UNUSED", "", "home");
        // Where it is, what is secret there, what runs or instructs later.
        let places: [(Environment, &str, &[&str], &[&str]); 7] = [
            (
                named("CHARLA_HOME", "home/cfg", "home"),
                "home/cfg",
                &["keys.json", "sessions/a.jsonl"],
                &["settings.json", "policies/p.toml", "agents/a.md"],
            ),
            (named("CHARLA_HOME", "home/cfg-link", "home"), "home/cfg", &["keys.json"], &["settings.json"]),
            (named("CHARLA_HOME", "home-link/cfg", "home-link"), "home/cfg", &["keys.json"], &["hooks/a"]),
            (named("CHARLA_CACHE", "home/cfg", "home"), "home/cfg", &[], &["engine/server"]),
            (unmoved(), "home/dot/charla", &["keys.json", "history/a.jsonl"], &["settings.json"]),
            (unmoved(), "home/dot", &["ssh/config"], &["gemini/settings.json", "bashrc"]),
            (named("CLAUDE_CONFIG_DIR", "home/claude", "home"), "home/claude", &[], &["settings.json"]),
        ];
        for (environment, place, secrets, protected) in places {
            let at = |name: &str| root.join(place).join(name);
            for name in secrets {
                let read = decide(&environment, Effect::Read { path: at(name) }, ApprovalMode::Default);
                assert_eq!(read, Decision::Ask, "read {place}/{name}");
            }
            for name in secrets.iter().chain(protected) {
                let write = decide(&environment, Effect::Write { path: at(name) }, ApprovalMode::AutoEdit);
                assert_eq!(write, Decision::Ask, "write {place}/{name}");
            }
        }
        let beside = root.join("home/other/settings.json");
        let write = Effect::Write { path: beside.clone() };
        assert_eq!(decide(&unmoved(), write, ApprovalMode::AutoEdit), Decision::Allow);
        let read = Effect::Read { path: beside };
        assert_eq!(decide(&unmoved(), read, ApprovalMode::Default), Decision::Allow);
    }
}
