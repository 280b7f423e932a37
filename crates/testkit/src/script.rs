//! What the server answers, as data that names no vendor.
//!
//! A [`Script`] is written in Rust with builders or in a JSON file; every wire renders the same one.
//!
//! ```json
//! {
//!   "replies": [
//!     "Hello!",
//!     [{"thought": "look it up"}, {"call": {"name": "read_file", "args": {"path": "a.txt"}}}],
//!     [{"status": {"kind": "rate_limit", "retry_after": "2"}}]
//!   ],
//!   "rules": [{"when": {"text": "weather"}, "reply": "Sunny."}],
//!   "otherwise": "echo"
//! }
//! ```

use std::collections::BTreeMap;

use charla_proto::WireKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fault::{Cut, Failure, LineEnds};

/// Everything the server knows: its answers and how it behaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// Given out one by one, in order, to requests that no rule matches.
    pub replies: Vec<Reply>,
    /// Looked at before [`Script::replies`]; the first that matches answers.
    pub rules: Vec<Rule>,
    /// What happens when the replies are used up.
    pub otherwise: Otherwise,
    /// Models it has; empty means that every name is a model.
    pub models: Vec<String>,
    /// The key it wants; none means that any key, or no key, will do.
    pub key: Option<String>,
    /// Refuse what the real service would refuse.
    pub strict: bool,
    /// Gemini models whose calls must come back with their signature, by the start of their name.
    pub signature_models: Vec<String>,
    /// Top-level request fields taken beside the vendor's own, for compatible servers' switches.
    pub extra_fields: Vec<String>,
    /// Where OpenAI Chat answers carry thoughts.
    pub chat_thoughts: ChatThoughts,
    /// What is asked of thoughts that come back over OpenAI Chat.
    pub chat_replay: ChatReplay,
    /// Milliseconds between the pieces of an echo.
    pub echo_pace: u64,
    /// What is at other paths, such as a local server's `/props`.
    pub pages: BTreeMap<String, Document>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            replies: Vec::new(),
            rules: Vec::new(),
            otherwise: Otherwise::default(),
            models: Vec::new(),
            key: None,
            strict: true,
            signature_models: vec!["gemini-3".to_owned()],
            extra_fields: Vec::new(),
            chat_thoughts: ChatThoughts::default(),
            chat_replay: ChatReplay::default(),
            echo_pace: 0,
            pages: BTreeMap::new(),
        }
    }
}

impl Script {
    /// A script that gives these replies, in order, and refuses whatever comes after them.
    pub fn new<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        Self { replies: replies.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// A script that gives the same reply to everything.
    pub fn always(reply: impl Into<Reply>) -> Self {
        Self { replies: vec![reply.into()], otherwise: Otherwise::Repeat, ..Self::default() }
    }

    /// A script that says back what it is told.
    pub fn echo() -> Self {
        Self { otherwise: Otherwise::Echo, ..Self::default() }
    }

    /// The same script with one more rule, looked at after the earlier ones.
    pub fn rule(mut self, when: When, reply: impl Into<Reply>) -> Self {
        self.rules.push(Rule { when, reply: reply.into(), times: None });
        self
    }

    /// The same script without the checks of the real services.
    pub fn lenient(mut self) -> Self {
        self.strict = false;
        self
    }

    /// The same script, wanting this key.
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The same script with a JSON document at this path, whatever the method.
    pub fn page(mut self, path: impl Into<String>, document: &Value) -> Self {
        let body = document.to_string();
        let document = Document { status: 200, content_type: "application/json".to_owned(), body };
        self.pages.insert(path.into(), document);
        self
    }

    /// The same script, knowing only these models.
    pub fn with_models<M: Into<String>>(mut self, models: impl IntoIterator<Item = M>) -> Self {
        self.models = models.into_iter().map(Into::into).collect();
        self
    }
}

/// What happens when the replies are used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Otherwise {
    /// The request is refused with status 400 and recorded as a problem: a test asked too often.
    #[default]
    Refuse,
    /// The last reply is given again.
    Repeat,
    /// The user's words are said back.
    Echo,
}

