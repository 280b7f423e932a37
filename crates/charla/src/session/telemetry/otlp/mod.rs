//! Traces and figures of a session for a collector of OpenTelemetry, over HTTP in OTLP's JSON, with the names of the conventions for
//! generative AI ([docs/telemetry.md](../../../../../../docs/telemetry.md)).
//!
//! Whatever becomes of the collector, no turn waits for it and none fails of it; a session's end waits a bounded time.

mod config;
mod encode;
mod exchange;
mod export;
mod messages;
mod metrics;
mod turns;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use charla_core::session::Subscription;
use charla_proto::SessionEvent;
use charla_providers::Client;
use charla_providers::layers::{LogCall, LogEntry, LogSink};
use tokio::sync::mpsc::{self, Sender};

use self::config::Config;
use self::encode::{SpanId, TraceId, TraceParent};
use self::exchange::Exchange;
use self::export::{Exporter, Http, QUEUE};
use self::turns::{Item, Turns};
use super::Subject;
use crate::clock::now;
use crate::environment::Environment;
use crate::network;
use crate::notices::{Notice, Notices};
use crate::settings::Settings;

/// How long the end of a session waits for what is still to be sent.
const AT_THE_END: Duration = Duration::from_secs(3);
/// So many exchanges may wait for a record; a session that writes none keeps no more.
const MOST_EXCHANGES: usize = 256;

/// What is told of one session.
pub(super) struct Otlp {
    config: Config,
    client: Client,
    session: String,
    agent: String,
    /// The call that the session works for.
    caller: Option<(Caller, String)>,
    traces: Traces,
    /// Exchanges that no record has come after.
    exchanges: Mutex<Vec<(Exchange, Vec<metrics::Measurement>)>>,
}

impl Otlp {
    /// What the settings want; nothing, and a word about it, where it cannot be had: no session fails of it.
    pub(super) fn of(
        settings: &Settings,
        environment: &Environment,
        subject: Subject<'_>,
        notices: &mut dyn Notices,
    ) -> Option<Self> {
        let mut unheard = |why: String| {
            notices.warning(&Notice::from(format!("no telemetry is sent: {why}")));
        };
        let config = match Config::of(settings, environment, subject.id) {
            Ok(config) => config?,
            Err(why) => {
                unheard(why);
                return None;
            }
        };
        let client = match network::client(settings, environment, config.is_encrypted()) {
            Ok(client) => client,
            Err(failure) => {
                unheard(failure.to_string());
                return None;
            }
        };
        let traces = Traces::default();
        traces.set_outer(config.parent);
        let caller = match (subject.caller, subject.agent) {
            (Some(caller), Some(link)) => Some((caller, link.call.clone())),
            // Whoever started the program stands where a calling session would.
            _ => config.parent.map(|_| (Caller(traces.clone()), String::new())),
        };
        Some(Self {
            client,
            session: subject.id.to_owned(),
            agent: subject.agent.map_or("charla", |link| &link.name).to_owned(),
            caller,
            traces,
            exchanges: Mutex::default(),
            config,
        })
    }

    /// What sessions need to know that work for calls of this one.
    pub(super) fn caller(&self) -> Caller {
        Caller(self.traces.clone())
    }

    /// Tells what happens in the session, until it is over and all of it is sent, or the time for that is.
    pub(super) async fn follow(self: Arc<Self>, mut events: Subscription) {
        let (items, queue) = mpsc::channel(QUEUE);
        let collector = Http::new(&self.config, self.client.clone());
        let exporter = tokio::spawn(Exporter::new(self.config.clone(), collector).run(queue));
        let mut turns = Turns::new(
            &self.session,
            &self.agent,
            self.config.content,
            self.traces.clone(),
            self.caller.clone(),
        );
        let mut lost = 0_u64;
        while let Some(event) = events.recv().await {
            let SessionEvent::Record(record) = event else { continue };
            tell(self.answered(&mut turns), &items, &mut lost);
            tell(turns.record(&record), &items, &mut lost);
        }
        tell(self.answered(&mut turns), &items, &mut lost);
        tell(turns.finish(), &items, &mut lost);
        if lost > 0 {
            tracing::debug!(lost, "telemetry came faster than it could be sent");
        }
        drop(items);
        if tokio::time::timeout(AT_THE_END, exporter).await.is_err() {
            tracing::debug!("telemetry is left unsent: the collector takes too long");
        }
    }

    /// Hands exchanges on that are over; their figures.
    fn answered(&self, turns: &mut Turns) -> Vec<Item> {
        let exchanges = std::mem::take(&mut *self.exchanges.lock().unwrap_or_else(PoisonError::into_inner));
        let mut items = Vec::new();
        for (exchange, measured) in exchanges {
            turns.exchange(exchange);
            items.extend(measured.into_iter().map(|one| Item::Measurement(Box::new(one))));
        }
        items
    }
}

/// Puts what is told into the queue; where that is full, it is lost.
fn tell(told: Vec<Item>, items: &Sender<Item>, lost: &mut u64) {
    for item in told {
        if items.try_send(item).is_err() {
            *lost += 1;
        }
    }
}

impl LogSink for Otlp {
    fn record(&self, entry: LogEntry) {
        if !matches!(entry.call, LogCall::Generate | LogCall::Stream) {
            return;
        }
        let told = Exchange::of(&entry, now(), self.config.content);
        let mut exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        if exchanges.len() < MOST_EXCHANGES {
            exchanges.push(told);
        }
    }
}

/// The session whose call another one works for.
#[derive(Clone)]
pub(in crate::session) struct Caller(Traces);

impl Caller {
    /// The span of a call that runs; without such a call, that of whoever started the program.
    fn parent(&self, call: &str) -> Option<TraceParent> {
        let known = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.calls.get(call).copied().or(known.outer)
    }
}

/// The spans of calls that run, for the sessions that work for them.
#[derive(Clone, Default)]
pub(in crate::session) struct Traces(Arc<Mutex<Running>>);

#[derive(Default)]
struct Running {
    outer: Option<TraceParent>,
    calls: HashMap<String, TraceParent>,
}

impl Traces {
    fn set_outer(&self, outer: Option<TraceParent>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).outer = outer;
    }

    /// A call runs in this trace.
    fn calls(&self, call: &str, trace: TraceId) {
        let span = SpanId::new();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.calls.insert(call.to_owned(), TraceParent { trace, span });
    }

    /// A call is over; what its span is known by.
    fn ended(&self, call: &str) -> SpanId {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.calls.remove(call).map_or_else(SpanId::new, |parent| parent.span)
    }
}
