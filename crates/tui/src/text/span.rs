//! A piece of a line.

use std::borrow::Cow;
use std::sync::Arc;

use charla_proto::text::readable;

use super::{Emphasis, Role, width};

/// What a tab becomes.
const TAB: &str = "    ";

/// A piece of a line in one look. Its text has no character that moves a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    text: String,
    role: Role,
    emphasis: Emphasis,
    link: Option<Arc<str>>,
}

impl Span {
    /// A text in a role. Control characters, and those that hide or turn the direction of writing, are shown by their
    /// number; a line break becomes a space, a tab four.
    pub fn new(role: Role, text: &str) -> Self {
        Self { text: safe(text).into_owned(), role, ..Self::default() }
    }

    /// The same with an emphasis.
    pub fn with_emphasis(mut self, emphasis: Emphasis) -> Self {
        self.emphasis = emphasis;
        self
    }

    /// The same as a link to an address; one that could be more than an address is left out.
    pub fn with_link(mut self, address: &str) -> Self {
        let is_address = !address.is_empty() && address.chars().all(|c| c.is_ascii_graphic());
        self.link = is_address.then(|| Arc::from(address));
        self
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it is.
    pub fn role(&self) -> Role {
        self.role
    }

    /// How it stands out.
    pub fn emphasis(&self) -> Emphasis {
        self.emphasis
    }

    /// Where it leads.
    pub fn link(&self) -> Option<&str> {
        self.link.as_deref()
    }

    /// The columns it takes.
    pub fn width(&self) -> usize {
        width(&self.text)
    }

    /// True when both look the same, whatever they say.
    pub(super) fn looks_like(&self, other: &Self) -> bool {
        self.role == other.role && self.emphasis == other.emphasis && self.link == other.link
    }

    /// The same look with a part of the text.
    pub(super) fn part(&self, text: &str) -> Self {
        Self { text: text.to_owned(), role: self.role, emphasis: self.emphasis, link: self.link.clone() }
    }

    pub(super) fn append(&mut self, text: &str) {
        self.text.push_str(text);
    }
}

fn safe(text: &str) -> Cow<'_, str> {
    let text = readable(text);
    match text.contains(['\n', '\t']) {
        true => Cow::Owned(text.replace('\t', TAB).replace('\n', " ")),
        false => text,
    }
}
