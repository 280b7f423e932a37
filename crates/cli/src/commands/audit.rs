//! `charla audit`: is the log of a server as it was written?

use charla::{Charla, Failure};
use charla_server::{audit_log, verify_audit};

use crate::args::AuditCommand;
use charla_terminal::printer::Printer;

/// Checks the chain; one that is broken is a failure.
pub fn run(command: AuditCommand, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let AuditCommand::Verify { file } = command;
    let path = file.map_or_else(|| audit_log(charla.environment()), Ok)?;
    let checked = verify_audit(&path)
        .map_err(|error| Failure::input(format!("cannot read {}: {error}", path.display())))?;
    match checked {
        Ok(entries) => printer.result(&format!("{entries} entries, the chain is whole\n")),
        Err(broken) => Err(Failure::conflict(format!(
            "the chain of {} breaks at line {}: {}",
            path.display(),
            broken.line,
            broken.why
        ))
        .with_hint("the lines before it are as they were written")),
    }
}
