//! Commands other than asking: each does its work with the library and prints what came of it.

mod approvals;
mod audit;
mod auth;
mod doctor;
mod engine;
mod hooks;
mod import;
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
mod users;

use std::io::Read;

use charla::session::Direction;
use charla::settings::{Override, Settings};
use charla::trust::TrustDemand;
use charla::{Charla, Failure, Notices};
use clap::CommandFactory;

use crate::args::{AgentsCommand, ApprovalsCommand, ModelsCommand, SkillsCommand, Typed, Work};
use crate::input;
use crate::runtime::runtime;
use charla_terminal::printer::Printer;

/// Runs a command.
pub fn run(work: Work, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    match work {
        Work::Models { json, command: None } => models::list(json, charla, printer),
        Work::Models { command: Some(ModelsCommand::Probe { model, json: own }), json } => {
            probe::run(model, own || json, charla, printer)
        }
        Work::Models { command: Some(ModelsCommand::Engine(command)), .. } => {
            engine::run(command, charla, printer)
        }
        Work::Auth { command } => auth::run(command, charla, printer),
        Work::Acp { model, mut flags } => {
            let (input, output) = (std::io::BufReader::new(std::io::stdin()), std::io::stdout());
            flags.extend(named_model(model));
            runtime()?.block_on(charla_acp::serve(charla, flags, input, output));
            Ok(())
        }
        Work::Mcp { command } => mcp::run(command, charla, printer),
        Work::Skills { command: SkillsCommand::List { json } } => {
            let settings = settings_of(charla, Vec::new(), printer)?;
            charla_terminal::skills::print(&charla.skills(&settings, printer), json, printer)
        }
        Work::Agents { command: AgentsCommand::List { json } } => {
            let settings = settings_of(charla, Vec::new(), printer)?;
            charla_terminal::skills::print_agents(&charla.agents(&settings, printer), json, printer)
        }
        Work::Extensions { command } => charla_terminal::extensions::run(command.into(), charla, printer),
        Work::Hooks { command } => hooks::run(&command, charla, printer),
        Work::Settings { command } => settings::run(command, charla, printer),
        Work::Policy(args) => policy::run(&args, charla, printer),
        Work::Approvals { command: None, server } => approvals::list(server.as_deref(), charla, printer),
        Work::Approvals { command: Some(ApprovalsCommand::Answer { id, answer, words }), server } => {
            let outcome = approvals::outcome(answer, &words)?;
            match server {
                Some(server) => approvals::answer_at(&server, &id, &outcome, charla, printer),
                None => approvals::answer(&id, outcome, charla, printer),
            }
        }
        Work::Sessions(args) => sessions::run(args, charla, printer),
        Work::Prompt { command } => prompt::run(command, charla, printer),
        Work::Rewind(args) => rewind::run(&args, charla, printer),
        Work::Undo(args) => undo::run(Direction::Undo, args, charla, printer),
        Work::Redo(args) => undo::run(Direction::Redo, args, charla, printer),
        Work::Restore(args) => restore::run(&args, charla, printer),
        Work::Audit { command } => audit::run(command, charla, printer),
        Work::Users { command, database } => users::run(command, database, charla, printer),
        Work::Serve(args) => serve::run(args, charla, printer),
        Work::Doctor { model, json } => doctor::run(model, json, charla, printer),
        Work::Import(args) => import::run(args, charla, printer),
        Work::Trust(args) => trust::run(&args, charla, printer),
        Work::Replay { session, json } => replay::run(&session, json, charla, printer),
        Work::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Typed::command(), "charla", &mut script);
            printer.result(&String::from_utf8_lossy(&script))
        }
        Work::Man { into: None } => printer.result(&manual::page()?),
        Work::Man { into: Some(folder) } => manual::write_all(&folder),
        Work::Update { from, json, .. } => {
            runtime()?.block_on(charla_terminal::update::check(from.as_deref(), json, charla, printer))
        }
    }
}

/// A secret is read from standard input, never from an argument: arguments are seen by every user of the machine and stay
/// in the shell's history. Without the line's end.
fn read_secret(what: &str, printer: &mut Printer) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if input::is_terminal() {
        let ask = || printer.aside(&format!("{what} (not shown): "));
        let typed = runtime()?.block_on(input::hidden_line(ask));
        printer.aside("\n");
        typed?.map(|line| text = line)
    } else {
        std::io::stdin().lock().take(64 * 1024).read_to_string(&mut text).map(drop)
    };
    read.map_err(|error| Failure::input(format!("cannot read the {what}: {error}")))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// The settings of `--model`.
fn named_model(model: Option<String>) -> Vec<Override> {
    let model =
        model.map(|model| Override { key: &["model", "name"], value: model.into(), source: "--model" });
    model.into_iter().collect()
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
