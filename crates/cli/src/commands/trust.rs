//! `charla trust`: shows what a workspace would do, and trusts it.

use charla::session::{RulePlaces, memory_files, rule_book};
use charla::trust::{Standing, TrustBook, WorkspaceContent};
use charla::{Charla, Environment, Failure, Notice, settings};
use charla_proto::text::{one_line, visible};

use crate::args::TrustArgs;
use crate::input;
use crate::printer::Printer;

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
    let content = WorkspaceContent::read(environment)?;
    let standing = content.known(environment)?;
    show(&content, standing, environment, printer)?;
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

fn show(
    content: &WorkspaceContent,
    standing: Standing,
    environment: &Environment,
    printer: &mut Printer,
) -> Result<(), Failure> {
    printer.words(&format!("{} {}\n", environment.directory.display(), standing.in_words()))?;
    show_instructions(environment, printer)?;
    for left_out in content.left_out() {
        printer.words(&format!("{}\n", one_line(&Notice::from(left_out).text)))?;
    }
    if content.is_empty() {
        return printer.flush();
    }
    if let Some((path, bytes)) = content.settings() {
        let keys = settings::keys_needing_trust(&path, bytes)?;
        let count = if keys.is_empty() { "nothing that needs trust" } else { "sets, once trusted:" };
        printer.words(&format!(".charla/settings.json {count}\n"))?;
        for (key, value) in keys {
            printer.words(&format!("  {}\n", one_line(&format!("{key} = {value}"))))?;
        }
    }
    let rules: Vec<&str> = content.names().filter(|name| name.starts_with("policies/")).collect();
    if !rules.is_empty() {
        let book = rule_book(&RulePlaces::of(environment), std::slice::from_ref(&environment.directory), &[])
            .map_err(|error| Failure::config(error.to_string()))?;
        for name in rules {
            printer
                .words(&visible(&format!(".charla/{name} holds in any case: it can only ask and deny\n")))?;
        }
        for notice in book.notices().iter().filter(|notice| notice.starts_with("workspace ")) {
            printer.words(&visible(&format!("  {notice}\n")))?;
        }
    }
    printer.words(&format!("sha256 {}\n", content.hash()))?;
    printer.flush()
}

/// What the project's memory files bring: it needs no trust, because it is only read.
fn show_instructions(environment: &Environment, printer: &mut Printer) -> Result<(), Failure> {
    let memory = memory_files(environment);
    for file in &memory.project_files {
        let name = file.strip_prefix(&environment.directory).unwrap_or(file);
        printer.words(&format!("{} is read as instructions\n", one_line(&name.to_string_lossy())))?;
    }
    for notice in &memory.notices {
        printer.words(&format!("{}\n", one_line(notice)))?;
    }
    Ok(())
}

fn confirm(printer: &mut Printer) -> Result<(), Failure> {
    if !(input::is_terminal() && printer.err_terminal) {
        return Err(Failure::input("nobody is there to agree").with_hint(
            "`charla trust --yes` agrees; `charla --trust-workspace SHA256 …` trusts for one run",
        ));
    }
    printer.aside("Let this workspace decide this? [y/N] ");
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Failure::input(format!("cannot read the answer: {error}")))?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::untrusted("the workspace stays untrusted")),
    }
}
