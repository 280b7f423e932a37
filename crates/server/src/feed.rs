//! What happens, as server-sent events: a session's records and turn events, and the overview.
//!
//! A session's records come each once and in order, whoever has it open; turn events come while it runs here.
//! A record's number is its event's id, so that a browser that comes back goes on where it was.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use charla::session::SessionError;
use charla_core::CancellationToken;
use charla_core::session::Subscription;
use charla_proto::{Record, SessionEvent};
use futures_util::stream;
use http::{HeaderValue, header};
use serde::Serialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::app::User;
use crate::hub::Watcher;
use crate::metrics::Open;
use crate::overview::{Overview, SHOWN};

/// How often a client is told that the connection lives.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A stream of events for one client.
pub(crate) struct Feed {
    user: Arc<User>,
    session: Option<SessionFeed>,
    overview: Option<watch::Receiver<Arc<Overview>>>,
    /// Wakes a session that is read from the store. Whoever follows one that runs here needs nobody to look at all of them.
    changes: Option<watch::Receiver<Arc<Overview>>>,
    heartbeat: Interval,
    /// Whether the database answers, where there is one.
    database: Option<watch::Receiver<bool>>,
    stopping: CancellationToken,
    ready: VecDeque<Bytes>,
    _open: Open,
}

/// A session as one client follows it.
struct SessionFeed {
    id: String,
    seen: u64,
    live: Option<(Subscription, Watcher)>,
    /// Its size when it was read last.
    size: Option<u64>,
}

impl Feed {
    /// Events of this session after record `after`, if one is given, and the overview, if that is wanted.
    pub(crate) fn new(
        user: Arc<User>,
        session: Option<(String, u64)>,
        with_overview: bool,
        database: Option<watch::Receiver<bool>>,
        stopping: CancellationToken,
        open: Open,
    ) -> Self {
        let mut heartbeat = interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            session: session.map(|(id, seen)| SessionFeed { id, seen, live: None, size: None }),
            overview: with_overview.then(|| user.lookout.subscribe()),
            changes: None,
            heartbeat,
            database,
            stopping,
            ready: VecDeque::new(),
            user,
            _open: open,
        }
    }

    /// The answer that never ends by itself.
    pub(crate) async fn into_response(mut self) -> Response {
        if self.overview.is_some()
            && let Ok(overview) = self.user.lookout.look().await
        {
            self.ready.push_back(overview_event(&overview));
        }
        let events = stream::unfold(self, |mut feed| async {
            let event = feed.next().await?;
            Some((Ok::<_, std::convert::Infallible>(event), feed))
        });
        let mut response = Body::from_stream(events).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        // A proxy that gathers would hold events back.
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        response
    }

    /// The next event; nothing when the server stops or the session is gone.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if !self.catch_up().await {
                return None;
            }
            if !self.ready.is_empty() {
                continue;
            }
            tokio::select! {
                biased;
                () = self.stopping.cancelled() => return None,
                event = next_live(&mut self.session) => self.take(event),
                Ok(()) = changed(&mut self.overview) => {
                    if let Some(overview) = &mut self.overview {
                        self.ready.push_back(overview_event(&overview.borrow_and_update().clone()));
                    }
                }
                Ok(()) = changed(&mut self.database) => {
                    let up = self.database.as_mut().is_some_and(|up| *up.borrow_and_update());
                    self.ready.push_back(event("database", None, &json!({ "up": up })));
                }
                Ok(()) = changed(&mut self.changes) => {}
                _ = self.heartbeat.tick() => self.ready.push_back(event("heartbeat", None, &())),
            }
        }
    }

    /// Where the session does not run here: begins to follow it if it does now, else reads what is new. False when it is gone.
    async fn catch_up(&mut self) -> bool {
        let Some(session) = self.session.as_mut().filter(|session| session.live.is_none()) else {
            return true;
        };
        if let Some(running) = self.user.hub.running(&session.id)
            && let Some(events) = running.session.handle.subscribe_from(session.seen).await
        {
            session.live = Some((events, running.watch()));
            self.changes = None;
            return true;
        }
        let changes = self.changes.get_or_insert_with(|| self.user.lookout.subscribe());
        let size = changes
            .borrow_and_update()
            .sessions
            .iter()
            .find_map(|entry| (entry.summary.session == session.id).then_some(entry.summary.size));
        if session.size.is_some() && session.size == size {
            return true;
        }
        let Ok(sessions) = self.user.hub.charla().sessions() else { return false };
        match sessions.records_after(&session.id, session.seen).await {
            Ok(records) => {
                session.seen = records.last().map_or(session.seen, |last| last.seq);
                self.ready.extend(records.iter().map(record_event));
                // Without an entry in the overview yet, the next one tells.
                session.size = size.or(Some(0));
                true
            }
            Err(SessionError::Unknown(_)) => false,
            // It may be there again at the next look.
            Err(_) => true,
        }
    }

    /// Takes what a session that runs here says.
    fn take(&mut self, said: Option<SessionEvent>) {
        let Some(session) = &mut self.session else { return };
        match said {
            Some(SessionEvent::Record(record)) if record.seq > session.seen => {
                session.seen = record.seq;
                self.ready.push_back(record_event(&record));
            }
            Some(SessionEvent::Record(_)) => {}
            Some(SessionEvent::Turn(turn)) => self.ready.push_back(event("turn", None, &turn)),
            Some(SessionEvent::Missed) => self.ready.push_back(event("missed", None, &())),
            Some(SessionEvent::Broken(why)) => self.ready.push_back(event("broken", None, &why)),
            // It ended here. Records go on to be read, and it may be opened again.
            None => {
                session.live = None;
                session.size = None;
            }
        }
    }
}

async fn next_live(session: &mut Option<SessionFeed>) -> Option<SessionEvent> {
    match session.as_mut().and_then(|session| session.live.as_mut()) {
        Some((events, _)) => events.recv().await,
        None => std::future::pending().await,
    }
}

async fn changed<T>(watched: &mut Option<watch::Receiver<T>>) -> Result<(), watch::error::RecvError> {
    match watched {
        Some(watched) => watched.changed().await,
        None => std::future::pending().await,
    }
}

fn overview_event(overview: &Overview) -> Bytes {
    let sessions = overview.sessions.iter().take(SHOWN).cloned().collect();
    event("overview", None, &Overview { sessions, approvals: overview.approvals.clone() })
}

fn record_event(record: &Record) -> Bytes {
    event("record", Some(record.seq), record)
}

/// One event; JSON has no line ends of its own.
fn event<T: Serialize + ?Sized>(name: &str, id: Option<u64>, data: &T) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let data = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
    Bytes::from(format!("event: {name}\n{id}data: {data}\n\n"))
}
