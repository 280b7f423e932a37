//! From body bytes to a codec's events.

use charla_proto::json::mended;

use super::*;

enum Form {
    /// Only blanks so far.
    Unknown,
    Events(Framer),
    /// A JSON document (or array of them) although a stream was asked for.
    Document(Vec<u8>),
}

/// Feeds the bytes of one response body to a codec, whatever form the server chose.
pub struct BodyDecoder {
    decoder: Box<dyn EventDecoder>,
    form: Form,
    /// Lines outside of events: together they may be a bare JSON error after the events.
    stray: String,
    max_event: usize,
}

impl BodyDecoder {
    /// A decoder of a streamed body. `max_event` caps one event; a whole document may be four times that.
    pub fn new(decoder: Box<dyn EventDecoder>, max_event: usize) -> Self {
        Self { decoder, form: Form::Unknown, stray: String::new(), max_event }
    }

    /// Takes the next bytes, cut anywhere.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        if matches!(self.form, Form::Unknown) {
            let first = bytes.iter().find(|b| !b.is_ascii_whitespace());
            self.form = match first {
                None => return Ok(()),
                Some(b'{' | b'[') => Form::Document(Vec::new()),
                Some(_) => Form::Events(Framer::new(self.max_event)),
            };
        }
        let Self { decoder, form, stray, max_event } = self;
        match form {
            Form::Events(framer) => {
                framer.push(bytes, &mut |frame| dispatch(&mut **decoder, stray, frame, out))
            }
            Form::Document(body) => {
                body.extend_from_slice(bytes);
                if body.len() > *max_event * 4 {
                    return Err(LlmError::new(LlmErrorKind::Protocol, "the server's answer is too large"));
                }
                Ok(())
            }
            Form::Unknown => Ok(()),
        }
    }

    /// The body ended.
    pub fn end(&mut self, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        let Self { decoder, form, stray, .. } = self;
        match form {
            Form::Unknown => {}
            Form::Events(framer) => {
                framer.end(&mut |frame| dispatch(&mut **decoder, stray, frame, out))?;
                if !stray.trim().is_empty() {
                    decoder.end(out)?;
                    return match serde_json::from_str::<Value>(&mended(stray)) {
                        Ok(document) => decoder.document(document, out),
                        Err(_) => Err(not_this_wire(stray)),
                    };
                }
            }
            Form::Document(body) => match read_document(body) {
                Ok(Value::Array(documents)) => {
                    for document in documents {
                        decoder.document(document, out)?;
                    }
                }
                Ok(document) => decoder.document(document, out)?,
                Err(error) => {
                    return Err(LlmError::new(
                        LlmErrorKind::Protocol,
                        format!("the server's answer is not valid JSON: {error}"),
                    ));
                }
            },
        }
        decoder.end(out)
    }

    /// See [`EventDecoder::held`].
    pub fn held(&self) -> usize {
        self.decoder.held()
    }

    /// See [`EventDecoder::is_done`].
    pub fn is_done(&self) -> bool {
        self.decoder.is_done()
    }
}

fn dispatch(
    decoder: &mut dyn EventDecoder,
    stray: &mut String,
    frame: Frame,
    out: &mut Vec<GenerateResponse>,
) -> Result<(), LlmError> {
    match frame {
        Frame::Event { name, data } => decoder.event(name, &mended(data), out),
        Frame::ErrorField(data) => decoder.event(Some("error"), &mended(data), out),
        Frame::Stray(line) => {
            // Enough for any error document; a body of garbage must not fill the memory.
            if stray.len() + line.len() < 1024 * 1024 {
                stray.push_str(line);
                stray.push('\n');
            }
            Ok(())
        }
    }
}

/// Bytes that are no UTF-8 stay the parser's to refuse.
fn read_document(body: &[u8]) -> serde_json::Result<Value> {
    match std::str::from_utf8(body) {
        Ok(text) => serde_json::from_str(&mended(text)),
        Err(_) => serde_json::from_slice(body),
    }
}

fn not_this_wire(text: &str) -> LlmError {
    let start: String = text.trim().chars().take(200).collect();
    LlmError::new(
        LlmErrorKind::Protocol,
        format!("the server sent something that is no event stream: {start}"),
    )
    .with_hint("check the base URL: it may point at a web page or at another kind of server")
}
