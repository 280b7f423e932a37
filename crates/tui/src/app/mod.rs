//! The application: keys, a session's events and the passing of time, turned into frames and requests.
//!
//! It decides nothing about the conversation. One task owns everything; what takes long runs beside it and tells what
//! came of it.

mod activity;
mod commands;
mod composing;
mod custom;
mod display;
mod hearing;
mod link;
mod news;
mod questions;
mod setup;
mod signals;
mod sources;
mod state;
mod view;

use std::sync::Arc;

use charla::settings::Settings;
use charla::{Charla, Failure, OpenRequest, SessionSource};
use tokio::sync::mpsc::unbounded_channel;

use crate::theme::Depth;
pub(crate) use commands::Choice;
use sources::Sources;
use state::{App, Wish};

/// Who types at this terminal, where the session runs in its process.
pub const ME: &str = "user";

/// What the application is started with.
pub struct Launch {
    /// The user's Charla.
    pub charla: Charla,
    /// Where sessions are opened.
    pub source: Arc<dyn SessionSource>,
    /// Who types, by the name that sessions of that source have for them.
    pub me: String,
    /// The settings that hold.
    pub settings: Settings,
    /// The session to open.
    pub request: OpenRequest,
    /// What is said first.
    pub prompt: Option<String>,
    /// How it looks.
    pub look: Look,
}

/// How the application looks.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// How many colours the terminal shows.
    pub depth: Depth,
}

/// How the application ended.
#[derive(Debug)]
pub struct Ending {
    /// What ended it.
    pub reason: Reason,
    /// The session that can be gone on with.
    pub session: Option<String>,
}

/// What ended the application.
#[derive(Debug)]
pub enum Reason {
    /// The person left.
    Left,
    /// The person interrupted it, or the system did.
    Interrupted,
    /// The session could not be opened, or broke.
    Failed(Failure),
}

/// Runs until the person leaves. The terminal is as it was found afterwards.
pub async fn run(launch: Launch) -> Result<Ending, Failure> {
    let unusable = |error: std::io::Error| Failure::system(format!("the terminal cannot be used: {error}"));
    let (tell, news) = unbounded_channel();
    let mut sources = Sources::new(news).map_err(unusable)?;
    let mut app = App::new(launch, tell).map_err(unusable)?;
    while !app.is_over() {
        app.draw_if_due();
        let happening = sources.next(app.wakes_at()).await;
        let wish = app.take(happening, &mut sources);
        fulfil(wish, &mut app, &mut sources).await;
    }
    Ok(app.end())
}

/// Does what needs the terminal for itself.
async fn fulfil(wish: Wish, app: &mut App, sources: &mut Sources) {
    match wish {
        Wish::Nothing => {}
        Wish::Suspend => app.suspend(),
        Wish::Edit(task) => {
            sources.deafen();
            app.display().give();
            let edited = task.run().await;
            app.take_terminal_back();
            sources.listen();
            app.edited(edited);
        }
    }
}
