//! The binary `charla`, as a library so that it can be tested without a process.
//!
//! This crate is the only one that reads arguments, environment, home and standard input. It finds out what was
//! meant, opens a session with the library `charla` and shows its events, or does a command's work and prints what
//! came of it. Whatever another front end would need, too, belongs into the library; whatever decides something
//! about a conversation, into `charla-core`.

mod args;
mod ask;
mod attach;
mod commands;
mod input;
mod intent;
mod runtime;
mod surroundings;
mod talk;

use std::ffi::OsString;

use charla::{Charla, Failure};

use crate::args::Command;
use crate::commands::sessions;
use crate::intent::{Diagnostics, Intent, SessionWork, understand};
use crate::runtime::runtime;
use charla_terminal::exit::OK;
use charla_terminal::printer::Printer;

/// Runs `charla` with these arguments and returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    let (intent, diagnostics) = match understand(arguments) {
        Ok(understood) => understood,
        Err(failure) => return Printer::of_process(no_colour(false)).refuse(&failure),
    };
    let mut printer = Printer::of_process(no_colour(diagnostics.no_color));
    if let Intent::Print(text) = &intent {
        let printed = printer.result(text);
        return finish(printed, &mut printer);
    }
    start_tracing(&diagnostics);
    let charla = match surroundings::of_process(diagnostics.directory.as_deref()) {
        Ok(environment) => Charla::of_one_session(environment),
        Err(failure) => return printer.refuse(&failure),
    };
    match intent {
        Intent::Ask(ask) => match runtime() {
            Ok(runtime) => {
                let no_color = no_colour(diagnostics.no_color);
                let code = match talk::wanted(&ask, &charla) {
                    Some(talk::Form::Screen) => runtime.block_on(talk::run(*ask, &charla, no_color, printer)),
                    Some(talk::Form::Lines) => runtime.block_on(talk::line_by_line(*ask, &charla, printer)),
                    None => runtime.block_on(ask::run(*ask, &charla, printer)),
                };
                // A name lookup or a read that hangs must not keep the process alive.
                runtime.shutdown_background();
                code
            }
            Err(failure) => printer.refuse(&failure),
        },
        Intent::Sessions(work) => {
            let done = match work {
                SessionWork::List => sessions::list(&charla, &mut printer),
                SessionWork::Delete(which) => sessions::delete(&[which], &charla, &mut printer),
            };
            finish(done, &mut printer)
        }
        Intent::Command(command) => match *command {
            Command::Attach(args) => match runtime() {
                Ok(runtime) => {
                    let no_color = no_colour(diagnostics.no_color);
                    let code = runtime.block_on(attach::run(args, &charla, no_color, printer));
                    runtime.shutdown_background();
                    code
                }
                Err(failure) => printer.refuse(&failure),
            },
            Command::Work(work) => finish(commands::run(work, &charla, &mut printer), &mut printer),
        },
        Intent::Print(_) => OK,
    }
}

fn finish(done: Result<(), Failure>, printer: &mut Printer) -> i32 {
    match done.and_then(|()| printer.flush()) {
        Ok(()) => OK,
        Err(failure) => printer.refuse(&failure),
    }
}

fn no_colour(flag: bool) -> bool {
    flag || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Diagnostics go to standard error, only when asked for.
fn start_tracing(diagnostics: &Diagnostics) {
    if diagnostics.debug {
        let filter = tracing_subscriber::EnvFilter::try_from_env("CHARLA_LOG").unwrap_or_else(|_| {
            tracing_subscriber::EnvFilter::new("charla=debug,charla_providers=debug,charla_core=debug")
        });
        let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
    }
}
