//! The conductor: how far a segment has been played, and whose turn it is.
//!
//! The recording is a strict order. Every fact the engine makes is compared with the next recorded one; only then do
//! the players move: each waits until the next fact is one that its part leads to. So a run cannot overtake its
//! recording, and the first fact that differs is the first thing that went another way.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use charla_proto::{
    Args, BoxFuture, CallStatus, CancelTarget, Command, Conversation, Fact, Journal, JournalError, OpenCall,
    Record, Request,
};
use futures_util::FutureExt;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::unconstrained;
use tokio::time::timeout;

use super::segment::{Segment, is_plain_no};
use super::tools::still_waits;
use super::view::{View, call_of, id_of};
use super::{Difference, compare, people, players};
use crate::session::{Attached, Clients, NOBODY, SessionHandle};

/// How long nothing may happen before the run counts as stuck. Nothing in a replay waits for the outside,
/// so only a run that differs from its recording ever waits this long.
const PATIENCE: Duration = Duration::from_secs(5);

/// What came of playing a segment.
pub(super) struct Played {
    /// Requests the model was asked.
    pub(super) requests: u64,
    pub(super) departure: Option<Departure>,
}

/// Where a run left its recording.
pub(super) struct Departure {
    /// How many facts were the same.
    pub(super) after: usize,
    /// The engine made another fact, rather than none.
    pub(super) made: bool,
    pub(super) difference: Difference,
}

/// A segment while it is played.
pub(super) struct Playback {
    pub(super) segment: Arc<Segment>,
    pub(super) clients: Clients,
    /// How many facts have been made.
    position: watch::Sender<usize>,
    state: Mutex<State>,
}

struct State {
    /// The recorded session up to the position.
    conversation: Conversation,
    session: Option<SessionHandle>,
    /// Somebody who can be asked.
    client: Option<Attached>,
    /// The turn is being cancelled: the engine needs no further word.
    cancelling: bool,
    /// The ids of recorded questions in this run.
    approvals: HashMap<String, String>,
    /// Calls whose arguments were looked at.
    prepared: HashSet<String>,
    /// The position for which people have acted.
    acted: Option<usize>,
    /// Calls that have got other arguments and are to be looked at again.
    changed: Vec<String>,
    requests: u64,
    departure: Option<Departure>,
}

impl Playback {
    fn new(segment: Arc<Segment>) -> Self {
        let clients = Clients::default();
        let state = State {
            conversation: segment.before.clone(),
            session: None,
            client: Some(clients.attach()),
            cancelling: false,
            approvals: HashMap::new(),
            prepared: HashSet::new(),
            acted: None,
            changed: Vec::new(),
            requests: 0,
            departure: None,
        };
        Self { segment, clients, position: watch::Sender::new(0), state: Mutex::new(state) }
    }

