//! Plans and work as the tools here make them.

use charla_proto::{Args, BoxFuture, Effect, Lane, Plan, Preview, ToolError, ToolErrorKind, ToolOutput};

/// The plan of a call with these effects.
pub(crate) fn plan(tool: &str, title: String, effects: Vec<Effect>, lane: Lane) -> Plan {
    Plan { tool: tool.to_owned(), args: Args::new(), title, effects, preview: Preview::None, lane }
}

/// Does the work unless the user cancels it.
pub(crate) async fn unless_cancelled(
    cancelled: BoxFuture<'static, ()>,
    work: impl Future<Output = ToolOutput>,
) -> ToolOutput {
    tokio::select! {
        output = work => output,
        () = cancelled => ToolOutput::failed(ToolError::new(
            ToolErrorKind::Cancelled,
            "Cancelled by the user. What the server had done until then is not known.",
        )),
    }
}
