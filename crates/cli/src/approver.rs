//! Asks the person at the terminal whether a call may run.
//!
//! It shows the card and reads the answer; what the answer means is the session's to decide. Questions are put
//! one after another, in the order they came up.

mod card;
mod editor;

use std::collections::HashSet;
use std::sync::Arc;

use charla::Environment;
use charla::session::SavedRules;
use charla_core::session::{SessionEvent, SessionHandle, Subscription};
use charla_proto::{CallAsked, Confirmation, ConfirmationDetail, Fact, Outcome, Question, QuestionKind};
use futures_util::future::poll_immediate;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::printer::Printer;
use editor::Editor;

/// Puts questions to the person until it is dropped.
pub struct Approver {
    questions: mpsc::UnboundedSender<Arc<CallAsked>>,
    task: JoinHandle<()>,
}

impl Approver {
    /// Begins to take questions of this session. Must be called in a tokio runtime.
    pub fn start(session: SessionHandle, environment: &Environment, printer: Printer) -> Self {
        let (questions, receiver) = mpsc::unbounded_channel();
        let asker = Asker {
            events: session.subscribe(),
            session,
            printer,
            answered: HashSet::new(),
            editor: Editor::of(environment),
            saved_rules: SavedRules::of(environment),
        };
        Self { questions, task: tokio::spawn(asker.work(receiver)) }
    }

    /// Puts a question to the person, after those before it.
    pub fn put(&self, asked: Arc<CallAsked>) {
        // Nobody takes questions any more only when the run is over.
        let _ = self.questions.send(asked);
    }
}

impl Drop for Approver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a line typed at a card says.
#[derive(Debug, PartialEq)]
enum Word {
    Answer(Outcome),
    /// Always, and remembered in a file.
    Save,
    /// Open the editor first.
    Edit,
    /// Not understood.
    Unclear,
}

/// Reads a line typed at a card. What the card does not offer is not understood.
fn understand(line: &str, confirmation: &Confirmation) -> Word {
    let line = line.trim();
    let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let always = confirmation.always.is_some();
    let edits = matches!(confirmation.detail, ConfirmationDetail::Edit { .. });
    match key.to_lowercase().as_str() {
        "n" | "no" => {
            let reason = (!rest.is_empty()).then(|| rest.to_owned());
            Word::Answer(Outcome::Cancel { reason })
        }
        _ if !rest.is_empty() => Word::Unclear,
        "y" | "yes" => Word::Answer(Outcome::ProceedOnce),
        "a" if always => Word::Answer(Outcome::ProceedAlways),
        "s" if always => Word::Save,
        "t" => Word::Answer(Outcome::ProceedAlwaysTool),
        "e" if edits => Word::Edit,
        _ => Word::Unclear,
    }
}

/// Puts one question after another to the person.
struct Asker {
    session: SessionHandle,
    events: Subscription,
    printer: Printer,
    /// Questions that have their answer, from whomever.
    answered: HashSet<String>,
    editor: Editor,
    saved_rules: Option<SavedRules>,
}

impl Asker {
    async fn work(mut self, mut questions: mpsc::UnboundedReceiver<Arc<CallAsked>>) {
        while let Some(asked) = questions.recv().await {
            if self.is_answered(&asked.approval).await {
                continue;
            }
            forget_typed();
            let outcome = match &asked.confirmation.detail {
                ConfirmationDetail::AskUser { questions } => self.interview(questions).await,
                _ => self.decide(&asked.confirmation).await,
            };
            self.session.answer(&asked.approval, outcome, "terminal").await;
        }
    }

    /// An answer may have come meanwhile, from elsewhere or by an earlier "always".
    async fn is_answered(&mut self, approval: &str) -> bool {
        while let Some(Some(event)) = poll_immediate(self.events.recv()).await {
            if let SessionEvent::Record(record) = event
                && let Fact::ApprovalAnswered(answer) = &record.fact
            {
                self.answered.insert(answer.approval.clone());
            }
        }
        self.answered.contains(approval)
    }

    async fn decide(&mut self, confirmation: &Confirmation) -> Outcome {
        self.printer.card(&card::text(confirmation));
        loop {
            self.printer.card(&card::choices(confirmation));
            let Some(line) = read_line().await else { return Outcome::Cancel { reason: None } };
            match understand(&line, confirmation) {
                Word::Answer(outcome) => return outcome,
                Word::Save => return self.save(confirmation),
                Word::Edit => {
                    if let Some(outcome) = self.edit(confirmation).await {
                        return outcome;
                    }
                }
                Word::Unclear => self.printer.note("please answer with one of the letters"),
            }
        }
    }

    /// A rule that cannot be saved still holds for the session.
    fn save(&mut self, confirmation: &Confirmation) -> Outcome {
        let (Some(saved), Some(rules)) = (&self.saved_rules, &confirmation.always) else {
            self.printer.warning("there is no home directory to save the rule in: it holds for this session");
            return Outcome::ProceedAlways;
        };
        let file = saved.path().display();
        match saved.append(rules) {
            Ok(()) => {
                self.printer.note(&format!("saved in {file}"));
                Outcome::ProceedAlwaysAndSave
            }
            Err(error) => {
                self.printer.warning(&format!("{file}: {error}; the rule holds for this session only"));
                Outcome::ProceedAlways
            }
        }
    }

    /// The content as the person wants it; `None` when they changed nothing or the editor failed.
    async fn edit(&mut self, confirmation: &Confirmation) -> Option<Outcome> {
        let ConfirmationDetail::Edit { path, after, .. } = &confirmation.detail else { return None };
        match self.editor.edit(path, after).await {
            Ok(new_content) if new_content != *after => Some(Outcome::ModifyWithEditor { new_content }),
            Ok(_) => {
                self.printer.note("nothing was changed in the editor");
                None
            }
            Err(problem) => {
                self.printer.warning(&problem);
                None
            }
        }
    }

    async fn interview(&mut self, questions: &[Question]) -> Outcome {
        let mut answers = Vec::new();
        for question in questions {
            self.printer.card(&card::question(question));
            match read_line().await {
                Some(line) => answers.push(answer_to(question, &line)),
                None => return Outcome::Cancel { reason: None },
            }
        }
        Outcome::Answers { answers }
    }
}

/// What a line says to a question: numbers stand for choices, anything else for itself.
fn answer_to(question: &Question, line: &str) -> String {
    let line = line.trim();
    if question.kind == QuestionKind::Yesno {
        match line.to_lowercase().as_str() {
            "y" | "yes" => return "yes".to_owned(),
            "n" | "no" => return "no".to_owned(),
            _ => return line.to_owned(),
        }
    }
    let words = line.split([',', ' ']).filter(|word| !word.is_empty());
    let chosen: Option<Vec<&str>> = words
        .map(|word| {
            let place = word.parse::<usize>().ok()?.checked_sub(1)?;
            question.options.get(place).map(|option| option.label.as_str())
        })
        .collect();
    match chosen {
        Some(labels) if labels.len() == 1 || (question.multi_select && !labels.is_empty()) => {
            labels.join(", ")
        }
        _ => line.to_owned(),
    }
}

/// Drops what was typed before the card was shown: nobody can have meant it as the answer.
fn forget_typed() {
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// One line of standard input; `None` at its end. Read on a thread of its own, which is simply left behind
/// when the run is cancelled, and only when a line is wanted: an editor needs the terminal for itself.
async fn read_line() -> Option<String> {
    let (sender, line) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line).ok().filter(|bytes| *bytes > 0);
        let _ = sender.send(read.map(|_| line));
    });
    line.await.ok().flatten()
}

#[cfg(test)]
mod tests;
