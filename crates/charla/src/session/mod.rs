//! Sessions: opened, listed, forked, taken back.

mod assemble;
mod compact_toolbox;
mod confinement;
pub(crate) mod elsewhere;
mod error;
mod host;
mod instruction;
mod log_file;
mod memory;
mod mode;
mod offline;
pub(crate) mod open;
mod options;
mod output_schema;
mod posted;
pub(crate) mod restore;
mod revert;
mod rules;
mod saved_rules;
mod store;
mod toolset;
pub(crate) mod undo;
mod workspace;

pub use elsewhere::{AnsweredApproval, RewoundSession};
pub use error::SessionError;
pub use open::{OpenRequest, OpenedSession, SIGNAL};
pub use options::RunOptions;
pub use output_schema::{OutputSchema, bare_json};
pub use restore::{RestoredSession, SentSize};
pub use rules::{RuleCheck, RulePlaces, rule_book};
pub use saved_rules::SavedRules;
pub(crate) use store::home_store;
pub use store::{Begin, Message, Sessions, WaitingApproval};
pub use undo::{Conflicts, Deed, Direction, FileConflict, RevertError, RevertRequest, Reverted};
pub use workspace::describe_workspace;
