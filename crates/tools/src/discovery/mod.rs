//! Tools that a program of the user declares and runs.
//!
//! Two commands from the settings: one prints declarations as JSON, the other is called with a tool's name
//! and gets the arguments on its input. Neither goes through a shell: the command line is split into words
//! and nothing in it is expanded.

mod tool;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use charla_proto::FunctionDeclaration;
use serde_json::{Map, Value};

pub use tool::{DISCOVERED_PREFIX, DiscoveredTool};

use crate::process::clean::clean;
use crate::process::{Capture, CaptureError, Processes, capture};

/// How long discovery may take.
const DISCOVERY_TIME: Duration = Duration::from_secs(30);
/// How much each output of either command may hold.
const OUTPUT_BYTES: usize = 10 * 1024 * 1024;
/// How many tools one program may declare: all of them go into every request.
const MOST_TOOLS: usize = 500;
/// The longest name every provider takes.
const LONGEST_NAME: usize = 64;

/// The two commands.
#[derive(Clone, Debug)]
pub struct DiscoverySettings {
    /// Prints the declarations.
    pub discovery_command: String,
    /// Runs a tool.
    pub call_command: String,
    /// Where both run.
    pub cwd: PathBuf,
    /// How long one call may take.
    pub call_time: Duration,
}

/// What discovery found.
#[derive(Debug, Default)]
pub struct Discovered {
    /// The tools, in the order they were declared.
    pub tools: Vec<Arc<DiscoveredTool>>,
    /// Declarations that cannot be used, and why: the others still count.
    pub problems: Vec<String>,
}

/// Why nothing was discovered.
#[derive(Debug, thiserror::Error)]
#[error("the tool discovery command `{command}` failed: {reason}")]
pub struct DiscoveryError {
    /// The command.
    pub command: String,
    /// What went wrong.
    pub reason: String,
}

/// Asks the discovery command for its tools.
pub async fn discover(
    processes: &Processes,
    settings: &DiscoverySettings,
) -> Result<Discovered, DiscoveryError> {
    let fail = |reason: String| DiscoveryError { command: settings.discovery_command.clone(), reason };
    let ask = program(&settings.discovery_command, &settings.cwd, DISCOVERY_TIME).map_err(&fail)?;
    let call = words(&settings.call_command).map_err(|reason| DiscoveryError {
        command: settings.call_command.clone(),
        reason: format!("{reason} (it is the command that runs the tools)"),
    })?;
    let answer = capture(processes, ask).await.map_err(|error: CaptureError| fail(error.to_string()))?;
    if !answer.status.success() {
        let said = clean(&answer.stderr);
        return Err(fail(format!("{}: {}", answer.status, said.trim().lines().last().unwrap_or_default())));
    }
    let json: Value = serde_json::from_slice(&answer.stdout)
        .map_err(|error| fail(format!("what it printed is not JSON: {error}")))?;
    let mut discovered = Discovered::default();
    let mut declarations = Vec::new();
    collect(json, &mut declarations, &mut discovered.problems);
    for declaration in declarations {
        match usable(declaration, &discovered.tools) {
            Ok(declaration) => {
                let tool = DiscoveredTool::new(declaration, call.clone(), settings, processes.clone());
                discovered.tools.push(Arc::new(tool));
            }
            Err(problem) => discovered.problems.push(problem),
        }
    }
    Ok(discovered)
}

/// Declarations stand alone, in arrays, or in objects that group them under one of three names.
fn collect(json: Value, declarations: &mut Vec<Map<String, Value>>, problems: &mut Vec<String>) {
    match json {
        Value::Array(items) => {
            for item in items {
                collect(item, declarations, problems);
            }
        }
        Value::Object(mut object) => {
            let groups = ["function_declarations", "functionDeclarations", "FunctionDeclaration"];
            let group = groups.iter().find_map(|name| object.remove(*name));
            match group {
                Some(group) => collect(group, declarations, problems),
                None => declarations.push(object),
            }
        }
        other => problems.push(format!("not a declaration: {}", brief(&other))),
    }
}

fn usable(
    mut object: Map<String, Value>,
    others: &[Arc<DiscoveredTool>],
) -> Result<FunctionDeclaration, String> {
    if object.contains_key("parametersJsonSchema") {
        object.remove("parameters");
    }
    let shown = brief(&Value::Object(object.clone()));
    let declaration: FunctionDeclaration = serde_json::from_value(Value::Object(object))
        .map_err(|error| format!("not a declaration: {error}: {shown}"))?;
    let name = &declaration.name;
    let allowed = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
    if name.is_empty() || !name.chars().all(allowed) {
        return Err(format!("`{name}`: a name is made of letters, digits, `_`, `-` and `.`"));
    }
    if DISCOVERED_PREFIX.len() + name.len() > LONGEST_NAME {
        return Err(format!("`{name}`: the name is too long"));
    }
    if !matches!(declaration.parameters_json_schema, Value::Null | Value::Object(_)) {
        return Err(format!("`{name}`: its parameters are not a JSON Schema"));
    }
    if others.iter().any(|tool| tool.name() == name) {
        return Err(format!("`{name}` is declared twice; the first counts"));
    }
    if others.len() >= MOST_TOOLS {
        return Err(format!("`{name}`: more than {MOST_TOOLS} tools"));
    }
    Ok(declaration)
}

fn brief(value: &Value) -> String {
    let text = value.to_string();
    let short: String = text.chars().take(80).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

/// A command line in words, as a shell would split it, and nothing else a shell would do.
fn words(command: &str) -> Result<Vec<OsString>, String> {
    let words = shlex::split(command).ok_or("its quotes do not match")?;
    if words.is_empty() {
        return Err("it is empty".to_owned());
    }
    Ok(words.into_iter().map(OsString::from).collect())
}

fn program(command: &str, cwd: &Path, time: Duration) -> Result<Capture, String> {
    let mut words = words(command)?.into_iter();
    Ok(Capture {
        program: words.next().unwrap_or_default(),
        arguments: words.collect(),
        cwd: cwd.to_owned(),
        input: Vec::new(),
        time,
        bytes: OUTPUT_BYTES,
    })
}

#[cfg(test)]
mod tests;
