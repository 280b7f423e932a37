//! Tools that a command announces and another command runs.
//!
//! The discovery command prints function declarations as JSON. Each becomes a tool; calling it runs the call
//! command with the tool's name as its argument and the arguments as JSON on its standard input.

use std::path::PathBuf;
use std::sync::Arc;

use charla_proto::tool::Tool;
use charla_proto::{
    Args, BoxFuture, Confinement, Effect, FunctionDeclaration, Invocation, Prepared, Preview, ToolContext,
    ToolError, ToolErrorKind, ToolOutput, Word,
};
use serde_json::{Map, Value};

use crate::args::Schema;
use crate::invocation::{text_output, write_plan};
use crate::truncate;

/// What names of discovered tools begin with, so that none can take a built-in tool's place.
pub const DISCOVERED_PREFIX: &str = "discovered_tool_";
/// The longest name every provider takes.
const LONGEST_NAME: usize = 64;
/// How much of a tool's output the model is given.
const MOST_CHARS: usize = 40_000;

/// A command to run for a tool.
pub struct ToolCommand {
    /// The command line from the settings.
    pub command: String,
    /// One more argument, to be passed as it is.
    pub argument: Option<String>,
    /// What it reads.
    pub stdin: Vec<u8>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Resolves when it shall end.
    pub cancelled: BoxFuture<'static, ()>,
    /// How far it reaches.
    pub confinement: Confinement,
}

/// What came of a command.
#[derive(Clone, Debug, Default)]
pub struct CommandOutput {
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained about.
    pub stderr: Vec<u8>,
    /// Its exit code; absent when a signal ended it.
    pub exit: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// Runs commands. It caps their output and ends them, with everything they started, when they are cancelled.
pub trait CommandRunner: Send + Sync {
    /// Runs one; `Err` when it cannot be started or was cancelled.
    fn run(&self, command: ToolCommand) -> BoxFuture<'static, Result<CommandOutput, ToolError>>;
}

/// What a discovery command announced.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Announced {
    /// Good declarations, in order.
    pub declarations: Vec<FunctionDeclaration>,
    /// Why others were left out, in words for the user.
    pub skipped: Vec<String>,
}

/// The tools that were discovered.
#[derive(Default)]
pub struct Discovery {
    /// The tools.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Why others were left out, in words for the user.
    pub skipped: Vec<String>,
}

/// Why no tools were discovered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// The command failed.
    #[error("the tool discovery command failed: {0}")]
    Command(String),
    /// Its output is none we understand.
    #[error("the tool discovery command printed no function declarations: {0}")]
    Output(String),
}

/// Runs the discovery command in `cwd` and makes tools of what it announces.
pub async fn discover(
    runner: Arc<dyn CommandRunner>,
    discovery_command: &str,
    call_command: &str,
    cwd: PathBuf,
) -> Result<Discovery, DiscoveryError> {
    let command = ToolCommand {
        command: discovery_command.to_owned(),
        argument: None,
        stdin: Vec::new(),
        cwd,
        cancelled: Box::pin(std::future::pending()),
        // The user's own settings name it.
        confinement: Confinement::Open,
    };
    let output = runner.run(command).await.map_err(|error| DiscoveryError::Command(error.message))?;
    if output.exit != Some(0) {
        let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(DiscoveryError::Command(format!("{}; {complaint}", ending(&output))));
    }
    let announced = parse_declarations(&String::from_utf8_lossy(&output.stdout))?;
    let tools = announced.declarations.into_iter().map(|declaration| {
        Arc::new(DiscoveredTool::new(declaration, call_command, runner.clone())) as Arc<dyn Tool>
    });
    Ok(Discovery { tools: tools.collect(), skipped: announced.skipped })
}

/// Reads what a discovery command printed: an array, or one object, of declarations and of groups of them
/// under `function_declarations` or `functionDeclarations`, mixed as they may be.
pub fn parse_declarations(json: &str) -> Result<Announced, DiscoveryError> {
    let value: Value =
        serde_json::from_str(json).map_err(|error| DiscoveryError::Output(error.to_string()))?;
    let items = match value {
        Value::Array(items) => items,
        Value::Object(_) => vec![value],
        _ => return Err(DiscoveryError::Output("neither an array nor an object".to_owned())),
    };
    let mut announced = Announced::default();
    for (index, item) in items.into_iter().enumerate() {
        take(item, &format!("entry {}", index + 1), &mut announced);
    }
    Ok(announced)
}

fn take(item: Value, place: &str, announced: &mut Announced) {
    let Value::Object(mut object) = item else {
        announced.skipped.push(format!("{place}: not an object"));
        return;
    };
    let mut grouped = false;
    for key in ["function_declarations", "functionDeclarations", "FunctionDeclaration"] {
        let Some(group) = object.shift_remove(key) else { continue };
        grouped = true;
        let group = match group {
            Value::Array(group) => group,
            single @ Value::Object(_) => vec![single],
            _ => {
                announced.skipped.push(format!("{place}: `{key}` is no list"));
                continue;
            }
        };
        for (index, item) in group.into_iter().enumerate() {
            let place = format!("{place}, declaration {}", index + 1);
            match item {
                Value::Object(object) => add(object, &place, announced),
                _ => announced.skipped.push(format!("{place}: not an object")),
            }
        }
    }
    if !grouped {
        add(object, place, announced);
    }
}

