//! Commands other than asking: each does its work with the library and prints what came of it.

mod approvals;
mod audit;
mod auth;
mod doctor;
mod engine;
mod manual;
mod mcp;
mod models;
mod moving;
mod policy;
mod probe;
mod prompt;
mod replay;
mod restore;
mod rewind;
mod serve;
pub mod server;
pub mod sessions;
mod settings;
mod trust;
mod undo;

use charla::session::Direction;
use charla::settings::{Override, Settings};
use charla::trust::TrustDemand;
use charla::{Charla, Failure, Notices};
use clap::CommandFactory;

use crate::args::{ApprovalsCommand, Command, ModelsCommand, Typed};
use charla_terminal::printer::Printer;

/// Runs a command.
pub fn run(command: Command, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    match command {
        Command::Models { json, command: None } => models::list(json, charla, printer),
        Command::Models { command: Some(ModelsCommand::Probe { model, json: own }), json } => {
            probe::run(model, own || json, charla, printer)
        }
        Command::Models { command: Some(ModelsCommand::Engine(command)), .. } => {
            engine::run(command, charla, printer)
        }
        Command::Auth { command } => auth::run(command, charla, printer),
        Command::Mcp { command } => mcp::run(command, charla, printer),
        Command::Settings { command } => settings::run(command, charla, printer),
        Command::Policy(args) => policy::run(&args, charla, printer),
        Command::Approvals { command: None, server } => approvals::list(server.as_deref(), charla, printer),
        Command::Approvals { command: Some(ApprovalsCommand::Answer { id, answer, words }), server } => {
            let outcome = approvals::outcome(answer, &words)?;
            match server {
                Some(server) => approvals::answer_at(&server, &id, &outcome, charla, printer),
                None => approvals::answer(&id, outcome, charla, printer),
            }
        }
        Command::Sessions(args) => sessions::run(args, charla, printer),
        Command::Prompt { command } => prompt::run(command, charla, printer),
        Command::Rewind(args) => rewind::run(&args, charla, printer),
        Command::Undo(args) => undo::run(Direction::Undo, args, charla, printer),
        Command::Redo(args) => undo::run(Direction::Redo, args, charla, printer),
        Command::Restore(args) => restore::run(&args, charla, printer),
        Command::Audit { command } => audit::run(command, charla, printer),
        Command::Attach(_) => Err(Failure::system("a conversation is no command")),
        Command::Serve(args) => serve::run(args, charla, printer),
        Command::Doctor { json } => doctor::run(json, printer),
        Command::Trust(args) => trust::run(&args, charla, printer),
        Command::Replay { session, json } => replay::run(&session, json, charla, printer),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Typed::command(), "charla", &mut script);
            printer.result(&String::from_utf8_lossy(&script))
        }
        Command::Man => printer.result(&manual::page()?),
    }
}

/// The settings that hold; what a person should know about them is printed.
fn settings_of(
    charla: &Charla,
    overrides: Vec<Override>,
    printer: &mut Printer,
) -> Result<Settings, Failure> {
    let effective = charla.settings(overrides, &TrustDemand::default())?;
    effective.notices.iter().for_each(|notice| Notices::warning(printer, notice));
    Ok(effective.settings)
}
