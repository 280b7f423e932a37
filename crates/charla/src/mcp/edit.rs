//! The servers in a settings file, added and taken out. Comments and everything else in the file stay as they are.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::Value;

use super::config::config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::private_file;
use crate::settings::McpServerSettings;

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
    fn path(self, environment: &Environment) -> Result<PathBuf, Failure> {
        match self {
            Scope::User => environment
                .user_settings()
                .ok_or_else(|| Failure::config("there is no home directory to keep settings in")),
            Scope::Workspace => Ok(environment.workspace_settings()),
        }
    }
}

/// Puts a server into the settings, in the place of one of the same name. Returns the file.
pub fn add(environment: &Environment, scope: Scope, name: &str, server: &Value) -> Result<PathBuf, Failure> {
    let refused = |why: String| Failure::input(format!("`{name}` cannot be added: {why}"));
    let typed: McpServerSettings =
        serde_json::from_value(server.clone()).map_err(|error| refused(error.to_string()))?;
    if name.trim().is_empty() || name.starts_with('$') {
        return Err(refused("it is no name".to_owned()));
    }
    config(name, &typed, environment).map_err(refused)?;
    let path = scope.path(environment)?;
    let root = read(&path)?;
    let servers = root.object_value_or_create().and_then(|root| root.object_value_or_create(KEY));
    let servers = servers.ok_or_else(|| not_an_object(&path))?;
    match servers.get(name) {
        Some(property) => property.set_value(input(server)),
        None => drop(servers.append(name, input(server))),
    }
    write(&path, scope, &root)?;
    Ok(path)
}

/// Takes a server out of the settings. Returns the file, if it was there.
pub fn remove(environment: &Environment, scope: Scope, name: &str) -> Result<Option<PathBuf>, Failure> {
    let path = scope.path(environment)?;
    let root = read(&path)?;
    let servers = root.object_value().and_then(|root| root.object_value(KEY));
    let Some(property) = servers.and_then(|servers| servers.get(name)) else { return Ok(None) };
    property.remove();
    write(&path, scope, &root)?;
    Ok(Some(path))
}

fn read(path: &Path) -> Result<CstRootNode, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => "{\n}\n".to_owned(),
        Err(error) => return Err(Failure::config(format!("cannot read {}: {error}", path.display()))),
    };
    CstRootNode::parse(&text, &ParseOptions::default())
        .map_err(|error| Failure::config(format!("{}: {error}", path.display())))
}

fn not_an_object(path: &Path) -> Failure {
    Failure::config(format!("{}: the settings, or `{KEY}` in them, are no object", path.display()))
}

fn write(path: &Path, scope: Scope, root: &CstRootNode) -> Result<(), Failure> {
    let text = root.to_string();
    let written = match scope {
        Scope::User => private_file::write(path, &text),
        // Others who work in the folder read it, too.
        Scope::Workspace => {
            let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
            folder.and_then(|()| std::fs::write(path, &text))
        }
    };
    written.map_err(|error| Failure::config(format!("cannot write {}: {error}", path.display())))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
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
        let server = json!({"command": "python3", "args": ["-m", "x"], "trust": true});
        assert_eq!(add(&environment, Scope::User, "time", &server).unwrap(), path);
        let again = json!({"url": "http://localhost:1/mcp"});
        add(&environment, Scope::User, "web", &again).unwrap();
        add(&environment, Scope::User, "time", &again).unwrap();
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
    fn what_names_no_server_is_not_added() {
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::of([("CHARLA_HOME", folder.path())]);
        for (name, server) in [("", json!({"command": "a"})), ("a", json!({})), ("a", json!({"colour": 1}))] {
            assert!(add(&environment, Scope::User, name, &server).is_err(), "{name} {server}");
        }
        assert!(!folder.path().join("settings.json").exists());
    }
}
