//! A session as people read it: its turns, with what was said, done and paid.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use charla_core::undo::{ChangeHistory, Direction};
use charla_proto::{
    ApprovalAnswered, CallStatus, Content, Fact, FunctionCall, PartKind, Record, SessionStarted, TurnEnd,
    UsageMetadata, own_parts, own_text, own_words,
};
use serde::Serialize;

use crate::engine::is_built_in;
use crate::models::Prices;

/// A session told from its records.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStory {
    /// Its id.
    pub session: String,
    /// The beginning of its first prompt.
    pub title: String,
    /// The folder it began in.
    pub folder: PathBuf,
    /// `provider/model` that answered last.
    pub model: String,
    /// The session and message it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<(String, u64)>,
    /// When it began, in milliseconds since 1970.
    pub started_at: u64,
    /// When something was recorded last.
    pub last_at: u64,
    /// What it cost so far.
    pub spent: Spent,
    /// Its turns, those that were rewound left out.
    pub turns: Vec<TurnStory>,
}

/// What answers cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spent {
    /// Tokens that were read, cached ones included.
    pub input_tokens: u64,
    /// Tokens that were written.
    pub output_tokens: u64,
    /// US dollars, for the answers whose price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// One turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnStory {
    /// Its number, for `undo`.
    pub turn: u64,
    /// The number of its first message, for `rewind`.
    pub message: u64,
    /// When it began, in milliseconds since 1970.
    pub at: u64,
    /// What happened in it.
    pub said: Vec<Said>,
    /// How it ended; absent while it runs or waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<TurnEnd>,
    /// Files it changed, and whether that was taken back.
    pub files: Vec<(PathBuf, bool)>,
    /// What it cost.
    pub spent: Spent,
}

/// Something that was said or done.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "camelCase")]
pub enum Said {
    /// By the user.
    User {
        /// The message's number.
        message: u64,
        /// The words.
        text: String,
    },
    /// By the model.
    Model {
        /// The message's number.
        message: u64,
        /// The words.
        text: String,
        /// They are no Markdown: the built-in model hands on what tools return, to the letter.
        #[serde(skip)]
        is_plain: bool,
    },
    /// By a tool.
    Tool {
        /// Its name.
        name: String,
        /// What it was called with, as JSON.
        arguments: String,
        /// It did what it was asked.
        success: bool,
        /// What the model was told.
        output: String,
    },
    /// The older part was replaced by a summary.
    Summary {
        /// It.
        text: String,
    },
}

/// What is open while the records are read.
#[derive(Default)]
struct Open {
    /// Calls without a result, with their arguments.
    calls: Vec<(String, String)>,
    /// What was done before anything was said.
    early: Vec<Said>,
    /// Questions, and the calls they are about.
    asked: BTreeMap<String, String>,
    /// What was typed first, without files that came along.
    title: Option<String>,
}

impl Open {
    fn begin(&mut self, call: &FunctionCall) {
        let arguments = serde_json::to_string(&call.args).unwrap_or_default();
        self.calls.push((call.id.clone().unwrap_or_default(), arguments));
    }

    /// Somebody answered, perhaps with other arguments, which are those that run.
    fn answer(&mut self, answered: &ApprovalAnswered) {
        let (Some(call), Some(args)) = (self.asked.remove(&answered.approval), &answered.args) else {
            return;
        };
        if let Some(open) = self.calls.iter_mut().rev().find(|(id, _)| *id == call) {
            open.1 = serde_json::to_string(args).unwrap_or_default();
        }
    }

    /// The arguments of a call that is over.
    fn end(&mut self, call: &str) -> String {
        let at = self.calls.iter().rposition(|(id, _)| id == call);
        at.map(|at| self.calls.remove(at).1).unwrap_or_default()
    }
}

impl Spent {
    pub(super) fn add(&mut self, model: &str, usage: &UsageMetadata, prices: &Prices) {
        self.input_tokens = self.input_tokens.saturating_add(usage.prompt_token_count.unwrap_or(0));
        self.output_tokens = self.output_tokens.saturating_add(usage.output());
        if let Some(cost) = prices.of(model, usage) {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
        }
    }
}

