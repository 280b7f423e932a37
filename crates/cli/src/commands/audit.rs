//! `charla audit`: is the log of a server as it was written?

use std::io::ErrorKind;
use std::path::Path;

use charla::{Charla, Failure};
use charla_server::{BrokenChain, SharedDatabase, audit_log, connect, verify_audit, verify_database_audit};

use crate::args::AuditCommand;
use crate::runtime::runtime;
use charla_terminal::printer::Printer;

/// Checks the chain; one that is broken is a failure.
pub fn run(command: AuditCommand, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let AuditCommand::Verify { file, database } = command;
    let (place, checked) = match (file, database) {
        (None, Some(address)) => ("the database".to_owned(), in_database(address)),
        (file, _) => {
            let path = file.map_or_else(|| audit_log(charla.environment()), Ok)?;
            let checked = verify_audit(&path).map_err(|error| unreadable(&path, &error));
            (path.display().to_string(), checked)
        }
    };
    match checked? {
        Ok(entries) => printer.result(&format!("{entries} entries, the chain is whole\n")),
        Err(broken) => Err(Failure::conflict(format!(
            "the chain of {} breaks at line {}: {}",
            place, broken.line, broken.why
        ))
        .with_hint("the lines before it are as they were written")),
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => Failure::input(format!("there is no audit log at {}", path.display()))
            .with_hint(
                "`charla serve` writes one there; one that is elsewhere is named: charla audit verify FILE",
            ),
        _ => Failure::input(format!("the audit log {} cannot be read: {error}", path.display())),
    }
}

fn in_database(address: String) -> Result<Result<u64, BrokenChain>, Failure> {
    runtime()?.block_on(async {
        let database = connect(&SharedDatabase::new(address)).await?;
        let checked = verify_database_audit(&database).await;
        let checked = checked.map_err(|error| Failure::system(format!("cannot read the log: {error}")));
        // A node that only looked is forgotten with its lease.
        let _ = database.leave().await;
        checked
    })
}
