//! Renders a neutral reply into the bytes of a wire.

use std::time::Duration;

use charla_proto::WireKind;
use serde_json::Value;

use crate::fault::{Cut, Failure, LineEnds};
use crate::opaque::Ledger;
use crate::reading::snapshot;
use crate::route::Form;
use crate::script::{Call, ChatThoughts, Finish, Reply, Step, Usage};

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;

/// One thing done to the connection while the body is sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    Send(Vec<u8>),
    Pause(Duration),
    Drip { bytes: usize, delay: Duration },
    SplitCharacters,
    Stall,
    Cut(Cut),
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Chunked,
    Length(usize),
}

/// An answer, ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Response {
    /// Waited before the first byte.
    pub wait: Duration,
    /// No byte is sent until the client goes away.
    pub hang: bool,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub framing: Framing,
    pub actions: Vec<Action>,
}

impl Response {
    /// A whole document.
    pub(crate) fn document(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self {
            wait: Duration::ZERO,
            hang: false,
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            framing: Framing::Length(body.len()),
            actions: vec![Action::Send(body)],
        }
    }

    /// A success with this JSON.
    pub(crate) fn json(value: &Value) -> Self {
        Self::document(200, "application/json", value.to_string())
    }

    /// A failure in the form of this wire; in an array when an array was asked for.
    pub(crate) fn failure(failure: &Failure, wire: WireKind, model: &str, form: Form) -> Self {
        let (mut body, content_type) = failure.document(wire, model);
        if form == Form::Array && content_type == "application/json" {
            body = format!("[{body}\n]");
        }
        let mut response = Self::document(failure.status_on(wire), content_type, body);
        response.headers.extend(failure.all_headers(wire));
        response
    }
}

/// What the renderers must know of the request and the server.
pub(crate) struct Asked<'a> {
    pub wire: WireKind,
    pub model: &'a str,
    pub form: Form,
    /// The number of this answer; ids are made from it.
    pub number: u64,
    /// An estimate, for replies that name no usage.
    pub prompt_tokens: u64,
    pub body: &'a Value,
    pub chat_thoughts: ChatThoughts,
}

/// One event of a stream.
#[derive(Debug, Default)]
pub(crate) struct Event {
    pub name: Option<&'static str>,
    pub data: String,
}

/// Turns what is said into the events of a wire, and collects the whole answer beside them.
pub(crate) trait Encoder {
    fn open(&mut self, out: &mut Vec<Event>);
    fn text(&mut self, piece: &str, out: &mut Vec<Event>);
    fn thought(&mut self, pieces: &[String], out: &mut Vec<Event>);
    fn redacted_thought(&mut self, _out: &mut Vec<Event>) {}
    fn call(&mut self, call: &Call, pieces: &[String], out: &mut Vec<Event>);
    fn image(&mut self, _mime_type: &str, _data: &str, _out: &mut Vec<Event>) {}
    fn close(&mut self, finish: &Finish, usage: Usage, out: &mut Vec<Event>);
    fn error(&mut self, failure: &Failure, out: &mut Vec<Event>);
    /// The answer in one document; asked for after [`Encoder::close`].
    fn document(&self) -> Value;
}

/// Renders a reply. What it hands out is written into the ledger.
pub(crate) fn render(reply: &Reply, asked: &Asked, ledger: &mut Ledger) -> Response {
    if let Some(response) = instead(reply, asked) {
        return response;
    }
    let mut encoder: Box<dyn Encoder + '_> = match asked.wire {
        WireKind::Gemini => Box::new(gemini::Encoder::new(asked, ledger)),
        WireKind::OpenaiChat => Box::new(openai_chat::Encoder::new(asked, ledger)),
        WireKind::OpenaiResponses => Box::new(openai_responses::Encoder::new(asked, ledger)),
        WireKind::Anthropic => Box::new(anthropic::Encoder::new(asked, ledger)),
    };
    let mut body = Body::new(reply, asked);
    body.run(reply, encoder.as_mut());
    body.response(encoder.as_ref())
}

