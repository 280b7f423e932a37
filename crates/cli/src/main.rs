//! The binary `charla`.

mod policy;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// A provider-neutral AI agent.
#[derive(Parser)]
#[command(name = "charla", version)]
enum Charla {
    /// What the rules say about a command
    Policy(policy::PolicyArgs),
}

fn main() -> ExitCode {
    let Charla::Policy(args) = Charla::parse();
    let home = etcetera::home_dir().ok();
    let charla_home = std::env::var_os("CHARLA_HOME")
        .map(PathBuf::from)
        .or_else(|| home.as_ref().map(|home| home.join(".charla")));
    let place = policy::PolicyPlace {
        directory: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
        home,
        charla_home,
        admin: PathBuf::from("/etc/charla"),
    };
    let report = match policy::run(&args, &place) {
        Ok(report) => report,
        Err(error) => {
            policy::Report { notices: vec![format!("error: {error}")], code: 52, ..policy::Report::default() }
        }
    };
    for notice in &report.notices {
        let _ = writeln!(std::io::stderr(), "{notice}");
    }
    let _ = write!(std::io::stdout(), "{}", report.text);
    ExitCode::from(report.code)
}
