//! A settings file, changed: comments and everything else in it stay as they are.

use std::fs::Permissions;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::private_file::{self, Turn};

/// A settings file that is about to be changed. Nobody else changes it meanwhile.
pub(crate) struct SettingsFile {
    path: PathBuf,
    /// The file itself, where the path is a link to it: the link stays one.
    real: PathBuf,
    root: CstRootNode,
    /// Others who work in the folder read it, too.
    is_shared: bool,
    _turn: Option<Turn>,
}

/// Keeps a value in the user's settings, under a key such as `["model", "name"]`. Returns the file.
pub fn keep(environment: &Environment, key: &[&str], value: &Value) -> Result<PathBuf, Failure> {
    let file = SettingsFile::of_user(environment)?;
    file.set(key, value)?;
    file.write()
}

impl SettingsFile {
    /// The user's.
    pub(crate) fn of_user(environment: &Environment) -> Result<Self, Failure> {
        let path = environment.user_settings();
        let path = path.ok_or_else(|| Failure::config("there is no home directory to keep settings in"))?;
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let turn = private_file::own_turn(&path).map_err(|error| cannot("change", &path, &error))?;
        Self::read(path, real, false, Some(turn))
    }

    /// The workspace's.
    pub(crate) fn of_workspace(environment: &Environment) -> Result<Self, Failure> {
        let path = environment.workspace_settings();
        // What lies at the end of a link belongs to somebody else than the workspace.
        if path.is_symlink() {
            let why = io::Error::other("it is a link; change the file that it leads to");
            return Err(cannot("change", &path, &why));
        }
        let turn = path.parent().is_some_and(Path::is_dir).then(|| private_file::turn(&path)).transpose();
        let turn = turn.map_err(|error| cannot("change", &path, &error))?;
        Self::read(path.clone(), path, true, turn)
    }

    fn read(path: PathBuf, real: PathBuf, is_shared: bool, turn: Option<Turn>) -> Result<Self, Failure> {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) if text.trim().is_empty() => "{\n}\n".to_owned(),
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => "{\n}\n".to_owned(),
            Err(error) => return Err(cannot("read", &path, &error)),
        };
        let root = CstRootNode::parse(&text, &ParseOptions::default())
            .map_err(|error| Failure::config(format!("{}: {error}", path.display())))?;
        Ok(Self { path, real, root, is_shared, _turn: turn })
    }

    /// What stands under a key, as it is written.
    pub(crate) fn get(&self, key: &[&str]) -> Option<String> {
        let (name, sections) = key.split_last()?;
        Some(self.section(sections)?.get(name)?.value()?.to_string())
    }

    /// Puts a value under a key, in the place of what stands there.
    pub(crate) fn set(&self, key: &[&str], value: &Value) -> Result<(), Failure> {
        let Some((name, sections)) = key.split_last() else { return Ok(()) };
        let made = |section: Option<CstObject>, name: &&str| section?.object_value_or_create(name);
        let section = sections.iter().fold(self.root.object_value_or_create(), made);
        let section = section.ok_or_else(|| self.not_an_object(sections))?;
        match section.get(name) {
            Some(property) => property.set_value(input(value)),
            None => drop(section.append(name, input(value))),
        }
        Ok(())
    }

    /// Takes out what stands under a key, with sections that hold nothing then; false where nothing stands there.
    pub(crate) fn remove(&self, key: &[&str]) -> bool {
        let Some((name, sections)) = key.split_last() else { return false };
        let Some(section) = self.section(sections) else { return false };
        let Some(property) = section.get(name) else { return false };
        property.remove();
        if section.children().iter().all(is_bare) && !sections.is_empty() {
            self.remove(sections);
        }
        true
    }

    /// Writes it. Returns its path.
    pub(crate) fn write(self) -> Result<PathBuf, Failure> {
        let text = self.root.to_string();
        let written = match self.is_shared {
            false => private_file::write(&self.real, &text),
            true => write_shared(&self.real, &text),
        };
        match written {
            Ok(()) => Ok(self.path),
            Err(error) => Err(cannot("write", &self.path, &error)),
        }
    }

    fn section(&self, sections: &[&str]) -> Option<CstObject> {
        sections.iter().try_fold(self.root.object_value()?, |section, name| section.object_value(name))
    }

    fn not_an_object(&self, sections: &[&str]) -> Failure {
        let name = if sections.is_empty() {
            String::new()
        } else {
            format!(", or `{}` in them,", sections.join("."))
        };
        Failure::config(format!("{}: the settings{name} are no object", self.path.display()))
    }
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::config(format!("cannot {what} {}: {error}", path.display()))
}

