//! Command lines of a person's own: run in a session's workspace, with their rights, by the same means as a tool's.

use std::sync::Arc;

use charla_proto::tool::Tool;
use charla_proto::{BoxFuture, Confinement, FileJudge, RunContext, ToolContext, ToolOutput};
use charla_tools::Typed;
use charla_tools::command::RunShellCommand;
use charla_tools::process::Processes;
use serde_json::json;

/// Runs what a person types themselves. Nobody is asked: typing it was the answer.
#[derive(Clone)]
pub struct OwnCommands {
    pub(super) processes: Processes,
    pub(super) context: Arc<ToolContext>,
}

impl OwnCommands {
    /// Runs a command line to its end. `live` gets its output as it comes; it is stopped when `cancelled` resolves.
    pub async fn run(
        &self,
        command: &str,
        live: Box<dyn Fn(&str) + Send + Sync>,
        cancelled: BoxFuture<'static, ()>,
    ) -> ToolOutput {
        let tool = Typed::new(RunShellCommand::new(self.processes.clone()));
        let args = json!({ "command": command }).as_object().cloned().unwrap_or_default();
        let context = RunContext {
            cancelled,
            live,
            confinement: Confinement::Open,
            only_git_reads: false,
            files: FileJudge::default(),
        };
        match tool.prepare(args, &self.context).await {
            Ok(call) => call.run(context).await,
            Err(error) => ToolOutput::failed(error),
        }
    }
}
