//! What nodes say to each other about sessions that run at one of them: text as it streams, and that somebody needs a session that rests.
//!
//! Records are in the database; what a running step shows is not, and may be lost. A node whose client follows a session that another one runs
//! asks that one for it, again and again as long as the client does, and is told it in small texts. Nothing but the words on a screen
//! depends on them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use charla_core::session::Subscription;
use charla_proto::SessionEvent;
use charla_store::Database;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::people::{People, User};
use crate::problem::{IN_USE, Problem};

/// How often a node asks again for what its client follows.
pub(crate) const ASK: Duration = Duration::from_secs(2);
/// How long a node tells what it was asked for.
const TELL: Duration = Duration::from_secs(6);
/// How long words are gathered: to tell holds up every commit of the database.
const GATHER: Duration = Duration::from_millis(100);
/// How many characters of one text are told at once; escaped they may be six times as many.
const PIECE: usize = 1_000;
/// How often it is looked whether another node has let go of a session, and the pause between.
const TRIES: usize = 10;
const PAUSE: Duration = Duration::from_millis(100);
/// How much of what others show may wait.
const SHOWN: usize = 1024;

/// What nodes say to each other.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "live", rename_all = "snake_case")]
enum Said {
    /// A client of `node` follows a session that runs here.
    Follows { user: String, session: String, node: String, anew: bool },
    /// What such a session shows.
    Shows(Shown),
    /// Another node needs a session that is open here: it is let go of, if it rests.
    LetGo { user: String, session: String },
}

/// What a session at another node shows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Shown {
    /// Whose session, by the user's id.
    user: String,
    session: String,
    /// The last record before it.
    pub(crate) after: u64,
    /// Turn events.
    pub(crate) events: Vec<Value>,
}

/// The way to other nodes' running steps.
#[derive(Clone)]
pub(crate) struct Live {
    database: Database,
    shown: broadcast::Sender<Arc<Shown>>,
}

/// A session at another node as one client follows it.
pub(crate) struct Following {
    live: Live,
    shown: broadcast::Receiver<Arc<Shown>>,
    user: String,
    session: String,
    node: String,
    asked: Option<Instant>,
}

impl Live {
    /// Listens to other nodes, and tells them what they ask for.
    pub(crate) fn new(database: Database, people: Arc<People>) -> Self {
        let live = Self { database, shown: broadcast::Sender::new(SHOWN) };
        tokio::spawn(listen(live.clone(), people));
        live
    }

    /// What a session of this user shows that runs at this node.
    pub(crate) fn follow(&self, user: &str, session: &str, node: &str) -> Following {
        Following {
            live: self.clone(),
            shown: self.shown.subscribe(),
            user: user.to_owned(),
            session: session.to_owned(),
            node: node.to_owned(),
            asked: None,
        }
    }

    /// Does something that wants a session which nobody has open. A node that has it open, and at rest, is asked to let go of it.
    pub(crate) async fn freeing<T, W: Future<Output = Result<T, Problem>>>(
        &self,
        user: &User,
        session: &str,
        work: impl Fn() -> W,
    ) -> Result<T, Problem> {
        for _ in 0..TRIES {
            match work().await {
                Err(problem) if problem.kind == IN_USE => {}
                done => return done,
            }
            if let Some(node) = user.hub.node_of(session).await? {
                let said = Said::LetGo { user: user.id.clone(), session: session.to_owned() };
                self.say(&node, &said).await;
            }
            sleep(PAUSE).await;
        }
        work().await
    }

    async fn say(&self, node: &str, said: &Said) {
        if let Ok(text) = serde_json::to_string(said)
            && text.len() <= Database::LONGEST_TOLD
        {
            // It may be lost.
            let _ = self.database.tell(node, text).await;
        }
    }
}

impl Following {
    /// Whether this is what the node of this name shows.
    pub(crate) fn is_at(&self, node: &str) -> bool {
        self.node == node
    }

    /// What is shown next. Safe to drop and call again.
    pub(crate) async fn next(&mut self) -> Arc<Shown> {
        loop {
            let due = self.asked.map_or_else(Instant::now, |asked| asked + ASK);
            match timeout_at(due, self.shown.recv()).await {
                Ok(Ok(shown)) if shown.user == self.user && shown.session == self.session => return shown,
                Ok(Ok(_) | Err(RecvError::Lagged(_))) => {}
                Ok(Err(RecvError::Closed)) => std::future::pending().await,
                Err(_) => {
                    let anew = self.asked.replace(Instant::now()).is_none();
                    let (user, session) = (self.user.clone(), self.session.clone());
                    let node = self.live.database.node_id().to_owned();
                    self.live.say(&self.node, &Said::Follows { user, session, node, anew }).await;
                }
            }
        }
    }
}

