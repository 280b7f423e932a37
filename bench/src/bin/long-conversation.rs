//! `long-conversation URL FOLDER TURNS` holds one session of many turns in one process, against the scripted server
//! at URL, with its journal in FOLDER, and prints how much memory it takes as it grows.
//!
//! Each turn reads a file by a tool call and gets an answer of some length; the window is small, so that the
//! conversation is compressed again and again.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use charla_core::session::{
    BoundModel, Clients, Equipment, FixedHost, Follower, SessionHandle, SessionOptions, SessionSetup,
};
use charla_proto::{
    ApprovalMode, CompressionStatus, Content, Fact, JOURNAL_VERSION, Plan, Policy, Record, SessionStarted,
    SessionStore, ToolContext, TurnEvent, Verdict,
};
use charla_providers::endpoint::Target;
use charla_providers::layers::{Link, Resilient, RetryPolicy};
use charla_providers::{Client, Credential, Generator, NetworkOptions, catalog, tokens};
use charla_store::{Store, Sync};
use charla_tools::{Buffers, Registry, Selection};

const SESSION: &str = "long-conversation";
/// Tokens the model reads and writes together.
const WINDOW: u32 = 32_000;
/// What the user pastes in every turn.
const PASTED: usize = 1_500;
/// What the tool reads in every turn.
const FILE: usize = 6_000;

/// Everything may run.
struct Free;

impl Policy for Free {
    fn judge(&self, _: &Plan, _: ApprovalMode) -> Verdict {
        Verdict::Allow { rule: "bench".to_owned(), confinement: charla_proto::Confinement::Open }
    }

    fn with_rules(&self, _: &str) -> Result<Arc<dyn Policy>, String> {
        Ok(Arc::new(Free))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [url, folder, turns] = args.as_slice() else {
        return Err("usage: long-conversation URL FOLDER TURNS".into());
    };
    let folder = Path::new(folder);
    std::fs::write(folder.join("note.txt"), "some words of a note\n".repeat(FILE / 21))?;
    let session = start(url, folder).await?;
    let mut compressions = 0;
    for turn in 1..=turns.parse::<u32>()? {
        let mut follower = Follower::new(session.subscribe());
        let words = format!("turn {turn}: read the note again. {}", "pasted words ".repeat(PASTED / 13));
        session.prompt(Content::user(words), "bench").await?;
        while let Some(event) = follower.next().await {
            match event {
                TurnEvent::ChatCompressed(report) if report.status == CompressionStatus::Compressed => {
                    compressions += 1;
                }
                TurnEvent::Error { error }
                | TurnEvent::InvalidStream { error }
                | TurnEvent::ContextOverflow { error } => {
                    return Err(format!("turn {turn}: {error}").into());
                }
                _ => {}
            }
        }
        if turn % 100 == 0 {
            println!("turn {turn} compressions {compressions} resident_kb {}", resident()?);
        }
    }
    Ok(())
}

async fn start(url: &str, folder: &Path) -> Result<SessionHandle, Box<dyn Error>> {
    let mut endpoint = catalog::provider("openai").ok_or("no such provider")?.endpoint();
    endpoint.wire = charla_proto::WireKind::OpenaiChat;
    endpoint.base_url = format!("{url}/v1");
    let target = Target::new(Arc::new(endpoint), catalog::model("openai", "bench"));
    let client = Client::new(NetworkOptions::default())?;
    let generator = Arc::new(Generator::new(target, Credential::Key("bench".to_owned().into()), client));
    let link = Link { reference: "openai/bench".to_owned(), model: "bench".to_owned(), generator };

    let store = Store::new(folder, Sync::Process);
    let started = SessionStarted {
        agent: None,
        version: JOURNAL_VERSION,
        session: SESSION.to_owned(),
        cwd: folder.to_owned(),
        model: "openai/bench".to_owned(),
        parent: None,
        imported_up_to: None,
    };
    let first = Record::new(1, 1, Fact::SessionStarted(Box::new(started)));
    let owned = store.create(&[first]).await?;
    let mut tools =
        Registry::new(Selection { core: Some(vec!["read_file".to_owned()]), excluded: Vec::new() });
    tools.register_files(store.snapshots(), None, &Buffers::default());
    let generator = Arc::new(Resilient::new(vec![link], RetryPolicy::default()));
    let model = BoundModel {
        window: Some(WINDOW),
        count: Arc::new(tokens::estimate),
        ..BoundModel::new("openai/bench", generator)
    };
    let equipment = Equipment { toolbox: Arc::new(tools), instruction: None };
    let cx = ToolContext { cwd: folder.to_owned(), roots: vec![folder.to_owned()], ..ToolContext::default() };
    let setup = SessionSetup {
        host: Arc::new(FixedHost { model: model.clone(), equipment }),
        model,
        policy: Arc::new(Free),
        journal: owned.journal,
        clients: Clients::default(),
        options: SessionOptions { tool_context: Arc::new(cx), ..SessionOptions::default() },
        clock: || 1,
    };
    Ok(SessionHandle::start(setup, owned.conversation))
}

/// Kilobytes in memory now.
fn resident() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
