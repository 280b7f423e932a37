//! Compression: a summary stands for an older part of the conversation, so that it can go on.
//!
//! Pure: where to cut, what to ask, what to make of the answer. When to do it, and writing it down, is the
//! session's part. The journal keeps everything, so a compression can always be taken back.

mod filling;
mod size;
mod split;
mod summary;

use std::sync::Arc;

use charla_proto::{Content, GenerateRequest};

pub use filling::{Filling, large_outputs, largest_outputs, what_fills, with_cut};
pub use size::size;
pub use split::{Cut, split, split_turn, split_whole};
pub use summary::{left_out, snapshot, stand_ins, summary_request};

/// Counts a request's tokens, always the same way.
pub type Counter = Arc<dyn Fn(&GenerateRequest) -> u64 + Send + Sync>;

/// A content with the record it came with; a stand-in for an older part has number 0.
pub type Said = (u64, Arc<Content>);

/// When a session compresses, and how much it leaves as it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compression {
    /// It is done by itself when the window fills up. Otherwise only when somebody asks for it, and nothing
    /// is cut by itself, either.
    pub automatic: bool,
    /// The share of the window from which on it is done.
    pub threshold: f64,
    /// The share of the conversation, by characters, that stays as it is.
    pub keep: f64,
}

impl Default for Compression {
    fn default() -> Self {
        Self { automatic: true, threshold: 0.7, keep: 0.3 }
    }
}
