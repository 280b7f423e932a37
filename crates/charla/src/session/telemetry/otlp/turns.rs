//! From the records of a session to spans: a turn, and in it the exchanges with models and the calls of tools.
//!
//! Exchanges are told of by the models' side and records by the session's. An exchange belongs to the turn that was open when it ended:
//! it waits here for a record that is later than itself.

use std::collections::{HashMap, VecDeque};

use charla_proto::{Args, CallEnded, CallStatus, Fact, PartKind, Record, ToolErrorKind, TurnEnd, TurnEnded};
use serde_json::{Value, json};

use super::encode::{Attributes, Span, SpanId, TraceId};
use super::exchange::Exchange;
use super::messages::messages;
use super::metrics::{Instrument, Measurement};
use super::{Caller, Traces};

/// So long a tool's name is told at most.
const LONGEST_NAME: usize = 128;

/// What is to be told.
pub(super) enum Item {
    Span(Box<Span>),
    Measurement(Box<Measurement>),
}

/// Reads records and exchanges, and makes spans.
pub(super) struct Turns {
    session: String,
    /// The agent's name: ours, or that of the one who works for a call.
    agent: String,
    content: bool,
    caller: Option<(Caller, String)>,
    traces: Traces,
    exchanges: VecDeque<Exchange>,
    turn: Option<Turn>,
    calls: HashMap<String, Call>,
}

/// A turn that is not over.
struct Turn {
    number: u64,
    id: SpanId,
    /// Its trace, and the span there that it belongs to; known with the first thing that is told of it.
    place: Option<(TraceId, Option<SpanId>)>,
    start: u64,
    prompt: Option<String>,
    model: Option<String>,
    tokens: (u64, u64),
}

/// A call that is not over.
struct Call {
    args: Args,
    began: Option<u64>,
}

impl Turns {
    /// Those of a session; `caller` is who it works for, and the call there.
    pub(super) fn new(
        session: &str,
        agent: &str,
        content: bool,
        traces: Traces,
        caller: Option<(Caller, String)>,
    ) -> Self {
        Self {
            session: session.to_owned(),
            agent: agent.to_owned(),
            content,
            caller,
            traces,
            exchanges: VecDeque::new(),
            turn: None,
            calls: HashMap::new(),
        }
    }

    /// A model has answered, or has not.
    pub(super) fn exchange(&mut self, exchange: Exchange) {
        self.exchanges.push_back(exchange);
    }

    /// Takes a record in; what it makes known.
    pub(super) fn record(&mut self, record: &Record) -> Vec<Item> {
        let mut items = self.settled(record.at);
        match &record.fact {
            Fact::TurnStarted(started) => {
                self.begin(started.turn, record.at, Some(started.prompt.as_ref()));
            }
            Fact::TurnResumed(resumed) => self.begin(resumed.turn, record.at, None),
            Fact::ModelContent(said) => {
                for part in &said.content.parts {
                    if let PartKind::FunctionCall(call) = &part.kind {
                        self.wait(call.id.clone().unwrap_or_default(), call.args.clone(), None);
                    }
                }
            }
            Fact::CallStarted(started) => {
                if let Some(call) = self.calls.get_mut(&started.call) {
                    call.began = Some(record.at);
                }
                let (trace, _) = self.place();
                self.traces.calls(&started.call, trace);
            }
            Fact::ClientCallStarted(started) => {
                let call = &started.call;
                self.wait(call.id.clone().unwrap_or_default(), call.args.clone(), Some(record.at));
            }
            Fact::CallEnded(ended) | Fact::ClientCallEnded(ended) => {
                items.extend(self.called(ended, record.at));
            }
            Fact::TurnEnded(ended) => items.extend(self.end(ended, record.at)),
            _ => {}
        }
        items
    }

    /// What is left when the session is over.
    pub(super) fn finish(&mut self) -> Vec<Item> {
        self.settled(u64::MAX)
    }

    fn wait(&mut self, id: String, args: Args, began: Option<u64>) {
        self.calls.insert(id, Call { args, began });
    }

    fn begin(&mut self, number: u64, at: u64, prompt: Option<&charla_proto::Content>) {
        let prompt = prompt.filter(|_| self.content).map(|prompt| messages(&json!([prompt])));
        self.turn = Some(Turn {
            number,
            id: SpanId::new(),
            place: None,
            start: at,
            prompt,
            model: None,
            tokens: (0, 0),
        });
    }

    /// The exchanges that were over at this time.
    fn settled(&mut self, at: u64) -> Vec<Item> {
        let mut items = Vec::new();
        while self.exchanges.front().is_some_and(|exchange| exchange.end <= at) {
            items.extend(self.exchanges.pop_front().map(|exchange| self.told(exchange)));
        }
        items
    }

    fn told(&mut self, exchange: Exchange) -> Item {
        let (trace, parent) = self.place();
        if let Some(turn) = &mut self.turn {
            turn.tokens.0 = turn.tokens.0.saturating_add(exchange.input);
            turn.tokens.1 = turn.tokens.1.saturating_add(exchange.output);
            turn.model = Some(exchange.model.clone());
        }
        Item::Span(Box::new(Span {
            trace,
            id: SpanId::new(),
            parent,
            name: format!("chat {}", exchange.model),
            is_client: true,
            start: exchange.start,
            end: exchange.end,
            attributes: exchange.attributes.with("gen_ai.conversation.id", self.session.as_str()),
            failed: exchange.failed,
        }))
    }

