//! Sessions that still run by what their user was given before.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::Hub;
use crate::problem::Problem;

/// How long a session may take to stop.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(20);

/// The user's sessions before an administrator changed what they work with, until the last of them has ended.
#[derive(Default)]
pub(super) struct Before {
    hub: Mutex<Option<Arc<Hub>>>,
}

impl Before {
    pub(super) fn set(&self, hub: Arc<Hub>) {
        *self.hub.lock().unwrap_or_else(PoisonError::into_inner) = Some(hub);
    }

    /// The sessions that were, while one of them runs or is being opened.
    fn left(&self) -> Option<Arc<Hub>> {
        let mut hub = self.hub.lock().unwrap_or_else(PoisonError::into_inner);
        hub.take_if(|hub| !hub.slots.has_any() && hub.before.left().is_none());
        hub.clone()
    }

    /// Whether this session still runs by what holds no more.
    fn runs(&self, id: &str) -> bool {
        self.left().is_some_and(|hub| hub.slots.has(id) || hub.before.runs(id))
    }

    /// Waits until this session has stopped: what is asked of it now is not for it to do.
    pub(super) async fn must_have_ended(&self, id: &str) -> Result<(), Problem> {
        let ended = async {
            while self.runs(id) {
                sleep(LOOK).await;
            }
        };
        timeout(PATIENCE, ended).await.map_err(|_| Problem::in_use(id))
    }
}
