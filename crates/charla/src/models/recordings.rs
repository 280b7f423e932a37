//! Recordings of answers: read in place of a model, or written beside one.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use charla_proto::ContentGenerator;
use charla_providers::endpoint::Target;
use charla_providers::generator::{Recorded, RecordedLine, RecordedLines, RecordedOrder, Recording};

use super::choice::Choice;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::Settings;

/// What answers from this file in place of the model.
pub(super) fn replayed(
    choice: &Choice,
    file: &str,
    settings: &Settings,
    environment: &Environment,
) -> Result<Arc<dyn ContentGenerator>, Failure> {
    let path = environment.expand(file, &environment.directory);
    let unusable = |why: String| {
        Failure::input(format!("cannot use the recording {}: {why}", path.display())).with_hint(
            r#"it has one JSON object a line: {"method": "generateContentStream", "response": […]}"#,
        )
    };
    let lines = settings.brought.replayed.get(|| {
        let text = std::fs::read_to_string(&path).map_err(|error| unusable(error.to_string()))?;
        RecordedLines::read(&text).map_err(unusable)
    })?;
    let any_order = settings.model.responses.any_order == Some(true);
    let order = if any_order { RecordedOrder::ByMethod } else { RecordedOrder::Strict };
    let target = Target::new(Arc::new(choice.entry.endpoint()?), choice.row());
    Ok(Arc::new(Recorded::new(lines, order, target)))
}

/// The generator with every answer added to this file, which only its owner can read.
pub(super) fn recorded(
    generator: Arc<dyn ContentGenerator>,
    file: &str,
    environment: &Environment,
) -> Result<Arc<dyn ContentGenerator>, Failure> {
    let path = environment.expand(file, &environment.directory);
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options
        .open(&path)
        .map_err(|error| Failure::input(format!("cannot write the recording {}: {error}", path.display())))?;
    let file = Mutex::new(file);
    let sink = move |line: &RecordedLine| {
        let Ok(text) = serde_json::to_string(line) else { return };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk must not stop the conversation.
        if let Err(error) = file.write_all(format!("{text}\n").as_bytes()) {
            tracing::warn!(%error, "the recording cannot be written");
        }
    };
    Ok(Arc::new(Recording::over(generator, Arc::new(sink))))
}
