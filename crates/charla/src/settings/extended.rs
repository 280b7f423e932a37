//! What extensions add to the settings: servers, hooks and tools that are left out. The user's own entry of a name goes before.

use charla_proto::text::one_line;
use serde_json::Value;

use super::hooks::HookGroup;
use super::model::{McpServerSettings, ServerOrigin, Settings};
use super::typed::{Misfit, typed};
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
        add_hooks(extension, settings, notices);
        for (name, server) in &extension.servers {
            match entry(extension, name, server) {
                Ok(_) if settings.mcp_servers.contains_key(name) => {}
                Ok(server) => {
                    settings.mcp_servers.insert(name.clone(), server);
                    let origin = ServerOrigin::Extension(extension.folder.clone());
                    settings.brought.servers.insert(name.clone(), origin);
                }
                Err(notice) => notices.push(notice),
            }
        }
    }
    settings.brought.extensions = used;
    Ok(())
}

/// Adds the hooks of an extension behind those of the settings, with its name as where they come from.
fn add_hooks(extension: &Brings, settings: &mut Settings, notices: &mut Vec<Notice>) {
    for (event, groups) in &extension.hooks {
        match typed::<Vec<HookGroup>>(groups.clone()) {
            Ok(mut groups) => {
                let source = Some(format!("extension {}", extension.name));
                for group in &mut groups {
                    group.source.clone_from(&source);
                    group.extension = Some(extension.folder.clone());
                }
                settings.hooks.entry(event.clone()).or_default().extend(groups);
            }
            Err(error) => {
                let (of, event) = (&extension.name, one_line(event));
                let text = format!("hooks of {event} of the extension {of} are left out: {}", error.why);
                notices.push(text.into());
            }
        }
    }
}

fn entry(extension: &Brings, name: &str, server: &Value) -> Result<McpServerSettings, Notice> {
    typed(server.clone()).map_err(|Misfit { path, why }| {
        let of = &extension.name;
        format!("the MCP server {name} of the extension {of} is left out: `{path}`: {why}").into()
    })
}
