//! What the process was started with.

use std::path::PathBuf;

use charla::Environment;

/// The real surroundings.
pub fn of_process() -> Environment {
    let mut environment = Environment::of(std::env::vars_os());
    environment.directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    environment.home = etcetera::home_dir().ok();
    environment.temporary = std::env::temp_dir();
    environment
}