/// The answer of a reply that does not answer in the wire's form at all.
fn instead(reply: &Reply, asked: &Asked) -> Option<Response> {
    let mut wait = Duration::ZERO;
    for step in &reply.steps {
        let response = match step {
            Step::Delay(milliseconds) => {
                wait += Duration::from_millis(*milliseconds);
                continue;
            }
            Step::Status(failure) => Response::failure(failure, asked.wire, asked.model, asked.form),
            Step::Document(document) => {
                Response::document(document.status, &document.content_type, document.body.as_str())
            }
            Step::Redirect(location) => {
                let mut response = Response::document(307, "text/plain", "");
                response.headers.push(("location".to_owned(), location.clone()));
                response
            }
            Step::Hang => Response { hang: true, ..Response::document(200, "text/plain", "") },
            Step::Cut(Cut::NoAnswer) => {
                let mut response = Response::document(200, "text/plain", "");
                response.actions = vec![Action::Cut(Cut::NoAnswer)];
                response
            }
            _ => continue,
        };
        return Some(Response { wait, ..response });
    }
    None
}

/// The body while it grows.
struct Body<'a> {
    asked: &'a Asked<'a>,
    line_end: &'static str,
    actions: Vec<Action>,
    chunk: usize,
    pace: Duration,
    said: usize,
    thought: usize,
    usage: Option<Usage>,
    finish: Finish,
    /// Array elements sent so far.
    elements: usize,
    /// The unary document is sent broken.
    malformed: bool,
    error: Option<Failure>,
    /// A cut, a stall or an in-stream error ended it: nothing follows.
    ended: bool,
    empty: bool,
}

impl<'a> Body<'a> {
    fn new(reply: &Reply, asked: &'a Asked<'a>) -> Self {
        let default = if asked.wire == WireKind::Gemini { LineEnds::Crlf } else { LineEnds::Lf };
        let mut line_end = default.text();
        let mut body = Self {
            asked,
            line_end,
            actions: Vec::new(),
            chunk: 0,
            pace: Duration::ZERO,
            said: 0,
            thought: 0,
            usage: None,
            finish: Finish::default(),
            elements: 0,
            malformed: false,
            error: None,
            ended: false,
            empty: false,
        };
        for step in &reply.steps {
            match step {
                Step::LineEnds(ends) => line_end = ends.text(),
                Step::SplitCharacters => body.actions.push(Action::SplitCharacters),
                Step::Bom => body.actions.push(Action::Send("\u{feff}".into())),
                Step::Usage(usage) => body.usage = Some(*usage),
                Step::Finish(finish) => body.finish = finish.clone(),
                Step::Empty => body.empty = true,
                _ => {}
            }
        }
        body.line_end = line_end;
        body
    }

    fn run(&mut self, reply: &Reply, encoder: &mut dyn Encoder) {
        if self.empty {
            return;
        }
        let mut events = Vec::new();
        encoder.open(&mut events);
        self.send(&mut events);
        for step in &reply.steps {
            self.step(step, encoder);
            if self.ended {
                return;
            }
        }
        let usage = self.usage.unwrap_or(Usage {
            prompt: self.asked.prompt_tokens,
            output: tokens(self.said),
            thoughts: tokens(self.thought),
            cached: 0,
        });
        encoder.close(&self.finish, usage, &mut events);
        self.send(&mut events);
        if self.streams() && self.asked.form == Form::Array {
            let end = if self.elements == 0 { "[]" } else { "]" };
            self.actions.push(Action::Send(end.into()));
        }
    }

