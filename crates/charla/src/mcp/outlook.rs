//! The servers of the settings as they would be reached. None of them is.

use std::path::Path;

use charla_mcp::{Reach, ServerConfig};
use charla_proto::text::one_line;

use super::config;
use super::ground::Ground;
use crate::environment::Environment;
use crate::settings::{Settings, without_secrets};

/// Each server by its name: how it would be reached, or why it cannot be.
pub(crate) fn outlook(
    settings: &Settings,
    environment: &Environment,
) -> Vec<(String, Result<String, String>)> {
    let servers = settings.mcp_servers.iter().map(|(name, server)| {
        let used = if settings.mcp.uses(name) { "" } else { " (not used)" };
        let config = config::config(name, server, &Ground::of(name, settings), environment);
        let config = config.map_err(|flaw| flaw.to_string());
        let reached = config.and_then(|config| match config.reach {
            Reach::Process(command) => {
                let (program, how) =
                    (one_line(&command.program), if command.trusted { "trusted" } else { "confined" });
                match is_there(&command.program, environment) {
                    true => Ok(format!("{program} ({how}){used}")),
                    false => Err(format!("there is no program `{program}`")),
                }
            }
            Reach::Http(endpoint) => Ok(format!("{}{used}", without_secrets(&endpoint.url))),
        });
        (name.clone(), reached)
    });
    servers.collect()
}

/// The program of a server, where there is none of that name.
pub(crate) fn missing_program(config: &ServerConfig, environment: &Environment) -> Option<String> {
    match &config.reach {
        Reach::Process(command) if !is_there(&command.program, environment) => Some(command.program.clone()),
        _ => None,
    }
}

/// The first argument of a server's program that names something in this folder by a relative path, where the program starts in another
/// one: what it looks for there is not what was meant. A word without a dot or a slash is a name as often as a file.
pub(super) fn left_behind(config: &ServerConfig, environment: &Environment) -> Option<String> {
    let Reach::Process(command) = &config.reach else { return None };
    let is_meant = |word: &&String| {
        word.contains(['.', '/'])
            && Path::new(word).is_relative()
            && environment.directory.join(word).exists()
    };
    let is_elsewhere = command.folder != environment.directory;
    command.arguments.iter().find(is_meant).filter(|_| is_elsewhere).cloned()
}

/// True for a program that is where it is said to be, or on the user's path.
fn is_there(program: &str, environment: &Environment) -> bool {
    Path::new(program).is_file() || environment.program(program).is_some()
}