    /// Where something belongs that happens now: to the open turn, or to itself.
    fn place(&mut self) -> (TraceId, Option<SpanId>) {
        let Some(turn) = &mut self.turn else { return (TraceId::new(), None) };
        let (trace, _) = turn.placed(self.caller.as_ref());
        (trace, Some(turn.id))
    }

    fn called(&mut self, ended: &CallEnded, at: u64) -> [Item; 2] {
        let call = self.calls.remove(&ended.call);
        let start = call.as_ref().and_then(|call| call.began).unwrap_or(at);
        let name = known_name(ended);
        let failed = failure(ended);
        let mut attributes = Attributes::default().with("gen_ai.tool.type", "function");
        attributes.put_some("error.type", failed.clone());
        let measured = attributes.clone().with("gen_ai.tool.name", name.as_str());
        attributes.put("gen_ai.operation.name", "execute_tool");
        attributes.put("gen_ai.tool.name", name.as_str());
        attributes.put("gen_ai.tool.call.id", ended.call.as_str());
        attributes.put("gen_ai.conversation.id", self.session.as_str());
        if self.content {
            let args = call.map(|call| Value::Object(call.args).to_string());
            attributes.put_some("gen_ai.tool.call.arguments", args);
            attributes.put("gen_ai.tool.call.result", ended.response.to_text());
        }
        let (trace, parent) = self.place();
        let span = Span {
            trace,
            id: self.traces.ended(&ended.call),
            parent,
            name: format!("execute_tool {name}"),
            is_client: false,
            start,
            end: at,
            attributes,
            failed,
        };
        let value = at.saturating_sub(start) as f64 / 1000.0;
        let measurement = Measurement { instrument: Instrument::ToolDuration, value, attributes: measured };
        [Item::Span(Box::new(span)), Item::Measurement(Box::new(measurement))]
    }

    fn end(&mut self, ended: &TurnEnded, at: u64) -> Vec<Item> {
        let Some(mut turn) = self.turn.take() else { return Vec::new() };
        let (trace, parent) = turn.placed(self.caller.as_ref());
        let end = json!(ended.end);
        let failed = match ended.end {
            TurnEnd::Finished | TurnEnd::Truncated | TurnEnd::Cancelled | TurnEnd::Withdrawn => None,
            TurnEnd::Error => Some(ended.error.map_or("_OTHER", |kind| kind.name()).to_owned()),
            _ => end.as_str().map(str::to_owned),
        };
        let mut attributes = Attributes::default()
            .with("gen_ai.operation.name", "invoke_agent")
            .with("gen_ai.agent.name", self.agent.as_str());
        attributes.put_some("error.type", failed.clone());
        let measured = attributes.clone();
        attributes.put("gen_ai.conversation.id", self.session.as_str());
        attributes.put("charla.turn.number", turn.number);
        attributes.put("charla.turn.end", end);
        attributes.put_some("gen_ai.request.model", turn.model);
        attributes.put("gen_ai.usage.input_tokens", turn.tokens.0);
        attributes.put("gen_ai.usage.output_tokens", turn.tokens.1);
        attributes.put_some("gen_ai.input.messages", turn.prompt);
        let value = at.saturating_sub(turn.start) as f64 / 1000.0;
        let span = Span {
            trace,
            id: turn.id,
            parent,
            name: format!("invoke_agent {}", self.agent),
            is_client: false,
            start: turn.start,
            end: at,
            attributes,
            failed,
        };
        let measurement = Measurement { instrument: Instrument::TurnDuration, value, attributes: measured };
        vec![Item::Span(Box::new(span)), Item::Measurement(Box::new(measurement))]
    }
}

impl Turn {
    /// Its trace: that of the call it works for, or one of its own.
    fn placed(&mut self, caller: Option<&(Caller, String)>) -> (TraceId, Option<SpanId>) {
        *self.place.get_or_insert_with(|| {
            let parent = caller.and_then(|(caller, call)| caller.parent(call));
            parent.map_or_else(|| (TraceId::new(), None), |parent| (parent.trace, Some(parent.span)))
        })
    }
}

/// The name of the tool that a call was for. One that a model made up is words, and makes no series.
fn known_name(ended: &CallEnded) -> String {
    match ended.error {
        Some(ToolErrorKind::UnknownTool) => "_OTHER".to_owned(),
        _ => ended.tool.as_ref().unwrap_or(&ended.response.name).chars().take(LONGEST_NAME).collect(),
    }
}

/// Why a call has no result; a kind, never words.
fn failure(ended: &CallEnded) -> Option<String> {
    if ended.status == CallStatus::Success {
        return None;
    }
    let kind = ended.error.map(|kind| json!(kind)).unwrap_or_else(|| json!(ended.status));
    kind.as_str().map(str::to_owned)
}