    fn step(&mut self, step: &Step, encoder: &mut dyn Encoder) {
        let mut events = Vec::new();
        match step {
            Step::Text(text) => {
                self.said += text.chars().count();
                for (at, piece) in pieces(text, self.chunk).iter().enumerate() {
                    if at > 0 && !self.pace.is_zero() {
                        self.actions.push(Action::Pause(self.pace));
                    }
                    encoder.text(piece, &mut events);
                    self.send(&mut events);
                }
            }
            Step::Snapshot(marker) => {
                self.step(&Step::Text(snapshot(self.asked.body, marker)), encoder);
            }
            Step::Thought(text) => {
                self.thought += text.chars().count();
                encoder.thought(&pieces(text, self.chunk), &mut events);
            }
            Step::RedactedThought => encoder.redacted_thought(&mut events),
            Step::Call(call) => {
                let args = call.raw_args.clone().unwrap_or_else(|| arguments(call).to_string());
                self.said += args.len();
                encoder.call(call, &pieces(&args, self.chunk), &mut events);
            }
            Step::Image { mime_type, data } => encoder.image(mime_type, data, &mut events),
            Step::Giant(size) => encoder.text(&"x".repeat(*size), &mut events),
            Step::Chunk(size) => self.chunk = *size,
            Step::Pace(milliseconds) => self.pace = Duration::from_millis(*milliseconds),
            Step::Delay(milliseconds) => {
                self.actions.push(Action::Pause(Duration::from_millis(*milliseconds)));
            }
            Step::Comment(words) => self.raw(format!(": {words}{0}{0}", self.line_end)),
            Step::Raw(text) => self.raw(text.clone()),
            Step::Malformed => {
                self.malformed = true;
                self.raw(format!("data: {{\"text\": \"bro{0}{0}", self.line_end));
            }
            Step::Drip { bytes, delay } => {
                let delay = Duration::from_millis(*delay);
                self.actions.push(Action::Drip { bytes: (*bytes).max(1), delay });
            }
            Step::StreamError(failure) => {
                encoder.error(failure, &mut events);
                self.error = Some(failure.clone());
                self.ended = true;
            }
            Step::Stall => self.end_with(Action::Stall),
            Step::Cut(cut) => self.end_with(Action::Cut(*cut)),
            _ => {}
        }
        self.send(&mut events);
    }

    fn streams(&self) -> bool {
        self.asked.form != Form::Unary
    }

    fn end_with(&mut self, action: Action) {
        self.actions.push(action);
        self.ended = true;
    }

    fn raw(&mut self, text: String) {
        if self.streams() {
            self.actions.push(Action::Send(text.into_bytes()));
        }
    }

    fn send(&mut self, events: &mut Vec<Event>) {
        for event in events.drain(..) {
            let text = match self.asked.form {
                Form::Unary => continue,
                Form::Events => {
                    let end = self.line_end;
                    let name = event.name.map(|name| format!("event: {name}{end}")).unwrap_or_default();
                    format!("{name}data: {}{end}{end}", event.data)
                }
                Form::Array if self.elements == 0 => format!("[{}", event.data),
                Form::Array => format!("\n,\r\n{}", event.data),
            };
            self.elements += 1;
            self.actions.push(Action::Send(text.into_bytes()));
        }
    }

    fn response(mut self, encoder: &dyn Encoder) -> Response {
        let mut response = Response::document(200, "application/json", "");
        if self.streams() {
            if self.asked.form == Form::Events {
                response.headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
            }
            response.framing = Framing::Chunked;
            response.actions = self.actions;
            return response;
        }
        let mut document = match &self.error {
            _ if self.empty => String::new(),
            Some(failure) => failure.value(self.asked.wire, self.asked.model).to_string(),
            None => encoder.document().to_string(),
        };
        if self.malformed {
            document.truncate(document.floor_char_boundary(document.len() / 2));
        }
        response.framing = Framing::Length(document.len());
        let broken = self.actions.iter().position(|action| matches!(action, Action::Cut(_) | Action::Stall));
        if broken.is_some() {
            document.truncate(document.floor_char_boundary(document.len() / 2));
        }
        let at = broken.unwrap_or(self.actions.len());
        self.actions.insert(at, Action::Send(document.into_bytes()));
        response.actions = self.actions;
        response
    }
}

/// The call's arguments, an empty object when unset.
pub(crate) fn arguments(call: &Call) -> Value {
    if call.args.is_null() { Value::Object(serde_json::Map::new()) } else { call.args.clone() }
}

/// A rough count of tokens, enough for numbers that look alive.
pub(crate) fn tokens(characters: usize) -> u64 {
    (characters as u64).div_ceil(4)
}

/// `text` in pieces of `size` characters; in one piece when `size` is 0.
fn pieces(text: &str, size: usize) -> Vec<String> {
    if size == 0 || text.is_empty() {
        return vec![text.to_owned()];
    }
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size).map(|chunk| chunk.iter().collect()).collect()
}
