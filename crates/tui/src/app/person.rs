//! What is known of the person at the terminal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use charla::session::BackgroundProcesses;
use charla_core::CancellationToken;
use charla_proto::ApprovalMode;

use crate::card::RestOfWord;

/// What is known of the person at the terminal, and of the session they leave.
#[derive(Default)]
pub(super) struct Person {
    /// What may still be typed of a word whose first letter was an answer.
    pub(super) rest: RestOfWord,
    /// When Ctrl-C was pressed last.
    pub(super) interrupted: Option<Instant>,
    /// Whether the window is in front, where the terminal tells.
    pub(super) is_looking: Option<bool>,
    /// The session to come back to.
    pub(super) session: Option<String>,
    /// Something was said in it, now or earlier.
    pub(super) has_spoken: bool,
    /// Stops the opening of a session.
    pub(super) opening: CancellationToken,
    /// Settings are read anew, and the session goes on in its mode: the mode that they name.
    pub(super) reloading: Option<Option<ApprovalMode>>,
    /// What runs in the background of the session that is being opened again.
    pub(super) background: Option<BackgroundProcesses>,
    /// The files of prompts that wait, by the prompts' ids.
    pub(super) sent_files: BTreeMap<String, Vec<PathBuf>>,
    /// Stops the filling of a prompt's places.
    pub(super) composing: Option<CancellationToken>,
}