fn add(object: Map<String, Value>, place: &str, announced: &mut Announced) {
    match declaration(object) {
        Ok(declaration) if announced.declarations.iter().any(|other| other.name == declaration.name) => {
            announced.skipped.push(format!("{place}: `{}` was announced before", declaration.name));
        }
        Ok(declaration) => announced.declarations.push(declaration),
        Err(reason) => announced.skipped.push(format!("{place}: {reason}")),
    }
}

fn declaration(object: Map<String, Value>) -> Result<FunctionDeclaration, String> {
    let Some(name) = object.get("name").and_then(Value::as_str).map(str::to_owned) else {
        return Err("it has no name".to_owned());
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
    if name.is_empty() || !name.chars().all(plain) || name.len() + DISCOVERED_PREFIX.len() > LONGEST_NAME {
        let shown: String = name.chars().take(80).collect();
        return Err(format!("`{shown}` is no name for a tool"));
    }
    let description = match object.get("description") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(description)) => description.clone(),
        Some(_) => return Err(format!("the description of `{name}` is no text")),
    };
    let parameters = object.get("parametersJsonSchema").or_else(|| object.get("parameters"));
    let mut parameters = parameters.cloned().unwrap_or_default();
    if !parameters.is_null() && !parameters.is_object() {
        return Err(format!("the parameters of `{name}` are no schema"));
    }
    lower_types(&mut parameters);
    Ok(FunctionDeclaration {
        name,
        description,
        parameters_json_schema: parameters,
        ..FunctionDeclaration::default()
    })
}

/// Gemini's own schemas write types in capitals; JSON Schema does not.
fn lower_types(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object {
                match value {
                    Value::String(kind) if key == "type" => *kind = kind.to_lowercase(),
                    _ => lower_types(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(lower_types),
        _ => {}
    }
}

/// A tool that a command runs.
struct DiscoveredTool {
    schema: Schema,
    /// Its name as it was announced.
    name: String,
    call_command: String,
    runner: Arc<dyn CommandRunner>,
}

impl DiscoveredTool {
    fn new(mut declaration: FunctionDeclaration, call_command: &str, runner: Arc<dyn CommandRunner>) -> Self {
        let name = declaration.name.clone();
        declaration.name = format!("{DISCOVERED_PREFIX}{name}");
        Self { schema: Schema::new(declaration), name, call_command: call_command.to_owned(), runner }
    }
}

impl Tool for DiscoveredTool {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        self.schema.declaration()
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move {
            let args = Value::Object(self.schema.check(args)?);
            // The announced name has no character that means anything to a shell.
            let line = format!("{} {}", self.call_command, self.name);
            let words = vec![Word::unknown(&line)];
            let effects = vec![Effect::Exec {
                command: line.clone(),
                cwd: cx.cwd.clone(),
                words,
                carrier: false,
                fed: false,
                environment: Vec::new(),
            }];
            let pretty = serde_json::to_string_pretty(&args).unwrap_or_default();
            let preview = Preview::Text { text: format!("{line}\n{pretty}") };
            let plan = write_plan(&self.schema.declaration().name, format!("Run {line}"), effects, preview);
            let runner = self.runner.clone();
            let (command, name, cwd) = (self.call_command.clone(), self.name.clone(), cx.cwd.clone());
            Ok(Prepared::boxed(plan, move |cx| async move {
                let stdin = args.to_string().into_bytes();
                let command = ToolCommand {
                    command,
                    argument: Some(name),
                    stdin,
                    cwd,
                    cancelled: cx.cancelled,
                    confinement: cx.confinement,
                };
                match runner.run(command).await {
                    Ok(output) => to_output(&output),
                    Err(error) => ToolOutput::failed(error),
                }
            }))
        })
    }
}

fn to_output(output: &CommandOutput) -> ToolOutput {
    let shown = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        truncate::middle(&text, MOST_CHARS).unwrap_or(text)
    };
    let (stdout, stderr) = (shown(&output.stdout), shown(&output.stderr));
    if output.exit == Some(0) && stderr.is_empty() {
        return text_output(stdout.clone(), stdout);
    }
    let or_empty = |text: &str| if text.is_empty() { "(empty)".to_owned() } else { text.to_owned() };
    ToolOutput::failed(ToolError::new(
        ToolErrorKind::ExitStatus,
        format!("Stdout: {}\nStderr: {}\n{}", or_empty(&stdout), or_empty(&stderr), ending(output)),
    ))
}

fn ending(output: &CommandOutput) -> String {
    let or_none = |number: Option<i32>| number.map_or("(none)".to_owned(), |number| number.to_string());
    format!("Exit Code: {}\nSignal: {}", or_none(output.exit), or_none(output.signal))
}
