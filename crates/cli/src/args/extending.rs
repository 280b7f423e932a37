//! Arguments of the commands about what others bring: skills, agents, extensions.

use charla_terminal::extensions::ExtensionWork;
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

/// What can be done with agents.
#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// List the agents that a model may call here, and what is left out.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// What can be done with extensions.
#[derive(Debug, Subcommand)]
pub enum ExtensionsCommand {
    /// Copy an extension from a folder or a git repository, once you agree to what it brings.
    Install {
        /// The folder, or the repository's address.
        source: String,
        /// Agree without being asked.
        #[arg(long)]
        consent: bool,
    },
    /// List the extensions that are installed.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Use an extension again.
    Enable {
        /// Its name.
        name: String,
    },
    /// Use an extension no longer.
    Disable {
        /// Its name.
        name: String,
    },
    /// Fetch the newest version from where it came; asks again when it brings something else.
    Update {
        /// Its name; all when left out.
        name: Option<String>,
        /// All of them.
        #[arg(long, conflicts_with = "name")]
        all: bool,
        /// Agree without being asked.
        #[arg(long)]
        consent: bool,
    },
    /// Remove an extension.
    Uninstall {
        /// Its name.
        name: String,
    },
}

impl From<ExtensionsCommand> for ExtensionWork {
    fn from(command: ExtensionsCommand) -> Self {
        match command {
            ExtensionsCommand::Install { source, consent } => Self::Install { source, agreed: consent },
            ExtensionsCommand::List { json } => Self::List { json },
            ExtensionsCommand::Enable { name } => Self::Enable { name, enabled: true },
            ExtensionsCommand::Disable { name } => Self::Enable { name, enabled: false },
            ExtensionsCommand::Update { name, all: _, consent } => Self::Update { name, agreed: consent },
            ExtensionsCommand::Uninstall { name } => Self::Uninstall { name },
        }
    }
}
