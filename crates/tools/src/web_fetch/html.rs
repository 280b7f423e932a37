//! HTML as a stream of texts and tags, read as browsers read it.
//!
//! Everything is somehow HTML: there is no error. Time and memory grow with the page, and nothing recurses.

use std::borrow::Cow;

use super::references;

/// Something of a page. Comments and declarations are left out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Text, as it is read. What stands together may come in several pieces.
    Text(Cow<'a, str>),
    /// A tag that opens an element.
    Open(Tag),
    /// A tag that closes an element of this name.
    Close(String),
}

/// A tag that opens an element. Names are in lower case.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) self_closing: bool,
}

impl Tag {
    /// The value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The pieces of a page, in order.
pub(super) struct Pieces<'a> {
    rest: &'a str,
    /// The element whose content comes next, where tags mean nothing in it.
    raw: Option<Raw>,
}

/// An element without tags in it.
#[derive(Clone, Copy)]
struct Raw {
    name: &'static str,
    /// Whether character references mean something in it.
    references: bool,
}

impl Raw {
    fn of(name: &str) -> Option<Self> {
        const TEXTS: [&str; 2] = ["title", "textarea"];
        const RAW: [&str; 6] = ["script", "style", "iframe", "noembed", "noframes", "xmp"];
        let find = |names: &[&'static str]| names.iter().copied().find(|known| *known == name);
        find(&TEXTS)
            .map(|name| Raw { name, references: true })
            .or_else(|| find(&RAW).map(|name| Raw { name, references: false }))
    }
}

impl<'a> Pieces<'a> {
    /// Those of this page, whose lines end in `\n` alone.
    pub(super) fn new(html: &'a str) -> Self {
        Self { rest: html.strip_prefix('\u{feff}').unwrap_or(html), raw: None }
    }

    /// Goes `length` bytes on; what they are.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Goes on to the first byte that `ends` it, or to the end.
    fn take_until(&mut self, ends: impl Fn(u8) -> bool) -> &'a str {
        self.take(self.rest.bytes().position(ends).unwrap_or(self.rest.len()))
    }

    fn first(&self) -> Option<u8> {
        self.rest.bytes().next()
    }

