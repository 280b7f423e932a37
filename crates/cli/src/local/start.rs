//! Starting the engine while somebody waits.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use charla_local::{Engine, InUse, LocalError, Model, Progress};

use super::failure;
use crate::choice::Choice;
use crate::exit::Failure;
use crate::headless::View;

/// Up to here the full prompt and all tools would leave too little room for the work.
const SMALL_WINDOW: u32 = 16_384;
const REDRAW: Duration = Duration::from_millis(100);

const SMALL: &str = "no key and no model server was found: the built-in SmolLM2-135M answers, a very small model for trying \
                     things out. For real work export a key (GEMINI_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY, …) or name \
                     a server (-m ollama/MODEL); `-m local` chooses the built-in model without this note";

/// Starts the engine when the first choice needs it, shows how that goes, and notes the real window. True
/// when the model or its window is small.
pub async fn begin(choice: &mut Choice, by_default: bool, view: &mut View) -> Result<bool, Failure> {
    let Some(engine) = choice.engine().cloned() else { return Ok(false) };
    if by_default {
        view.note(SMALL);
    }
    let used = started(&engine, |progress| show(progress, view)).await;
    view.clear_fleeting();
    let used = used.map_err(|error| failure(&error))?;
    choice.window = Some(used.window);
    Ok(engine.options().model == Model::BuiltIn || used.window <= SMALL_WINDOW)
}

/// Waits for the engine and reports what happens meanwhile, from one place.
pub(super) async fn started(engine: &Engine, mut report: impl FnMut(Shown)) -> Result<InUse, LocalError> {
    let latest = Mutex::new(None);
    let note = |progress| *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    let ensure = engine.ensure(&note);
    tokio::pin!(ensure);
    let mut last = None;
    loop {
        let ended = tokio::select! {
            used = &mut ensure => Some(used),
            () = tokio::time::sleep(REDRAW) => None,
        };
        if let Some(used) = ended {
            return used;
        }
        let now: Option<Progress> = latest.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(progress) = now {
            let stage = stage(&progress);
            let is_new = last.replace(stage.clone()) != Some(stage.clone());
            report(Shown { stage, is_new, line: line(&progress) });
        }
    }
}

/// What is shown of a progress.
pub(super) struct Shown {
    /// For a log: one line each time something else begins.
    pub stage: String,
    pub is_new: bool,
    /// For a terminal: the present state.
    pub line: String,
}

fn show(shown: Shown, view: &mut View) {
    if view.is_watched() {
        view.fleeting(&shown.line);
    } else if shown.is_new && !shown.stage.is_empty() {
        view.note(&shown.stage);
    }
}

fn stage(progress: &Progress) -> String {
    match progress {
        Progress::Downloading { package, total, .. } => {
            format!("setting up the built-in model, once: downloading {package} ({} MB)", total / 1_000_000)
        }
        Progress::Waiting => "another charla sets the built-in model up: waiting for it".to_owned(),
        Progress::Unpacking { .. } | Progress::Starting => String::new(),
    }
}

fn line(progress: &Progress) -> String {
    const WIDTH: u64 = 24;
    match progress {
        Progress::Downloading { package, done, total } => {
            let full = usize::try_from(done * WIDTH / (*total).max(1)).unwrap_or(0);
            let bar = "=".repeat(full);
            let (done, total) = (done / 1_000_000, total / 1_000_000);
            format!("setting up the built-in model: {package} [{bar:<24}] {done}/{total} MB")
        }
        Progress::Unpacking { package } => format!("setting up the built-in model: checking {package}"),
        Progress::Waiting => stage(progress),
        Progress::Starting => "starting the built-in engine".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_is_shown_as_a_bar_and_as_one_line_for_logs() {
        let half = Progress::Downloading { package: "weights", done: 50_000_000, total: 100_000_000 };
        assert_eq!(
            line(&half),
            "setting up the built-in model: weights [============            ] 50/100 MB"
        );
        assert_eq!(stage(&half), "setting up the built-in model, once: downloading weights (100 MB)");
        line(&Progress::Downloading { package: "empty", done: 0, total: 0 });
    }
}
