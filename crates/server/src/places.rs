//! How many of something one user may have at once, so that nobody takes all there is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::accounts::OWNER;

/// Places by user. The machine's own user has as many as there are.
pub(crate) struct Places {
    each: usize,
    taken: Arc<Mutex<HashMap<String, usize>>>,
}

/// One that is taken. Dropped, it is free again.
pub(crate) struct Place {
    user: String,
    taken: Arc<Mutex<HashMap<String, usize>>>,
}

fn locked(taken: &Mutex<HashMap<String, usize>>) -> MutexGuard<'_, HashMap<String, usize>> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Places {
    /// So many for each.
    pub(crate) fn new(each: usize) -> Self {
        Self { each, taken: Arc::default() }
    }

    /// A place for this user: nothing when theirs are all taken, and `Some(None)` for who needs none.
    pub(crate) fn take(&self, user: &str) -> Option<Option<Place>> {
        if user == OWNER {
            return Some(None);
        }
        let mut taken = locked(&self.taken);
        let count = taken.entry(user.to_owned()).or_default();
        if *count >= self.each {
            return None;
        }
        *count += 1;
        Some(Some(Place { user: user.to_owned(), taken: self.taken.clone() }))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = locked(&self.taken);
        if let Some(count) = taken.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_their_own_places_and_they_come_back() {
        let places = Places::new(2);
        let held = [(); 3].map(|()| places.take("a"));
        assert_eq!(held.each_ref().map(Option::is_some), [true, true, false]);
        assert!(places.take("b").is_some());
        drop(held);
        assert!(places.take("a").is_some());
        assert!(locked(&places.taken).is_empty(), "nobody is remembered");
        let own: Vec<_> = (0..9).map(|_| places.take(OWNER)).collect();
        assert!(own.iter().all(Option::is_some));
    }
}
