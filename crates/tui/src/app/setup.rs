//! What the application is put together from.

use std::sync::Arc;

use charla::custom_command::CustomCommand;
use charla::settings::{Settings, WritingKeys};
use charla::{Charla, Wall};
use tokio::sync::mpsc::UnboundedSender;

use super::commands::themes;
use super::news::News;
use crate::commands::{KnownServers, Names};
use crate::composer::{Keys, Message, Sources as Completions, When};
use crate::theme::{Background, Theme};

/// What is said first, as if it had been typed.
pub(super) fn first_message(text: String) -> Message {
    Message { typed: text.clone(), text, files: Vec::new(), when: When::Now }
}

/// What is offered while something is written: commands, files of the workspace, and what MCP servers have.
pub(super) fn completions(
    charla: &Charla,
    custom: &[CustomCommand],
    servers: &KnownServers,
    tell: &UnboundedSender<News>,
) -> Completions {
    Completions {
        commands: Box::new(Names::with(custom, servers.clone())),
        resources: Box::new(servers.clone()),
        folder: Some(charla.environment().directory.clone()),
        home: charla.environment().home.clone(),
        found_more: found_more(tell),
    }
}

/// Tells that more can be named.
pub(super) fn found_more(tell: &UnboundedSender<News>) -> Arc<dyn Fn() + Send + Sync> {
    let tell = tell.clone();
    Arc::new(move || drop(tell.send(News::FilesFound)))
}

/// What confines tools on this machine, in a word.
pub(super) fn confinement(wall: &Wall) -> &'static str {
    match (wall.reading, wall.editing) {
        (true, true) => "confined",
        (true, false) => "partly confined",
        _ => "not confined",
    }
}

/// The keys of the line that is written.
pub(super) fn keys(settings: &Settings) -> Keys {
    match settings.terminal.keys.unwrap_or_default() {
        WritingKeys::Emacs => Keys::Emacs,
        WritingKeys::Vi => Keys::Vi,
    }
}

/// The theme that the settings name, if there is one of that name.
pub(super) fn theme(charla: &Charla, settings: &Settings) -> Option<Theme> {
    let name = settings.terminal.theme.as_deref()?;
    themes(charla).get(name, Background::Unknown).ok()
}
