//! What waits and what runs across a user's sessions: the list and the approvals, as they are now and as they change.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use charla::session::{SessionError, Sessions};
use charla_proto::{AgentLink, SessionSummary, Standing, WaitingQuestion};
use serde::Serialize;
use tokio::sync::{Mutex, watch};

use crate::accounts::Right;
use crate::hub::{Hub, State};

/// How many sessions are told of at once; older ones are found by searching.
pub(crate) const SHOWN: usize = 200;
/// How often sessions of other processes are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How often changes are told at most.
const PAUSE: Duration = Duration::from_millis(150);

/// One session in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Entry {
    #[serde(flatten)]
    pub(crate) summary: SessionSummary,
    pub(crate) state: State,
    /// The node that has it open, where it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) node: Option<String>,
    /// A turn is under way, or was left.
    pub(crate) turn_open: bool,
    /// How many of its questions wait.
    pub(crate) waiting: usize,
    /// Whose it is, where it was shared with whoever asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shared: Option<Shared>,
}

/// A session of somebody else's, and what may be done with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Shared {
    pub(crate) owner: String,
    pub(crate) right: Right,
}

/// A question that waits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Waiting {
    pub(crate) session: String,
    pub(crate) title: String,
    pub(crate) folder: PathBuf,
    pub(crate) state: State,
    #[serde(flatten)]
    pub(crate) question: WaitingQuestion,
}

/// The sessions, the latest first, and every question that waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Overview {
    pub(crate) sessions: Vec<Entry>,
    pub(crate) approvals: Vec<Waiting>,
}

/// What the records of a session say, as long as it is not written to.
#[derive(Clone)]
struct Known {
    modified: SystemTime,
    size: u64,
    standing: Standing,
}

/// Looks at a user's sessions. What was not written to since the last look is not read again.
pub(crate) struct Lookout {
    hub: Arc<Hub>,
    known: Mutex<HashMap<String, Known>>,
    latest: watch::Sender<Arc<Overview>>,
}

impl Lookout {
    pub(crate) fn new(hub: Arc<Hub>) -> Arc<Self> {
        let lookout =
            Arc::new(Self { hub, known: Mutex::default(), latest: watch::Sender::new(Arc::default()) });
        tokio::spawn(keep_looking(Arc::downgrade(&lookout)));
        lookout
    }

    /// Everything as it is now.
    pub(crate) async fn look(&self) -> Result<Arc<Overview>, SessionError> {
        let sessions = self.hub.charla().sessions()?;
        let list = sessions.list().await?.sessions;
        let ids: Vec<String> = list.iter().map(|summary| summary.session.clone()).collect();
        let states = self.hub.states(&sessions, &ids).await;
        let (mut standings, rests) = match sessions.standings().await? {
            Some(kept) => (kept, Some(Standing::default())),
            None => (self.read(&sessions, &list).await?, None),
        };
        let mut overview = Overview::default();
        for ((summary, id), (state, node)) in list.into_iter().zip(ids).zip(states) {
            let Some(Standing { turn_open, questions }) = standings.remove(&id).or_else(|| rests.clone())
            else {
                continue;
            };
            let waiting = questions.len();
            overview.approvals.extend(questions.into_iter().map(|question| Waiting {
                session: id.clone(),
                title: summary.title.clone(),
                folder: summary.started.cwd.clone(),
                state,
                question,
            }));
            overview.sessions.push(Entry { summary, state, node, turn_open, waiting, shared: None });
        }
        let agents: HashMap<&str, &AgentLink> = overview.sessions.iter().filter_map(agent).collect();
        let asked = overview
            .approvals
            .iter()
            .map(|waiting| (&*waiting.question.asked, agents.get(waiting.session.as_str()).copied()));
        let elsewhere = sessions.asked_elsewhere(asked).await?;
        overview.approvals.retain(|waiting| !elsewhere.contains(&waiting.question.asked.approval));
        Ok(Arc::new(overview))
    }

    /// Where sessions stand by their records, without those that were removed since they were listed.
    async fn read(
        &self,
        sessions: &Sessions,
        list: &[SessionSummary],
    ) -> Result<HashMap<String, Standing>, SessionError> {
        let mut known = self.known.lock().await;
        let mut seen = HashMap::with_capacity(list.len());
        for summary in list {
            if let Some(now) = read(sessions, known.get(&summary.session), summary).await? {
                seen.insert(summary.session.clone(), now);
            }
        }
        *known = seen;
        Ok(known.iter().map(|(id, now)| (id.clone(), now.standing.clone())).collect())
    }

    /// The latest overview, and each that differs from the one before.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<Overview>> {
        self.latest.subscribe()
    }

    async fn refresh(&self) {
        match self.look().await {
            Ok(now) => {
                self.latest.send_if_modified(|latest| {
                    let changed = **latest != *now;
                    *latest = now;
                    changed
                });
            }
            Err(error) => tracing::warn!("sessions cannot be listed: {error}"),
        }
    }
}

/// The call that a session works for, by the session.
fn agent(entry: &Entry) -> Option<(&str, &AgentLink)> {
    Some((&entry.summary.session, entry.summary.started.agent.as_ref()?))
}

/// What a session's records say; nothing when it was removed since it was listed.
async fn read(
    sessions: &Sessions,
    known: Option<&Known>,
    summary: &SessionSummary,
) -> Result<Option<Known>, SessionError> {
    let (modified, size) = (summary.modified, summary.size);
    if let Some(known) = known.filter(|known| (known.modified, known.size) == (modified, size)) {
        return Ok(Some(known.clone()));
    }
    let conversation = match sessions.folded(&summary.session).await {
        Ok(conversation) => conversation,
        Err(SessionError::Unknown(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(Known { modified, size, standing: Standing::of(&conversation) }))
}

/// Looks again when something happens here or is told to have happened elsewhere, and every second for what is not told, while anybody wants to know.
async fn keep_looking(lookout: Weak<Lookout>) {
    let Some(first) = lookout.upgrade() else { return };
    let mut pulse = first.hub.pulse();
    drop(first);
    loop {
        let Some(now) = lookout.upgrade() else { return };
        if now.latest.receiver_count() > 0 {
            now.refresh().await;
        }
        let Ok(sessions) = now.hub.charla().sessions() else { return };
        drop(now);
        tokio::time::sleep(PAUSE).await;
        tokio::select! {
            changed = pulse.changed() => if changed.is_err() { return },
            () = sessions.changed() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}
