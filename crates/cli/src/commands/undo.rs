//! `charla undo` and `charla redo`: a turn's file changes, taken back and brought back.

use charla::session::{Direction, RevertError, RevertRequest};
use charla::{Charla, Failure};
use charla_terminal::printer::Printer;
use charla_terminal::undo::UndoWords;

use crate::args::UndoArgs;
use crate::runtime::runtime;

/// Runs `charla undo` or `charla redo`.
pub fn run(
    direction: Direction,
    args: UndoArgs,
    charla: &Charla,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let UndoArgs { turn, session, only, dry_run } = args;
    let request = RevertRequest { direction, session, turn, only, dry_run };
    let words = UndoWords { request: &request, directory: &charla.environment().directory };
    match runtime()?.block_on(charla.revert(&request, printer)) {
        Ok(reverted) => words.report(&reverted, printer),
        Err(RevertError::Conflicts(conflicts)) => {
            for file in &conflicts.files {
                printer.words(&file.diff)?;
            }
            printer.flush()?;
            Err(words.in_the_way(&conflicts))
        }
        Err(error) => Err(words.failure(error)),
    }
}
