//! `charla import`: moving in from other agents.

use charla::import::{ImportRequest, Program, import};
use charla::{Charla, Failure};
use charla_terminal::import::tell;
use charla_terminal::printer::Printer;

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
    tell(&report, took, &programs, printer)
}
