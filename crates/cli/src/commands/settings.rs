//! `charla settings`: what holds, who set it, and what can be set.

use charla::settings::{self, ShownSetting};
use charla::{Charla, Failure, Notices};
use serde_json::json;

use crate::args::SettingsCommand;
use charla_terminal::printer::Printer;

/// Runs `charla settings`.
pub fn run(command: SettingsCommand, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let environment = charla.environment();
    match command {
        SettingsCommand::Schema => printer.result(&format!("{:#}\n", settings::settings_schema())),
        SettingsCommand::Path => {
            let user = environment.user_settings();
            for path in user.into_iter().chain([environment.workspace_settings()]) {
                let state = if path.exists() { "" } else { "  (not there)" };
                printer.result(&format!("{}{state}\n", path.display()))?;
            }
            Ok(())
        }
        SettingsCommand::Show { json } => {
            let effective = settings::load(environment, Vec::new())?;
            effective.notices.iter().for_each(|notice| Notices::warning(printer, notice));
            match json {
                true => printer.result(&format!("{:#}\n", json!(effective.shown()))),
                false => printer.words(&to_text(&effective.shown())),
            }
        }
    }
}

/// One line for each value.
fn to_text(shown: &[ShownSetting]) -> String {
    let lines: Vec<(String, &str)> =
        shown.iter().map(|row| (format!("{} = {}", row.key, row.value), row.source.as_str())).collect();
    let width = lines.iter().map(|(left, _)| left.chars().count()).max().unwrap_or(0).min(60);
    lines.iter().map(|(left, source)| format!("{left:<width$}  # {source}\n")).collect()
}
