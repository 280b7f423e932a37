//! The binary `charla`, as a library so that it can be tested without a process.
//!
//! This crate is the only one that reads arguments, environment, home and standard input. It finds out
//! what was meant ([`args`], [`intent`]), which settings and keys hold ([`settings`], [`keys`]), which model
//! answers ([`directory`], [`choice`]), builds the generators ([`wiring`]) and shows a turn's events
//! ([`headless`]). Whatever decides something about a conversation belongs into `charla-core` instead.

pub mod agent;
pub mod answer;
pub mod approver;
pub mod args;
pub mod ask;
pub mod brief;
pub mod choice;
pub mod commands;
pub mod compression;
pub mod directory;
pub mod environment;
pub mod exit;
pub mod failure;
pub mod google;
pub mod headless;
pub mod hint;
pub mod input;
pub mod intent;
pub mod keep_alive;
pub mod keys;
pub mod local;
pub mod log_file;
pub mod manual;
pub mod models;
pub mod nearest;
pub mod notices;
pub mod policy;
pub mod printer;
pub mod probe;
pub mod replay;
pub mod restore;
pub mod servers;
pub mod sessions;
pub mod settings;
pub mod trust;
pub mod undo;
pub mod wiring;
pub mod wording;

use std::ffi::OsString;

use charla_proto::exit as code;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::intent::{Intent, Manner, SessionWork, understand};
use crate::printer::Printer;
use crate::sessions::Sessions;

/// Runs `charla` with these arguments and returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    let (intent, manner) = match understand(arguments) {
        Ok(understood) => understood,
        Err(failure) => return refuse(&failure, &mut Printer::of_process(no_colour(false))),
    };
    let mut printer = Printer::of_process(no_colour(manner.no_color));
    if let Intent::Print(text) = &intent {
        let printed = printer.result(text);
        return finish(printed, &mut printer);
    }
    start_tracing(manner);
    let environment = Environment::of_process();
    match intent {
        Intent::Ask(ask) => match runtime() {
            Ok(runtime) => {
                let code = runtime.block_on(ask::run(*ask, &environment, printer));
                // A name lookup or a read that hangs must not keep the process alive.
                runtime.shutdown_background();
                code
            }
            Err(failure) => refuse(&failure, &mut printer),
        },
        Intent::Sessions(work) => {
            let done = Sessions::new(&environment).and_then(|sessions| match work {
                SessionWork::List => sessions.print(&mut printer),
                SessionWork::Delete(which) => sessions.delete(&which, &mut printer),
            });
            finish(done, &mut printer)
        }
        Intent::Command(command) => {
            let done = commands::run(command, &environment, &mut printer);
            finish(done, &mut printer)
        }
        Intent::Print(_) => code::OK,
    }
}

/// One thread is enough for one conversation, and quicker to start than many.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::system(format!("cannot start: {error}")))
}

fn finish(done: Result<(), Failure>, printer: &mut Printer) -> i32 {
    match done.and_then(|()| printer.flush()) {
        Ok(()) => code::OK,
        Err(failure) => refuse(&failure, printer),
    }
}

fn refuse(failure: &Failure, printer: &mut Printer) -> i32 {
    printer.failure(failure);
    exit::code(failure.kind)
}

fn no_colour(flag: bool) -> bool {
    flag || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Diagnostics go to standard error, only when asked for.
fn start_tracing(manner: Manner) {
    if manner.debug {
        let filter = tracing_subscriber::EnvFilter::try_from_env("CHARLA_LOG").unwrap_or_else(|_| {
            tracing_subscriber::EnvFilter::new("charla=debug,charla_providers=debug,charla_core=debug")
        });
        let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
    }
}
