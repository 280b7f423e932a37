//! Asks the person at the terminal whether a call may run.
//!
//! It shows the card and reads the answer; what the answer means is the session's to decide. Questions are put
//! one after another, in the order they came up.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use charla::question::{answer, prompt};
use charla::session::SIGNAL;
use charla::settings::Settings;
use charla::{Card, Environment};
use charla_core::CancellationToken;
use charla_core::session::{Attached, SessionHandle, Subscription};
use charla_proto::text::one_line;
use charla_proto::{
    Confirmation, ConfirmationDetail, Fact, OpenCall, Outcome, Question, Refusal, SessionEvent, TurnEvent,
};
use futures_util::future::poll_immediate;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::editor::{Editor, edited_arguments};
use crate::grants;
use crate::lines::Lines;
use crate::printer::Printer;

/// Who answers at a terminal, where the session runs in its process.
pub const TERMINAL: &str = "terminal";

/// A question on its way to the person.
type Put = (String, Arc<Confirmation>);

/// The person who is asked, and where they sit.
pub struct Seat<'a> {
    /// Their name.
    pub me: &'a str,
    /// Their environment.
    pub environment: &'a Environment,
    /// The settings that hold.
    pub settings: &'a Settings,
    /// What they read.
    pub printer: Printer,
    /// What they type.
    pub lines: Lines,
    /// Cancelled when nothing more is typed at a question: they have left, and it stays open. Without it that is a no.
    pub leaving: Option<CancellationToken>,
}

/// Puts questions to the person until it is dropped.
pub struct Approver {
    questions: mpsc::UnboundedSender<Put>,
    task: JoinHandle<()>,
    /// The person is there.
    _client: Attached,
}

impl Approver {
    /// Begins to take questions of this session. Must be called in a tokio runtime.
    pub fn start(session: SessionHandle, client: Attached, seat: Seat<'_>) -> Self {
        let Seat { me, environment, settings, printer, lines, leaving } = seat;
        let (questions, receiver) = mpsc::unbounded_channel();
        let asker = Asker {
            events: session.subscribe(),
            session,
            me: me.to_owned(),
            printer,
            answered: HashMap::new(),
            editor: Editor::of(environment, settings),
            plain: matches!(environment.variable("TERM"), None | Some("dumb")),
            spoken: settings.terminal.screen_reader.unwrap_or(false),
            lines,
            leaving,
            stopped: false,
        };
        Self { questions, task: tokio::spawn(asker.work(receiver)), _client: client }
    }

    /// Puts a question to the person, after those before it.
    pub fn put(&self, approval: String, confirmation: Arc<Confirmation>) {
        // Nobody takes questions any more only when the run is over.
        let _ = self.questions.send((approval, confirmation));
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
    /// Open the editor first.
    Edit,
    /// Show what was left out.
    View,
    /// Not understood.
    Unclear,
}

/// Reads a line typed at a card. What the card does not offer is not understood.
fn understand(line: &str, confirmation: &Confirmation, is_clipped: bool) -> Word {
    let line = line.trim();
    let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let always = confirmation.always.is_some();
    match key.to_lowercase().as_str() {
        "n" | "no" => {
            let reason = (!rest.is_empty()).then(|| rest.to_owned());
            Word::Answer(Outcome::Cancel { reason })
        }
        _ if !rest.is_empty() => Word::Unclear,
        "y" | "yes" => Word::Answer(Outcome::ProceedOnce),
        "a" if always => Word::Answer(Outcome::ProceedAlways),
        "s" if always => Word::Answer(Outcome::ProceedAlwaysAndSave),
        "t" => Word::Answer(Outcome::ProceedAlwaysTool),
        "m" if server(confirmation).is_some() => Word::Answer(Outcome::ProceedAlwaysServer),
        "e" => Word::Edit,
        "v" if is_clipped => Word::View,
        _ => Word::Unclear,
    }
}

/// The MCP server whose tool it is.
fn server(confirmation: &Confirmation) -> Option<&str> {
    match &confirmation.detail {
        ConfirmationDetail::Mcp { server, .. } => Some(server),
        _ => None,
    }
}

/// Puts one question after another to the person.
struct Asker {
    session: SessionHandle,
    /// Who answers at this terminal.
    me: String,
    events: Subscription,
    printer: Printer,
    /// Questions that have their answer, and from whom.
    answered: HashMap<String, String>,
    editor: Editor,
    /// The terminal knows no sequences.
    plain: bool,
    /// What is shown is read aloud.
    spoken: bool,
    lines: Lines,
    /// See [`Seat::leaving`].
    leaving: Option<CancellationToken>,
    /// The person has ended the turn, or left: nothing more of it is asked.
    stopped: bool,
}

impl Asker {
    async fn work(mut self, mut questions: mpsc::UnboundedReceiver<Put>) {
        loop {
            tokio::select! {
                biased;
                question = questions.recv() => match question {
                    Some((approval, confirmation)) => self.put(approval, &confirmation).await,
                    None => return,
                },
                event = self.events.recv() => match event {
                    Some(event) => self.hear(&event),
                    None => return,
                },
            }
        }
    }

