//! What has been encoded once and need not be encoded again.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Weak};

use charla_proto::{Content, FunctionDeclaration};

/// Encoded contents and tools, remembered as long as somebody holds the original.
///
/// A conversation's request repeats all earlier contents. Codecs encode each content into a fragment of
/// the body; this keeps the fragments, keyed by the content's identity, so a step costs what is new
/// plus the copying of bytes. Entries whose content is gone are swept now and then.
#[derive(Debug, Default)]
pub struct Fragments {
    contents: Cache<Content>,
    tools: Cache<FunctionDeclaration>,
    /// How long the last body was.
    body: usize,
}

/// The original, to see whether it still lives, and what it became.
type Known<T> = (Weak<T>, Box<[u8]>);

#[derive(Debug)]
struct Cache<T> {
    known: HashMap<(usize, u8), Known<T>, BuildHasherDefault<AddressHasher>>,
    sweep_at: usize,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self { known: HashMap::default(), sweep_at: 0 }
    }
}

/// Spreads addresses, which nobody outside chooses, over the places of a table.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u8(*byte));
    }

    fn write_u8(&mut self, value: u8) {
        self.write_usize(value.into());
    }

    fn write_usize(&mut self, value: usize) {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0 ^ value as u64).wrapping_mul(SPREAD);
    }

    /// The high bits are the ones that depend on the whole address; a table looks at the low ones first.
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
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
        self.contents.append(content, variant, body, encode);
    }

    /// Appends the fragment of a declared function; an empty one says that the function is left out.
    pub fn append_tool(
        &mut self,
        tool: &Arc<FunctionDeclaration>,
        body: &mut Vec<u8>,
        encode: impl FnOnce(&FunctionDeclaration, &mut Vec<u8>),
    ) {
        self.tools.append(tool, 0, body, encode);
    }

    /// An empty body with room for one like the last, and for what a step adds.
    pub fn new_body(&self) -> Vec<u8> {
        Vec::with_capacity(self.body + self.body / 8 + 1024)
    }

    /// Takes note of a body that was written.
    pub(crate) fn wrote(&mut self, body: &[u8]) {
        self.body = body.len();
    }

    /// How many fragments are held.
    pub fn len(&self) -> usize {
        self.contents.known.len() + self.tools.known.len()
    }

    /// True when nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Cache<T> {
    fn append(
        &mut self,
        item: &Arc<T>,
        variant: u8,
        body: &mut Vec<u8>,
        encode: impl FnOnce(&T, &mut Vec<u8>),
    ) {
        let key = (Arc::as_ptr(item) as usize, variant);
        if let Some((owner, fragment)) = self.known.get(&key)
            && owner.upgrade().is_some_and(|owner| Arc::ptr_eq(&owner, item))
        {
            body.extend_from_slice(fragment);
            return;
        }
        let start = body.len();
        encode(item, body);
        if self.known.len() >= self.sweep_at.max(64) {
            self.known.retain(|_, (owner, _)| owner.strong_count() > 0);
            self.sweep_at = self.known.len() * 2;
        }
        self.known.insert(key, (Arc::downgrade(item), body[start..].into()));
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
