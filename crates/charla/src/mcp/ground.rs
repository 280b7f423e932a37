//! Where servers start: those of the user and of extensions apart from whatever workspace there is.
//!
//! A program such as `npx` or `python3 -m` runs what it finds in the folder it is started in, with the variables that its
//! entry gives it. A workspace's own servers are trusted with the workspace; all others start in an empty folder of ours.

use std::io;
use std::path::{MAIN_SEPARATOR_STR, Path, PathBuf};

use crate::environment::Environment;
use crate::private_file::make_folder;
use crate::settings::{ServerOrigin, Settings};

/// Whose a server is, as far as that decides where it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ground {
    /// The user's.
    User,
    /// The trusted workspace's own.
    Workspace,
    /// An extension's, which lies in this folder.
    Extension(PathBuf),
}

impl Ground {
    /// That of a server of the settings.
    pub(super) fn of(server: &str, settings: &Settings) -> Self {
        match settings.brought.servers.get(server) {
            None => Self::User,
            Some(ServerOrigin::Workspace) => Self::Workspace,
            Some(ServerOrigin::Extension(folder)) => Self::Extension(folder.clone()),
        }
    }

    pub(super) fn is_workspace(&self) -> bool {
        *self == Self::Workspace
    }

    /// Where a server starts that names no folder.
    pub(super) fn folder(&self, environment: &Environment) -> PathBuf {
        match self {
            Self::Workspace => environment.directory.clone(),
            Self::User | Self::Extension(_) => apart(environment),
        }
    }

    /// What a folder that it names is relative to.
    pub(super) fn base<'a>(&'a self, environment: &'a Environment) -> &'a Path {
        match self {
            Self::Extension(folder) => folder,
            Self::User | Self::Workspace => &environment.directory,
        }
    }

    /// A place that an extension names by this variable.
    pub(super) fn place(&self, variable: &str, environment: &Environment) -> Option<String> {
        let Self::Extension(folder) = self else { return None };
        match variable {
            "extensionPath" => Some(folder.to_string_lossy().into_owned()),
            "workspacePath" => Some(environment.directory.to_string_lossy().into_owned()),
            "/" | "pathSeparator" => Some(MAIN_SEPARATOR_STR.to_owned()),
            _ => None,
        }
    }
}

/// The folder that holds nothing, where no confined process can write. Who has no home has no such folder: nobody but the
/// administrator writes into the root.
fn apart(environment: &Environment) -> PathBuf {
    environment.cache().map_or_else(|| "/".into(), |cache| cache.join("apart"))
}

/// Makes the folder that holds nothing. Nobody is meant to leave anything in it.
pub(super) fn make_apart(environment: &Environment) -> io::Result<()> {
    let folder = apart(environment);
    if folder.is_dir() {
        return Ok(());
    }
    make_folder(&folder)?;
    #[cfg(unix)]
    std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o500))?;
    Ok(())
}
