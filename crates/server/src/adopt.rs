//! Sessions of nodes that have died: whoever lives goes on with them.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use charla::session::Sessions;
use charla_proto::{Command, Fact, Record};
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use tokio::task::JoinHandle;

use crate::accounts::{OWNER, Role};
use crate::hub::{Hub, Need};
use crate::people::{People, User};
use crate::problem::Problem;

/// How often they are looked for, where nobody tells.
const LOOK: Duration = Duration::from_secs(1);
/// How long a session is left alone that could not be gone on with here; another node may do better.
const LEFT_ALONE: Duration = Duration::from_secs(30);
/// How many are opened at once.
const AT_ONCE: usize = 8;
/// Who goes on with them.
const NODE: &str = "node";

/// How often it is looked who has an account.
const LOOK_FOR_USERS: Duration = Duration::from_secs(2);

/// Goes on with what others left, of every user, as long as it runs.
pub(crate) async fn adopt_all(people: Arc<People>) {
    let mut tasks: HashMap<String, (Arc<User>, AbortOnDrop)> = HashMap::new();
    loop {
        if let Ok(book) = people.book() {
            let names = book.accounts.keys().map(String::as_str).chain([OWNER]);
            let users: Vec<Arc<User>> = names
                .filter_map(|name| people.find(&book, name))
                .filter(may_ask)
                .map(|(user, _)| user)
                .collect();
            tasks.retain(|_, (known, _)| users.iter().any(|user| Arc::ptr_eq(user, known)));
            for user in users {
                let begin = || (user.clone(), AbortOnDrop(tokio::spawn(adopt(user.clone()))));
                tasks.entry(user.name.clone()).or_insert_with(begin);
            }
        }
        tokio::time::sleep(LOOK_FOR_USERS).await;
    }
}

/// Nothing goes on for those who may only look.
fn may_ask((_, role): &(Arc<User>, Role)) -> bool {
    *role >= Role::Member
}

/// A task that ends when nobody needs it any more.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Goes on with what others left of one user.
async fn adopt(user: Arc<User>) {
    let Ok(sessions) = user.hub.charla().sessions() else { return };
    let mut failed: HashMap<String, Instant> = HashMap::new();
    loop {
        failed.retain(|_, since| since.elapsed() < LEFT_ALONE);
        // With the store away, so are those who would have died.
        let abandoned = sessions.abandoned().await.unwrap_or_default();
        let hopeful = abandoned.into_iter().filter(|id| !failed.contains_key(id));
        let adopted = stream::iter(hopeful.map(|id| adopt_one(&user.hub, &sessions, id)));
        for (id, result) in adopted.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await {
            match result {
                // Another node was quicker.
                Err(problem) if problem.kind == "in_use" => {}
                Err(problem) => {
                    tracing::warn!(
                        "session {id} of a node that died cannot be gone on with here: {}",
                        problem.detail
                    );
                    failed.insert(id, Instant::now());
                }
                Ok(()) => {}
            }
        }
        tokio::time::sleep(LOOK / 4).await;
        // Told or not, it is looked again.
        let _ = tokio::time::timeout(LOOK, sessions.changed()).await;
    }
}

/// Whether somebody here began the turn that was left, or went on with it: one that came from elsewhere waits for that.
async fn was_begun_here<E>(records: impl Stream<Item = Result<Record, E>>) -> Result<bool, E> {
    let (mut records, mut foreign, mut is_ours) = (pin!(records), None, true);
    while let Some(record) = records.try_next().await? {
        match &record.fact {
            Fact::SessionStarted(started) => foreign = started.imported_up_to,
            // The last of these decides.
            Fact::TurnStarted(_) | Fact::TurnResumed(_) => is_ours = foreign < Some(record.seq),
            Fact::Imported(_) => is_ours = false,
            _ => {}
        }
    }
    Ok(is_ours)
}

/// Goes on with a turn that was left: its questions are asked again under their ids, tools that ran are reported as
/// interrupted. A session without one is only let go of, and so is one whose turn nobody here has let go on.
async fn adopt_one(hub: &Arc<Hub>, sessions: &Sessions, id: String) -> (String, Result<(), Problem>) {
    let mut is_new = false;
    let adopting = async {
        let left = sessions.folded(&id).await?;
        if left.turn.is_none() && left.queue.is_empty() {
            return Ok(sessions.free(&id).await?);
        }
        if !was_begun_here(sessions.stream_after(&id, 0)).await? {
            return Ok(sessions.free(&id).await?);
        }
        is_new = hub.admit(&id, &Command::Continue).await?;
        if !left.started.is_some_and(|started| started.cwd.is_dir()) {
            return Err(Problem::not_found("its workspace is not on this node"));
        }
        let running = hub.resume(&id, Need::Room).await?;
        tracing::info!("went on with session {id} of a node that died");
        // Refused when somebody has gone on with it already, which is as good.
        running.session.send(Command::Continue, NODE).await;
        Ok(())
    };
    let adopted = adopting.await;
    if is_new && adopted.is_err() {
        hub.release(&id).await;
    }
    (id, adopted)
}

#[cfg(test)]
mod tests {
    use charla_proto::{Imported, TurnResumed};

    use super::*;

    #[tokio::test]
    async fn a_turn_from_elsewhere_waits_until_somebody_here_lets_it_go_on() {
        let resumed = || Fact::TurnResumed(TurnResumed { turn: 1, somebody: true });
        let imported = || Fact::Imported(Imported { from: "a laptop".to_owned() });
        for (facts, is_ours) in [
            (vec![], true),
            (vec![resumed()], true),
            (vec![resumed(), imported()], false),
            (vec![resumed(), imported(), resumed()], true),
            (vec![resumed(), imported(), resumed(), imported()], false),
        ] {
            let records = (1..).zip(facts).map(|(seq, fact)| Ok::<_, ()>(Record::new(seq, 0, fact)));
            assert_eq!(was_begun_here(stream::iter(records)).await, Ok(is_ours));
        }
    }
}