impl SessionStory {
    /// The story these records tell; nothing without a beginning.
    pub fn of(records: &[Record], prices: &Prices) -> Option<Self> {
        let first = records.first()?;
        let Fact::SessionStarted(started) = &first.fact else { return None };
        let mut story = Self::new(started, first.at);
        let mut open = Open::default();
        for record in records {
            story.last_at = record.at;
            story.apply(record, prices, &mut open);
        }
        story.note_files(&ChangeHistory::of(records));
        story.title = open.title.map(|prompt| in_one_line(&prompt, 80)).unwrap_or_default();
        Some(story)
    }

    fn new(started: &SessionStarted, at: u64) -> Self {
        Self {
            session: started.session.clone(),
            title: String::new(),
            folder: started.cwd.clone(),
            model: started.model.clone(),
            forked_from: started.parent.clone(),
            started_at: at,
            last_at: at,
            spent: Spent::default(),
            turns: Vec::new(),
        }
    }

    fn apply(&mut self, record: &Record, prices: &Prices, open: &mut Open) {
        match &record.fact {
            Fact::TurnStarted(started) => {
                let text = words(&started.prompt);
                open.title.get_or_insert_with(|| own_words(&started.prompt).unwrap_or(&text).to_owned());
                let mut said = std::mem::take(&mut open.early);
                said.push(Said::User { message: record.seq, text });
                let (turn, message, at) = (started.turn, record.seq, record.at);
                self.turns.push(TurnStory { turn, message, at, said, ..TurnStory::default() });
            }
            Fact::PromptJoined(joined) => {
                self.say(Said::User { message: record.seq, text: words(&joined.content) });
            }
            Fact::ModelContent(content) => {
                if let Some(origin) = &content.content.origin {
                    self.model = origin.name();
                }
                let asked = content.content.function_calls();
                asked.for_each(|call| open.begin(call));
                let text = words(&content.content);
                if !text.trim().is_empty() {
                    let is_plain = is_built_in(&self.model);
                    self.say(Said::Model { message: record.seq, text, is_plain });
                }
                self.pay(content.usage.as_ref(), prices);
            }
            Fact::ClientCallStarted(started) => open.begin(&started.call),
            Fact::CallAsked(asked) => _ = open.asked.insert(asked.approval.clone(), asked.call.clone()),
            Fact::ApprovalAnswered(answered) => open.answer(answered),
            Fact::CallEnded(ended) | Fact::ClientCallEnded(ended) => {
                for spent in &ended.spent {
                    self.pay_for(&spent.model(&self.model), &spent.usage, prices);
                }
                let said = Said::Tool {
                    name: ended.response.name.clone(),
                    arguments: open.end(&ended.call),
                    success: ended.status == CallStatus::Success,
                    output: ended.response.to_text(),
                };
                match self.turns.is_empty() {
                    true => open.early.push(said),
                    false => self.say(said),
                }
            }
            Fact::Compressed(compressed) => {
                self.say(Said::Summary { text: words(&compressed.summary) });
                self.pay(compressed.usage.as_ref(), prices);
            }
            Fact::Sampled(sampled) => self.pay(sampled.usage.as_ref(), prices),
            Fact::TurnEnded(ended) => {
                if let Some(turn) = self.turns.last_mut() {
                    turn.end = Some(ended.end);
                }
            }
            Fact::ModelChanged(changed) => self.model.clone_from(&changed.model),
            Fact::Rewound(rewound) => {
                self.rewind(rewound.to);
                open.title.take_if(|_| self.turns.is_empty());
            }
            _ => {}
        }
    }

    fn say(&mut self, said: Said) {
        if let Some(turn) = self.turns.last_mut() {
            turn.said.push(said);
        }
    }

    fn pay(&mut self, usage: Option<&UsageMetadata>, prices: &Prices) {
        if let Some(usage) = usage {
            self.pay_for(&self.model.clone(), usage, prices);
        }
    }

    fn pay_for(&mut self, model: &str, usage: &UsageMetadata, prices: &Prices) {
        self.spent.add(model, usage, prices);
        if let Some(turn) = self.turns.last_mut() {
            turn.spent.add(model, usage, prices);
        }
    }