    /// Plays a segment with an engine of its own.
    pub(super) async fn play(segment: Arc<Segment>) -> Played {
        let playback = Arc::new(Self::new(segment));
        let before = playback.segment.before.clone();
        let session = SessionHandle::start(players::setup(&playback), before);
        playback.begin(session);
        let mut position = playback.position.subscribe();
        while !playback.is_over() {
            if timeout(PATIENCE, position.changed()).await.is_err() {
                playback.stuck();
            }
        }
        playback.end()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn view_of<'a>(&'a self, state: &'a State) -> View<'a> {
        View {
            segment: &self.segment,
            at: *self.position.borrow(),
            conversation: &state.conversation,
            somebody: state.client.is_some(),
        }
    }

    /// Looks at the segment as it stands.
    pub(super) fn look<T>(&self, see: impl FnOnce(&View) -> T) -> T {
        let state = self.state();
        see(&self.view_of(&state))
    }

    /// Waits until there is something to see.
    pub(super) async fn until<T>(&self, mut see: impl FnMut(&View) -> Option<T>) -> T {
        let mut position = self.position.subscribe();
        loop {
            position.mark_unchanged();
            if let Some(seen) = self.look(&mut see) {
                return seen;
            }
            // The sender is this playback's own: it is never gone.
            let _ = position.changed().await;
        }
    }

    fn is_over(&self) -> bool {
        self.state().departure.is_some() || *self.position.borrow() >= self.segment.facts.len()
    }

    fn begin(&self, session: SessionHandle) {
        let mut state = self.state();
        state.session = Some(session);
        self.act(&mut state);
    }

    /// Ends the session, whatever it waits for: its journal takes nothing more.
    fn end(&self) -> Played {
        let mut state = self.state();
        let target = CancelTarget::Turn;
        put(&state, Request { by: String::new(), command: Command::Cancel { target } });
        state.session = None;
        Played { requests: state.requests, departure: state.departure.take() }
    }

    /// Takes a fact that the engine made; false when it is not the recorded one, or nothing more is recorded.
    fn take(&self, made: &Fact) -> bool {
        let mut state = self.state();
        let at = *self.position.borrow();
        let Some(recorded) = self.segment.facts.get(at).filter(|_| state.departure.is_none()) else {
            return false;
        };
        let made = compare::as_recorded(state.with_recorded_ids(made, recorded), recorded);
        if made != *recorded {
            self.depart(&mut state, Some(&made));
            return false;
        }
        state.follow(recorded);
        self.position.send_replace(at + 1);
        self.act(&mut state);
        true
    }

    /// Lets people do what leads to the next fact. It reaches the engine before the engine goes on.
    fn act(&self, state: &mut State) {
        let presence = people::presence(&self.view_of(state));
        match presence {
            Some(true) if state.client.is_none() => state.client = Some(self.clients.attach()),
            Some(false) => state.client = None,
            _ => {}
        }
        let view = self.view_of(state);
        if state.acted == Some(view.at) || state.is_looking(&view) {
            return;
        }
        state.acted = Some(view.at);
        let Some(mut request) = people::next_request(&self.view_of(state), state.cancelling) else { return };
        match &mut request.command {
            Command::Answer { approval, .. } => {
                if let Some(here) = state.approvals.get(approval) {
                    approval.clone_from(here);
                }
            }
            Command::Cancel { target: CancelTarget::Turn } => state.cancelling = true,
            _ => {}
        }
        put(state, request);
    }

    /// Cancels the turn, for a model that was cut short.
    pub(super) fn cancel(&self) {
        let mut state = self.state();
        state.cancelling = true;
        let (by, target) = (self.segment.canceller(), CancelTarget::Turn);
        put(&state, Request { by, command: Command::Cancel { target } });
    }

    /// The recorded call that is meant. Tools are not told ids: calls are known by name and arguments, and equal ones
    /// are looked at in their order, and then again in the order in which people gave them other arguments.
    pub(super) fn claim(&self, name: &str, args: &Args) -> Option<String> {
        let mut state = self.state();
        let is_it = |open: &&OpenCall| {
            let call = &open.call;
            open.status != CallStatus::Executing
                && call.invalid.is_none()
                && (call.name.as_str(), &call.args) == (name, args)
        };
        let calls: Vec<&str> = state.conversation.unanswered().filter(is_it).map(id_of).collect();
        if let Some(id) = calls.iter().find(|id| !state.prepared.contains(**id)).map(|id| (*id).to_owned()) {
            state.prepared.insert(id.clone());
            self.act(&mut state);
            return Some(id);
        }
        let again = state.changed.iter().position(|id| calls.contains(&id.as_str()))?;
        Some(state.changed.remove(again))
    }

    /// One more request was answered.
    pub(super) fn count_request(&self) {
        self.state().requests += 1;
    }

    /// Nothing happens any more although more is recorded.
    fn stuck(&self) {
        self.depart(&mut self.state(), None);
    }

    fn depart(&self, state: &mut State, made: Option<&Fact>) {
        let view = self.view_of(state);
        let Some(recorded) = view.next() else { return };
        let difference = compare::difference(self.segment.turn, view.step(), recorded, made);
        self.leave(state, made.is_some(), difference);
    }

    /// The engine asked the model something else than recorded.
    pub(super) fn differs(&self, what: &str, expected: Value, got: Value) {
        let mut state = self.state();
        let asked = state.conversation.turn.as_ref().map_or(0, |turn| turn.steps as usize);
        let what = what.to_owned();
        let difference = Difference { turn: self.segment.turn, step: asked + 1, what, expected, got };
        self.leave(&mut state, false, difference);
    }

    fn leave(&self, state: &mut State, made: bool, difference: Difference) {
        let after = *self.position.borrow();
        state.departure.get_or_insert(Departure { after, made, difference });
        self.position.send_replace(after);
    }
}

impl State {
    /// True while the engine has yet to look at calls whose questions wait: people answer what it is ready for.
    fn is_looking(&self, view: &View) -> bool {
        let begins = matches!(view.next(), Some(Fact::TurnStarted(_) | Fact::TurnResumed(_)));
        let mut calls = view.conversation.unanswered();
        let unseen = |open: &OpenCall| !self.prepared.contains(id_of(open)) && still_waits(view, open);
        !view.segment.waits && !begins && calls.any(unseen)
    }

