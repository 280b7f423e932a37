//! Contents that a layer rewrote once and need not rewrite again.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use charla_proto::Content;

/// Rewritten contents by the identity of the original, as long as somebody holds that.
///
/// The same original gives the same `Arc`, so that codecs below recognise what they have encoded and a
/// conversation is rewritten once, not at every step.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    known: HashMap<usize, (Weak<Content>, Arc<Content>)>,
    sweep_at: usize,
}

impl Remembered {
    /// What `rewrite` makes, or made, of `content`.
    pub(super) fn get(
        &mut self,
        content: &Arc<Content>,
        rewrite: impl FnOnce(&Content) -> Content,
    ) -> Arc<Content> {
        let key = Arc::as_ptr(content) as usize;
        if let Some((owner, rewritten)) = self.known.get(&key)
            && owner.upgrade().is_some_and(|owner| Arc::ptr_eq(&owner, content))
        {
            return rewritten.clone();
        }
        if self.known.len() >= self.sweep_at.max(64) {
            self.known.retain(|_, (owner, _)| owner.strong_count() > 0);
            self.sweep_at = self.known.len() * 2;
        }
        let rewritten = Arc::new(rewrite(content));
        self.known.insert(key, (Arc::downgrade(content), rewritten.clone()));
        rewritten
    }
}
