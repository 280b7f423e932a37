//! What has been encoded once and need not be encoded again.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use charla_proto::Content;

/// Encoded contents, remembered as long as somebody holds the content itself.
///
/// A conversation's request repeats all earlier contents. Codecs encode each content into a fragment of
/// the body; this keeps the fragments, keyed by the content's identity, so a step costs what is new
/// plus the copying of bytes. Entries whose content is gone are swept now and then.
#[derive(Debug, Default)]
pub struct Fragments {
    known: HashMap<(usize, u8), (Weak<Content>, Box<[u8]>)>,
    sweep_at: usize,
}

impl Fragments {
    /// Appends the fragment of `content` to `body`. `variant` tells apart fragments of one content that
    /// differ by its place in the conversation or by its origin; `encode` is called when the fragment
    /// is not known yet.
    pub fn append(
        &mut self,
        content: &Arc<Content>,
        variant: u8,
        body: &mut Vec<u8>,
        encode: impl FnOnce(&Content, &mut Vec<u8>),
    ) {
        let key = (Arc::as_ptr(content) as usize, variant);
        if let Some((owner, fragment)) = self.known.get(&key)
            && owner.upgrade().is_some_and(|owner| Arc::ptr_eq(&owner, content))
        {
            body.extend_from_slice(fragment);
            return;
        }
        let start = body.len();
        encode(content, body);
        if self.known.len() >= self.sweep_at.max(64) {
            self.known.retain(|_, (owner, _)| owner.strong_count() > 0);
            self.sweep_at = self.known.len() * 2;
        }
        self.known.insert(key, (Arc::downgrade(content), body[start..].into()));
    }

    /// How many fragments are held.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// True when nothing is held.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_encoded_once_per_variant_and_forgotten_with_its_owner() {
        let mut fragments = Fragments::default();
        let content = Arc::new(Content::user("hi"));
        let mut calls = 0;
        let mut body = Vec::new();
        for _ in 0..3 {
            fragments.append(&content, 0, &mut body, |_, body| {
                calls += 1;
                body.push(b'x');
            });
        }
        assert_eq!((calls, body.as_slice()), (1, b"xxx".as_slice()));
        fragments.append(&content, 1, &mut body, |_, body| body.push(b'y'));
        assert_eq!(fragments.len(), 2);
        drop(content);
        for _ in 0..200 {
            fragments.append(&Arc::new(Content::user("x")), 0, &mut body, |_, body| body.push(b'z'));
        }
        assert!(fragments.len() < 100);
    }
}
