//! `charla trust`: shows what a workspace would do, and trusts it.

use clap::Args;

use super::{Standing, TrustBook, WorkspaceContent};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::policy::{self, PolicyPlace};
use crate::printer::Printer;
use crate::settings;

/// Arguments of `charla trust`.
#[derive(Args, Debug)]
pub struct TrustArgs {
    /// Only show what would act, and its SHA-256.
    #[arg(long, conflicts_with_all = ["revoke", "yes"])]
    show: bool,
    /// Trust this workspace no longer.
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,
    /// Trust without asking.
    #[arg(long, short)]
    yes: bool,
}

/// Runs `charla trust`.
pub fn run(args: &TrustArgs, environment: &Environment, printer: &mut Printer) -> Result<(), Failure> {
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
        confirm(environment, printer)?;
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
    if content.is_empty() {
        return printer.flush();
    }
    if let Some((path, bytes)) = content.settings() {
        let keys = settings::keys_needing_trust(&path, bytes)?;
        let count = if keys.is_empty() { "nothing that needs trust" } else { "sets, once trusted:" };
        printer.words(&format!(".charla/settings.json {count}\n"))?;
        for (key, value) in keys {
            printer.words(&visible(&format!("  {key} = {value}\n")))?;
        }
    }
    let rules: Vec<&str> = content.names().filter(|name| name.starts_with("policies/")).collect();
    if !rules.is_empty() {
        let book = policy::rule_book(&PolicyPlace::of(environment), &[])
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

fn confirm(environment: &Environment, printer: &mut Printer) -> Result<(), Failure> {
    if !(environment.stdin_terminal && printer.err_terminal) {
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

/// Characters that would show a text other than it is become visible: what is agreed to must be what is seen.
pub(super) fn visible(text: &str) -> String {
    let deceives = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|c| if deceives(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}
