//! Rules a person has saved with one key.

use std::io;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::private_file;

/// How large the file becomes: it is read at the beginning of every session.
const LARGEST: usize = 1024 * 1024;

/// The file of a user's saved rules.
#[derive(Clone, Debug)]
pub struct SavedRules {
    path: PathBuf,
}

impl SavedRules {
    /// The file in Charla's home; `None` without a home.
    pub fn of(environment: &Environment) -> Option<Self> {
        Some(Self { path: environment.charla_home()?.join("policies/auto-saved.toml") })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds rules to its end.
    pub fn append(&self, rules: &str) -> io::Result<()> {
        let _turn = private_file::own_turn(&self.path)?;
        let mut text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        if !text.is_empty() {
            text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
        }
        text.push_str(rules.trim_end());
        text.push('\n');
        if text.len() > LARGEST {
            let why = "it would have more than a megabyte; take rules out of it that are not needed any more";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        private_file::write(&self.path, &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn saved_rules_are_added_to_a_private_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::of([("CHARLA_HOME", folder.path())]);
        let saved = SavedRules::of(&environment).unwrap();
        saved.append("[[rule]]\na = 1\n").unwrap();
        saved.append("[[rule]]\na = 2\n").unwrap();
        assert_eq!(std::fs::read_to_string(saved.path()).unwrap(), "[[rule]]\na = 1\n\n[[rule]]\na = 2\n");
        assert_eq!(std::fs::metadata(saved.path()).unwrap().permissions().mode() & 0o777, 0o600);
        let refused = saved.append(&"#".repeat(LARGEST)).unwrap_err();
        assert!(refused.to_string().contains("more than a megabyte"), "{refused}");
        assert!(std::fs::read_to_string(saved.path()).unwrap().ends_with("a = 2\n"), "nothing was added");
    }
}
