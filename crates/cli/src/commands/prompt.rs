//! `charla prompt show`: what a run would send before anything is said.

use charla::session::PreviewRequest;
use charla::{Charla, Failure, RunOptions};
use charla_proto::text::{one_line, readable};
use serde_json::json;

use super::{named_model, settings_of};
use crate::args::PromptCommand;
use crate::ask::somebody_is_there;
use crate::intent::HOW_TO_ALLOW;
use crate::runtime::runtime;
use charla_terminal::printer::Printer;

/// Runs `charla prompt`.
pub fn run(command: PromptCommand, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let PromptCommand::Show { model, json } = command;
    let settings = settings_of(charla, named_model(model), printer)?;
    let options = RunOptions { how_to_allow: Some(HOW_TO_ALLOW.to_owned()), ..RunOptions::default() };
    let request = PreviewRequest { options, somebody: somebody_is_there(&settings, charla, printer) };
    let preview = runtime()?.block_on(charla.prompt_preview(&request, &settings, printer))?;
    if json {
        let document = json!({
            "model": preview.model,
            "system": preview.system,
            "systemTokens": preview.system_tokens,
            "tools": preview.tools,
            "toolTokens": preview.tool_tokens,
        });
        return printer.result(&format!("{document:#}\n"));
    }
    // What a file of the workspace says is looked at here, also by way of a pipe.
    printer.words(&format!("{}\n", readable(preview.system.trim_end())))?;
    printer.words("\n--- tools ---\n")?;
    for tool in &preview.tools {
        let about = one_line(tool.description.lines().next().unwrap_or_default());
        printer.words(&format!("{:<24}  {about}\n", one_line(&tool.name)))?;
    }
    printer.flush()?;
    let (system, tools, count) = (preview.system_tokens, preview.tool_tokens, preview.tools.len());
    printer.note(&format!(
        "for {}: about {system} tokens of system prompt, about {tools} of {count} tools",
        preview.model
    ));
    Ok(())
}
