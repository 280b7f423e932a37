//! `charla trust`: shows what a workspace would do, and trusts it.

use charla::session::describe_workspace;
use charla::trust::{Standing, TrustBook, WorkspaceContent};
use charla::{Charla, Failure};

use crate::args::TrustArgs;
use crate::input;
use charla_terminal::lines::agreed_to;
use charla_terminal::printer::Printer;

/// Runs `charla trust`.
pub fn run(args: &TrustArgs, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let environment = charla.environment();
    let book = TrustBook::of(environment).ok_or_else(|| {
        Failure::config("there is no home directory to remember trust in").with_hint("set CHARLA_HOME")
    })?;
    if args.revoke {
        let known = book.revoke(&environment.directory)?;
        let done = if known { "is trusted no longer" } else { "was not trusted" };
        printer.note(&format!("{} {done}", environment.directory.display()));
        return Ok(());
    }
    let content = WorkspaceContent::read(environment);
    let standing = content.known(environment)?;
    for line in describe_workspace(&content, standing, environment)? {
        printer.words(&format!("{line}\n"))?;
    }
    printer.flush()?;
    if args.show || matches!(standing, Standing::Nothing | Standing::Trusted) {
        return Ok(());
    }
    if !args.yes {
        confirm(printer)?;
    }
    book.trust(&environment.directory, content.hash())?;
    printer.note(&format!("trusted; remembered in {}", book.path().display()));
    Ok(())
}

fn confirm(printer: &mut Printer) -> Result<(), Failure> {
    if !(input::is_terminal() && printer.err_terminal) {
        return Err(Failure::input("nobody is there to agree").with_hint(
            "`charla trust --yes` agrees; `charla --trust-workspace SHA256 …` trusts for one run",
        ));
    }
    match agreed_to("Let this workspace decide this? [y/N] ", printer)? {
        true => Ok(()),
        false => Err(Failure::untrusted("the workspace stays untrusted")),
    }
}
