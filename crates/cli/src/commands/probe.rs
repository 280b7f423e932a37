//! `charla models probe`: asks a model afresh and shows all that was found out.

use charla::models::probe::ProbeReport;
use charla::{Charla, Failure};

use super::{named_model, settings_of};
use crate::runtime::runtime;
use charla_terminal::models::{probed, probed_as_json};
use charla_terminal::printer::Printer;

/// Asks this model, else the one that a run would ask.
pub fn run(model: Option<String>, json: bool, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let settings = settings_of(charla, named_model(model), printer)?;
    let report = runtime()?.block_on(ProbeReport::make(&settings, charla.environment(), printer))?;
    match json {
        true => printer.result(&format!("{:#}\n", probed_as_json(&report))),
        false => printer.words(&probed(&report)),
    }
}
