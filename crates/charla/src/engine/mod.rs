//! The managed engine: from settings to a running model on this machine.

mod generator;
mod small;
mod start;

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use charla_local::{Engine, EngineOptions, LocalError, Model, Pip, Store};
use charla_proto::ApprovalMode;

pub use charla_local::WEIGHTS_NAME;
pub use generator::EngineGenerator;
pub use small::{SmallModel, system};
pub use start::start;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::helper;
use crate::hint::{EngineRemedy, Hint};
use crate::network;
use crate::own_programs;
use crate::settings::Settings;

/// The provider's name.
pub const PROVIDER: &str = "local";

/// The engine of the user's own, where there is one.
const SERVER: &str = "llama-server";
const WINDOW: u32 = 8192;
/// The built-in model was trained on conversations of half as many tokens.
const BUILT_IN_WINDOW: u32 = 4096;
const IDLE: Duration = Duration::from_secs(600);
/// The most that the built-in model is trusted with. It calls a tool where a greeting was meant: no mode lets it change
/// or run anything unasked.
pub(crate) const MODE: ApprovalMode = ApprovalMode::Default;
/// What a small model can be trusted to tell apart.
const TOOLS: [&str; 4] = ["list_directory", "read_file", "grep_search", "run_shell_command"];

/// The names of the tools that a small model is offered.
pub fn tools(settings: &Settings) -> Vec<String> {
    settings.local.tools.clone().unwrap_or_else(|| TOOLS.map(str::to_owned).to_vec())
}

/// The names of the tools that the built-in model is offered: those it was trained on, and of them only what the settings
/// leave to small models.
pub fn trained_tools(settings: &Settings) -> Vec<String> {
    let left =
        |name: &&str| settings.local.tools.as_ref().is_none_or(|tools| tools.iter().any(|tool| tool == name));
    small::TOOLS.iter().map(|(name, _)| *name).filter(left).map(str::to_owned).collect()
}

/// True for the name of the built-in model, `provider/model`.
pub fn is_built_in(reference: &str) -> bool {
    reference.split_once('/') == Some((PROVIDER, WEIGHTS_NAME))
}

/// The most that the model of this name, `provider/model`, is trusted with, whatever mode somebody chose: for those who tell it.
pub fn at_most(reference: &str) -> ApprovalMode {
    if is_built_in(reference) { MODE } else { ApprovalMode::Yolo }
}

/// The engine for the model of this name, else for the built-in one. Nothing is started yet.
pub fn engine(
    model: Option<&str>,
    settings: &Settings,
    environment: &Environment,
) -> Result<Engine, Failure> {
    let model = match model {
        None | Some(WEIGHTS_NAME) => Model::BuiltIn,
        Some(path) if path.ends_with(".gguf") => {
            Model::File(environment.expand(path, &environment.directory))
        }
        Some(name) => {
            return Err(Failure::input(format!("the built-in engine has no model `{name}`"))
                .with_hint(Hint::EngineModels));
        }
    };
    Ok(Engine::new(options(model, settings, environment)?))
}

/// What tells a model file from another that was put in its place.
pub(crate) fn identity(model: &Model) -> Option<String> {
    let Model::File(path) = model else { return None };
    let facts = path.metadata().ok()?;
    let changed = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} bytes, changed {}", facts.len(), changed.as_secs()))
}

/// Whether the built-in model is there or may be fetched, in words.
pub fn state(settings: &Settings, environment: &Environment) -> Result<String, String> {
    let store = store(settings, environment).map_err(|failure| failure.message)?;
    match (store.is_complete(environment.program(SERVER).is_some()), store.forbidden()) {
        (true, _) => Ok("installed".to_owned()),
        (false, None) => Ok("set up on first use, about 130 MB".to_owned()),
        (false, Some(reason)) => Err(format!("not installed, and downloads are forbidden ({reason})")),
    }
}

fn options(model: Model, settings: &Settings, environment: &Environment) -> Result<EngineOptions, Failure> {
    let local = &settings.local;
    let own_window = if model == Model::BuiltIn { BUILT_IN_WINDOW } else { WINDOW };
    let idle = local.idle_minutes.and_then(|minutes| Duration::try_from_secs_f64(minutes * 60.0).ok());
    Ok(EngineOptions {
        store: store(settings, environment)?,
        window: local.context_window.unwrap_or(own_window),
        model,
        llama_server: environment.program(SERVER),
        threads: local.threads.unwrap_or_else(threads),
        idle: idle.unwrap_or(IDLE),
        environment: helper::engine(environment, settings),
        http: Arc::new(network::direct()?),
    })
}

/// Where the engine and the built-in model are installed.
pub fn store(settings: &Settings, environment: &Environment) -> Result<Store, Failure> {
    let cache = environment.cache().ok_or_else(|| {
        Failure::config("there is no folder to keep the built-in model in").with_hint("set CHARLA_CACHE")
    })?;
    let forbidden = match (environment.variable("CHARLA_OFFLINE"), settings.local.download) {
        (Some(value), _) if value != "0" => Some("CHARLA_OFFLINE is set".to_owned()),
        (_, Some(false)) => Some("`local.download` is false".to_owned()),
        // Nobody fills another's disk by asking something.
        (_, None) if environment.guest.is_some() => Some(
            "whoever runs the server has not set it up, by a prompt of their own or `local.download`"
                .to_owned(),
        ),
        _ => None,
    };
    let python = environment.program("python3").unwrap_or_else(|| PathBuf::from("python3"));
    let pip = Pip { python, environment: own_programs::installer(environment) };
    Ok(Store::new(cache.join("local"), pip, forbidden))
}

/// Half the cores: others work here, too, and a thread that waits for its turn stops all the others.
fn threads() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    u32::try_from(cores / 2).unwrap_or(1).max(1)
}

/// A failure of the engine, with what to do.
pub fn failure(error: &LocalError) -> Failure {
    let (failure, remedy): (fn(String) -> Failure, EngineRemedy) = match error {
        LocalError::Forbidden(_) => (Failure::auth, EngineRemedy::AllowDownload),
        LocalError::NoPython { .. } => (Failure::system, EngineRemedy::InstallPython),
        LocalError::Download { .. } => (Failure::system, EngineRemedy::CheckNetwork),
        LocalError::Corrupt { .. } => (Failure::system, EngineRemedy::TryAgain),
        LocalError::NotAModel { .. } => (Failure::input, EngineRemedy::NameModelFile),
        LocalError::Start(_) => (Failure::system, EngineRemedy::Reinstall),
        LocalError::File { .. } => (Failure::system, EngineRemedy::OtherFolder),
    };
    failure(error.to_string()).with_hint(Hint::Engine(remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Guest;

    #[test]
    fn nothing_is_downloaded_for_a_guest_unless_the_server_allows_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut environment = Environment::default();
        environment.home = Some(folder.path().to_owned());
        let mut settings = Settings::default();
        assert!(state(&settings, &environment).is_ok());
        environment.guest =
            Some(Guest { settings: "/none".into(), policies: "/none".into(), network: false });
        assert!(state(&settings, &environment).unwrap_err().contains("whoever runs the server"));
        settings.local.download = Some(true);
        assert!(state(&settings, &environment).is_ok());
    }
}
