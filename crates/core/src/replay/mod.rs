//! Replay: a recorded session runs again, offline, against its own recorded answers.
//!
//! Every turn is run by the same engine that made the recording. The model, the tools and the people are
//! played from the records; what the engine makes of them is compared with what it made then. So a change of
//! the engine that would have led a real session elsewhere is seen without a model, a network or a tool.
//!
//! Times and the ids of approvals are made up anew and not compared. Calls of one step run side by side: what
//! happened to each of them is compared, not how they overtook one another.

mod compare;
mod parts;
mod script;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use charla_proto::{Conversation, Fact, GenerateRequest, Outcome, Record, ToolContext, TurnEnd};
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::timeout;

use crate::compress::Compression;
use crate::session::{Command, SessionHandle, SessionSetup};
use parts::{Heard, RecordedModel, RecordedRules, RecordedTools, Stage, Told, Wire};
use script::TurnScript;

/// How long nothing may happen before the run counts as stuck. Nothing in a replay waits for the outside,
/// so only a run that differs from its recording ever waits this long.
const PATIENCE: Duration = Duration::from_secs(5);

/// What came of a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// Turns that ran.
    pub turns: u64,
    /// Requests the model was asked.
    pub requests: u64,
    /// The first difference; the replay ends there.
    pub difference: Option<Difference>,
}

/// Where a run left its recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The turn.
    pub turn: u64,
    /// How often the model had been asked in it.
    pub step: usize,
    /// What differs, in words.
    pub what: String,
    /// What is recorded; null when there is nothing more.
    pub expected: Value,
    /// What happened now; null when nothing did.
    pub got: Value,
}

/// Runs a session again from its records. Must be called in a tokio runtime with time.
pub async fn replay(records: &[Record]) -> Replayed {
    let mut replayed = Replayed::default();
    let mut conversation = Conversation::new();
    let mut rest = records;
    while let Some(first) = rest.first() {
        let Fact::TurnStarted(started) = &first.fact else {
            conversation.apply(first);
            rest = &rest[1..];
            continue;
        };
        let (turn, after) = rest.split_at(turn_length(rest));
        let script = Arc::new(TurnScript::new(started.turn, turn));
        let stage = Arc::new(Stage::new(script, &conversation));
        let played = play(&stage, &conversation).await;
        replayed.turns += 1;
        replayed.requests += stage.requests();
        turn.iter().for_each(|record| conversation.apply(record));
        if let Err(difference) = played {
            replayed.difference = Some(*difference);
            return replayed;
        }
        rest = after;
    }
    replayed
}

/// How many records belong to the turn that begins with the first one.
fn turn_length(records: &[Record]) -> usize {
    for (index, record) in records.iter().enumerate().skip(1) {
        match record.fact {
            Fact::TurnEnded(_) => return index + 1,
            Fact::TurnStarted(_) | Fact::Rewound(_) => return index,
            _ => {}
        }
    }
    records.len()
}

/// Plays one turn: as far as it went, then its repair by the process after it, where it needed one.
async fn play(stage: &Arc<Stage>, before: &Conversation) -> Result<(), Box<Difference>> {
    let script = &stage.script;
    let made = Player::start(stage, before.clone()).await?;
    compare::compare(script, &script.facts, &made, script.is_open())?;
    if script.recovery.is_empty() {
        return Ok(());
    }
    let mut left = before.clone();
    for (fact, seq) in script.facts.iter().zip(before.seq + 1..) {
        left.apply(&Record::new(seq, 0, fact.clone()));
    }
    let (wire, mut heard) = mpsc::unbounded_channel();
    let session = SessionHandle::start(setup(stage, wire), left);
    let mut repaired = Vec::new();
    while repaired.len() < script.recovery.len()
        && let Ok(Some(Heard::Fact(fact))) = timeout(PATIENCE, heard.recv()).await
    {
        repaired.push(fact);
    }
    drop(session);
    compare::compare(script, &script.recovery, &repaired, false)
}

