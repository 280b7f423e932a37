//! The environment variables of child processes.

use std::ffi::{OsStr, OsString};

use tokio::process::Command;

/// The variable that marks every process of a session, inherited by whatever it starts.
pub(crate) const MARK: &str = "CHARLA_RUN";

/// Set for every child: nobody is there to scroll, or to type a password.
const UNATTENDED: [(&str, &str); 3] = [("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// The variables children get. Nothing is inherited that is not in here.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// These variables without the secret ones. `is_secret` is asked by name; a name that is no UTF-8 is
    /// asked with its odd bytes replaced.
    pub fn new(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        is_secret: impl Fn(&str) -> bool,
    ) -> Self {
        let open = variables.into_iter().filter(|(name, _)| !is_secret(&name.to_string_lossy()));
        Self { variables: open.collect() }
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }

    pub(crate) fn apply(&self, command: &mut Command, mark: &str) {
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.envs(UNATTENDED).env(MARK, mark);
    }
}

/// A rule for [`Environment::new`]: names that commonly hold a model provider's key, a password or another
/// secret. A command that needs one can still read it from where the user keeps it.
pub fn is_secret_name(name: &str) -> bool {
    const ENDINGS: [&str; 9] = [
        "API_KEY",
        "APIKEY",
        "ACCESS_KEY",
        "SECRET",
        "SECRET_KEY",
        "PRIVATE_KEY",
        "PASSWORD",
        "AUTH_TOKEN",
        "CREDENTIALS",
    ];
    let name = name.to_ascii_uppercase();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out_and_the_rest_stays() {
        let variables = [("OPENAI_API_KEY", "k"), ("PATH", "/bin"), ("db_password", "p"), ("HOME", "/h")];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::new(variables, is_secret_name);
        assert_eq!(environment.get("PATH"), Some(OsStr::new("/bin")));
        assert_eq!(environment.get("HOME"), Some(OsStr::new("/h")));
        assert_eq!(environment.get("OPENAI_API_KEY"), None);
        assert_eq!(environment.get("db_password"), None);
    }
}
