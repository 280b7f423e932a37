//! Charla's tools.

mod args;
pub mod ask_user;
mod attachment;
pub mod bounded;
pub mod command;
pub mod edit;
mod files;
mod git;
mod invocation;
pub mod memory;
pub mod owner;
mod paths;
pub mod process;
mod registry;
pub mod revert;
mod search;
pub mod shell;
pub mod text;
mod todos;
pub mod truncate;
mod typed;
pub mod web_fetch;
pub mod web_search;

pub use attachment::attach;
pub use files::{Buffers, ListDirectory, ReadFile, ReadManyFiles, Replace, SaveMemory, Workbench, WriteFile};
pub use git::git_branch;
pub use registry::{
    Announced, CommandOutput, CommandRunner, DISCOVERED_PREFIX, Discovery, DiscoveryError, Registry,
    Replaced, Selection, Source, ToolCommand, discover, parse_declarations,
};
pub use search::{Glob, GrepSearch, names_under, walk_of_names};
pub use todos::WriteTodos;
pub use typed::{PreparedCall, Typed, TypedTool, built_in_problem};
