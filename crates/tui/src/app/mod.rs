//! The application: keys, a session's events and the passing of time, turned into frames and requests.
//!
//! It decides nothing about the conversation. One task owns everything; what takes long runs beside it and tells what
//! came of it.

mod activity;
mod background;
mod commands;
mod composing;
mod custom;
mod display;
mod first_run;
mod hearing;
mod help;
mod link;
mod news;
mod person;
mod questions;
mod reloading;
mod setup;
mod signals;
mod sources;
mod state;
mod view;

use std::sync::Arc;

use charla::settings::{Override, Settings};
use charla::trust::TrustDemand;
use charla::{Charla, Environment, Failure, FirstRun, OpenRequest, SessionSource};
use tokio::sync::mpsc::unbounded_channel;

use crate::screen::Narrowing;
use crate::terminal::lost;
use crate::theme::Depth;
use crate::writer::Writer;
pub(crate) use commands::{Choice, Rewind};
pub(crate) use first_run::{larger, model_picker, trust_picker};
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
    /// What the run says beside the settings files.
    pub demands: Demands,
    /// The session to open.
    pub request: OpenRequest,
    /// What is chosen before it, where this is the user's first run.
    pub first_run: Option<FirstRun>,
    /// What is said first.
    pub prompt: Option<String>,
    /// How it looks.
    pub look: Look,
}

/// What a run says beside the settings files, for when they are read anew.
#[derive(Clone, Debug, Default)]
pub struct Demands {
    /// Settings that hold for the run.
    pub overrides: Vec<Override>,
    /// What is said about trust in the workspace.
    pub trust: TrustDemand,
}

/// How the application looks.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// How many colours the terminal shows.
    pub depth: Depth,
    /// The terminal can be asked for the colour of its background.
    pub asks_background: bool,
    /// What it does with rows that no longer fit.
    pub narrowing: Narrowing,
}

impl Look {
    /// What is known of the terminal by what it says of itself.
    pub fn of(environment: &Environment, no_color: bool) -> Self {
        let (term, of_colour) = (environment.variable("TERM"), environment.variable("COLORTERM"));
        let depth = Depth::of(no_color.then_some("1"), of_colour, term);
        let says = |name: &str| environment.variable(name).is_some();
        let is_kind = |kind: &str| term.is_some_and(|term| term.starts_with(kind));
        // xterm, rxvt, screen and the console cut what does not fit; within tmux it is tmux that shows.
        let cuts = says("XTERM_VERSION") || says("STY") || is_kind("rxvt") || is_kind("linux");
        let narrowing = if cuts && !says("TMUX") { Narrowing::Cuts } else { Narrowing::Breaks };
        // The console of Linux would show what it is asked.
        Self { depth, asks_background: depth != Depth::None && !is_kind("linux"), narrowing }
    }
}

/// How the application ended.
#[derive(Debug)]
pub struct Ending {
    /// What ended it.
    pub reason: Reason,
    /// The session that can be gone on with.
    pub session: Option<String>,
    /// The terminal reads what is written to it.
    pub is_read: bool,
}

/// What ended the application.
#[derive(Debug)]
pub enum Reason {
    /// The person left.
    Left,
    /// The person left by Ctrl-C.
    Dismissed,
    /// The system interrupted it.
    Interrupted,
    /// The session could not be opened, or broke.
    Failed(Failure),
}

/// Runs until the person leaves. The terminal is as it was found afterwards.
pub async fn run(launch: Launch) -> Result<Ending, Failure> {
    let unusable = |error: std::io::Error| Failure::system(format!("the terminal cannot be used: {error}"));
    let (tell, news) = unbounded_channel();
    let mut sources = Sources::new(news).map_err(unusable)?;
    if launch.look.asks_background {
        sources.listen_for_background();
    }
    let mut app = App::new(launch, tell).map_err(unusable)?;
    while !app.is_over() {
        app.draw_if_due();
        // Asked first: what becomes written after it is told by `written`, what was before it is seen by the others.
        let behind = app.behind();
        app.look_what_is_written();
        let wakes_at = app.wakes_at();
        let happening = tokio::select! {
            biased;
            happening = sources.next(wakes_at) => happening,
            () = written(behind) => continue,
            () = lost() => continue,
        };
        let wish = app.take(happening, &mut sources);
        fulfil(wish, &mut app, &mut sources).await;
    }
    Ok(app.end())
}

/// Comes back when the terminal has taken what it was sent; never where nothing waits for that.
async fn written(behind: Option<Writer>) {
    match behind {
        Some(writer) => writer.written().await,
        None => std::future::pending().await,
    }
}

/// Does what needs the terminal for itself.
async fn fulfil(wish: Wish, app: &mut App, sources: &mut Sources) {
    match wish {
        Wish::Nothing => {}
        Wish::Suspend => app.suspend(),
        Wish::Edit(task) => {
            sources.deafen();
            let _ = app.display().give();
            let edited = task.run().await;
            app.take_terminal_back();
            sources.listen();
            app.edited(edited);
        }
    }
}