/// The field in which OpenAI Chat answers carry thoughts; servers do not agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatThoughts {
    /// `reasoning_content` (DeepSeek, Qwen, llama.cpp).
    #[default]
    ReasoningContent,
    /// `reasoning` (Groq, Ollama, vLLM).
    Reasoning,
    /// `reasoning_details` with a signature (OpenRouter).
    ReasoningDetails,
}

/// Whether OpenAI Chat messages may, must or must not carry the model's earlier thoughts; servers do not agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatReplay {
    /// They may.
    #[default]
    Allowed,
    /// A message with calls must (DeepSeek, Kimi).
    Required,
    /// No message may.
    Refused,
}

/// A reply for requests of a certain kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Which requests.
    pub when: When,
    /// The answer.
    pub reply: Reply,
    /// How often it answers before it is passed over; none means always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<usize>,
}

/// Which requests a rule answers: all that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// The last user text contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A tool result after the last user text contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_result: Option<String>,
    /// The request ends with tool results, or does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers_tools: Option<bool>,
    /// It came on this wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireKind>,
    /// It asks for this model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl When {
    /// Requests whose last user text contains `words`.
    pub fn text(words: impl Into<String>) -> Self {
        Self { text: Some(words.into()), ..Self::default() }
    }

    /// Requests with a tool result that contains `words`.
    pub fn tool_result(words: impl Into<String>) -> Self {
        Self { tool_result: Some(words.into()), ..Self::default() }
    }

    /// Requests on this wire.
    pub fn wire(wire: WireKind) -> Self {
        Self { wire: Some(wire), ..Self::default() }
    }

    /// Requests for this model.
    pub fn model(model: impl Into<String>) -> Self {
        Self { model: Some(model.into()), ..Self::default() }
    }
}

/// One answer: a list of steps. In JSON a plain string is one text step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "ReplyForm")]
pub struct Reply {
    /// What is said and done, in order.
    pub steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a reply is words, a list of steps such as {\"text\": \"…\"} and {\"call\": {…}}, or an object with `steps`"
)]
enum ReplyForm {
    Words(String),
    Steps(Vec<Step>),
    Object { steps: Vec<Step> },
}

impl From<ReplyForm> for Reply {
    fn from(form: ReplyForm) -> Self {
        match form {
            ReplyForm::Words(words) => Reply::from(words),
            ReplyForm::Steps(steps) | ReplyForm::Object { steps } => Self { steps },
        }
    }
}

impl From<&str> for Reply {
    fn from(words: &str) -> Self {
        Self::new().text(words)
    }
}

impl From<String> for Reply {
    fn from(words: String) -> Self {
        Self::new().text(words)
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        Self::new().step(Step::Status(failure))
    }
}

impl Reply {
    /// An answer that says nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds any step.
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds visible text.
    pub fn text(self, words: impl Into<String>) -> Self {
        self.step(Step::Text(words.into()))
    }

    /// Adds a thought, with the proof of thinking that the wire gives.
    pub fn thought(self, words: impl Into<String>) -> Self {
        self.step(Step::Thought(words.into()))
    }

    /// Adds a call with an id of the server's choice.
    pub fn call(self, name: impl Into<String>, args: Value) -> Self {
        self.step(Step::Call(Call { name: name.into(), args, ..Call::default() }))
    }

    /// Adds a call with this id.
    pub fn call_with_id(self, id: impl Into<String>, name: impl Into<String>, args: Value) -> Self {
        self.step(Step::Call(Call { name: name.into(), args, id: Some(id.into()), ..Call::default() }))
    }

    /// Sets the tokens the answer claims to have used.
    pub fn usage(self, usage: Usage) -> Self {
        self.step(Step::Usage(usage))
    }

    /// Sets why the answer ends; a natural end when unset.
    pub fn finish(self, finish: Finish) -> Self {
        self.step(Step::Finish(finish))
    }

    /// Sets the size of the pieces, in characters, that later text and arguments are streamed in.
    pub fn chunk(self, characters: usize) -> Self {
        self.step(Step::Chunk(characters))
    }

    /// Waits.
    pub fn delay(self, milliseconds: u64) -> Self {
        self.step(Step::Delay(milliseconds))
    }

