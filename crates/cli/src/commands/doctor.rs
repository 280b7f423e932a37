//! `charla doctor`: tries what this machine enforces.

use charla::{Failure, Wall};

use charla_terminal::printer::Printer;

/// Runs `charla doctor`.
pub fn run(json: bool, printer: &mut Printer) -> Result<(), Failure> {
    let wall = Wall::prove();
    let text = if json { format!("{}\n", serde_json::json!({ "sandbox": wall })) } else { wall.to_string() };
    printer.result(&text)
}