    fn text(&mut self) -> Piece<'a> {
        let text = match self.first() {
            Some(b'&') => self.reference(false),
            _ => Cow::Borrowed(self.take_until(|byte| matches!(byte, b'<' | b'&'))),
        };
        Piece::Text(if text.contains('\0') { text.replace('\0', "").into() } else { text })
    }

    /// What the `&` here begins.
    fn reference(&mut self, in_attribute: bool) -> Cow<'a, str> {
        let sign = self.take(1);
        match references::read(self.rest, in_attribute) {
            Some((characters, length)) => {
                self.take(length);
                characters.into()
            }
            None => sign.into(),
        }
    }

    /// What the `<` here begins; nothing where it is not for readers.
    fn markup(&mut self) -> Option<Piece<'a>> {
        let mut next = self.rest.bytes().skip(1);
        match (next.next(), next.next()) {
            (Some(b'!'), _) => self.declaration(),
            (Some(b'?'), _) => self.skip_past(">"),
            (Some(b'/'), None) => return Some(Piece::Text(self.take(2).into())),
            (Some(b'/'), Some(letter)) if letter.is_ascii_alphabetic() => {
                self.take(2);
                return self.tag().map(|tag| Piece::Close(tag.name));
            }
            (Some(b'/'), _) => self.skip_past(">"),
            (Some(letter), _) if letter.is_ascii_alphabetic() => {
                self.take(1);
                let tag = self.tag()?;
                self.raw = Raw::of(&tag.name);
                return Some(Piece::Open(tag));
            }
            _ => return Some(Piece::Text(self.take(1).into())),
        }
        None
    }

    /// Leaves out a comment, or what looks like a declaration.
    fn declaration(&mut self) {
        if !self.rest.starts_with("<!--") {
            return self.skip_past(">");
        }
        self.take(4);
        let closed = [">", "->"].into_iter().find_map(|end| self.rest.strip_prefix(end));
        if let Some(rest) = closed {
            self.rest = rest;
            return;
        }
        while !self.rest.is_empty() {
            self.take_until(|byte| byte == b'-');
            if let Some(rest) = ["-->", "--!>"].into_iter().find_map(|end| self.rest.strip_prefix(end)) {
                self.rest = rest;
                return;
            }
            self.take(1);
        }
    }

    fn skip_past(&mut self, end: &str) {
        self.rest = self.rest.split_once(end).map_or("", |(_, rest)| rest);
    }

    /// The tag whose name begins here; nothing where the page ends before it does.
    fn tag(&mut self) -> Option<Tag> {
        let name = lower(self.take_until(|byte| is_space(byte) || matches!(byte, b'/' | b'>')));
        let mut tag = Tag { name, attributes: Vec::new(), self_closing: false };
        loop {
            self.take_until(|byte| !is_space(byte));
            match self.first()? {
                b'>' => {
                    self.take(1);
                    return Some(tag);
                }
                b'/' => {
                    self.take(1);
                    tag.self_closing = self.first()? == b'>';
                }
                _ => {
                    let (name, value) = self.attribute()?;
                    tag.attributes.push((name, value));
                }
            }
        }
    }

    fn attribute(&mut self) -> Option<(String, String)> {
        // An `=` in the first place is part of the name.
        let begun = self.take(usize::from(self.first() == Some(b'=')));
        let name = self.take_until(|byte| is_space(byte) || matches!(byte, b'/' | b'>' | b'='));
        let name = lower(begun) + &lower(name);
        self.take_until(|byte| !is_space(byte));
        if self.first()? != b'=' {
            return Some((name, String::new()));
        }
        self.take(1);
        self.take_until(|byte| !is_space(byte));
        let value = match self.first()? {
            b'>' => String::new(),
            quote @ (b'"' | b'\'') => {
                self.take(1);
                let value = self.value(|byte| byte == quote);
                self.first()?;
                self.take(1);
                value
            }
            _ => self.value(|byte| is_space(byte) || byte == b'>'),
        };
        Some((name, value))
    }

    /// The value of an attribute up to its end, which stays.
    fn value(&mut self, ends: impl Fn(u8) -> bool) -> String {
        let mut value = String::new();
        loop {
            value.push_str(&visible(self.take_until(|byte| byte == b'&' || ends(byte))));
            if self.first() != Some(b'&') {
                return value;
            }
            value.push_str(&self.reference(true));
        }
    }

    /// The content of an element in which tags mean nothing.
    fn raw(&mut self, raw: Raw) -> Piece<'a> {
        let end = match raw.name {
            "script" => end_of_script(self.rest),
            name => ends_of(self.rest, name).next().unwrap_or(self.rest.len()),
        };
        let content = self.take(end);
        if !raw.references {
            return Piece::Text(visible(content));
        }
        let mut inner = Pieces { rest: content, raw: None };
        let mut text = String::new();
        while !inner.rest.is_empty() {
            text.push_str(&visible(inner.take_until(|byte| byte == b'&')));
            if !inner.rest.is_empty() {
                text.push_str(&inner.reference(false));
            }
        }
        Piece::Text(text.into())
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            if let Some(raw) = self.raw.take() {
                return Some(self.raw(raw));
            }
            match self.first()? {
                b'<' => {
                    if let Some(piece) = self.markup() {
                        return Some(piece);
                    }
                }
                _ => return Some(self.text()),
            }
        }
    }
}

/// Where tags that close this element begin.
fn ends_of<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices("</")
        .map(|(at, _)| at)
        .filter(move |at| text.get(at + 2..).is_some_and(|after| is_name(after, name)))
}

/// Whether a text begins with this name of a tag, and with nothing longer.
fn is_name(text: &str, name: &str) -> bool {
    let begins = text.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    let after = text.as_bytes().get(name.len());
    begins && after.is_some_and(|byte| is_space(*byte) || matches!(byte, b'/' | b'>'))
}

/// How deep a script is in what once hid it from browsers that knew no scripts.
#[derive(PartialEq)]
enum Hidden {
    No,
    /// In a comment.
    Comment,
    /// In a script within a comment: the tag that closes it does not close the outer one.
    Script,
}

/// Where the tag that closes a script begins.
fn end_of_script(text: &str) -> usize {
    let mut hidden = Hidden::No;
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let matters = |sign| sign == '<' || (sign == '-' && hidden != Hidden::No);
        let Some(found) = rest.find(matters) else { break };
        let rest = rest.get(found..).unwrap_or_default();
        at += found;
        let closes = rest.strip_prefix("</").is_some_and(|after| is_name(after, "script"));
        match hidden {
            Hidden::No | Hidden::Comment if closes => return at,
            Hidden::No if rest.starts_with("<!--") => {
                hidden = Hidden::Comment;
                // Its dashes may be those of its end.
                at += 2;
                continue;
            }
            Hidden::Comment | Hidden::Script if rest.starts_with("-->") => hidden = Hidden::No,
            Hidden::Comment if rest.strip_prefix('<').is_some_and(|after| is_name(after, "script")) => {
                hidden = Hidden::Script;
            }
            Hidden::Script if closes => hidden = Hidden::Comment,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c')
}

fn lower(name: &str) -> String {
    visible(name).to_ascii_lowercase()
}

/// The text with a sign for every null.
fn visible(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

#[cfg(test)]
mod tests;
