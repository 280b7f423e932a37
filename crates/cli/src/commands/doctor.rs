//! `charla doctor`: looks at everything that a run stands on.

use charla::doctor::Checkup;
use charla::{Charla, Failure};
use charla_terminal::doctor::{in_words, to_json};
use charla_terminal::printer::Printer;

use super::named_model;
use crate::runtime::runtime;

/// Runs `charla doctor`. What is wrong makes it fail.
pub fn run(model: Option<String>, json: bool, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let checkup = runtime()?.block_on(Checkup::of(charla, named_model(model)));
    match json {
        true => printer.result(&format!("{:#}\n", to_json(&checkup)))?,
        false => printer.result(&in_words(&checkup))?,
    }
    printer.flush()?;
    match checkup.wrong() {
        0 => Ok(()),
        1 => Err(Failure::system("one thing is wrong")),
        wrong => Err(Failure::system(format!("{wrong} things are wrong"))),
    }
}
