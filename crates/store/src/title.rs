//! What a session is called in a list: the first prompt that hooks let through.

use charla_proto::{Conversation, Fact, Glance, NOTE, Record, TurnEnd, own_words};

/// The title of a session whose prompts were all refused by hooks.
pub(crate) const REFUSED: &str = "[refused by a hook]";

/// What of a turn tells whether its prompt is the title.
pub(crate) enum TurnStep {
    /// It begins, with a prompt of this title.
    Begins(String),
    /// The model has answered: nobody refused the prompt.
    Answered,
    /// It is over, because hooks refused its prompt or for another reason.
    Ended { blocked: bool },
}

impl TurnStep {
    /// What a line of a journal tells; it may be cut behind its beginning.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        match Glance::kind(line).or_else(|| kind_within(line))? {
            "turn_started" => Some(TurnStep::Begins(title(line))),
            "model_content" => Some(TurnStep::Answered),
            "turn_ended" => Some(TurnStep::Ended { blocked: line.contains("\"hook_blocked\"") }),
            _ => None,
        }
    }

    fn of(fact: &Fact) -> Option<Self> {
        match fact {
            Fact::TurnStarted(started) => {
                Some(TurnStep::Begins(title_of(own_words(&started.prompt).unwrap_or_default())))
            }
            Fact::ModelContent(_) => Some(TurnStep::Answered),
            Fact::TurnEnded(ended) => Some(TurnStep::Ended { blocked: ended.end == TurnEnd::HookBlocked }),
            _ => None,
        }
    }
}

/// The kind that tells something of a turn, in a line that does not begin as this program writes it.
fn kind_within(line: &str) -> Option<&'static str> {
    let told = [
        ("turn_started", "\"turn_started\""),
        ("model_content", "\"model_content\""),
        ("turn_ended", "\"turn_ended\""),
    ];
    told.into_iter().find(|(_, written)| line.contains(written)).map(|(kind, _)| kind)
}

/// Looks for the first prompt that hooks let through.
#[derive(Default)]
pub(crate) struct TitleSearch {
    /// The prompt of the turn at hand, of which nothing more is known.
    prompt: Option<String>,
    /// One was refused.
    refused: bool,
}

impl TitleSearch {
    /// Takes what comes next; the title, once it is certain.
    pub(crate) fn take(&mut self, step: TurnStep) -> Option<String> {
        match step {
            TurnStep::Begins(title) if self.prompt.is_none() => self.prompt = Some(title),
            TurnStep::Begins(_) => {}
            TurnStep::Ended { blocked: true } => self.refused |= self.prompt.take().is_some(),
            TurnStep::Answered | TurnStep::Ended { blocked: false } => return self.prompt.take(),
        }
        None
    }

    /// True while there is a prompt of which it is not known whether it was refused.
    pub(crate) fn is_undecided(&self) -> bool {
        self.prompt.is_some()
    }

    /// Nothing more comes: a prompt that nobody has refused yet, a word about those that were, or nothing.
    pub(crate) fn end(self) -> Option<String> {
        self.prompt.or_else(|| self.refused.then(|| REFUSED.to_owned()))
    }
}

/// The title that these records give a session which has none.
pub(crate) fn title_in(records: &[Record]) -> Option<String> {
    let mut search = TitleSearch::default();
    let mut steps = records.iter().filter_map(|record| TurnStep::of(&record.fact));
    steps.find_map(|step| search.take(step)).or_else(|| search.end())
}

/// The title of the prompt of the open turn, where these records tell that hooks refused it.
pub(crate) fn refused_in(before: &Conversation, records: &[Record]) -> Option<String> {
    let turn = before.turn.as_ref().filter(|turn| turn.steps == 0)?;
    let step = records.iter().find_map(|record| TurnStep::of(&record.fact))?;
    let first = turn.prompts.first().filter(|_| matches!(step, TurnStep::Ended { blocked: true }))?;
    let (_, prompt) = before.contents.iter().find(|(seq, _)| seq == first)?;
    Some(title_of(own_words(prompt).unwrap_or_default()))
}

/// The beginning of a prompt, from a line that may be cut.
fn title(line: &str) -> String {
    let words = match Glance::of(line) {
        Some(Glance::Prompt(prompt)) => own_words(&prompt).unwrap_or_default().to_owned(),
        _ => cut_text(line),
    };
    title_of(&words)
}

/// The beginning of a prompt, on one line.
fn title_of(words: &str) -> String {
    let one_line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.chars().take(80).collect()
}

/// The first text of a cut line that is no note: its JSON string as far as it goes.
fn cut_text(line: &str) -> String {
    let mut texts = line.split("\"text\":\"").skip(1);
    let Some(rest) = texts.find(|text| !text.starts_with(NOTE)) else { return String::new() };
    let mut out = String::new();
    let mut escaped = false;
    for c in rest.chars().take(200) {
        match (escaped, c) {
            (false, '"') => break,
            (false, '\\') => escaped = true,
            (true, 'n' | 't' | 'r') => {
                out.push(' ');
                escaped = false;
            }
            (_, c) => {
                out.push(c);
                escaped = false;
            }
        }
    }
    out
}
