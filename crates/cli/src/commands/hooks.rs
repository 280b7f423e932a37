//! `charla hooks`: the hooks of the settings.

use charla::hooks::{HookStanding, listed};
use charla::{Charla, Failure};
use charla_terminal::hooks::in_words;
use charla_terminal::printer::Printer;
use serde_json::{Value, json};

use crate::args::HooksCommand;
use crate::commands::settings_of;

/// Runs one of them.
pub fn run(command: &HooksCommand, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let HooksCommand::List { json } = command;
    let settings = settings_of(charla, Vec::new(), printer)?;
    let hooks = listed(&settings, charla.environment(), printer)?;
    if *json {
        let hooks = hooks.iter().map(|(hook, standing)| {
            json!({
                "event": hook.event, "matcher": hook.matcher, "name": hook.name, "command": hook.command,
                "source": hook.source, "standing": standing.name(), "unreadableMatcher": hook.unreadable_matcher,
            })
        });
        return printer.result(&format!("{:#}\n", hooks.collect::<Value>()));
    }
    for line in in_words(&hooks) {
        printer.result(&format!("{line}\n"))?;
    }
    if hooks.iter().any(|(_, standing)| *standing == HookStanding::Untrusted) {
        printer.note("hooks of a workspace run once it is trusted: `charla trust`");
    }
    Ok(())
}