/// Takes what other nodes say, as long as there is anybody to take it.
async fn listen(live: Live, people: Arc<People>) {
    let mut told = live.database.told();
    let mut tellers: HashMap<(String, String, String), watch::Sender<Instant>> = HashMap::new();
    loop {
        let text = match told.recv().await {
            Ok(text) => text,
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        match serde_json::from_str(&text) {
            Ok(Said::Shows(shown)) => drop(live.shown.send(Arc::new(shown))),
            Ok(Said::Follows { user, session, node, anew }) => {
                tellers.retain(|_, teller| !teller.is_closed());
                let key = (user, session, node);
                let until = Instant::now() + TELL;
                let known = tellers.get(&key).filter(|_| !anew);
                if known.is_none_or(|teller| teller.send(until).is_err()) {
                    let (sender, asked) = watch::channel(until);
                    let (user, session, node) = key.clone();
                    tokio::spawn(tell(live.clone(), people.clone(), user, session, node, asked));
                    // An earlier one ends.
                    tellers.insert(key, sender);
                }
            }
            Ok(Said::LetGo { user, session }) => {
                if let Some(user) = people.all().into_iter().find(|known| known.id == user) {
                    tokio::spawn(async move { user.hub.let_go(&session).await });
                }
            }
            // Of a newer version.
            Err(_) => {}
        }
    }
}

/// Tells a node what a session shows that runs here, until it no longer asks.
async fn tell(
    live: Live,
    people: Arc<People>,
    user: String,
    session: String,
    node: String,
    asked: watch::Receiver<Instant>,
) {
    let all = people.all();
    let Some(running) = all.iter().find(|known| known.id == user).and_then(|user| user.hub.running(&session))
    else {
        return;
    };
    let handle = &running.session.handle;
    let Some(after) = handle.snapshot().await.map(|(snapshot, _)| snapshot.seq) else { return };
    let Some(mut events) = handle.subscribe_from(after).await else { return };
    let mut shown = Shown { user, session, after, events: Vec::new() };
    while let Some(more) = gather(&mut events, &mut shown, &asked).await {
        for events in packed(std::mem::take(&mut shown.events)) {
            live.say(&node, &Said::Shows(Shown { events, ..shown.clone() })).await;
        }
        if let Some(after) = more {
            shown.after = after;
        }
    }
}

/// Gathers what is shown for a moment, or up to the next record: its number. Nothing when it is over.
async fn gather(
    events: &mut Subscription,
    shown: &mut Shown,
    asked: &watch::Receiver<Instant>,
) -> Option<Option<u64>> {
    let mut until = None;
    loop {
        // Whoever asked anew has another teller.
        let over = asked.has_changed().is_err();
        let end = *asked.borrow();
        if over || end <= Instant::now() {
            return None;
        }
        tokio::select! {
            event = events.recv() => match event? {
                SessionEvent::Turn(event) => {
                    shown.events.extend(serde_json::to_value(event));
                    until.get_or_insert_with(|| Instant::now() + GATHER);
                }
                SessionEvent::Record(record) => return Some(Some(record.seq)),
                SessionEvent::Missed => {}
                SessionEvent::Broken(_) => return None,
            },
            () = sleep_until(until.unwrap_or(end)) => if until.is_some() {
                return Some(None);
            },
        }
    }
}

/// Events in texts that can be told at once.
fn packed(events: Vec<Value>) -> Vec<Vec<Value>> {
    let room = Database::LONGEST_TOLD - 500;
    let mut packs: Vec<Vec<Value>> = Vec::new();
    let mut left = 0;
    for event in events.into_iter().flat_map(pieces) {
        let size = event.to_string().len() + 1;
        match packs.last_mut().filter(|_| size <= left) {
            Some(pack) => pack.push(event),
            None => {
                packs.push(vec![event]);
                left = room;
            }
        }
        left = left.saturating_sub(size);
    }
    packs
}

/// A long text in pieces, each of which adds to the one before.
fn pieces(event: Value) -> Vec<Value> {
    let Some(text) = event["content"].as_str().filter(|text| text.len() > PIECE) else { return vec![event] };
    let characters: Vec<char> = text.chars().collect();
    let piece = |(number, part): (usize, &[char])| {
        let mut piece = event.clone();
        piece["content"] = part.iter().collect::<String>().into();
        if number > 0 {
            piece["delta"] = true.into();
        }
        piece
    };
    characters.chunks(PIECE).enumerate().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_told_fits_and_adds_up() {
        let long: String = "\u{1}é".repeat(9_000);
        let events = vec![
            json!({"type": "message", "content": long, "delta": false}),
            json!({"type": "message", "content": "end", "delta": true}),
            json!({"type": "other"}),
        ];
        let packs = packed(events);
        assert!(
            packs.iter().all(|pack| Value::from(pack.clone()).to_string().len() <= Database::LONGEST_TOLD)
        );
        let all: Vec<Value> = packs.into_iter().flatten().collect();
        assert_eq!((&all[0]["delta"], &all[1]["delta"]), (&json!(false), &json!(true)));
        let text: String = all.iter().filter_map(|event| event["content"].as_str()).collect();
        assert_eq!(text, format!("{long}end"));
        assert_eq!(all.last().unwrap()["type"], "other");
    }
}