/// Writes a file that others read, too: a crash leaves the old text or the new one, and who may read it stays as it was.
fn write_shared(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mode = path.metadata().map_or(0o666, |found| found.permissions().mode() & 0o777);
    let mut beside = tempfile::Builder::new();
    let mut file = beside.permissions(Permissions::from_mode(mode)).tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// True for brackets and blanks: nothing is set or remarked there.
fn is_bare(node: &CstNode) -> bool {
    node.is_token() || node.is_whitespace() || node.is_newline()
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

    #[test]
    fn a_value_is_kept_and_the_rest_of_the_file_stays() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::of([("CHARLA_HOME", home.path())]);
        let path = home.path().join("settings.json");
        let text = "{\n  // mine\n  \"model\": {\"temperature\": 0.5}, // so\n}\n";
        std::fs::write(&path, text).unwrap();
        assert_eq!(keep(&environment, &["model", "name"], &json!("a/b")).unwrap(), path);
        keep(&environment, &["terminal", "theme"], &json!("terminal")).unwrap();
        keep(&environment, &["model", "name"], &json!("c/d")).unwrap();
        let kept = std::fs::read_to_string(&path).unwrap();
        assert!(kept.contains("// mine") && kept.contains("// so"), "{kept}");
        let settings = crate::settings::load(&environment, Vec::new()).unwrap().settings;
        assert_eq!((settings.model.name.as_deref(), settings.model.temperature), (Some("c/d"), Some(0.5)));
        assert_eq!(settings.terminal.theme.as_deref(), Some("terminal"));
    }

    #[test]
    fn what_several_keep_at_once_is_all_there() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::of([("CHARLA_HOME", home.path())]);
        let names: Vec<String> = (0..16).map(|number| format!("s{number}")).collect();
        std::thread::scope(|scope| {
            for name in &names {
                let environment = &environment;
                scope.spawn(move || {
                    keep(environment, &["mcpServers", name], &json!({"command": "a"})).unwrap()
                });
            }
        });
        let settings = crate::settings::load(&environment, Vec::new()).unwrap().settings;
        assert_eq!(settings.mcp_servers.len(), names.len());
    }

    #[test]
    fn a_link_of_the_users_stays_one_and_one_of_a_workspace_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let mut environment = Environment::of([("CHARLA_HOME", home.path().join("charla"))]);
        environment.directory = home.path().join("work");
        for folder in ["charla", "work/.charla", "dotfiles"] {
            std::fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        let mine = home.path().join("dotfiles/settings.json");
        std::fs::write(&mine, "{}").unwrap();
        for link in ["charla/settings.json", "work/.charla/settings.json"] {
            std::os::unix::fs::symlink(&mine, home.path().join(link)).unwrap();
        }
        keep(&environment, &["model", "name"], &json!("a/b")).unwrap();
        assert!(home.path().join("charla/settings.json").is_symlink());
        assert!(std::fs::read_to_string(&mine).unwrap().contains("a/b"));
        let refused = SettingsFile::of_workspace(&environment).err().unwrap();
        assert!(refused.message.contains("it is a link"), "{}", refused.message);
    }

    #[test]
    fn a_file_that_others_read_stays_readable_to_them() {
        let work = tempfile::tempdir().unwrap();
        let mut environment = Environment::of([("CHARLA_HOME", work.path().join("home"))]);
        environment.directory = work.path().to_owned();
        let path = environment.workspace_settings();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "{}").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let file = SettingsFile::of_workspace(&environment).unwrap();
        file.set(&["model", "name"], &json!("a/b")).unwrap();
        file.write().unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o644);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_section_goes_with_the_last_that_stands_in_it_unless_something_is_remarked() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::of([("CHARLA_HOME", home.path())]);
        let path = home.path().join("settings.json");
        for (text, left) in [
            (r#"{"mcpServers": {"a": {}}}"#, "{}"),
            (r#"{"mcpServers": {"a": {}, "b": {}}}"#, r#"{"mcpServers":{"b":{}}}"#),
            ("{\"mcpServers\": { // mine\n\"a\": {}}}", "//mine"),
        ] {
            std::fs::write(&path, text).unwrap();
            let file = SettingsFile::of_user(&environment).unwrap();
            assert!(file.remove(&["mcpServers", "a"]) && !file.remove(&["mcpServers", "a"]));
            file.write().unwrap();
            let kept = std::fs::read_to_string(&path).unwrap();
            let flat: String = kept.split_whitespace().collect();
            assert!(flat.contains(left) && !kept.contains("\"a\""), "{text}: {kept}");
        }
    }

    #[test]
    fn what_is_no_object_is_left_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::of([("CHARLA_HOME", home.path())]);
        for text in ["[]", "{\"model\": 3}", "{ half"] {
            std::fs::write(home.path().join("settings.json"), text).unwrap();
            assert!(keep(&environment, &["model", "name"], &json!("a/b")).is_err(), "{text}");
            assert_eq!(std::fs::read_to_string(home.path().join("settings.json")).unwrap(), text);
        }
    }
}