    /// Asks, unless an answer comes from elsewhere meanwhile, or has come by an earlier "always".
    async fn put(&mut self, approval: String, confirmation: &Confirmation) {
        while let Some(Some(event)) = poll_immediate(self.events.recv()).await {
            self.hear(&event);
        }
        if self.stopped || self.answered.contains_key(&approval) {
            return;
        }
        // Nobody can have meant as the answer what they typed before the card was shown.
        self.lines.forget().await;
        self.printer.begin_card(self.plain);
        let outcome = match &confirmation.detail {
            ConfirmationDetail::AskUser { questions } => self.interview(&approval, questions).await,
            _ => self.decide(&approval, confirmation).await,
        };
        if outcome.is_none() {
            // The card's last line waits for what is typed.
            self.printer.card("\n");
        }
        self.printer.close_card();
        self.stopped |= matches!(outcome, Some(Outcome::Cancel { reason: None }));
        let mine = outcome.clone();
        let refused = match outcome {
            Some(outcome) => {
                let given = grants::given(&outcome, confirmation);
                let refused = self.session.answer(&approval, outcome, &self.me).await.err();
                if let (None, Some(given)) = (&refused, given) {
                    self.printer.note(&given);
                }
                refused
            }
            None => None,
        };
        match (refused, self.answered.get(&approval)) {
            // The same said twice by the same person is said.
            (Some(Refusal::Late { by, outcome }), _) if by == self.me && Some(&outcome) == mine.as_ref() => {}
            (Some(Refusal::Late { by, .. }), _) => self.printer.note(&format!("answered already by {by}")),
            (Some(refusal), _) => self.printer.warning(&refusal.to_string()),
            // The same person may have answered elsewhere.
            (None, Some(by)) if (mine.is_none() || *by != self.me) && by != SIGNAL => {
                self.printer.note(&format!("answered by {by}"));
            }
            (None, _) => {}
        }
    }

    fn hear(&mut self, event: &SessionEvent) {
        let SessionEvent::Record(record) = event else { return };
        match &record.fact {
            Fact::ApprovalAnswered(answer) => {
                self.answered.insert(answer.approval.clone(), answer.by.clone());
            }
            Fact::TurnStarted(_) => self.stopped = false,
            Fact::RulesSaved(saved) => self.printer.note(&format!("saved in {}", saved.place)),
            _ => {}
        }
    }

    /// A line the person types; `None` when somebody else has answered meanwhile, or they left.
    async fn read(&mut self, approval: &str) -> Option<Typed> {
        loop {
            let lines = self.lines.clone();
            tokio::select! {
                biased;
                line = lines.next() => return match (line, &self.leaving) {
                    (Some(line), _) => Some(Typed::Line(line)),
                    (None, None) => Some(Typed::End),
                    (None, Some(leaving)) => {
                        leaving.cancel();
                        self.stopped = true;
                        None
                    }
                },
                event = self.events.recv() => {
                    let event = event?;
                    if let SessionEvent::Turn(TurnEvent::HandOverAsked { by }) = &event {
                        // What can be said to that is told once the question is closed.
                        self.printer.card(&format!("\n({by} asks to go on with this session elsewhere)\n? "));
                    }
                    self.hear(&event);
                    if self.answered.contains_key(approval) {
                        return None;
                    }
                }
            }
        }
    }

