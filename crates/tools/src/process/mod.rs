//! Child processes: started in their own group, heard while they run, ended with everything they started.
//!
//! The pitfalls this module exists for: a command whose grandchildren hold the pipe, one that writes a
//! gigabyte, one that waits for input, one that ignores being asked to end, and our own sudden death. See
//! `family` for which processes are caught and which cannot be.

mod capture;
pub(crate) mod clean;
mod cleared;
mod companion;
mod environment;
mod family;
mod guard;
mod job;
mod limits;
mod plain_git;
mod processes;
mod pump;
mod runner;
mod spill;
mod transcript;
mod user_program;
mod withheld;

pub use companion::{Companion, CompanionCommand, CompanionLife};
pub use environment::Environment;
pub use job::LaunchError;
pub(crate) use job::{Ending, Foreground, Job, Launch, StopReason};
pub use processes::{ProcessSettings, Processes};
pub use spill::SpillFolder;
pub use transcript::OUTPUT_LIMIT;
pub use user_program::{ProgramEnd, ProgramOutput, UserProgram};
pub use withheld::{Reach, Withheld};

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::{TEST_TIMEOUT, is_alive, sandbox};
