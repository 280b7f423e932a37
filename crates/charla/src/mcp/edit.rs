//! The servers in a settings file, added and taken out. Comments and everything else in the file stay as they are.

use std::path::PathBuf;

use charla_mcp::ServerConfig;
use serde_json::Value;

use super::config::{Flaw, config};
use super::ground::Ground;
use super::outlook::{left_behind, missing_program};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::{McpServerSettings, SettingsFile};

const KEY: &str = "mcpServers";

/// Whose settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user's, for every workspace.
    User,
    /// The workspace's, which have to be trusted.
    Workspace,
}

impl Scope {
    fn file(self, environment: &Environment) -> Result<SettingsFile, Failure> {
        match self {
            Scope::User => SettingsFile::of_user(environment),
            Scope::Workspace => SettingsFile::of_workspace(environment),
        }
    }

    fn ground(self) -> Ground {
        match self {
            Scope::User => Ground::User,
            Scope::Workspace => Ground::Workspace,
        }
    }
}

/// A server that was added.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// The settings file.
    pub path: PathBuf,
    /// The entry of the same name that it took the place of, as it was written, if that said something else.
    pub replaced: Option<String>,
    /// A variable of the user's that it wants and that is not set: it is left out until that is.
    pub unset: Option<String>,
    /// Its program, where there is none of that name.
    pub missing: Option<String>,
    /// The first of its arguments that names something in this folder, where the program does not start here.
    pub left_behind: Option<String>,
}

/// The server that an entry names; the variable that it lacks, or why it names none.
pub(crate) fn check(
    environment: &Environment,
    scope: Scope,
    name: &str,
    server: &Value,
) -> Result<Result<ServerConfig, String>, Failure> {
    let refused = |why: String| Failure::input(format!("`{name}` cannot be added: {why}"));
    let typed: McpServerSettings =
        serde_json::from_value(server.clone()).map_err(|error| refused(error.to_string()))?;
    if name.trim().is_empty() || name.starts_with('$') || name.contains(char::is_control) {
        return Err(refused("it is no name".to_owned()));
    }
    match config(name, &typed, &scope.ground(), environment) {
        Ok(config) => Ok(Ok(config)),
        Err(Flaw::Unset(variable)) => Ok(Err(variable)),
        Err(Flaw::Wrong(why)) => Err(refused(why)),
    }
}

/// Puts a server into the settings, in the place of one of the same name.
pub fn add(environment: &Environment, scope: Scope, name: &str, server: &Value) -> Result<Added, Failure> {
    let checked = check(environment, scope, name, server)?;
    let config = checked.as_ref().ok();
    let missing = config.and_then(|config| missing_program(config, environment));
    let left_behind = config.and_then(|config| left_behind(config, environment));
    let file = scope.file(environment)?;
    let is_same = |entry: &String| serde_json::from_str::<Value>(entry).is_ok_and(|entry| entry == *server);
    let replaced = file.get(&[KEY, name]).filter(|entry| !is_same(entry));
    file.set(&[KEY, name], server)?;
    Ok(Added { path: file.write()?, replaced, unset: checked.err(), missing, left_behind })
}

/// A server as it stands in the settings; nothing where there is none, or something is remarked in it.
pub(crate) fn written(environment: &Environment, scope: Scope, name: &str) -> Option<Value> {
    let entry = scope.file(environment).ok()?.get(&[KEY, name])?;
    serde_json::from_str(&entry).ok()
}