    /// Breaks off here.
    pub fn cut(self, cut: Cut) -> Self {
        self.step(Step::Cut(cut))
    }

    /// Says nothing more until the client goes away.
    pub fn stall(self) -> Self {
        self.step(Step::Stall)
    }

    /// Reports an error inside the answer, after what was said before.
    pub fn stream_error(self, failure: Failure) -> Self {
        self.step(Step::StreamError(failure))
    }
}

/// One thing the server says or does. Steps that shape the bytes hold for the whole answer, wherever they
/// stand, except [`Step::Chunk`] and [`Step::Drip`], which hold from there on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Visible text.
    Text(String),
    /// An honest summary: a `<state_snapshot>` of every sentence of the request that begins with this word, and
    /// of nothing else. What the request does not hold cannot be in it.
    Snapshot(String),
    /// A thought.
    Thought(String),
    /// A thought nobody may read: Anthropic's redacted block, a Responses reasoning item without summary.
    /// Gemini and OpenAI Chat have no such thing and skip it.
    RedactedThought,
    /// A function call.
    Call(Call),
    /// A picture the model made: Gemini inline data, a Responses image item. Other wires skip it.
    Image {
        /// Its media type.
        mime_type: String,
        /// Base64.
        data: String,
    },
    /// Tokens used; estimated from the lengths when unset.
    Usage(Usage),
    /// Why the answer ends.
    Finish(Finish),
    /// Characters in each piece from here on; 0 sends each text in one piece.
    Chunk(usize),
    /// Milliseconds between pieces of text from here on.
    Pace(u64),
    /// Milliseconds to wait here.
    Delay(u64),
    /// A comment line, as servers send to keep a connection alive.
    Comment(String),
    /// These characters, as they are, between two events.
    Raw(String),
    /// An event whose JSON breaks off.
    Malformed,
    /// One event with this many characters of text.
    Giant(usize),
    /// An error inside a stream that began well.
    StreamError(Failure),
    /// The stream ends without having begun: success, and not one event.
    Empty,
    /// Breaks off here.
    Cut(Cut),
    /// Says nothing more until the client goes away.
    Stall,
    /// Does not even begin to answer until the client goes away.
    Hang,
    /// From here on bytes go out in tiny pieces.
    Drip {
        /// Bytes at a time.
        bytes: usize,
        /// Milliseconds between them.
        delay: u64,
    },
    /// How lines end; CRLF on Gemini and LF elsewhere when unset.
    LineEnds(LineEnds),
    /// The stream begins with a byte order mark.
    Bom,
    /// Events are cut inside a character, and its two halves go out in two writes.
    SplitCharacters,
    /// Fails with a status instead of answering.
    Status(Failure),
    /// Answers with this instead.
    Document(Document),
    /// Sends the client elsewhere.
    Redirect(String),
}

/// A function call of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Call {
    /// The function.
    pub name: String,
    /// Its arguments, an object.
    pub args: Value,
    /// The call's id; the server's choice when unset (on Gemini then none is sent).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Sent in place of the arguments, on wires where they are text: cut or malformed JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_args: Option<String>,
    /// Sent without id and index (OpenAI Chat's careless servers).
    pub bare: bool,
}

/// Tokens an answer claims to have used, in the meaning of `charla_proto::UsageMetadata`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// All input, cached or not.
    pub prompt: u64,
    /// Visible output.
    pub output: u64,
    /// Thinking.
    pub thoughts: u64,
    /// Of the input: read from a cache.
    pub cached: u64,
}

/// Why an answer ends. Where a wire has no word for it, the nearest one is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// A natural end, or calls.
    #[default]
    Stop,
    /// The output limit.
    Length,
    /// A filter, or a refusal.
    Safety,
    /// The model wrote a call that cannot be read.
    MalformedCall,
    /// A long turn was paused.
    Pause,
    /// The prompt itself was refused.
    Blocked,
    /// The wire's end without any reason.
    Missing,
    /// This word.
    Other(String),
}

/// A whole answer that is not the wire's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The status.
    #[serde(default = "ok")]
    pub status: u16,
    /// The content type.
    pub content_type: String,
    /// The body.
    pub body: String,
}

fn ok() -> u16 {
    200
}
