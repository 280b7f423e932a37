//! What the process was started with.

use std::path::{Path, PathBuf};

use charla::{Environment, Failure, with_dotenv};

/// The real surroundings, or those in another folder.
pub fn of_process(folder: Option<&Path>) -> Result<Environment, Failure> {
    if let Some(folder) = folder {
        std::env::set_current_dir(folder).map_err(|error| {
            Failure::input(format!("cannot work in {}: {error}", folder.display()))
                .with_hint("-C takes a folder that exists")
        })?;
    }
    let mut environment = Environment::of(std::env::vars_os());
    environment.directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    environment.home = etcetera::home_dir().ok();
    environment.temporary = std::env::temp_dir();
    match std::env::var_os("CHARLA_HOME").map(PathBuf::from) {
        // Each folder would have its own keys, settings and sessions.
        Some(home) if home.is_relative() && !home.as_os_str().is_empty() => {
            Err(Failure::config(format!("CHARLA_HOME is {}, which is no absolute path", home.display()))
                .with_hint("give the whole path: export CHARLA_HOME=\"$HOME/…\""))
        }
        _ => Ok(with_dotenv(environment)),
    }
}