/// Takes a server out of the settings. Returns the file, if it was there.
pub fn remove(environment: &Environment, scope: Scope, name: &str) -> Result<Option<PathBuf>, Failure> {
    let file = scope.file(environment)?;
    match file.remove(&[KEY, name]) {
        true => file.write().map(Some),
        false => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings;

    #[test]
    fn a_server_comes_and_goes_and_the_rest_of_the_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::of([("CHARLA_HOME", folder.path())]);
        let path = folder.path().join("settings.json");
        let text = "{\n  // mine\n  \"output\": {\"thoughts\": true}, // so\n}\n";
        std::fs::write(&path, text).unwrap();
        let server = json!({"command": "/no/python3", "args": ["-m", "x"], "trust": true});
        let added = add(&environment, Scope::User, "time", &server).unwrap();
        assert_eq!(
            added,
            Added {
                path: path.clone(),
                replaced: None,
                unset: None,
                missing: Some("/no/python3".to_owned()),
                left_behind: None
            }
        );
        let again = json!({"url": "http://localhost:1/mcp"});
        add(&environment, Scope::User, "web", &again).unwrap();
        assert_eq!(add(&environment, Scope::User, "time", &server).unwrap().replaced, None);
        let replaced = add(&environment, Scope::User, "time", &again).unwrap().replaced.unwrap();
        assert!(replaced.contains("python3") && replaced.contains("trust"), "{replaced}");
        let loaded = settings::load(&environment, Vec::new()).unwrap().settings;
        assert_eq!(loaded.mcp_servers.len(), 2);
        assert_eq!(loaded.mcp_servers["time"].url.as_deref(), Some("http://localhost:1/mcp"));
        let now = std::fs::read_to_string(&path).unwrap();
        assert!(now.contains("// mine") && now.contains("// so"), "{now}");
        assert_eq!(remove(&environment, Scope::User, "time").unwrap(), Some(path));
        assert_eq!(remove(&environment, Scope::User, "time").unwrap(), None);
        let loaded = settings::load(&environment, Vec::new()).unwrap().settings;
        assert_eq!(loaded.mcp_servers.keys().collect::<Vec<_>>(), ["web"]);
    }

    #[test]
    fn a_variable_that_is_not_set_yet_is_told_and_the_server_added() {
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::of([("CHARLA_HOME", folder.path())]);
        let server = json!({"command": "a", "env": {"TOKEN": "$TOKEN"}});
        let added = add(&environment, Scope::User, "a", &server).unwrap();
        assert_eq!(added.unset.as_deref(), Some("TOKEN"));
        assert!(std::fs::read_to_string(added.path).unwrap().contains("\"$TOKEN\""));
    }

    #[test]
    fn a_file_of_this_folder_is_told_where_the_program_does_not_start_here() {
        let folder = tempfile::tempdir().unwrap();
        let mut environment = Environment::of([("CHARLA_HOME", folder.path().join("home"))]);
        environment.directory = folder.path().to_owned();
        std::fs::create_dir(folder.path().join("serve")).unwrap();
        std::fs::write(folder.path().join("server.py"), "").unwrap();
        let whole = folder.path().join("server.py");
        for (args, told) in [
            (json!(["server.py", "."]), Some("server.py")),
            (json!(["--repository", "."]), Some(".")),
            (json!(["./serve"]), Some("./serve")),
            (json!(["serve", "gone.py", whole, "-m", "https://x.org/server.py"]), None),
        ] {
            let user = json!({"command": "python3", "args": args});
            let added = add(&environment, Scope::User, "a", &user).unwrap();
            assert_eq!(added.left_behind.as_deref(), told, "{args}");
            let here = json!({"command": "python3", "args": args, "cwd": "."});
            assert_eq!(add(&environment, Scope::User, "a", &here).unwrap().left_behind, None, "{args}");
            assert_eq!(add(&environment, Scope::Workspace, "a", &user).unwrap().left_behind, None, "{args}");
        }
    }

    #[test]
    fn what_names_no_server_is_not_added() {
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::of([("CHARLA_HOME", folder.path())]);
        for (name, server) in [
            ("", json!({"command": "a"})),
            ("\u{1b}[2J", json!({"command": "a"})),
            ("a", json!({})),
            ("a", json!({"colour": 1})),
        ] {
            assert!(add(&environment, Scope::User, name, &server).is_err(), "{name} {server}");
        }
        assert!(!folder.path().join("settings.json").exists());
    }
}
