//! A user's sessions: those that run here, those that another process has open, those that lie in the store.
//!
//! Reading a session never opens it: what is shown comes of its records. A request goes to whoever has the session
//! open, here or elsewhere; where nobody has, the session is opened here.

mod before;
mod opening;
mod rooms;
mod running;
mod slots;
mod taking;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use charla::models::Prices;
use charla::session::{Arrival, SessionBundle, SessionError, Sessions};
use charla::trust::TrustDemand;
use charla::{Charla, Environment, Notice, OpenRequest};
use charla_proto::{
    CancelTarget, Command, Fact, Phase, PostError, Record, Refusal, Reply, Request, SessionEvent,
    SessionSnapshot, SessionSummary,
};
use futures_util::{Stream, StreamExt};
use http::StatusCode;
use serde::Serialize;
use tokio::sync::watch;

use crate::meter::{BUDGET, Counting, Meter, Window, untold};
use crate::problem::{IN_USE, NO_REPLY, Problem};
use crate::shelf::Kept;
use before::Before;
pub(crate) use opening::NewSession;
pub(crate) use rooms::Need;
use rooms::{Room, Rooms};
pub(crate) use running::{Running, Watcher};
use slots::Slots;
pub(crate) use taking::Taking;

/// How often a session may be opened or closed by others while we look for who has it.
const TRIES: usize = 3;

/// Who has a session open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// This server.
    Running,
    /// Another process.
    InUse,
    /// Nobody.
    Stored,
}

/// The sessions of one user.
pub(crate) struct Hub {
    charla: Charla,
    meter: Meter,
    slots: Slots,
    /// Counts what happened in sessions that run here.
    pulse: watch::Sender<u64>,
    rooms: Rooms,
    /// The user's files, where nodes share them.
    kept: Option<Kept>,
    /// The user's sessions by what they were given before.
    before: Before,
    /// Nothing is opened here any more: the user was given something else, or has no account.
    is_over: AtomicBool,
}

impl Hub {
    pub(crate) fn new(charla: Charla, meter: Meter, kept: Option<Kept>) -> Self {
        let rooms = Rooms::new(charla.environment().guest.is_some());
        let (slots, pulse, before) = (Slots::default(), watch::Sender::new(0), Before::default());
        let is_over = AtomicBool::new(false);
        Self { charla, meter, slots, pulse, rooms, kept, before, is_over }
    }

    pub(crate) fn charla(&self) -> &Charla {
        &self.charla
    }

    /// Takes the place of other sessions of the same user, which are being stopped.
    pub(crate) fn follows(&self, before: Arc<Hub>) {
        self.before.set(before);
    }

    /// Brings the user's keys, settings and rules up to date with what other nodes have.
    pub(crate) async fn refresh(&self) -> Result<(), Problem> {
        match &self.kept {
            Some(kept) => Ok(kept.sync().await?),
            None => Ok(()),
        }
    }

    /// A folder that the user may work in. A guest has the one that was given, and what lies in it.
    pub(crate) fn workspace(&self, folder: &Path) -> Result<PathBuf, Problem> {
        let environment = self.charla.environment();
        if !folder.is_absolute() {
            return Err(Problem::bad_request(format!("{} is no whole path", folder.display())));
        }
        if environment.guest.is_none() {
            return folder.is_dir().then(|| folder.to_owned()).ok_or_else(|| no_folder(folder));
        }
        let given = self.given()?;
        let real = folder.canonicalize().ok().filter(|real| real.starts_with(given));
        real.filter(|real| real.is_dir()).ok_or_else(|| no_folder(folder))
    }

    /// The folder that the user was given. A guest's was given by its real path: what leads elsewhere was put there since.
    fn given(&self) -> Result<&Path, Problem> {
        let Environment { directory, guest, .. } = self.charla.environment();
        match guest.is_none() || directory.canonicalize().is_ok_and(|real| real == *directory) {
            true => Ok(directory),
            false => Err(no_folder(directory)),
        }
    }

    /// An error where the command would spend what the user does not have.
    pub(crate) async fn admit(&self, session: &str, command: &Command) -> Result<bool, Problem> {
        if !self.meter.must_admit(command)? {
            return Ok(false);
        }
        let known = self.snapshot(session).await.ok();
        let window = known.map_or_else(Window::empty, |snapshot| Window::of(&snapshot));
        self.meter.reserve(session, window.with(command)).await
    }

    /// Frees what was kept for a command that a session did not take.
    pub(crate) async fn release(&self, session: &str) {
        self.meter.release(session).await;
    }

