//! `charla-testkit`: a scripted model server to try Charla against, without a key.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use charla_proto::WireKind;
use charla_testkit::{Observer, Otherwise, Script, Server};
use clap::Parser;
use serde_json::json;

/// A model server that answers from a script, on this machine only.
///
/// It speaks the wire formats of Gemini, OpenAI (Chat Completions and Responses) and Anthropic, and refuses
/// what those services refuse. Without a script it says back what it is told; the prompt
/// `call NAME {"argument": "value"}` makes it call that tool.
#[derive(Parser)]
#[command(name = "charla-testkit", version, max_term_width = 100)]
struct Arguments {
    /// Port to listen on; 0 picks a free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,

    /// Script to answer from: a JSON file such as {"replies": ["Hello.", [{"text": "I look."}, {"call": {"name": "list_directory", "args":
    /// {"dir_path": "."}}}], "Done."], "otherwise": "echo"}. A reply is words, or a list of steps
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,

    /// Write every request to FILE as a JSON line: its path, status, body and what is wrong with it
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Say back what is said once the script's replies are used up
    #[arg(long)]
    echo: bool,

    /// Answer requests that the real services would refuse, too
    #[arg(long)]
    lenient: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            writeln!(io::stderr(), "error: {message}").ok();
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let mut script = match &arguments.script {
        Some(path) => read(path)?,
        None => Script { echo_pace: 30, ..Script::echo() },
    };
    if arguments.echo {
        script.otherwise = Otherwise::Echo;
    }
    if arguments.lenient {
        script.strict = false;
    }
    let key = script.key.clone().unwrap_or_else(|| "any".to_owned());
    let observer = match &arguments.record {
        Some(path) => record(path)?,
        None => log(),
    };
    let server = Server::start_on(arguments.port, script, Some(observer))
        .map_err(|error| format!("cannot listen on port {}: {error}", arguments.port))?;
    greet(&server, &key).map_err(|error| format!("cannot write to standard output: {error}"))?;
    loop {
        std::thread::park();
    }
}

fn read(path: &Path) -> Result<Script, String> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {name}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{name} is not a script: {error}"))
}

/// What to paste into a shell.
fn greet(server: &Server, key: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "Listening on {}. Press Ctrl-C to stop. To try Charla with it, paste:\n", server.url())?;
    for (variable, wire) in
        [("OPENAI", WireKind::OpenaiChat), ("ANTHROPIC", WireKind::Anthropic), ("GEMINI", WireKind::Gemini)]
    {
        let base = if wire == WireKind::Gemini { "GOOGLE_GEMINI" } else { variable };
        // The SDKs that read these variables add the version themselves, except OpenAI's.
        let url = if wire == WireKind::OpenaiChat { server.base_url(wire) } else { server.url() };
        writeln!(out, "export {base}_BASE_URL={url} {variable}_API_KEY={key}")?;
    }
    writeln!(
        out,
        "\nThen: charla -m openai/gpt-test -p hello   (or anthropic/claude-test, gemini/gemini-test)"
    )?;
    out.flush()
}

/// One JSON line for each request, written before it is answered.
fn record(path: &Path) -> Result<Observer, String> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(Box::new(move |recorded, problem| {
        let line = json!({
            "wire": recorded.wire.name(),
            "path": recorded.path,
            "status": recorded.status,
            "problem": problem.map(|problem| &problem.message),
            "body": recorded.body,
        });
        // In one write: whoever reads along sees whole lines.
        (&file).write_all(format!("{line}\n").as_bytes()).ok();
    }))
}

/// One line for each request.
fn log() -> Observer {
    Box::new(|recorded, problem| {
        let stream = if recorded.streaming { " stream" } else { "" };
        let problem = problem.map(|problem| format!(": {}", problem.message)).unwrap_or_default();
        writeln!(
            io::stderr(),
            "{} {} {} {}{stream}{problem}",
            recorded.status,
            recorded.wire.name(),
            recorded.path,
            recorded.model,
        )
        .ok();
    })
}