    /// What was paid for stays paid; what was said after the message is gone.
    fn rewind(&mut self, to: u64) {
        self.turns.retain(|turn| turn.message <= to);
        if let Some(turn) = self.turns.last_mut() {
            let is_later = |said: &Said| match said {
                Said::User { message, .. } | Said::Model { message, .. } => *message > to,
                Said::Tool { .. } | Said::Summary { .. } => false,
            };
            let kept = turn.said.iter().position(is_later).unwrap_or(turn.said.len());
            turn.said.truncate(kept);
        }
    }

    fn note_files(&mut self, history: &ChangeHistory) {
        for turn in &mut self.turns {
            let Some(changes) = history.turn(turn.turn) else { continue };
            for (direction, undone) in [(Direction::Undo, false), (Direction::Redo, true)] {
                let files = changes.reversible(direction).map(|file| (file.change.path.clone(), undone));
                turn.files.extend(files);
            }
        }
    }

    /// The conversation as Markdown, calls and their results included.
    pub fn to_markdown(&self) -> String {
        let mut text = format!("# {}\n\n", if self.title.is_empty() { &self.session } else { &self.title });
        let _ = writeln!(text, "- session `{}`", self.session);
        let _ = writeln!(text, "- folder `{}`", self.folder.display());
        let _ = writeln!(text, "- model `{}`", self.model);
        if let Some((parent, message)) = &self.forked_from {
            let _ = writeln!(text, "- forked from `{parent}` at message {message}");
        }
        let _ = writeln!(text, "- {}", self.spent.in_words());
        for turn in &self.turns {
            let _ = write!(text, "\n## Turn {}\n", turn.turn);
            turn.said.iter().for_each(|said| said.to_markdown(&mut text));
            if !turn.files.is_empty() {
                let _ = write!(text, "\nFiles: {}\n", turn.files_in_words(&self.folder));
            }
        }
        text
    }
}

impl TurnStory {
    /// The files it changed, as a person would name them in this folder.
    pub fn files_in_words(&self, folder: &Path) -> String {
        let name = |(path, undone): &(PathBuf, bool)| {
            let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
            if *undone { format!("{name} (undone)") } else { name }
        };
        self.files.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}

impl Spent {
    /// For a person.
    pub fn in_words(&self) -> String {
        let tokens = format!("{} tokens in, {} out", self.input_tokens, self.output_tokens);
        match self.cost_usd {
            Some(cost) => format!("{tokens}, ${cost:.4}"),
            None => tokens,
        }
    }
}

impl Said {
    fn to_markdown(&self, text: &mut String) {
        let _ = match self {
            Said::User { text: words, .. } => write!(text, "\n**You:**\n\n{}\n", words.trim_end()),
            Said::Model { text: words, is_plain: true, .. } => {
                let fence = fence(words);
                write!(text, "\n**Model:**\n\n{fence}\n{}\n{fence}\n", words.trim_end())
            }
            Said::Model { text: words, .. } => write!(text, "\n**Model:**\n\n{}\n", words.trim_end()),
            Said::Summary { text: words } => {
                write!(text, "\n**Summary of the older part:**\n\n{}\n", words.trim_end())
            }
            Said::Tool { name, arguments, success, output } => {
                let state = if *success { "" } else { " (failed)" };
                let fence = fence(output);
                write!(text, "\n**{name}**{state} `{arguments}`\n\n{fence}\n{}\n{fence}\n", output.trim_end())
            }
        };
    }
}

/// A fence longer than any within the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// What a content says, with media by their kind.
fn words(content: &Content) -> String {
    let media = own_parts(content).iter().filter_map(|part| match &part.kind {
        PartKind::InlineData(blob) => Some(format!("[{}]", blob.mime_type)),
        PartKind::FileData(data) => Some(format!("[{}]", data.file_uri)),
        _ => None,
    });
    let words = std::iter::once(own_text(content)).chain(media);
    words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The beginning of a text, on one line.
pub(crate) fn in_one_line(text: &str, most: usize) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(most).collect()
}
