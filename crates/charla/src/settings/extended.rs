//! What extensions add to the settings: servers and tools that are left out. The user's own entry of a name goes before.

use serde_json::Value;

use super::model::{McpServerSettings, Settings};
use crate::environment::Environment;
use crate::extensions::{Brings, Extensions};
use crate::failure::Failure;
use crate::notices::Notice;

/// Puts what the extensions that are used bring into the settings; what cannot be used is told.
pub(super) fn extend(
    settings: &mut Settings,
    environment: &Environment,
    notices: &mut Vec<Notice>,
) -> Result<(), Failure> {
    let Some(extensions) = Extensions::of(environment) else { return Ok(()) };
    let used = extensions.used(settings.extensions.only.as_deref(), notices)?;
    for extension in &used {
        settings.tools.exclude.extend(extension.excluded.iter().cloned());
        for (name, server) in &extension.servers {
            match entry(extension, name, server) {
                Ok(server) => drop(settings.mcp_servers.entry(name.clone()).or_insert(server)),
                Err(notice) => notices.push(notice),
            }
        }
    }
    settings.brought.extensions = used;
    Ok(())
}

fn entry(extension: &Brings, name: &str, server: &Value) -> Result<McpServerSettings, Notice> {
    serde_path_to_error::deserialize(server.clone()).map_err(|error| {
        let (of, path, why) = (&extension.name, error.path(), error.inner());
        format!("the MCP server {name} of the extension {of} is left out: `{path}`: {why}").into()
    })
}