    /// A fact with the recorded ids in the place of those that this run made up.
    fn with_recorded_ids(&mut self, made: &Fact, recorded: &Fact) -> Fact {
        let mut fact = made.clone();
        match (&mut fact, recorded) {
            (Fact::TurnStarted(made), Fact::TurnStarted(recorded)) if !self.waits(&recorded.id) => {
                made.id.clone_from(&recorded.id);
            }
            (Fact::CallAsked(made), Fact::CallAsked(recorded)) => {
                self.approvals.insert(recorded.approval.clone(), made.approval.clone());
                made.approval.clone_from(&recorded.approval);
            }
            (Fact::ApprovalAnswered(made), _) => {
                let mut known = self.approvals.iter();
                if let Some((recorded, _)) = known.find(|(_, here)| **here == made.approval) {
                    made.approval.clone_from(recorded);
                }
            }
            _ => {}
        }
        fact
    }

    /// True for a prompt that waits to be said, and so has its id already.
    fn waits(&self, prompt: &str) -> bool {
        self.conversation.queue.iter().any(|queued| queued.id == prompt)
    }

    fn follow(&mut self, fact: &Fact) {
        match (fact, call_of(&self.conversation, fact)) {
            (Fact::ApprovalAnswered(answered), Some(open)) if answered.args.is_some() => {
                self.changed.push(id_of(open).to_owned());
            }
            (Fact::CallEnded(_), Some(open)) => {
                let answer = open.approval.as_ref().and_then(|approval| approval.answer.as_ref());
                self.cancelling |= answer.is_some_and(|(outcome, by)| is_plain_no(outcome) && by != NOBODY);
            }
            _ => {}
        }
        self.conversation.apply(&Record::new(self.conversation.seq + 1, 0, fact.clone()));
    }
}

/// Hands a request to the engine, which finds it before anything else. What comes of it is seen in the records.
fn put(state: &State, request: Request) {
    if let Some(session) = &state.session {
        let _ = unconstrained(session.request(request)).now_or_never();
    }
}

/// A journal that takes what is recorded and nothing else.
pub(super) struct Recording(pub(super) Arc<Playback>);

impl Journal for Recording {
    fn append<'a>(&'a mut self, records: &'a [Record]) -> BoxFuture<'a, Result<(), JournalError>> {
        let taken = records.iter().all(|record| self.0.take(&record.fact));
        let over = || JournalError::Io("the recording is over".to_owned());
        Box::pin(std::future::ready(taken.then_some(()).ok_or_else(over)))
    }
}
