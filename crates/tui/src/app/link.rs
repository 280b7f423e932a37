//! The session the application is attached to: opened, spoken to and closed beside the screen.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use charla::mcp::Servers;
use charla::session::{BackgroundProcesses, PromptDraft, attach_resources, own_command};
use charla::settings::Settings;
use charla::{Begin, Charla, Failure, OpenRequest, OpenedSession, SessionSource};
use charla_core::hooks::EndReason;
use charla_core::session::{Attached, SessionHandle};
use charla_proto::{
    CancelTarget, Command, Content, Delivery, Outcome, Record, Refusal, Reply, SessionEvent, SessionSnapshot,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::ME;
use super::news::{Asked, News, Opened, Teller};
use crate::composer::{Message, When};
use crate::transcript::first_recalled;

/// How long a turn may take to stop when the application leaves.
const GRACE: Duration = Duration::from_secs(3);

/// A session that is attached to.
pub struct Link {
    session: OpenedSession,
    /// The person is there to be asked.
    _client: Attached,
    prompts: UnboundedSender<Message>,
    tell: UnboundedSender<News>,
}

/// How a session is closed.
pub struct Closing {
    /// A turn that runs here is stopped first; a question that waits stays for whoever goes on.
    pub stops: bool,
    /// What its hooks are told.
    pub reason: EndReason,
    /// What runs in the background goes on.
    pub hands_over: bool,
    /// However long its turn, hooks and servers take, they are waited for: only then can it be opened by another.
    pub waits: bool,
}

impl Closing {
    /// The application leaves.
    pub fn exit() -> Self {
        Self { stops: false, reason: EndReason::Exit, hands_over: false, waits: false }
    }
}

/// Opens a session, with what ran in the background when it was closed; [`News::Opened`] tells what came of it.
pub fn open(
    source: Arc<dyn SessionSource>,
    settings: Settings,
    request: OpenRequest,
    background: Option<BackgroundProcesses>,
    tell: UnboundedSender<News>,
) {
    tokio::spawn(async move {
        let teller = Box::new(Teller(tell.clone()));
        let goes_on = matches!(request.begin, Begin::Resume(_));
        let opened = source.open(&settings, request, teller).await.inspect(|session| {
            background.into_iter().for_each(|background| session.take_over(background));
        });
        let opened = match opened {
            Ok(session) => match session.handle.snapshot().await {
                Some((snapshot, events)) => {
                    let records = recalled(&session.handle, &snapshot).await;
                    Ok(Box::new(Opened { session, snapshot, events, records, goes_on }))
                }
                None => Err(Failure::system("the session ended as soon as it was opened")),
            },
            Err(failure) => Err(failure),
        };
        let _ = tell.send(News::Opened(opened));
    });
}

/// The records of the turns that are shown again. What does not come soon is done without.
async fn recalled(session: &SessionHandle, snapshot: &SessionSnapshot) -> Vec<Arc<Record>> {
    let mut records = Vec::new();
    let Some(first) = first_recalled(snapshot) else { return records };
    let reading = async {
        let Some(mut events) = session.subscribe_from(first.saturating_sub(1)).await else { return };
        while let Some(event) = events.recv().await {
            let SessionEvent::Record(record) = event else { continue };
            let is_last = record.seq >= snapshot.seq;
            records.push(record);
            if is_last {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(GRACE, reading).await;
    records
}

impl Link {
    /// Attaches to a session.
    pub fn new(
        session: OpenedSession,
        charla: &Charla,
        rule_files: &[PathBuf],
        tell: UnboundedSender<News>,
    ) -> Self {
        let (prompts, waiting) = unbounded_channel();
        let client = session.attach();
        let servers = session.servers().cloned();
        let surroundings = Surroundings { charla: charla.clone(), rule_files: rule_files.to_vec(), servers };
        tokio::spawn(speak(session.handle.clone(), surroundings, waiting, tell.clone()));
        Self { session, _client: client, prompts, tell }
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.session.id
    }

    /// True when an earlier process left a turn, or prompts that wait.
    pub fn is_open(&self) -> bool {
        self.session.is_open
    }

    /// Whether this process has it.
    pub fn runs_here(&self) -> bool {
        self.session.runs_here()
    }

    /// The session itself.
    pub fn handle(&self) -> &SessionHandle {
        &self.session.handle
    }

    /// Its MCP servers, where it runs here and has some.
    pub fn servers(&self) -> Option<&Servers> {
        self.session.servers()
    }

    /// Says something, after what was said before.
    pub fn say(&self, message: Message) {
        let _ = self.prompts.send(message);
    }

    /// Runs a command line of the person's own, as a call that they make.
    pub fn run(&self, command: &str) {
        self.ask(own_command(command), Asked::Other("not run".to_owned()));
    }

    /// Stops a call that the person made.
    pub fn stop(&self, call: &str) {
        let target = CancelTarget::Call(call.to_owned());
        self.ask(Command::Cancel { target }, Asked::Other("stopping".to_owned()));
    }

    /// Answers a question.
    pub fn answer(&self, approval: &str, outcome: Outcome) {
        let approval = approval.to_owned();
        let asked = Asked::Answer(approval.clone(), outcome.clone());
        self.ask(Command::Answer { approval, outcome }, asked);
    }

    /// Stops the turn, and takes back what the person said and still waits.
    pub fn cancel(&self) {
        self.ask(Command::Cancel { target: CancelTarget::Mine }, Asked::Other("stopping".to_owned()));
    }

    /// Asks something of the session; [`News::Replied`] tells what came of it.
    pub fn ask(&self, command: Command, asked: Asked) {
        let (handle, tell) = (self.session.handle.clone(), self.tell.clone());
        tokio::spawn(async move {
            let reply = handle.send(command, ME).await;
            let _ = tell.send(News::Replied(asked, reply));
        });
    }

    /// Closes the session; [`News::Closed`] tells when that is done.
    pub fn close(mut self, closing: Closing) {
        let Closing { stops, reason, hands_over, waits } = closing;
        let tell = self.tell.clone();
        tokio::spawn(async move {
            if stops && self.session.runs_here() {
                self.session.handle.send(Command::Cancel { target: CancelTarget::Turn }, ME).await;
            }
            let background = if hands_over { self.session.hand_over() } else { None };
            let grace = if waits { Duration::MAX } else { GRACE };
            let _ = tokio::time::timeout(grace, self.session.close_for(reason)).await;
            self.session.remove_unused().await;
            let _ = tell.send(News::Closed(background));
        });
    }
}

/// What the files and resources of prompts come from.
struct Surroundings {
    charla: Charla,
    /// Rules of this run.
    rule_files: Vec<PathBuf>,
    servers: Option<Servers>,
}

/// Says one prompt after another, with the files and resources they name.
async fn speak(
    handle: SessionHandle,
    surroundings: Surroundings,
    mut waiting: UnboundedReceiver<Message>,
    tell: UnboundedSender<News>,
) {
    while let Some(message) = waiting.recv().await {
        let delivery = match message.when {
            When::Now => Delivery::Join,
            When::Later => Delivery::AfterTurn,
        };
        let files = message.files.clone();
        let reply = match content(message, &surroundings, tell.clone()).await {
            Ok(content) => handle.send(Command::Prompt { content, delivery }, ME).await,
            Err(failure) => Reply::Refused(Refusal::Failed { message: failure.to_string() }),
        };
        let _ = tell.send(News::Replied(Asked::Prompt(files), reply));
    }
}

async fn content(
    message: Message,
    surroundings: &Surroundings,
    tell: UnboundedSender<News>,
) -> Result<Content, Failure> {
    let Message { text, typed, files, .. } = message;
    if files.is_empty() && !typed.contains('@') {
        return Ok(Content::user(text));
    }
    let environment = surroundings.charla.environment().clone();
    let draft = PromptDraft {
        words: text,
        typed: Some(typed.clone()),
        files,
        rule_files: surroundings.rule_files.clone(),
        in_conversation: true,
        ..PromptDraft::default()
    };
    let mut teller = Teller(tell.clone());
    let read = tokio::task::spawn_blocking(move || draft.content(&environment, &mut teller));
    let unread = |_| Err(Failure::system("the files of the prompt could not be read"));
    let mut content = read.await.unwrap_or_else(unread)?;
    attach_resources(surroundings.servers.as_ref(), &typed, &mut content, &mut Teller(tell)).await;
    Ok(content)
}
