//! `charla models`: which providers are ready, and why others are not.

use charla::models::survey::{Row, survey, to_json};
use charla::{Charla, Failure};

use super::settings_of;
use crate::runtime::runtime;
use charla_terminal::printer::Printer;

/// Lists the providers.
pub fn list(json: bool, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let settings = settings_of(charla, Vec::new(), printer)?;
    let rows = runtime()?.block_on(survey(&settings, charla.environment()));
    match json {
        true => printer.result(&format!("{:#}\n", to_json(&rows))),
        false => printer.words(&to_text(&rows)),
    }
}

/// For a person.
fn to_text(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.entry.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let (mark, state) = match &row.state {
            Ok(state) => ("+", state),
            Err(reason) => ("-", reason),
        };
        let name = &row.entry.name;
        text.push_str(&format!("{mark} {name:<width$}  {}: {state}\n", row.entry.title()));
        if row.state.is_ok() {
            let indent = " ".repeat(width + 4);
            text.push_str(&format!("{indent}{}\n", row.address));
            for models in row.models.chunks(4) {
                text.push_str(&format!("{indent}{}\n", models.join("  ")));
            }
            for known in &row.known {
                text.push_str(&format!("{indent}{}: tools {}\n", known.model, known.tools.name()));
            }
        }
    }
    text.push_str(
        "\n+ ready, - not. Use one with -m provider/model; any other model of a provider works, too.\n",
    );
    text
}
