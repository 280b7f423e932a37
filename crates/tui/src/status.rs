//! The status line: what answers, how full its window is, what it costs, what is allowed.

use charla::engine;
use charla::models::Prices;
use charla_proto::{ApprovalMode, Fact, QueuedPrompt, Record, SessionSnapshot, UsageMetadata};
use charla_terminal::wording;

use crate::spent::Spent;
use crate::text::{Line, Role};

/// What the status line tells.
#[derive(Default)]
pub struct Status {
    /// `provider/model` that answers; empty before a session is open.
    pub model: String,
    /// How much is allowed without asking.
    pub mode: ApprovalMode,
    /// Tokens the model can read and write together.
    pub window: Option<u32>,
    /// The branch of the repository.
    pub branch: Option<String>,
    /// What confines tools, in a word.
    pub confinement: String,
    /// Prompts that wait.
    pub queue: Vec<QueuedPrompt>,
    last: Option<UsageMetadata>,
    spent: Spent,
}

impl Status {
    /// Nothing is known yet but what answers cost.
    pub fn new(prices: Prices) -> Self {
        Self { spent: Spent::new(prices), ..Self::default() }
    }

    /// Begins with a session as it is.
    pub fn begin(&mut self, snapshot: &SessionSnapshot) {
        self.spent = self.spent.anew(&snapshot.choices.model);
        self.go_on(snapshot);
    }

    /// Goes on with the same session, opened again.
    pub fn go_on(&mut self, snapshot: &SessionSnapshot) {
        self.model.clone_from(&snapshot.choices.model);
        self.mode = snapshot.choices.mode;
        self.queue.clone_from(&snapshot.queue);
        self.last.clone_from(&snapshot.room.usage);
    }

    /// So much was spent in the session before it was opened here.
    pub fn add_earlier(&mut self, earlier: &Spent) {
        self.spent.add(earlier);
    }

    /// A fact became known.
    pub fn take(&mut self, record: &Record) {
        self.spent.take(&record.fact);
        match &record.fact {
            Fact::ModelContent(said) => {
                if let Some(usage) = &said.usage {
                    self.last = Some(usage.clone());
                }
            }
            Fact::Compressed(compressed) => {
                self.last = Some(UsageMetadata {
                    prompt_token_count: Some(compressed.tokens.1),
                    ..UsageMetadata::default()
                });
            }
            Fact::ModeChanged(changed) => self.mode = changed.mode,
            Fact::ModelChanged(changed) => self.model.clone_from(&changed.model),
            Fact::PromptQueued(queued) => self.queue.push(QueuedPrompt {
                id: queued.prompt.clone(),
                content: queued.content.clone(),
                delivery: queued.delivery,
                by: queued.by.clone(),
            }),
            Fact::PromptWithdrawn(withdrawn) => self.unqueue(&withdrawn.prompt),
            Fact::PromptJoined(joined) => self.unqueue(&joined.prompt),
            Fact::TurnStarted(started) => self.unqueue(&started.id),
            _ => {}
        }
    }

    fn unqueue(&mut self, prompt: &str) {
        self.queue.retain(|queued| queued.id != prompt);
    }

    /// How full the window is, in percent; 0 for less than one.
    fn filled(&self) -> Option<u64> {
        let used = self.last.as_ref().map(UsageMetadata::total)?;
        let window = u64::from(self.window?).max(1);
        let percent = (used * 100).div_ceil(window);
        Some(if used * 100 < window { 0 } else { percent })
    }

    /// The mode that holds: the chosen one, as far as the model is trusted.
    pub fn held_mode(&self) -> ApprovalMode {
        self.mode.min(engine::at_most(&self.model))
    }

    /// The line. What does not fit is left out, the least needed first.
    pub fn line(&self, columns: usize) -> Line {
        let mode = match self.held_mode() {
            held if held != self.mode => {
                (Role::Plain, format!("{held}: {} is not for this model", self.mode))
            }
            ApprovalMode::Default => (Role::Plain, "default".to_owned()),
            ApprovalMode::Yolo => (Role::Failure, "yolo: nothing asks".to_owned()),
            mode => (Role::Warning, mode.to_string()),
        };
        let filled = self.filled().map(|percent| {
            let role = if percent >= 70 { Role::Warning } else { Role::Dim };
            let percent = if percent == 0 { "<1".to_owned() } else { percent.to_string() };
            (role, format!("{percent}% of {}", wording::tokens(u64::from(self.window.unwrap_or(0)))))
        });
        let used = match self.spent.usage().total() {
            0 => None,
            _ => {
                let usage = self.spent.usage();
                let (read, written) = (usage.prompt_token_count.unwrap_or(0), usage.output());
                Some((Role::Dim, format!("↑{} ↓{}", wording::tokens(read), wording::tokens(written))))
            }
        };
        let cost = self.spent.cost().map(|cost| (Role::Dim, format!("${cost:.3}")));
        let branch = self.branch.as_ref().map(|branch| (Role::Dim, format!("⎇ {branch}")));
        let confined = (!self.confinement.is_empty()).then(|| (Role::Dim, self.confinement.clone()));
        let model = if self.model.is_empty() { "no model yet" } else { &self.model };
        // By need: model, mode, how full, cost, tokens, branch, confinement.
        let parts =
            [Some((Role::Accent, model.to_owned())), Some(mode), filled, cost, used, branch, confined];
        let mut line = Line::new();
        for (role, words) in parts.into_iter().flatten() {
            let mut longer = line.clone();
            longer.push(Role::Border, if line.is_empty() { " " } else { " · " });
            longer.push(role, &words);
            if longer.width() <= columns {
                line = longer;
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_that_holds_is_told() {
        let status = |model: &str, mode| Status { model: model.to_owned(), mode, ..Status::default() };
        let built_in = format!("{}/{}", engine::PROVIDER, engine::WEIGHTS_NAME);
        for (model, mode, told) in [
            ("openai/gpt-5", ApprovalMode::Yolo, "yolo: nothing asks"),
            (&built_in, ApprovalMode::Yolo, "default: yolo is not for this model"),
            (&built_in, ApprovalMode::AutoEdit, "default: auto_edit is not for this model"),
            (&built_in, ApprovalMode::Plan, "plan"),
        ] {
            let line = status(model, mode).line(200).text();
            assert!(line.ends_with(&format!("· {told}")), "{line}");
        }
    }

    #[test]
    fn little_of_a_large_window_is_less_than_a_percent() {
        for (used, told) in [(2_600, "<1% of 1.0M"), (10_000, "1% of 1.0M"), (10_001, "2% of 1.0M")] {
            let last = UsageMetadata { prompt_token_count: Some(used), ..UsageMetadata::default() };
            let status = Status { window: Some(1_000_000), last: Some(last), ..Status::default() };
            let line = status.line(200).text();
            assert!(line.contains(told), "{line}");
        }
    }
}