    async fn decide(&mut self, approval: &str, confirmation: &Confirmation) -> Option<Outcome> {
        let card = Card::of(confirmation, columns());
        let (mut shown, mut draft) = (self.told(&card), None);
        loop {
            self.printer.card(&format!("{shown}{}", choices(confirmation, card.is_clipped)));
            shown.clear();
            let Typed::Line(line) = self.read(approval).await? else {
                return Some(Outcome::Cancel { reason: None });
            };
            match understand(&line, confirmation, card.is_clipped) {
                Word::Answer(outcome) => return Some(outcome),
                Word::Edit => {
                    if let Some(outcome) = self.edit(approval, confirmation, &mut draft).await {
                        return Some(outcome);
                    }
                }
                Word::View => shown = self.told(&Card::whole(confirmation, columns())),
                Word::Unclear => shown = "please answer with one of the letters\n".to_owned(),
            }
        }
    }

    /// A card's text, as it is shown or read aloud.
    fn told(&self, card: &Card) -> String {
        if self.spoken { Card::spoken(&card.text) } else { card.text.clone() }
    }

    /// The call as the person wants it; `None` when they changed nothing or the editor failed. `draft` is what they wrote and
    /// cannot be used as it is.
    async fn edit(
        &mut self,
        approval: &str,
        confirmation: &Confirmation,
        draft: &mut Option<String>,
    ) -> Option<Outcome> {
        let edited = match &confirmation.detail {
            ConfirmationDetail::Edit { path, after, .. } => {
                let edited = self.editor.edit(path, after).await;
                edited.map(|new_content| {
                    (new_content != *after).then_some(Outcome::ModifyWithEditor { new_content })
                })
            }
            _ => self.edit_arguments(approval, draft).await,
        };
        match edited {
            Ok(Some(outcome)) => Some(outcome),
            Ok(None) => {
                self.printer.card("nothing was changed in the editor\n");
                None
            }
            Err(problem) => {
                self.printer.card(&format!("{}\n", one_line(&problem)));
                None
            }
        }
    }

    /// Other arguments for the call, written by the person as JSON.
    async fn edit_arguments(
        &mut self,
        approval: &str,
        draft: &mut Option<String>,
    ) -> Result<Option<Outcome>, String> {
        let (snapshot, _) = self.session.snapshot().await.ok_or("the session has ended")?;
        let asks = |call: &&OpenCall| {
            call.approval.as_ref().is_some_and(|question| question.asked.approval == approval)
        };
        let call = snapshot.calls.iter().find(asks).ok_or("the question is no longer open")?;
        let before = serde_json::to_string_pretty(&call.call.args).unwrap_or_default();
        let begun = draft.take().unwrap_or_else(|| format!("{before}\n"));
        let after = self.editor.edit(Path::new("arguments.json"), &begun).await?;
        match edited_arguments(&after, &call.call.args) {
            Ok(args) => Ok(args.map(|args| Outcome::Modify { args })),
            Err(problem) => {
                *draft = Some(after);
                Err(problem)
            }
        }
    }

    async fn interview(&mut self, approval: &str, questions: &[Question]) -> Option<Outcome> {
        let mut answers = Vec::new();
        for question in questions {
            let card = Card::question(question, columns());
            let told = self.told(&card);
            self.printer.card(&format!("{told}{}> ", prompt(question)));
            match self.read(approval).await? {
                Typed::Line(line) => answers.push(answer(question, &line)),
                Typed::End => return Some(Outcome::Cancel { reason: None }),
            }
        }
        Some(Outcome::Answers { answers })
    }
}

/// How wide the terminal is.
fn columns() -> usize {
    #[cfg(unix)]
    let columns = rustix::termios::tcgetwinsize(std::io::stderr()).map_or(0, |size| size.ws_col);
    #[cfg(not(unix))]
    let columns = 0;
    if columns == 0 { 80 } else { columns.into() }
}

/// The line that says what can be answered, without an end: the answer stands behind it.
fn choices(confirmation: &Confirmation, is_clipped: bool) -> String {
    let mut choices = vec!["y once"];
    if confirmation.always.is_some() {
        choices.extend(["a always", "s always and save"]);
    }
    let tool = format!("t always {}", one_line(&confirmation.tool));
    choices.push(&tool);
    let of_server = server(confirmation).map(|server| format!("m always {}", one_line(server)));
    choices.extend(of_server.as_deref());
    choices.push("e edit");
    if is_clipped {
        choices.push("v view all");
    }
    choices.extend(["n no, stop", "n REASON no, go on"]);
    format!("{}? ", choices.join(" · "))
}

/// What came from the terminal.
enum Typed {
    Line(String),
    /// Nothing more will.
    End,
}

#[cfg(test)]
mod tests;
