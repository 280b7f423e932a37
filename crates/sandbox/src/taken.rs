//! What was taken out of a workspace.

use std::path::PathBuf;

/// A protected place that came into being while a child ran that may not make one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Where it stood.
    pub from: PathBuf,
    /// Where it is now, or why it is still there.
    pub to: Result<PathBuf, String>,
}
