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
use charla_store::Database;
use futures_util::stream;
use http::{HeaderValue, header};
use serde::Serialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::access::Credential;
use crate::accounts::Book;
use crate::app::App;
use crate::call::Call;
use crate::hub::{Running, Watcher};
use crate::live::{Following, Live, Shown};
use crate::metrics::Open;
use crate::overview::{Overview, SHOWN};
use crate::pages::{self, Page};
use crate::people::User;
use crate::places::Place;
use crate::shared::{shared_with, together};

/// How often a client is told that the connection lives.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How many records are read at once; more of them, when these are told.
const PAGE: usize = 64;

/// How often it is looked whether something of what others shared has changed.
const SHARED_LOOK: Duration = Duration::from_secs(1);

/// Who follows, for as long as they may.
pub(crate) struct Viewer {
    app: Arc<App>,
    user: Arc<User>,
    credential: Option<Credential>,
    /// Taken as long as they follow.
    _place: Option<Place>,
}

impl Viewer {
    /// Whoever sends this request; nothing when they follow as much as they may already.
    pub(crate) fn new(call: &Call) -> Option<Self> {
        let place = call.app.limits.streams.take(&call.user.id)?;
        let (app, user, credential) = (call.app.clone(), call.user.clone(), call.credential.clone());
        Some(Self { app, user, credential, _place: place })
    }

    /// Whether they may still follow, and this session too.
    fn may_follow(&self, session: Option<&SessionFeed>) -> bool {
        let Ok(book) = self.app.people.book() else { return false };
        let counts =
            self.credential.as_ref().is_some_and(|it| self.app.access.role(&book, it, &self.user).is_some());
        let may_read = |session: &SessionFeed| {
            let share = || book.share(&session.owner.name, &session.id);
            session.owner.name == self.user.name
                || share().is_some_and(|share| share.with.contains_key(&self.user.name))
        };
        counts && session.is_none_or(may_read)
    }
}

/// A stream of events for one client.
pub(crate) struct Feed {
    viewer: Viewer,
    session: Option<SessionFeed>,
    overview: Option<OverviewFeed>,
    heartbeat: Interval,
    /// Whether the database answers, where there is one.
    database: Option<watch::Receiver<bool>>,
    /// Who may what.
    accounts: watch::Receiver<Arc<Book>>,
    stopping: CancellationToken,
    ready: VecDeque<Bytes>,
    _open: Open,
}

/// A session as one client follows it.
struct SessionFeed {
    owner: Arc<User>,
    id: String,
    seen: u64,
    live: Option<(Subscription, Watcher)>,
    /// What it shows at the node that runs it.
    elsewhere: Option<Following>,
    /// What that node has shown after a record that is not read yet.
    early: Option<Arc<Shown>>,
    /// Wakes a session that is read from the store. Whoever follows one that runs here needs nobody to look at all of them.
    changes: Option<watch::Receiver<Arc<Overview>>>,
    /// Its size when it was read last.
    size: Option<u64>,
}

impl SessionFeed {
    /// Follows the session that runs here from what was told last; false when it has ended.
    async fn go_live(&mut self, running: &Arc<Running>) -> bool {
        let Some(events) = running.session.handle.subscribe_from(self.seen).await else { return false };
        self.live = Some((events, running.watch()));
        (self.changes, self.elsewhere, self.early) = (None, None, None);
        true
    }

    /// Follows what it shows at the node that runs it, if another one does.
    fn look_at(&mut self, node: Option<&str>, live: Option<&Live>) {
        match node.zip(live) {
            Some((node, live)) if !self.elsewhere.as_ref().is_some_and(|it| it.is_at(node)) => {
                self.elsewhere = Some(live.follow(&self.owner.id, &self.id, node));
            }
            Some(_) => {}
            None => self.elsewhere = None,
        }
    }
}

/// The overview as one client sees it: their own sessions, and what others shared with them.
struct OverviewFeed {
    own: watch::Receiver<Arc<Overview>>,
    shared: Overview,
    look: Interval,
}

