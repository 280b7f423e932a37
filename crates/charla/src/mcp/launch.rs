//! Programs of servers, started as the processes of tools are: confined, bare of secrets, ended with the session.

use charla_mcp::{Launch, Pipes, ServerCommand};
use charla_proto::{BoxFuture, Confinement};
use charla_tools::process::{CompanionCommand, Processes};

/// Starts the programs of servers among the processes of a session.
pub(super) struct Launcher {
    processes: Processes,
}

impl Launcher {
    pub(super) fn new(processes: Processes) -> Self {
        Self { processes }
    }
}

impl Launch for Launcher {
    fn launch<'a>(&'a self, command: &'a ServerCommand) -> BoxFuture<'a, Result<Pipes, String>> {
        Box::pin(async move {
            let start = CompanionCommand {
                program: command.program.clone().into(),
                arguments: command.arguments.iter().map(Into::into).collect(),
                cwd: command.folder.clone(),
                variables: command.variables.clone(),
                // Whoever put it into the settings approved it; trust is more than that.
                confinement: if command.trusted { Confinement::Open } else { Confinement::Asked },
            };
            let started = self.processes.companion(start).await;
            let companion =
                started.map_err(|error| format!("`{}` cannot be started: {error}", command.program))?;
            Ok(Pipes {
                input: Box::new(companion.stdin),
                output: Box::new(companion.stdout),
                errors: Box::new(companion.stderr),
                holder: Box::new(companion.life),
            })
        })
    }
}