fn setup(stage: &Arc<Stage>, wire: Wire) -> SessionSetup {
    SessionSetup {
        generator: Arc::new(RecordedModel::new(stage.clone(), wire.clone())),
        toolbox: Arc::new(RecordedTools(stage.clone())),
        policy: Arc::new(RecordedRules::new(stage.clone())),
        journal: Box::new(Told(wire)),
        tool_context: ToolContext::default(),
        template: GenerateRequest::new("recorded", Vec::new()),
        limits: stage.script.limits(),
        somebody_to_ask: !stage.script.nobody_there(),
        isolation: stage.script.isolation(),
        // What was compressed then is folded in; nothing is compressed anew.
        window: None,
        compression: Compression { automatic: false, ..Compression::default() },
        clock: || 0,
    }
}

/// Plays the people: prompts, answers and cancels when the recording says so.
struct Player<'a> {
    stage: &'a Stage,
    session: SessionHandle,
    heard: UnboundedReceiver<Heard>,
    made: Vec<Fact>,
    /// The approvals that were asked for, by call.
    approvals: HashMap<String, String>,
    answered: usize,
    model_waits: bool,
    cancelled: bool,
}

impl<'a> Player<'a> {
    async fn start(stage: &'a Arc<Stage>, before: Conversation) -> Result<Vec<Fact>, Box<Difference>> {
        let (wire, heard) = mpsc::unbounded_channel();
        let session = SessionHandle::start(setup(stage, wire), before);
        session.send(Command::Prompt(stage.script.prompt())).await;
        let mut player = Self {
            stage,
            session,
            heard,
            made: Vec::new(),
            approvals: HashMap::new(),
            answered: 0,
            model_waits: false,
            cancelled: false,
        };
        let played = player.play().await;
        // With nobody listening its journal fails, and a session that still waits ends.
        let Self { session, heard, made, .. } = player;
        drop(heard);
        session.send(Command::Cancel).await;
        played.map(|()| made)
    }

    async fn play(&mut self) -> Result<(), Box<Difference>> {
        while !self.is_over() {
            self.act().await;
            match timeout(PATIENCE, self.heard.recv()).await {
                Ok(Some(Heard::Fact(fact))) => {
                    if let Fact::CallAsked(asked) = &fact {
                        self.approvals.insert(asked.call.clone(), asked.approval.clone());
                    }
                    self.made.push(fact);
                }
                Ok(Some(Heard::ModelWaits)) => self.model_waits = true,
                Ok(Some(Heard::Difference(difference))) => {
                    // A record that differs explains a request that does.
                    let recorded = compare::until(&self.stage.script.facts, self.made.len());
                    compare::compare(&self.stage.script, &recorded, &self.made, false)?;
                    return Err(difference);
                }
                Ok(None) | Err(_) => return self.stuck(),
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        match self.stage.script.is_open() {
            true => compare::covers(&self.made, &self.stage.script.facts),
            false => matches!(self.made.last(), Some(Fact::TurnEnded(_))),
        }
    }

    /// Does what a person did at this point of the recording.
    async fn act(&mut self) {
        let script = &self.stage.script;
        while let Some(answer) = script.answers.get(self.answered)
            && self.made.len() >= answer.at
            && let Some(approval) = self.approvals.get(&answer.call)
        {
            self.answered += 1;
            self.session.answer(approval, answer.outcome.clone(), &answer.by).await;
        }
        if let Some(at) = script.cancel_at
            && !self.cancelled
            && self.made.len() >= at
            && (self.model_waits || script.cancel_stops_calls)
        {
            self.cancelled = true;
            self.session.send(Command::Cancel).await;
        }
    }

    /// Nothing happens any more although more is recorded.
    fn stuck(&self) -> Result<(), Box<Difference>> {
        let script = &self.stage.script;
        compare::compare(script, &script.facts, &self.made, false)?;
        Err(Box::new(Difference {
            turn: script.turn,
            step: self.stage.step(),
            what: "the run waits where the recorded one ended".to_owned(),
            expected: Value::Null,
            got: json!("waits"),
        }))
    }
}

/// True for an answer that gives the word back to the person, ending the turn.
fn ends_turn(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Cancel { reason: None })
}

/// True for an end that only another process can tell.
fn is_interruption(fact: &Fact) -> bool {
    matches!(fact, Fact::TurnEnded(ended) if ended.end == TurnEnd::Interrupted)
}

#[cfg(test)]
mod tests;