impl OverviewFeed {
    fn new(user: &User) -> Self {
        Self { own: user.lookout.subscribe(), shared: Overview::default(), look: interval(SHARED_LOOK) }
    }

    /// Waits until the user's own changes, or it is time to look at what others shared.
    async fn changed(&mut self) -> bool {
        tokio::select! {
            changed = self.own.changed() => changed.is_ok(),
            _ = self.look.tick() => false,
        }
    }

    /// The overview, if it is not what was told before.
    async fn news(&mut self, viewer: &Viewer, own_changed: bool) -> Option<Bytes> {
        let shared = shared_with(&viewer.app, &viewer.user).await.unwrap_or_default();
        if !own_changed && shared == self.shared {
            return None;
        }
        self.shared = shared;
        let own = self.own.borrow_and_update().clone();
        Some(overview_event(&together(&own, &self.shared)))
    }
}

impl Feed {
    /// Events of this session after a record, if one is given, and the overview, if that is wanted.
    pub(crate) fn new(
        viewer: Viewer,
        session: Option<(Arc<User>, String, u64)>,
        with_overview: bool,
        open: Open,
    ) -> Self {
        let mut heartbeat = interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let session = session.map(|(owner, id, seen)| SessionFeed {
            owner,
            id,
            seen,
            live: None,
            elsewhere: None,
            early: None,
            changes: None,
            size: None,
        });
        Self {
            session,
            overview: with_overview.then(|| OverviewFeed::new(&viewer.user)),
            heartbeat,
            database: viewer.app.database.as_ref().map(Database::status),
            accounts: viewer.app.people.changes(),
            stopping: viewer.app.stopping.clone(),
            ready: VecDeque::new(),
            viewer,
            _open: open,
        }
    }

