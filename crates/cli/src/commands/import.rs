//! `charla import`: moving in from other agents.

use charla::import::{ImportRequest, Program, import};
use charla::{Charla, Failure};
use charla_terminal::printer::Printer;
use charla_terminal::wording::notice;

use crate::args::ImportArgs;
use crate::runtime::runtime;

/// Takes what other programs left, and says what became of it.
pub fn run(args: ImportArgs, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let ImportArgs { from, keys, sessions, dry_run } = args;
    let named = |program: &Program| from.is_empty() || from.iter().any(|name| name == program.name());
    let from: Vec<Program> = Program::ALL.into_iter().filter(named).collect();
    let programs: Vec<&str> = from.iter().map(|program| program.title()).collect();
    let request = ImportRequest { from, keys, sessions, dry_run };
    let report = runtime()?.block_on(import(&request, charla))?;
    let took = if dry_run { "would take" } else { "took" };
    for entry in &report.taken {
        printer.result(&format!("{took}  {}: {} → {}\n", entry.program, entry.what, notice(&entry.about)))?;
    }
    for entry in &report.left {
        printer.result(&format!("left  {}: {} ({})\n", entry.program, entry.what, notice(&entry.about)))?;
    }
    if report.taken.is_empty() && report.left.is_empty() {
        printer.note(&format!("nothing was taken: your home folder has nothing of {}", programs.join(", ")));
    } else if report.taken.is_empty() {
        printer.note("nothing was taken");
    }
    Ok(())
}
