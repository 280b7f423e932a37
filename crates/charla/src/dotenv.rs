//! `.env` files, as Gemini CLI reads them: variables for who does not want them in every shell.
//!
//! The workspace's goes before the user's own. What stands in a workspace's is heard only where its user trusts the workspace, and then
//! only about keys: the file is no part of what was agreed to.

use std::path::Path;

use charla_providers::catalog;

use crate::bounded;
use crate::environment::Environment;
use crate::trust::{WorkspaceContent, gemini_standing, owners, read_brought};

/// What the files are called, from their folder on; the first that can be read counts.
const NAMES: [&str; 2] = [".gemini/.env", ".env"];

/// The surroundings with the variables of `.env` files. What is set already stays.
pub fn with_dotenv(environment: Environment) -> Environment {
    if environment.guest.is_some() {
        return environment;
    }
    let mut keys = of_workspace(&environment).map(|text| variables(&text)).unwrap_or_default();
    keys.retain(|(name, _)| is_key(name));
    let home = environment.gemini_home();
    let own = home
        .as_deref()
        .and_then(Path::parent)
        .and_then(|folder| in_folder(folder, |file| bounded::text(file).ok()));
    let own = own.map(|text| variables(&text)).unwrap_or_default();
    // A key that is empty is none, and hides none.
    environment.without_empty(is_key).with_missing(keys).with_missing(own)
}

/// What the workspace's file says. It is not opened before its user trusts it, and not where it is a link out of there.
fn of_workspace(environment: &Environment) -> Option<String> {
    let folder = &environment.directory;
    let is_there = NAMES.iter().any(|name| folder.join(name).is_file());
    if !is_there || !is_trusted(environment) {
        return None;
    }
    let owners = owners(environment);
    let real = environment.real_directory();
    in_folder(folder, |file| String::from_utf8(read_brought(file, &real, owners).ok()??).ok())
}

/// What the first file of this folder says that can be read.
fn in_folder(folder: &Path, read: impl Fn(&Path) -> Option<String>) -> Option<String> {
    NAMES.iter().find_map(|name| read(&folder.join(name)))
}

/// True where the user trusts what the workspace brings, or is at home in it.
fn is_trusted(environment: &Environment) -> bool {
    let standing = WorkspaceContent::read(environment).known(environment);
    let is_home = environment.gemini_home().as_deref().and_then(Path::parent) == Some(&environment.directory);
    is_home || standing.is_ok_and(|standing| gemini_standing(standing, environment).is_trusted())
}

fn is_key(name: &str) -> bool {
    catalog::providers().iter().any(|provider| provider.key_env.contains(&name))
}

/// The variables of a `.env` file: `NAME=value`, in quotes or not; `#` begins a comment.
fn variables(text: &str) -> Vec<(String, String)> {
    text.lines().filter_map(variable).collect()
}

fn variable(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    let quote = value.chars().next().filter(|first| ['"', '\'', '`'].contains(first));
    let value = match quote {
        Some(quote) => value.strip_prefix(quote)?.split(quote).next()?,
        None => value.split(" #").next()?.trim_end(),
    };
    Some((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_variables() {
        let text = "# note\nA=1\nexport B = two words # why\nC='x # y'\nD=\"q\" rest\n E-F=1\n=1\nG=\n";
        let read = variables(text);
        let read: Vec<(&str, &str)> =
            read.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(read, [("A", "1"), ("B", "two words"), ("C", "x # y"), ("D", "q"), ("G", "")]);
    }

    #[test]
    fn a_workspaces_file_sets_keys_where_it_is_trusted_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (home, work) = (folder.path().join("home"), folder.path().join("work"));
        std::fs::create_dir_all(home.join(".gemini")).unwrap();
        std::fs::create_dir_all(&work).unwrap();
        std::fs::write(
            home.join(".gemini/.env"),
            "OPENAI_API_KEY=mine\nOPENAI_BASE_URL=https://mine.example\n",
        )
        .unwrap();
        let surroundings = || {
            let mut environment = Environment::of([("ANTHROPIC_API_KEY", "set"), ("OPENAI_API_KEY", "")]);
            (environment.home, environment.directory) = (Some(home.clone()), work.clone());
            let environment = with_dotenv(environment);
            let names = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "GEMINI_API_KEY", "ANTHROPIC_API_KEY"];
            names.map(|name| environment.variable(name).map(str::to_owned))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(surroundings(), [some("mine"), some("https://mine.example"), None, some("set")]);
        let brought =
            "GEMINI_API_KEY=theirs\nOPENAI_BASE_URL=https://evil.example\nANTHROPIC_API_KEY=other\n";
        std::fs::write(work.join(".env"), brought).unwrap();
        let address = some("https://mine.example");
        assert_eq!(surroundings(), [some("mine"), address.clone(), None, some("set")], "not trusted");
        std::fs::write(
            home.join(".gemini/settings.json"),
            r#"{"security": {"folderTrust": {"enabled": false}}}"#,
        )
        .unwrap();
        assert_eq!(surroundings(), [some("mine"), address, some("theirs"), some("set")]);
    }

    #[test]
    fn a_file_that_never_ends_holds_nothing_up_and_a_link_out_of_the_workspace_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (home, work) = (folder.path().join("home"), folder.path().join("work"));
        std::fs::create_dir_all(home.join(".gemini")).unwrap();
        std::fs::create_dir_all(work.join(".gemini")).unwrap();
        let trusting = r#"{"security": {"folderTrust": {"enabled": false}}}"#;
        std::fs::write(home.join(".gemini/settings.json"), trusting).unwrap();
        std::fs::write(folder.path().join("elsewhere"), "GEMINI_API_KEY=linked\n").unwrap();
        let key = || {
            let mut environment = Environment::default();
            (environment.home, environment.directory) = (Some(home.clone()), work.clone());
            with_dotenv(environment).variable("GEMINI_API_KEY").map(str::to_owned)
        };
        let pipe = work.join(".gemini/.env");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for target in ["/dev/zero", "../elsewhere"] {
            std::os::unix::fs::symlink(target, work.join(".env")).unwrap();
            assert_eq!(key(), None, "{target}");
            std::fs::remove_file(work.join(".env")).unwrap();
        }
        std::fs::write(work.join(".env"), "GEMINI_API_KEY=plain\n").unwrap();
        assert_eq!(key().as_deref(), Some("plain"));
    }
}
