//! `charla policy`: what the rules say, before anything runs.

use std::fmt::Write as _;
use std::path::PathBuf;

use charla::session::{RuleCheck, RulePlaces};
use charla::{Charla, Failure};
use charla_core::policy::PolicyError;
use charla_proto::text::one_line;

use crate::args::{PolicyArgs, PolicyCommand};
use charla_terminal::judgement;
use charla_terminal::printer::Printer;

/// What the rules say.
#[derive(Default)]
struct Report {
    /// For standard output.
    text: String,
    /// For standard error.
    notices: Vec<String>,
    /// Tests of rules that failed.
    failed: usize,
}

/// Runs `charla policy`.
pub fn run(args: &PolicyArgs, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let report = report(args, &RulePlaces::of(charla.environment())).map_err(|error| {
        Failure::config(error.to_string()).with_hint("correct the file that is named, or move it away")
    })?;
    report.notices.iter().for_each(|notice| printer.warning(notice));
    printer.result(&report.text)?;
    match report.failed {
        0 => Ok(()),
        _ => Err(Failure::system("a rule's own test failed")),
    }
}

/// An error means that a rule file cannot be used.
fn report(args: &PolicyArgs, places: &RulePlaces) -> Result<Report, PolicyError> {
    let tested: &[PathBuf] = match &args.command {
        PolicyCommand::Test { files } => files,
        _ => &[],
    };
    // Read once more, the tests of a file that holds anyway would count twice.
    let tested = tested.iter().filter(|file| !places.reads(file));
    let files: Vec<PathBuf> = args.policies.iter().chain(tested).cloned().collect();
    let rules = RuleCheck::new(places, &files, &args.allowed_tools)?;
    let mut report =
        Report { notices: rules.book.notices().map(str::to_owned).collect(), ..Report::default() };
    match &args.command {
        PolicyCommand::Explain { command, mode, json } => {
            let judgement = rules.explain(command, (*mode).into());
            report.text = match *json {
                true => serde_json::to_string_pretty(&judgement).unwrap_or_default() + "\n",
                false => judgement::told(&judgement),
            };
        }
        PolicyCommand::Test { .. } => {
            let (count, failures) = rules.run_tests();
            for failure in &failures {
                let test = &failure.test;
                let line = format!(
                    "FAILED {}: `{}` in mode {}: expected {}, got {} (by {})",
                    failure.rule, test.command, test.mode, test.expect, failure.got, failure.decided_by
                );
                let _ = writeln!(report.text, "{}", one_line(&line));
            }
            let _ = writeln!(report.text, "{count} tests, {} failed", failures.len());
            report.failed = failures.len();
        }
        PolicyCommand::List => report.text = judgement::listed(rules.book.rules()),
    }
    Ok(report)
}
