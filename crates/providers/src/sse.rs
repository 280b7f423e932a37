//! Server-sent events: the one place where event streams are taken apart.
//!
//! Takes bytes as they come, cut anywhere, and gives whole events. Line ends may be LF, CRLF or CR; a
//! leading BOM, comments and unknown fields are skipped; several data lines make one event. Beyond the
//! standard it hands out an `error:` field (older llama.cpp servers send one) and lines that are no field
//! at all (some servers put a bare JSON error after the events), and it reads an event that the end of
//! the body cut off.

use std::borrow::Cow;

use charla_proto::{LlmError, LlmErrorKind};

/// The largest event accepted, in bytes, unless set otherwise.
pub const DEFAULT_MAX_EVENT: usize = 16 * 1024 * 1024;

/// One thing found in the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// An event with its name, if it has one, and its data.
    Event {
        /// The `event:` field.
        name: Option<&'a str>,
        /// The data lines, joined by newlines.
        data: &'a str,
    },
    /// The value of a field named `error:`.
    ErrorField(&'a str),
    /// A line that is no field.
    Stray(&'a str),
}

/// Cuts a byte stream into frames.
#[derive(Debug)]
pub struct Framer {
    /// The current line's bytes so far.
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    name: Option<String>,
    /// A CR was the last byte: an LF right after it belongs to it.
    after_cr: bool,
    started: bool,
    max_event: usize,
}

impl Default for Framer {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_EVENT)
    }
}

impl Framer {
    /// A framer that refuses events larger than `max_event` bytes.
    pub fn new(max_event: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            name: None,
            after_cr: false,
            started: false,
            max_event,
        }
    }

    /// Takes the next bytes; calls `sink` for each frame they complete.
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        sink: &mut dyn FnMut(Frame) -> Result<(), LlmError>,
    ) -> Result<(), LlmError> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            if bytes[0] == b'\n' {
                bytes = &bytes[1..];
            }
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (head, tail) = bytes.split_at(end);
            let cr = tail[0] == b'\r';
            bytes = &tail[1..];
            if cr {
                match bytes.first() {
                    Some(b'\n') => bytes = &bytes[1..],
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            if self.line.is_empty() {
                self.end_line(head, sink)?;
            } else {
                self.grow(head)?;
                let line = std::mem::take(&mut self.line);
                self.end_line(&line, sink)?;
                // Keep the buffer for the next line.
                self.line = line;
                self.line.clear();
            }
        }
        self.grow(bytes)
    }

    /// The body ended: reads what it cut off.
    pub fn end(&mut self, sink: &mut dyn FnMut(Frame) -> Result<(), LlmError>) -> Result<(), LlmError> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line, sink)?;
        }
        self.dispatch(sink)
    }

    fn grow(&mut self, bytes: &[u8]) -> Result<(), LlmError> {
        if self.line.len() + self.data.len() + bytes.len() > self.max_event {
            return Err(self.too_large());
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn too_large(&self) -> LlmError {
        let limit = self.max_event / 1024;
        LlmError::new(LlmErrorKind::Protocol, format!("the server sent one event larger than {limit} KiB"))
    }

    fn end_line(
        &mut self,
        line: &[u8],
        sink: &mut dyn FnMut(Frame) -> Result<(), LlmError>,
    ) -> Result<(), LlmError> {
        let mut line = line;
        if !self.started {
            self.started = true;
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(sink);
        }
        // Nearly every line is one of these.
        if let Some(value) = line.strip_prefix(b"data:") {
            return self.add_data(value.strip_prefix(b" ").unwrap_or(value));
        }
        let Some(colon) = line.iter().position(|b| *b == b':') else {
            // A field name alone is a field with no value; anything else is stray text.
            return match line {
                b"data" => self.add_data(b""),
                b"event" | b"id" | b"retry" => Ok(()),
                _ => sink(Frame::Stray(&String::from_utf8_lossy(line))),
            };
        };
        let (field, value) = (&line[..colon], &line[colon + 1..]);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"" | b"id" | b"retry" => Ok(()),
            b"event" => {
                self.name = Some(String::from_utf8_lossy(value).into_owned());
                Ok(())
            }
            b"error" => sink(Frame::ErrorField(&String::from_utf8_lossy(value))),
            _ if field.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-' || *b == b'_') => Ok(()),
            _ => sink(Frame::Stray(&String::from_utf8_lossy(line))),
        }
    }

    fn add_data(&mut self, value: &[u8]) -> Result<(), LlmError> {
        if self.data.len() + value.len() > self.max_event {
            return Err(self.too_large());
        }
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
        Ok(())
    }

    fn dispatch(&mut self, sink: &mut dyn FnMut(Frame) -> Result<(), LlmError>) -> Result<(), LlmError> {
        let name = self.name.take();
        if !self.has_data {
            return Ok(());
        }
        // Checking is much cheaper than mending, and nothing has to be mended nearly always.
        let data = match std::str::from_utf8(&self.data) {
            Ok(data) => Cow::Borrowed(data),
            Err(_) => String::from_utf8_lossy(&self.data),
        };
        let result = sink(Frame::Event { name: name.as_deref(), data: &data });
        drop(data);
        self.data.clear();
        self.has_data = false;
        result
    }
}

#[cfg(test)]
mod tests;
