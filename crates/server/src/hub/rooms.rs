//! How many sessions of one user may be open at once: nobody takes all files of the process.

use std::sync::Arc;
use std::time::Duration;

use charla_proto::Command;
use http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::problem::Problem;

/// How many sessions a user with an account may have open at once.
const OPEN_AT_ONCE: usize = 32;
/// How long a session that is put to sleep may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether a session is opened only where there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// It begins something: without room it is refused.
    Room,
    /// It ends what waits for somebody already, which makes room: it is never refused.
    Nothing,
}

impl Need {
    /// What a command to a session that nobody has open needs.
    pub(super) fn of(command: &Command) -> Self {
        match command {
            Command::Answer { .. } | Command::Cancel { .. } => Self::Nothing,
            _ => Self::Room,
        }
    }
}

/// Places for open sessions.
pub(super) struct Rooms(Option<Arc<Semaphore>>);

/// The place of one. Dropped, it is free again.
pub(super) struct Room(#[expect(dead_code, reason = "held")] Option<OwnedSemaphorePermit>);

impl Rooms {
    /// As many as there is room for, for the machine's own user; a few for those with accounts.
    pub(super) fn new(is_limited: bool) -> Self {
        Self(is_limited.then(|| Arc::new(Semaphore::new(OPEN_AT_ONCE))))
    }

    /// A place for one more. Where there is none, `make_room` ends a session, if it can.
    pub(super) async fn take(
        &self,
        need: Need,
        make_room: impl Future<Output = bool>,
    ) -> Result<Room, Problem> {
        let Some(places) = &self.0 else { return Ok(Room(None)) };
        if let Ok(place) = places.clone().try_acquire_owned() {
            return Ok(Room(Some(place)));
        }
        if make_room.await
            && let Ok(Ok(place)) = timeout(PATIENCE, places.clone().acquire_owned()).await
        {
            return Ok(Room(Some(place)));
        }
        if need == Need::Nothing {
            return Ok(Room(None));
        }
        let detail = format!("{OPEN_AT_ONCE} of your sessions are at work or wait for you");
        Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_sessions", detail)
            .with_hint("answer or cancel one of them first"))
    }
}
