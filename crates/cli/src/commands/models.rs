//! `charla models`: which providers are ready, and why others are not.

use charla::models::survey::{survey, to_json};
use charla::{Charla, Failure};

use super::settings_of;
use crate::runtime::runtime;
use charla_terminal::models::providers;
use charla_terminal::printer::Printer;

/// Lists the providers.
pub fn list(json: bool, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let settings = settings_of(charla, Vec::new(), printer)?;
    let rows = runtime()?.block_on(survey(&settings, charla.environment()));
    match json {
        true => printer.result(&format!("{:#}\n", to_json(&rows))),
        false => printer.words(&providers(&rows)),
    }
}
