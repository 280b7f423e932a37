//! The sessions that run here, by their ids.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

use super::running::Running;

/// The place of a session that is being opened, or is open.
pub(super) type Slot = OnceCell<Arc<Running>>;

/// All of them.
#[derive(Default)]
pub(super) struct Slots {
    by_id: Mutex<HashMap<String, Arc<Slot>>>,
}

/// Whether there is a session in this place, or somebody who opens one: whoever does has it, too.
fn is_used(slot: &Arc<Slot>) -> bool {
    slot.initialized() || Arc::strong_count(slot) > 1
}

impl Slots {
    fn by_id(&self) -> MutexGuard<'_, HashMap<String, Arc<Slot>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of this session, which is made where there is none.
    pub(super) fn of(&self, id: &str) -> Arc<Slot> {
        self.by_id().entry(id.to_owned()).or_default().clone()
    }

    /// Has a place where it was: one who failed in it may have taken it out.
    pub(super) fn put(&self, id: &str, slot: Arc<Slot>) {
        self.by_id().insert(id.to_owned(), slot);
    }

    /// The session of this id, if it runs here.
    pub(super) fn running(&self, id: &str) -> Option<Arc<Running>> {
        self.by_id().get(id)?.get().cloned()
    }

    /// Whether the session of this id runs here, or is being opened.
    pub(super) fn has(&self, id: &str) -> bool {
        self.by_id().get(id).is_some_and(is_used)
    }

    /// Whether any does.
    pub(super) fn has_any(&self) -> bool {
        self.by_id().values().any(is_used)
    }

    /// Every session that runs here.
    pub(super) fn all_running(&self) -> Vec<Arc<Running>> {
        self.by_id().values().filter_map(|slot| slot.get().cloned()).collect()
    }

    /// The same with their ids and places.
    fn open(&self) -> Vec<(String, Arc<Slot>, Arc<Running>)> {
        let open = |(id, slot): (&String, &Arc<Slot>)| Some((id.clone(), slot.clone(), slot.get()?.clone()));
        self.by_id().iter().filter_map(open).collect()
    }

    /// Takes this place out, and no other of the same id.
    pub(super) fn forget(&self, id: &str, slot: &Arc<Slot>) {
        let mut by_id = self.by_id();
        if by_id.get(id).is_some_and(|known| Arc::ptr_eq(known, slot)) {
            by_id.remove(id);
        }
    }

    /// Takes the place of this session out, if it is still the one that runs under this id.
    pub(super) fn forget_running(&self, id: &str, running: &Arc<Running>) {
        let slot = self.by_id().get(id).cloned();
        if let Some(slot) = slot.filter(|slot| slot.get().is_some_and(|it| Arc::ptr_eq(it, running))) {
            self.forget(id, &slot);
        }
    }

    /// Closes the session of this id, if it runs here, and takes its place out.
    pub(super) async fn close(&self, id: &str) {
        let slot = self.by_id().get(id).cloned();
        if let Some(slot) = slot {
            if let Some(running) = slot.get() {
                running.session.close().await;
            }
            self.forget(id, &slot);
        }
    }

    /// Puts the session to sleep that rests and was used longest ago, one that nobody looks at if there is one; whether there is any. It is
    /// read from the store then, and opened again by what is sent to it.
    pub(super) async fn put_one_to_sleep(&self) -> bool {
        let mut open = self.open();
        open.sort_by_key(|(_, _, running)| running.last_use());
        for (id, slot, running) in open {
            if running.rests().await {
                self.forget(&id, &slot);
                running.session.close().await;
                return true;
            }
        }
        false
    }

    /// Ends sessions that nobody has looked at for a while: their terminals may want them.
    pub(super) async fn end_idle(&self) {
        for (id, slot, running) in self.open() {
            if running.is_idle().await {
                self.forget(&id, &slot);
                running.session.close().await;
            }
        }
    }
}
