//! A user's surroundings: variables and folders.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::connections::Connections;

/// How the network is reached: what programs need that fetch something.
pub const NETWORK_VARIABLES: [&str; 12] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
];

/// The surroundings of a user, handed in by whoever embeds the library: nothing else is read of the process, so
/// that several users can live in one.
#[derive(Clone, Debug)]
pub struct Environment {
    variables: HashMap<String, OsString>,
    /// The workspace.
    pub directory: PathBuf,
    /// The user's home, when there is one.
    pub home: Option<PathBuf>,
    /// For what need not outlive the process.
    pub temporary: PathBuf,
    /// The machine is somebody else's, who lets this user in.
    pub guest: Option<Guest>,
    /// How servers are reached from here.
    pub(crate) connections: Connections,
}

/// What holds for a user on somebody else's machine. Whatever the user agrees to, the workspace is all that can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// Settings of the machine's owner, below the user's own.
    pub settings: PathBuf,
    /// A folder of the owner's rules. They ask and deny, and allow nothing.
    pub policies: PathBuf,
    /// Commands that the user agrees to may use the network.
    pub network: bool,
}

/// Surroundings without variables.
impl Default for Environment {
    fn default() -> Self {
        Self::of::<OsString, OsString>([])
    }
}

impl Environment {
    /// Surroundings with these variables; names that are no text are left out. The home is what `HOME` says, and what need not
    /// outlive the process lies where `TMPDIR` says, or in `/tmp`.
    pub fn of<N: Into<OsString>, V: Into<OsString>>(variables: impl IntoIterator<Item = (N, V)>) -> Self {
        let variables: HashMap<String, OsString> = variables
            .into_iter()
            .filter_map(|(name, value)| Some((name.into().into_string().ok()?, value.into())))
            .collect();
        let folder = |name: &str| variables.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let (home, temporary) = (folder("HOME"), folder("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp")));
        Self {
            variables,
            directory: PathBuf::new(),
            home,
            temporary,
            guest: None,
            connections: Connections::default(),
        }
    }

    /// The same surroundings in another workspace.
    pub fn in_workspace(&self, directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), ..self.clone() }
    }

    /// The workspace with no link in its path. A guest's was resolved when it was found to be theirs: what leads elsewhere by now is not
    /// followed.
    pub(crate) fn real_directory(&self) -> PathBuf {
        match self.guest {
            Some(_) => self.directory.clone(),
            None => self.directory.canonicalize().unwrap_or_else(|_| self.directory.clone()),
        }
    }

    /// A variable's text; empty ones count as unset, as most programs treat them.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name)?.to_str().map(str::trim).filter(|value| !value.is_empty())
    }

    /// Every variable whose name is text.
    pub fn all(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.variables.iter().map(|(name, value)| (OsString::from(name), value.clone()))
    }

    /// The first of these variables that is set, and its text.
    pub fn first<'n>(&self, names: &[&'n str]) -> Option<(&'n str, &str)> {
        names.iter().find_map(|name| Some((*name, self.variable(name)?)))
    }

    /// The directory of the user's own settings and keys: `CHARLA_HOME`, else `~/.charla`.
    pub fn charla_home(&self) -> Option<PathBuf> {
        match self.variables.get("CHARLA_HOME").filter(|path| !path.is_empty()) {
            Some(path) => Some(PathBuf::from(path)),
            None => Some(self.settings_home()?.join(".charla")),
        }
    }

    /// The directory of what the user has set for Gemini CLI: `~/.gemini`.
    pub(crate) fn gemini_home(&self) -> Option<PathBuf> {
        Some(self.settings_home()?.join(".gemini"))
    }

    /// Where both lie: `GEMINI_CLI_HOME` stands for the home, as in Gemini CLI. A relative one would be another in each folder.
    fn settings_home(&self) -> Option<PathBuf> {
        let named = self.variables.get("GEMINI_CLI_HOME").map(PathBuf::from);
        named.filter(|path| path.is_absolute()).or_else(|| self.home.clone())
    }

    /// The same surroundings with these variables where they have none of the name.
    pub(crate) fn with_missing(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        for (name, value) in variables {
            self.variables.entry(name).or_insert_with(|| value.into());
        }
        self
    }

    /// The same surroundings without those of these variables that are empty.
    pub(crate) fn without_empty(mut self, are_meant: impl Fn(&str) -> bool) -> Self {
        self.variables.retain(|name, value| !(value.is_empty() && are_meant(name)));
        self
    }

    /// The folders of this name in which a user keeps something for agents: in Charla's home, Gemini CLI's, and these folders
    /// of the home. On somebody else's machine only the first counts.
    pub(crate) fn folders_of_user(&self, name: &str, of_others: &[&str]) -> Vec<PathBuf> {
        let others = of_others.iter().filter_map(|folder| Some(self.home.as_ref()?.join(folder)));
        let others = self.gemini_home().into_iter().chain(others).filter(|_| self.guest.is_none());
        self.charla_home().into_iter().chain(others).map(|home| home.join(name)).collect()
    }

    /// The directory for what can be made anew: `CHARLA_CACHE`, else one in [`Environment::charla_home`]. Programs are run from
    /// it and what it says is believed, so it is where the processes of tools do not reach.
    pub fn cache(&self) -> Option<PathBuf> {
        match self.variables.get("CHARLA_CACHE").filter(|path| !path.is_empty()) {
            Some(path) => Some(PathBuf::from(path)),
            None => Some(self.charla_home()?.join("cache")),
        }
    }

    /// A program of this name, for our own use.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let folders = self.safe_folders("PATH").into_iter();
        folders.map(|folder| folder.join(name)).find(|path| path.is_file())
    }

    /// The folders that a variable such as `PATH` lists, without relative ones and those in the workspace: what lies there came
    /// with the workspace, and what we start ourselves must not. Somebody's home is no such workspace.
    pub(crate) fn safe_folders(&self, variable: &str) -> Vec<PathBuf> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let workspace = Some(real(&self.directory));
        let workspace = workspace.filter(|workspace| {
            let home = self.home.as_deref().map(real).unwrap_or_default();
            !self.directory.as_os_str().is_empty()
                && !home.starts_with(workspace)
                && workspace.parent().is_some()
        });
        let listed = self.variable(variable).unwrap_or_default().split(':').map(Path::new);
        let safe = |folder: &&Path| {
            folder.is_absolute()
                && !workspace.as_ref().is_some_and(|workspace| real(folder).starts_with(workspace))
        };
        listed.filter(safe).map(Path::to_owned).collect()
    }

    /// The user's settings file.
    pub fn user_settings(&self) -> Option<PathBuf> {
        Some(self.charla_home()?.join("settings.json"))
    }

    /// The workspace's settings file.
    pub fn workspace_settings(&self) -> PathBuf {
        self.directory.join(".charla").join("settings.json")
    }

    /// A path from settings: `~/` is the home, everything else is relative to `base`.
    pub fn expand(&self, path: &str, base: &Path) -> PathBuf {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_from_the_variables_where_nobody_names_them() {
        let environment = Environment::of([("HOME", "/home/ada"), ("TMPDIR", "/var/tmp")]);
        assert_eq!(environment.home, Some("/home/ada".into()));
        assert_eq!(environment.temporary, Path::new("/var/tmp"));
        // Nothing of a process is ever put into the folder it happens to be in.
        for odd in [Environment::of([("HOME", "ada"), ("TMPDIR", "")]), Environment::default()] {
            assert_eq!((odd.home, odd.temporary), (None, "/tmp".into()));
        }
    }

    #[test]
    fn charla_home_replaces_the_folder_in_the_home() {
        let environment = Environment { home: Some("/home/ada".into()), ..Environment::default() };
        assert_eq!(environment.charla_home(), Some("/home/ada/.charla".into()));
        let environment = Environment::of([("CHARLA_HOME", "/srv/charla")]);
        assert_eq!(environment.user_settings(), Some("/srv/charla/settings.json".into()));
    }

    #[test]
    fn the_home_of_gemini_cli_stands_for_the_home() {
        let with = |home: &str| {
            let environment = Environment::of([("GEMINI_CLI_HOME", home)]);
            let environment = Environment { home: Some("/home/ada".into()), ..environment };
            (environment.charla_home().unwrap(), environment.gemini_home().unwrap())
        };
        assert_eq!(with("/srv/g"), ("/srv/g/.charla".into(), "/srv/g/.gemini".into()));
        for home in ["", "relative"] {
            assert_eq!(with(home), ("/home/ada/.charla".into(), "/home/ada/.gemini".into()));
        }
    }

    #[test]
    fn an_empty_variable_is_no_variable() {
        let environment = Environment::of([("A", " "), ("B", " x\n")]);
        assert_eq!(environment.first(&["A", "B"]), Some(("B", "x")));
    }
}
