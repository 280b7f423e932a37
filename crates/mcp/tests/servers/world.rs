//! Servers that are started for a test, and calls of their tools.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use charla_mcp::{
    Http, HttpAnswer, HttpRequest, Launch, Pipes, Planned, Reach, ServerCommand, ServerConfig, Servers,
    Surroundings,
};
use charla_proto::{Args, BoxFuture, Confinement, FileJudge, RunContext, ToolContext, ToolOutput};
use serde_json::Value;
use tokio::process::Command;

/// Starts programs as they are.
struct Plainly;

impl Launch for Plainly {
    fn launch<'a>(&'a self, command: &'a ServerCommand) -> BoxFuture<'a, Result<Pipes, String>> {
        Box::pin(async move {
            let mut start = Command::new(&command.program);
            start.args(&command.arguments).current_dir(&command.folder).kill_on_drop(true);
            start.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = start.spawn().map_err(|error| error.to_string())?;
            Ok(Pipes {
                input: Box::new(child.stdin.take().unwrap()),
                output: Box::new(child.stdout.take().unwrap()),
                errors: Box::new(child.stderr.take().unwrap()),
                holder: Box::new(child),
            })
        })
    }
}

/// Reaches nobody.
struct NoHttp;

impl Http for NoHttp {
    fn send<'a>(&'a self, _: HttpRequest<'a>) -> BoxFuture<'a, Result<HttpAnswer, String>> {
        Box::pin(std::future::ready(Err("nobody is reached".to_owned())))
    }
}

/// A server's name, and the tools it told of.
type Told = (String, Vec<Value>);

/// A folder, and what servers in it told.
pub struct World {
    folder: tempfile::TempDir,
    pub remembered: Arc<Mutex<Vec<Told>>>,
}

impl World {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), remembered: Arc::default() }
    }

    /// The test server in this mode.
    pub fn config(&self, name: &str, mode: &str) -> ServerConfig {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/server.py");
        let notes = self.notes_file(name);
        let command = ServerCommand {
            program: "python3".to_owned(),
            arguments: [script, mode.into(), notes]
                .map(|word: PathBuf| word.to_str().unwrap().to_owned())
                .to_vec(),
            variables: Vec::new(),
            folder: self.folder.path().to_owned(),
            trusted: false,
        };
        ServerConfig {
            name: name.to_owned(),
            reach: Reach::Process(command),
            timeout: Duration::from_secs(60),
            include: None,
            exclude: Vec::new(),
        }
    }

    fn notes_file(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.notes"))
    }

    /// How often a server noted this.
    pub fn noted(&self, name: &str, line: &str) -> usize {
        let notes = std::fs::read_to_string(self.notes_file(name)).unwrap_or_default();
        notes.lines().filter(|noted| *noted == line).count()
    }

    /// Waits until a server has noted this so often.
    pub async fn until_noted(&self, name: &str, line: &str, times: usize) {
        until(|| self.noted(name, line) >= times).await;
    }

    pub fn start(&self, configs: Vec<ServerConfig>) -> Servers {
        self.start_knowing(configs.into_iter().map(|config| Planned { config, known: Vec::new() }).collect())
    }

    pub fn start_knowing(&self, planned: Vec<Planned>) -> Servers {
        let remembered = self.remembered.clone();
        let surroundings = Surroundings {
            launch: Arc::new(Plainly),
            http: Arc::new(NoHttp),
            roots: vec![self.folder.path().to_owned()],
            attended: true,
            remember: Arc::new(move |config, tools| {
                remembered.lock().unwrap().push((config.name.clone(), tools.to_vec()));
            }),
            withhold: Arc::new(|path| path.starts_with("/w/secrets").then(|| "is denied".to_owned())),
        };
        Servers::start(planned, &surroundings)
    }

    /// Starts one server, and waits for it.
    pub async fn started(&self, name: &str, mode: &str) -> Servers {
        let servers = self.start(vec![self.config(name, mode)]);
        servers.settled().await;
        servers
    }
}

/// Waits until something is so. A test that waits in vain is ended by its runner.
pub async fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What a call is run with.
pub fn quiet() -> RunContext {
    RunContext {
        cancelled: Box::pin(std::future::pending()),
        live: Box::new(|_| {}),
        confinement: Confinement::Open,
        only_git_reads: false,
        consent: charla_proto::Consent::Named,
        files: FileJudge::default(),
    }
}

pub async fn call(servers: &Servers, tool: &str, args: Value) -> ToolOutput {
    call_with(servers, tool, args, quiet()).await
}

pub async fn call_with(servers: &Servers, tool: &str, args: Value, cx: RunContext) -> ToolOutput {
    let tool = servers.tool(tool).unwrap_or_else(|| panic!("there is no tool {tool}"));
    let args: Args = args.as_object().cloned().unwrap();
    match tool.prepare(args, &ToolContext::default()).await {
        Ok(invocation) => invocation.run(cx).await,
        Err(error) => ToolOutput::failed(error),
    }
}

/// The words that a model gets of an output, without their mark.
pub fn words(output: &ToolOutput) -> String {
    assert_eq!(output.error, None);
    let text = output.content.first().and_then(|part| part.as_text()).unwrap_or_default();
    let mut lines: Vec<&str> = text.lines().collect();
    assert!(lines.remove(0).starts_with("<untrusted_content mcp_server="), "{text}");
    assert_eq!(lines.pop(), Some("</untrusted_content>"));
    lines.join("\n")
}

/// Why a call failed, in words.
pub fn problem(output: &ToolOutput) -> String {
    output.error.as_ref().unwrap_or_else(|| panic!("it did not fail: {output:?}")).message.clone()
}

/// The names that a model is offered.
pub fn offered(servers: &Servers, budget: usize) -> Vec<String> {
    servers.offer(budget).tools.iter().map(|(_, tool)| tool.declaration().name.clone()).collect()
}