    /// Changes whenever something happens in a session that runs here.
    pub(crate) fn pulse(&self) -> watch::Receiver<u64> {
        self.pulse.subscribe()
    }

    fn beat(&self) {
        self.pulse.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// The session of this id, if it runs here.
    pub(crate) fn running(&self, id: &str) -> Option<Arc<Running>> {
        self.slots.running(id)
    }

    /// Every session that runs here.
    pub(crate) fn all_running(&self) -> Vec<Arc<Running>> {
        self.slots.all_running()
    }

    /// Who has each of these sessions open: for another node, what it is known by.
    pub(crate) async fn states(&self, sessions: &Sessions, ids: &[String]) -> Vec<(State, Option<String>)> {
        let elsewhere: Vec<String> = ids.iter().filter(|id| self.running(id).is_none()).cloned().collect();
        let in_use = sessions.in_use(&elsewhere).await;
        let state = |id: &String| match self.running(id) {
            Some(_) => (State::Running, None),
            None => match in_use.get(id) {
                Some(node) => (State::InUse, Some(node.clone()).filter(|node| !node.is_empty())),
                None => (State::Stored, None),
            },
        };
        ids.iter().map(state).collect()
    }

    /// What the node is known by that has this session open, where it is another one.
    pub(crate) async fn node_of(&self, id: &str) -> Result<Option<String>, Problem> {
        let states = self.states(&self.charla.sessions()?, &[id.to_owned()]).await;
        Ok(states.into_iter().find_map(|(_, node)| node))
    }

    /// Lets go of a session that rests: somebody else needs it.
    pub(crate) async fn let_go(&self, id: &str) {
        if let Some(running) = self.running(id)
            && running.rests().await
        {
            self.slots.close(id).await;
            self.beat();
        }
    }

    /// The session of exactly this id.
    pub(crate) async fn summary(&self, id: &str) -> Result<SessionSummary, SessionError> {
        self.charla.sessions()?.summary(id).await
    }

    /// Whether there is a session of exactly this id.
    pub(crate) async fn knows(&self, id: &str) -> Result<bool, SessionError> {
        if self.running(id).is_some() {
            return Ok(true);
        }
        match self.summary(id).await {
            Ok(_) => Ok(true),
            Err(SessionError::Unknown(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The session as it is, wherever it runs.
    pub(crate) async fn snapshot(&self, id: &str) -> Result<SessionSnapshot, SessionError> {
        if let Some(running) = self.running(id)
            && let Some((snapshot, _)) = running.session.handle.snapshot().await
        {
            return Ok(snapshot);
        }
        Ok(SessionSnapshot::of(&self.charla.sessions()?.folded(id).await?))
    }

    /// Begins a session of this id, new or forked.
    pub(crate) async fn create(self: &Arc<Self>, id: &str, new: NewSession) -> Result<Arc<Running>, Problem> {
        self.open(id, new.request(id), Need::Room).await
    }

    /// Goes on with a session of the store, in the folder it began in. A turn that was left goes on in the mode it had.
    pub(crate) async fn resume(self: &Arc<Self>, id: &str, need: Need) -> Result<Arc<Running>, Problem> {
        let summary = self.summary(id).await?;
        let left = self.charla.sessions()?.folded(id).await?;
        // A session from elsewhere may have begun in a folder that is not here.
        let workspace = self.workspace(&summary.started.cwd).ok();
        self.open(id, opening::resuming(id, workspace, left.turn.map(|_| left.mode)), need).await
    }

    /// Opens a session once, however many ask for it at the same time.
    async fn open(
        self: &Arc<Self>,
        id: &str,
        request: OpenRequest,
        need: Need,
    ) -> Result<Arc<Running>, Problem> {
        let slot = self.slots.of(id);
        let opened = slot
            .get_or_try_init(|| async {
                let room = self.rooms.take(need, self.slots.put_one_to_sleep()).await?;
                self.refresh().await?;
                self.given()?;
                let mut notices: Vec<Notice> = Vec::new();
                let session = self.charla.open(request, &mut notices).await?;
                let running = Arc::new(Running::new(session, &notices));
                tokio::spawn(self.clone().follow(id.to_owned(), running.clone(), room));
                Ok(running)
            })
            .await
            .cloned();
        match &opened {
            Ok(_) => self.slots.put(id, slot),
            Err(_) => self.slots.forget(id, &slot),
        }
        self.beat();
        if let Ok(running) = &opened
            && self.is_over.load(Ordering::SeqCst)
        {
            // Whoever ended this may not have seen it, which was being opened.
            running.stop(self.meter.user());
            return Err(over());
        }
        opened
    }

    /// Tells everybody what happens in a session, until it ends.
    async fn follow(self: Arc<Self>, id: String, running: Arc<Running>, room: Room) {
        let mut events = running.session.handle.subscribe();
        let settings = self.charla.settings(Vec::new(), &TrustDemand::default());
        let prices = settings.map(|settings| Prices::new(&settings.settings)).unwrap_or_default();
        let window = running.session.handle.snapshot().await.map(|(snapshot, _)| Window::of(&snapshot));
        let mut counting = Counting { prices, model: running.session.model.clone(), in_turn: false, window };
        while let Some(event) = events.recv().await {
            if let SessionEvent::Record(record) = &event
                && self.meter.take(&id, record, &untold(&self.charla, &id, record).await, &mut counting).await
            {
                // What is asked already is paid for; the turn goes no further.
                running.session.send(Command::Cancel { target: CancelTarget::Turn }, BUDGET).await;
            }
            if matches!(event, SessionEvent::Record(_) | SessionEvent::Broken(_)) {
                self.beat();
            }
            if matches!(&event, SessionEvent::Record(record) if matches!(record.fact, Fact::RulesSaved(_))) {
                // Told again in a minute.
                let _ = self.refresh().await;
            }
            // Nothing more can be written to it from here: another process has it, or whoever opens it anew.
            if matches!(event, SessionEvent::Broken(_)) {
                break;
            }
        }
        self.slots.forget_running(&id, &running);
        running.session.close().await;
        self.meter.release(&id).await;
        drop(room);
        self.beat();
    }

    /// Asks something of a session, wherever it runs; where nobody has it open, it is opened here.
    pub(crate) async fn request(self: &Arc<Self>, id: &str, mut request: Request) -> Result<Reply, Problem> {
        let asks = match &mut request.command {
            Command::Answer { approval, .. } if session_of(approval) == id => {
                Some(self.where_it_is_asked(approval).await?)
            }
            _ => None,
        };
        let id = asks.as_deref().unwrap_or(id);
        let is_new = self.admit(id, &request.command).await.map_err(Problem::before_anything)?;
        let replied = self.ask(id, request).await;
        if is_new && replied.is_err() {
            self.release(id).await;
        }
        replied
    }

    /// Puts the question that is to be answered in place of this one, and says whose it is.
    async fn where_it_is_asked(&self, approval: &mut String) -> Result<String, Problem> {
        *approval = self.charla.sessions()?.to_answer(approval).await?.map_err(Problem::refused)?;
        Ok(session_of(approval).to_owned())
    }

    async fn ask(self: &Arc<Self>, id: &str, request: Request) -> Result<Reply, Problem> {
        self.before.must_have_ended(id).await?;
        for _ in 0..TRIES {
            let reply = match self.running(id) {
                Some(_) if request.command == Command::HandOver => return Err(runs_here()),
                Some(running) => {
                    running.touch();
                    let Request { by, command } = request.clone();
                    let command = running.session.with_resources(command).await;
                    running.session.request_from_elsewhere(Request { by, command }).await
                }
                None => match self.post(id, &request).await? {
                    Some(reply) => reply,
                    None => {
                        // The session has not heard the command yet.
                        self.go_on(id, &request).await.map_err(Problem::before_anything)?;
                        continue;
                    }
                },
            };
            match reply {
                // It ends at this moment.
                Reply::Refused(Refusal::Ended) => self.slots.close(id).await,
                Reply::Refused(refusal) => return Err(Problem::refused(refusal)),
                reply => return Ok(reply),
            }
        }
        Err(Problem::in_use(id))
    }

    /// What the process says that has the session open; nothing where none has, or where it is being opened here: then it
    /// has an owner that takes no requests yet.
    async fn post(&self, id: &str, request: &Request) -> Result<Option<Reply>, Problem> {
        if self.slots.has(id) {
            return Ok(None);
        }
        let sessions = self.charla.sessions()?;
        match sessions.post(id, request).await {
            Ok(Reply::Refused(Refusal::Ended)) | Err(PostError::NotOwned) => Ok(None),
            Ok(reply) => Ok(Some(reply)),
            Err(PostError::Unreachable(_)) if self.slots.has(id) => Ok(None),
            Err(PostError::Unreachable(_)) => Err(Problem::in_use(id)),
            Err(error @ PostError::TooLarge(_)) => {
                Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", error.to_string()))
            }
            Err(error) => Err(Problem::new(StatusCode::BAD_GATEWAY, NO_REPLY, error.to_string())),
        }
    }

    /// Opens a session that nobody has open. An answer to a question of a turn that an earlier process left lets that
    /// turn go on: the question is asked again under its id, and then answered.
    async fn go_on(self: &Arc<Self>, id: &str, request: &Request) -> Result<(), Problem> {
        let running = match self.resume(id, Need::of(&request.command)).await {
            // Somebody has opened it meanwhile.
            Err(problem) if problem.kind == IN_USE => return Ok(()),
            opened => opened?,
        };
        if running.session.is_open && matches!(request.command, Command::Answer { .. }) {
            // Refused when somebody else was quicker, which is as good.
            running.session.send(Command::Continue, &request.by).await;
        }
        Ok(())
    }

    /// An error while a turn of the session runs here.
    async fn must_rest(&self, id: &str) -> Result<(), Problem> {
        let Some(running) = self.running(id) else { return Ok(()) };
        let phase = running.session.handle.snapshot().await.map(|(snapshot, _)| snapshot.phase);
        match phase {
            None | Some(Phase::Idle | Phase::Open) => Ok(()),
            Some(_) => Err(Problem::refused(Refusal::Busy)),
        }
    }

    /// Every record of a session as they are read, to keep it elsewhere. Refused while it is busy, or in another process. Where nobody has
    /// it open, nobody writes it until the last was taken.
    pub(crate) async fn records(
        &self,
        id: &str,
    ) -> Result<impl Stream<Item = Result<Record, SessionError>> + Send + use<>, Problem> {
        self.summary(id).await?;
        self.must_rest(id).await?;
        let sessions = self.charla.sessions()?;
        let (held, last) = match self.running(id) {
            Some(running) => {
                (None, running.session.handle.snapshot().await.map(|(snapshot, _)| snapshot.seq))
            }
            None => (Some(sessions.held(id).await?), None),
        };
        let is_meant = move |record: &Result<Record, SessionError>| {
            let _ = &held;
            let seq = record.as_ref().map_or(0, |record| record.seq);
            std::future::ready(last.is_none_or(|last| seq <= last))
        };
        Ok(sessions.stream_after(id, 0).take_while(is_meant))
    }

    /// Keeps a session that comes from elsewhere, under another id where one is given.
    pub(crate) async fn take_in(
        &self,
        bundle: &SessionBundle,
        renamed: Option<&str>,
        from: &str,
    ) -> Result<Arrival, Problem> {
        let arrival = self.charla.sessions()?.take_in(bundle, renamed, from).await?;
        self.beat();
        Ok(arrival)
    }

    /// Removes a session for good; with `seq`, only while that is its last record. One that runs here is ended first,
    /// unless it is busy.
    pub(crate) async fn delete(&self, id: &str, seq: Option<u64>) -> Result<(), Problem> {
        self.summary(id).await?;
        self.must_rest(id).await?;
        if self.running(id).is_some() {
            self.slots.close(id).await;
        }
        let sessions = self.charla.sessions()?;
        if let Some(seq) = seq
            && sessions.folded(id).await?.seq != seq
        {
            let detail = format!("the session {id} has gone on since record {seq}");
            return Err(
                Problem::new(StatusCode::CONFLICT, "conflict", detail).with_hint("nothing was removed")
            );
        }
        sessions.delete(id).await?;
        self.beat();
        Ok(())
    }

    /// Ends sessions that nobody has looked at for a while: their terminals may want them.
    pub(crate) async fn end_idle(&self) {
        self.slots.end_idle().await;
    }

    /// Ends every session now, and waits for none: turns are stopped, prompts that wait are withdrawn.
    pub(crate) fn stop(&self) {
        for running in self.all_running() {
            running.stop(self.meter.user());
        }
    }

    /// The same for good: what is being opened at this moment ends, too.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.stop();
    }

    /// Ends every session after its turn. What waits for a person waits for the next process.
    pub(crate) async fn close(&self) {
        let running = self.all_running();
        futures_util::future::join_all(running.iter().map(|running| running.session.close())).await;
    }
}

fn runs_here() -> Problem {
    let why = "the session runs in the server: nobody need hand it over".to_owned();
    Problem::refused(Refusal::Nothing { why })
}

fn over() -> Problem {
    Problem::new(StatusCode::CONFLICT, "conflict", "the account was changed meanwhile")
        .with_hint("the session is being closed; send it again")
}

fn no_folder(folder: &Path) -> Problem {
    Problem::not_found(format!("{} is no folder here", folder.display()))
        .with_hint("give the whole path of a folder that exists, and that is yours")
}

/// The session that asks the question of this id.
fn session_of(approval: &str) -> &str {
    approval.split_once(':').map_or(approval, |(session, _)| session)
}
