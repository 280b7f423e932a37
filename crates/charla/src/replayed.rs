//! The recording that answers in place of models, for one run.

use std::sync::{Arc, Mutex, PoisonError};

use charla_providers::generator::RecordedLines;

use crate::failure::Failure;

/// The lines of a run's recording, read once: whichever model they stand in for, none answers twice.
#[derive(Clone, Debug, Default)]
pub struct ReplayedLines(Arc<Mutex<Option<RecordedLines>>>);

/// How far a recording has come makes no settings others.
impl PartialEq for ReplayedLines {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl ReplayedLines {
    /// The lines; the first who asks for them reads them.
    pub(crate) fn get(
        &self,
        read: impl FnOnce() -> Result<RecordedLines, Failure>,
    ) -> Result<RecordedLines, Failure> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*lines {
            Some(lines) => Ok(lines.clone()),
            None => Ok(lines.insert(read()?).clone()),
        }
    }
}
