//! A settings file, changed: comments and everything else in it stay as they are.

use std::io::ErrorKind;
use std::path::PathBuf;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::private_file;

/// A settings file that is about to be changed.
pub(crate) struct SettingsFile {
    path: PathBuf,
    root: CstRootNode,
    /// Others who work in the folder read it, too.
    is_shared: bool,
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
        Self::read(path, false)
    }

    /// The workspace's.
    pub(crate) fn of_workspace(environment: &Environment) -> Result<Self, Failure> {
        Self::read(environment.workspace_settings(), true)
    }

    fn read(path: PathBuf, is_shared: bool) -> Result<Self, Failure> {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) if text.trim().is_empty() => "{\n}\n".to_owned(),
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => "{\n}\n".to_owned(),
            Err(error) => return Err(Failure::config(format!("cannot read {}: {error}", path.display()))),
        };
        let root = CstRootNode::parse(&text, &ParseOptions::default())
            .map_err(|error| Failure::config(format!("{}: {error}", path.display())))?;
        Ok(Self { path, root, is_shared })
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
        let Self { path, root, is_shared } = self;
        let text = root.to_string();
        let written = match is_shared {
            false => private_file::write(&path, &text),
            true => {
                let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
                folder.and_then(|()| std::fs::write(&path, &text))
            }
        };
        match written {
            Ok(()) => Ok(path),
            Err(error) => Err(Failure::config(format!("cannot write {}: {error}", path.display()))),
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
