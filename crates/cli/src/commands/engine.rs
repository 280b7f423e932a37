//! `charla models pull | list | rm`.

use charla::engine::{WEIGHTS_NAME, engine, failure, start, store};
use charla::settings::{self, Settings};
use charla::{Charla, Environment, Failure};

use crate::args::EngineCommand;
use crate::runtime::runtime;
use charla_terminal::printer::Printer;

/// Runs one of them.
pub fn run(command: EngineCommand, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let environment = charla.environment();
    let settings = settings::load(environment, Vec::new())?.settings;
    runtime()?.block_on(work(command, &settings, environment, printer))
}

async fn work(
    command: EngineCommand,
    settings: &Settings,
    environment: &Environment,
    printer: &mut Printer,
) -> Result<(), Failure> {
    match command {
        EngineCommand::Pull => pull(settings, environment, printer).await,
        EngineCommand::List => list(settings, environment, printer),
        EngineCommand::Rm => {
            let freed = store(settings, environment)?.remove().await.map_err(|error| failure(&error))?;
            printer.note(&match freed {
                0 => "nothing is installed, so nothing was removed".to_owned(),
                _ => format!("removed the built-in model: {} MB", freed / 1_000_000),
            });
            Ok(())
        }
    }
}

/// Installs what is missing, checks what is there, and starts it once: what was pulled works.
async fn pull(settings: &Settings, environment: &Environment, printer: &mut Printer) -> Result<(), Failure> {
    let engine = engine(None, settings, environment)?;
    if let Err(error) = engine.options().store.verify().await {
        printer.warning(&format!("{error}; it is downloaded again"));
    }
    let used = start(&engine, printer).await?;
    printer.note(&format!("local/{} is ready, with a window of {} tokens", used.model, used.window));
    Ok(())
}

fn list(settings: &Settings, environment: &Environment, printer: &mut Printer) -> Result<(), Failure> {
    let store = store(settings, environment)?;
    let installed = store.installed();
    let own_engine = environment.program("llama-server");
    let no_engine = if own_engine.is_some() { "not installed, nor needed" } else { "not installed" };
    let rows = [
        (format!("local/{WEIGHTS_NAME}"), installed.weights, "not installed"),
        (format!("engine {}", store.engine_name()), installed.engine, no_engine),
    ];
    for (name, place, otherwise) in rows {
        let state = match place {
            Some((path, bytes)) => format!("{} MB  {}", bytes / 1_000_000, path.display()),
            None => otherwise.to_owned(),
        };
        printer.result(&format!("{name}  {state}\n"))?;
    }
    match own_engine {
        Some(path) => printer
            .result(&format!("llama-server  {}  (runs -m local, and -m local/PATH.gguf)\n", path.display())),
        None => Ok(()),
    }
}
