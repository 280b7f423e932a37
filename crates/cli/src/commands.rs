//! Commands other than asking.

use std::io::{BufRead, Read};

use charla_core::undo::Direction;
use clap::CommandFactory;
use secrecy::SecretString;
use serde_json::json;

use crate::args::{AuthCommand, Command, ModelsWork, SettingsCommand, Typed};
use crate::directory::Directory;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::keys::{KeyRing, Keys};
use crate::notices::Notices;
use crate::policy::{self, PolicyArgs, PolicyPlace};
use crate::printer::Printer;
use crate::sessions::Sessions;
use crate::{google, local, manual, models, probe, replay, restore, settings, trust, undo};

/// Runs a command.
pub fn run(command: Command, environment: &Environment, printer: &mut Printer) -> Result<(), Failure> {
    match command {
        Command::Models { json, command: None } => list_models(json, environment, printer),
        Command::Models { command: Some(ModelsWork::Probe { model, json: own }), json } => {
            let flag = model.map(|model| (&["model", "name"][..], json!(model), "--model"));
            let effective = settings::load(environment, flag.into_iter().collect())?;
            effective.notices.iter().for_each(|notice| Notices::warning(printer, notice));
            crate::runtime()?.block_on(probe::run(own || json, &effective.settings, environment, printer))
        }
        Command::Models { command: Some(ModelsWork::BuiltIn(command)), .. } => {
            let settings = settings::load(environment, Vec::new())?.settings;
            crate::runtime()?.block_on(local::run(command, &settings, environment, printer))
        }
        Command::Auth { command } => auth(command, environment, printer),
        Command::Settings { command } => show_settings(command, environment, printer),
        Command::Policy(args) => judge(&args, environment, printer),
        Command::Approvals => Sessions::new(environment)?.approvals(printer),
        Command::Undo(args) => undo::run(Direction::Undo, &args, environment, printer),
        Command::Redo(args) => undo::run(Direction::Redo, &args, environment, printer),
        Command::Restore(args) => restore::run(&args, environment, printer),
        Command::Trust(args) => trust::run(&args, environment, printer),
        Command::Replay { session, json } => replay::run(&session, json, environment, printer),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Typed::command(), "charla", &mut script);
            printer.result(&String::from_utf8_lossy(&script))
        }
        Command::Man => printer.result(&manual::page()?),
    }
}

fn judge(args: &PolicyArgs, environment: &Environment, printer: &mut Printer) -> Result<(), Failure> {
    let report = policy::run(args, &PolicyPlace::of(environment))
        .map_err(|error| Failure::config(error.to_string()).with_hint("docs/policy.md describes rules"))?;
    report.notices.iter().for_each(|notice| printer.warning(notice));
    printer.result(&report.text)?;
    match report.code {
        0 => Ok(()),
        _ => Err(Failure::system("a rule's own test failed")),
    }
}

fn list_models(json: bool, environment: &Environment, printer: &mut Printer) -> Result<(), Failure> {
    let effective = settings::load(environment, Vec::new())?;
    effective.notices.iter().for_each(|notice| Notices::warning(printer, notice));
    let rows = crate::runtime()?.block_on(models::survey(&effective.settings, environment));
    match json {
        true => printer.result(&format!("{:#}\n", models::to_json(&rows))),
        false => printer.words(&models::to_text(&rows)),
    }
}

fn show_settings(
    command: SettingsCommand,
    environment: &Environment,
    printer: &mut Printer,
) -> Result<(), Failure> {
    match command {
        SettingsCommand::Schema => printer.result(&format!("{:#}\n", settings::settings_schema())),
        SettingsCommand::Path => {
            let user = environment.user_settings();
            for path in user.into_iter().chain([environment.workspace_settings()]) {
                let state = if path.exists() { "" } else { "  (not there)" };
                printer.result(&format!("{}{state}\n", path.display()))?;
            }
            Ok(())
        }
        SettingsCommand::Show { json } => {
            let effective = settings::load(environment, Vec::new())?;
            effective.notices.iter().for_each(|notice| Notices::warning(printer, notice));
            match json {
                true => printer.result(&format!("{:#}\n", settings::show_json(&effective))),
                false => printer.words(&settings::show_text(&effective)),
            }
        }
    }
}

fn auth(command: AuthCommand, environment: &Environment, printer: &mut Printer) -> Result<(), Failure> {
    let settings = settings::load(environment, Vec::new())?.settings;
    let ring = || {
        Keys::new(environment).ring().ok_or_else(|| {
            Failure::config("there is no home directory to keep keys in").with_hint("set CHARLA_HOME")
        })
    };
    match command {
        AuthCommand::Login => crate::runtime()?.block_on(google::login(&settings, environment, printer)),
        AuthCommand::Set { provider } => {
            let entry = Directory::new(&settings).find(&provider)?;
            set_key(&entry.name, &ring()?, environment, printer)
        }
        AuthCommand::Remove { provider } => {
            let entry = Directory::new(&settings).find(&provider)?;
            let known = ring()?.remove(&entry.name)?;
            let done = if known { "forgot the key of" } else { "there was no kept key of" };
            printer.note(&format!("{done} {}", entry.name));
            Ok(())
        }
    }
}

fn set_key(
    provider: &str,
    ring: &KeyRing,
    environment: &Environment,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let key = read_key(provider, environment, printer)?;
    ring.set(provider, &key)?;
    printer.note(&format!("kept the key of {provider} in {}", ring.path.display()));
    Ok(())
}

/// A key is read from standard input, never from an argument: arguments are seen by every user of the
/// machine and stay in the shell's history.
fn read_key(
    provider: &str,
    environment: &Environment,
    printer: &mut Printer,
) -> Result<SecretString, Failure> {
    let mut text = String::new();
    let read = if environment.stdin_terminal {
        let hidden = Echo::off();
        printer.aside(&format!("key of {provider} (not shown): "));
        let read = std::io::stdin().lock().read_line(&mut text);
        drop(hidden);
        printer.aside("\n");
        read
    } else {
        std::io::stdin().lock().take(64 * 1024).read_to_string(&mut text)
    };
    read.map_err(|error| Failure::input(format!("cannot read the key: {error}")))?;
    match text.trim() {
        "" => Err(Failure::input("no key was given")
            .with_hint(format!("pass it on standard input: charla auth set {provider} < key.txt"))),
        key if key.contains(char::is_whitespace) => {
            Err(Failure::input("a key is one word, but several came"))
        }
        key => Ok(key.to_owned().into()),
    }
}

/// Hides what is typed until dropped. Where `stty` is missing, typing stays visible.
struct Echo;

impl Echo {
    fn off() -> Self {
        Self::stty("-echo");
        Self
    }

    fn stty(argument: &str) {
        let _ = std::process::Command::new("stty").arg(argument).status();
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        Self::stty("echo");
    }
}