    /// The answer that never ends by itself.
    pub(crate) async fn into_response(mut self) -> Response {
        if let Some(overview) = &mut self.overview
            && let Ok(own) = self.viewer.user.lookout.look().await
        {
            overview.shared = shared_with(&self.viewer.app, &self.viewer.user).await.unwrap_or_default();
            self.ready.push_back(overview_event(&together(&own, &overview.shared)));
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

    /// The next event; nothing when the server stops, the session is gone, or the client may not follow any more.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return self.viewer.may_follow(self.session.as_ref()).then_some(event);
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
                own_changed = next_overview(&mut self.overview) => {
                    if let Some(overview) = &mut self.overview {
                        self.ready.extend(overview.news(&self.viewer, own_changed).await);
                    }
                }
                Ok(()) = changed(&mut self.database) => {
                    let up = self.database.as_mut().is_some_and(|up| *up.borrow_and_update());
                    self.ready.push_back(event("database", None, &json!({ "up": up })));
                }
                Ok(()) = self.accounts.changed() => {
                    if !self.viewer.may_follow(self.session.as_ref()) {
                        return None;
                    }
                }
                _ = self.heartbeat.tick() => self.ready.push_back(event("heartbeat", None, &())),
            }
        }
    }

    /// Where the session does not run here: begins to follow it if it does now, else reads what is new. False when it is gone.
    async fn catch_up(&mut self) -> bool {
        let Some(session) = self.session.as_mut().filter(|session| session.live.is_none()) else {
            return true;
        };
        let running = session.owner.hub.running(&session.id);
        let is_far = match &running {
            Some(running) => is_far_behind(running, session.seen).await,
            None => false,
        };
        if let Some(running) = running.as_ref().filter(|_| !is_far)
            && session.go_live(running).await
        {
            return true;
        }
        let changes = session.changes.get_or_insert_with(|| session.owner.lookout.subscribe());
        let overview = changes.borrow_and_update().clone();
        let entry = overview.sessions.iter().find(|entry| entry.summary.session == session.id);
        session.look_at(entry.and_then(|entry| entry.node.as_deref()), self.viewer.app.live.as_ref());
        let size = entry.map(|entry| entry.summary.size);
        if session.size.is_some() && session.size == size && !is_far {
            return true;
        }
        let Ok(sessions) = session.owner.hub.charla().sessions() else { return false };
        let _reading = self.viewer.app.limits.reads.acquire().await;
        match pages::read(&sessions, &session.id, session.seen, PAGE).await {
            Ok(Page { lines, more }) => {
                if let Some(running) = running.filter(|_| lines.is_empty())
                    && session.go_live(&running).await
                {
                    return true;
                }
                session.seen = lines.last().map_or(session.seen, |last| last.seq);
                self.ready.extend(lines.iter().map(|line| event("record", Some(line.seq), &line.json)));
                if more {
                    // The rest is read when this is told.
                    session.size = None;
                    return true;
                }
                let early = session.early.take().filter(|early| early.after <= session.seen);
                self.ready.extend(early.iter().flat_map(|early| turn_events(early)));
                // Without an entry in the overview yet, the next one tells.
                session.size = size.or(Some(0));
                true
            }
            Err(SessionError::Unknown(_)) => false,
            // It may be there again at the next look.
            Err(_) => true,
        }
    }

    /// Takes what a session that runs here says; nothing but a change of the store where it does not.
    fn take(&mut self, said: Said) {
        let Some(session) = &mut self.session else { return };
        match said {
            Said::Event(SessionEvent::Record(record)) if record.seq > session.seen => {
                session.seen = record.seq;
                self.ready.push_back(record_event(&record));
            }
            Said::Event(SessionEvent::Record(_)) | Said::Changed => {}
            Said::Shown(shown) if shown.after <= session.seen => self.ready.extend(turn_events(&shown)),
            Said::Shown(shown) => {
                session.early = Some(shown);
                session.size = None;
            }
            Said::Event(SessionEvent::Turn(turn)) => self.ready.push_back(event("turn", None, &turn)),
            Said::Event(SessionEvent::Missed) => self.ready.push_back(event("missed", None, &())),
            Said::Event(SessionEvent::Broken(why)) => self.ready.push_back(event("broken", None, &why)),
            // It ended here. Records go on to be read, and it may be opened again.
            Said::Ended => {
                session.live = None;
                session.size = None;
            }
        }
    }
}

/// Whether a session that runs here has more to tell than is read at once: that is read a page at a time.
async fn is_far_behind(running: &Running, seen: u64) -> bool {
    let last = running.session.handle.snapshot().await.map_or(0, |(snapshot, _)| snapshot.seq);
    last.saturating_sub(seen) > PAGE as u64
}

/// What is heard of a session.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is not kept")]
enum Said {
    Event(SessionEvent),
    /// The node that runs it shows something.
    Shown(Arc<Shown>),
    /// It does not run here any more.
    Ended,
    /// The store has something new.
    Changed,
}

async fn next_live(session: &mut Option<SessionFeed>) -> Said {
    match session {
        Some(SessionFeed { live: Some((events, _)), .. }) => {
            events.recv().await.map_or(Said::Ended, Said::Event)
        }
        Some(session) => tokio::select! {
            Ok(()) = changed(&mut session.changes) => Said::Changed,
            shown = shown(&mut session.elsewhere) => Said::Shown(shown),
            else => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

async fn shown(elsewhere: &mut Option<Following>) -> Arc<Shown> {
    match elsewhere {
        Some(elsewhere) => elsewhere.next().await,
        None => std::future::pending().await,
    }
}

async fn next_overview(overview: &mut Option<OverviewFeed>) -> bool {
    match overview {
        Some(overview) => overview.changed().await,
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

fn turn_events(shown: &Shown) -> impl Iterator<Item = Bytes> {
    shown.events.iter().map(|shown| event("turn", None, shown))
}

/// One event; JSON has no line ends of its own.
fn event<T: Serialize + ?Sized>(name: &str, id: Option<u64>, data: &T) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let data = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
    Bytes::from(format!("event: {name}\n{id}data: {data}\n\n"))
}
