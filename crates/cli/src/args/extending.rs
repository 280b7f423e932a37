//! Arguments of the commands about what others bring: skills.

use clap::Subcommand;

/// What can be done with skills.
#[derive(Debug, Subcommand)]
pub enum SkillsCommand {
    /// List the skills that a model is told of here, and what is left out.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}
