//! The person's own editor.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use charla::settings::Settings;
use charla::{Environment, HelperVariables, editor_variables};
use charla_proto::Args;

/// The command that edits a file.
pub struct Editor {
    command: Option<String>,
    /// All its variables.
    variables: HelperVariables,
}

impl Editor {
    /// The editor of `VISUAL`, else of `EDITOR`.
    pub fn of(environment: &Environment, settings: &Settings) -> Self {
        Self {
            command: environment.first(&["VISUAL", "EDITOR"]).map(|(_, command)| command.to_owned()),
            variables: editor_variables(environment, settings),
        }
    }

    /// Lets the person edit `content`, in a file that is named like `path`.
    pub async fn edit(&self, path: &Path, content: &str) -> Result<String, String> {
        let Some(command) = &self.command else {
            return Err("neither VISUAL nor EDITOR names an editor".to_owned());
        };
        let failed = |error: std::io::Error| format!("the file to edit: {error}");
        let suffix = path.file_name().map(|name| format!("-{}", name.to_string_lossy())).unwrap_or_default();
        // Editors look for settings around the file and where they are started: in a folder of its own there are none.
        let folder = tempfile::Builder::new().prefix("charla-").tempdir().map_err(failed)?;
        let mut file = tempfile::Builder::new()
            .prefix("charla-")
            .suffix(&suffix)
            .tempfile_in(&folder)
            .map_err(failed)?;
        file.write_all(content.as_bytes()).map_err(failed)?;
        // Through a shell, because the variable may hold arguments (`code --wait`).
        let status = tokio::process::Command::new("/bin/sh")
            .args(["-c", &format!("{command} \"$1\""), "sh"])
            .arg(file.path())
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&folder)
            .stdin(Stdio::inherit())
            .stdout(Stdio::inherit())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .status()
            .await
            .map_err(|error| format!("the editor `{command}` cannot be started: {error}"))?;
        if !status.success() {
            return Err(format!("the editor `{command}` failed ({status})"));
        }
        // Editors replace files as often as they write them: it is read by its name.
        std::fs::read_to_string(file.path()).map_err(failed)
    }
}

/// The arguments that a person wrote as JSON in the place of those `before`; nothing where they are the same, or nothing was
/// written. What is wrong with a text that is none is told in words; it is theirs to mend.
pub fn edited_arguments(text: &str, before: &Args) -> Result<Option<Args>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    match serde_json::from_str::<Args>(text) {
        Ok(args) => Ok((args != *before).then_some(args)),
        Err(error) => Err(format!("no JSON object: {error}; e goes on with it as you left it")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_others_the_same_or_not_understood() {
        let before: Args = serde_json::from_value(json!({"command": "make"})).unwrap();
        for same in ["", " \n", "{ \"command\" :\n\"make\" }"] {
            assert_eq!(edited_arguments(same, &before), Ok(None), "{same}");
        }
        let other = edited_arguments("{\"command\": \"make test\"}", &before).unwrap().unwrap();
        assert_eq!(other["command"], "make test");
        for wrong in ["{\"command\": \"make\",}", "[]", "make test"] {
            let told = edited_arguments(wrong, &before).unwrap_err();
            assert!(told.starts_with("no JSON object: ") && told.contains("line 1"), "{told}");
        }
    }
}
