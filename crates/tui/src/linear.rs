//! A conversation line by line, without a screen: for screen readers and for terminals that know no sequences.

mod set_up;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use charla::models::Prices;
use charla::session::{CommandPlace, Filler, PromptDraft, SIGNAL, run_own};
use charla::settings::{OutputFormat, Settings};
use charla::{Begin, Charla, Failure, FirstRun, OpenRequest, OpenedSession, SessionSource};
use charla_core::CancellationToken;
use charla_core::session::{Attached, Follower};
use charla_proto::{
    CancelTarget, Choices, Command, Content, OpenCall, Phase, Refusal, Reply, SessionEvent, TurnEvent,
};
use charla_terminal::answer::Answer;
use charla_terminal::approver::{Approver, Seat};
use charla_terminal::headless::View;
use charla_terminal::lines::Lines;
use charla_terminal::printer::Printer;
use charla_terminal::signals::Interrupts;
use charla_terminal::wording;

use crate::app::{Choice, Ending, ME, Reason};
use crate::commands::{Errand, Exports, Found, Linear, Updated, linear, parse};
use crate::picker::Picker;
use crate::transcript::files_in_words;
use set_up::SetUp;

/// What the first Ctrl-C says.
const AGAIN: &str = "Press Ctrl+C again to exit";

/// What a conversation is begun with.
pub struct Scene {
    /// The user's Charla.
    pub charla: Charla,
    /// Where sessions are opened.
    pub source: Arc<dyn SessionSource>,
    /// Who types, by the name that sessions of that source have for them.
    pub me: String,
    /// The settings that hold.
    pub settings: Settings,
    /// The session to open.
    pub request: OpenRequest,
    /// What is chosen before it, where this is the user's first run.
    pub first_run: Option<FirstRun>,
    /// What is said first.
    pub opening: Option<String>,
}

/// Talks line by line until the person leaves.
pub async fn talk(scene: Scene, printer: &mut Printer) -> Result<Ending, Failure> {
    let (interrupts, lines) = (Interrupts::listen(), Lines::default());
    let scene = set_up(scene, &interrupts, &lines, printer).await?;
    if interrupts.leave.is_cancelled() {
        return Ok(Ending { reason: why_left(&interrupts), session: None, is_read: true });
    }
    open(scene, interrupts, lines, printer).await?.run(printer).await
}

/// Asks what is chosen once, where this is the first run.
async fn set_up(
    mut scene: Scene,
    interrupts: &Interrupts,
    lines: &Lines,
    printer: &mut Printer,
) -> Result<Scene, Failure> {
    if let Some(first) = scene.first_run.take() {
        let environment = scene.charla.environment();
        scene.settings = SetUp { first, environment, lines, interrupts }.run(printer).await?;
    }
    Ok(scene)
}

/// Why the person or the system ended it.
fn why_left(interrupts: &Interrupts) -> Reason {
    if interrupts.is_dismissed() { Reason::Dismissed } else { Reason::Interrupted }
}

async fn open(
    scene: Scene,
    interrupts: Interrupts,
    lines: Lines,
    printer: &mut Printer,
) -> Result<Talk, Failure> {
    let Scene { charla, source, me, settings, request, opening, .. } = scene;
    let begins_anew = request.begin == Begin::New;
    let rule_files = request.options.rule_files.clone();
    // Only the opening: a turn that is left is stopped, or waits for an answer and stays as it is.
    let cancel = CancellationToken::new();
    let request = OpenRequest { cancel: cancel.clone(), ..request };
    let session = {
        let mut opening = source.open(&settings, request, Box::new(printer.another()));
        tokio::select! {
            opened = &mut opening => opened?,
            () = interrupts.leave.cancelled() => {
                cancel.cancel();
                opening.await?
            }
        }
    };
    let how = if begins_anew { "type a prompt" } else { "the conversation goes on; type a prompt" };
    printer.note(&format!("{}: {how}, /help lists commands, /quit or Ctrl-D leaves", session.model));
    Ok(Talk {
        _client: session.attach(),
        session,
        charla,
        rule_files,
        me,
        settings,
        interrupts,
        lines,
        exports: Exports::default(),
        updated: Updated::default(),
        left: CancellationToken::new(),
        opening,
    })
}

/// A conversation.
struct Talk {
    session: OpenedSession,
    /// The person is there to be asked, from the first moment on.
    _client: Attached,
    charla: Charla,
    /// Rules of this run.
    rule_files: Vec<PathBuf>,
    /// Who types.
    me: String,
    settings: Settings,
    interrupts: Interrupts,
    lines: Lines,
    /// What was written by `/export`.
    exports: Exports,
    /// Extensions that were updated.
    updated: Updated,
    /// The person left at a question.
    left: CancellationToken,
    /// What is said first.
    opening: Option<String>,
}

impl Talk {
    async fn run(self, printer: &mut Printer) -> Result<Ending, Failure> {
        if self.session.is_open {
            self.turn(Command::Continue, "", printer).await;
        } else {
            self.watch(printer).await;
        }
        let mut opening = self.opening.clone();
        let reason = loop {
            if self.left.is_cancelled() {
                break Reason::Left;
            }
            if self.interrupts.leave.is_cancelled() {
                break why_left(&self.interrupts);
            }
            let line = match opening.take() {
                Some(line) => line,
                None => match self.typed(printer).await {
                    Typed::Line(line) => line,
                    Typed::AskedFor(_) => continue,
                    Typed::End => break Reason::Left,
                    Typed::Left => break why_left(&self.interrupts),
                },
            };
            if !self.take(line.trim_end_matches(['\r', '\n']), printer).await {
                break Reason::Left;
            }
        };
        printer.close_card();
        Ok(Ending { reason, session: self.end().await, is_read: true })
    }

    /// Closes the session; its id, where there is something to go on with. One in which nothing was said is not kept.
    async fn end(&self) -> Option<String> {
        self.session.close_if_said().await.then(|| self.session.id.clone())
    }

    /// What the person types next.
    async fn typed(&self, printer: &mut Printer) -> Typed {
        loop {
            printer.card("> ");
            let typed = tokio::select! {
                biased;
                () = self.interrupts.leave.cancelled() => Some(Typed::Left),
                () = self.interrupts.stopped() => None,
                by = self.asked_for() => Some(Typed::AskedFor(by)),
                line = self.lines.next() => Some(line.map_or(Typed::End, Typed::Line)),
            };
            match &typed {
                None => printer.card(&format!("\n{AGAIN}\n")),
                Some(Typed::AskedFor(_)) => printer.card("\n"),
                _ => {}
            }
            if matches!(typed, Some(Typed::End | Typed::Left)) {
                // What follows begins a row of its own.
                printer.card("\n");
            }
            printer.close_card();
            match typed {
                Some(Typed::AskedFor(by)) => printer.warning(&wording::hand_over_asked(&by, true)),
                Some(typed) => return typed,
                None => {}
            }
        }
    }

    /// Waits until somebody asks to go on with the session elsewhere.
    async fn asked_for(&self) -> String {
        let mut events = self.session.handle.subscribe();
        while let Some(event) = events.recv().await {
            if let SessionEvent::Turn(TurnEvent::HandOverAsked { by }) = event {
                return by;
            }
        }
        std::future::pending().await
    }

    /// Does what a line wants; false when that is to leave.
    async fn take(&self, line: &str, printer: &mut Printer) -> bool {
        if let Some(command) = line.strip_prefix('!') {
            self.run_own(command.trim(), printer).await;
        } else if line.starts_with('/') {
            return self.command(line, printer).await;
        } else if line.trim().is_empty() {
            self.watch(printer).await;
        } else {
            let draft = PromptDraft {
                words: line.to_owned(),
                rule_files: self.rule_files.clone(),
                in_conversation: true,
                ..PromptDraft::default()
            };
            match draft.content(self.charla.environment(), printer) {
                Ok(mut content) => {
                    let words = content.text();
                    self.session.attach_resources(line, &mut content, printer).await;
                    self.turn(Command::prompt(content), &words, printer).await;
                }
                Err(failure) => printer.failure(&failure),
            }
        }
        true
    }

    async fn command(&self, line: &str, printer: &mut Printer) -> bool {
        if parse(line).is_err() {
            match self.expanded(line, printer).await {
                Ok(Some(content)) => {
                    let words = content.text();
                    self.turn(Command::prompt(content), &words, printer).await;
                    return true;
                }
                Ok(None) => {}
                Err(failure) => {
                    printer.failure(&failure);
                    return true;
                }
            }
        }
        let snapshot = self.session.handle.snapshot().await.map(|(snapshot, _)| snapshot).unwrap_or_default();
        match linear(line, self.errand(), snapshot.choices.mode, snapshot.room.window) {
            Linear::Leave => return false,
            Linear::Say(words) => self.turn(Command::prompt(Content::user(&words)), &words, printer).await,
            Linear::Ask(command) => self.turn(command, "", printer).await,
            Linear::Tell(lines) => lines.iter().for_each(|line| printer.note(line)),
            Linear::Find(finding, command) => {
                if let Some(command) = command {
                    self.session.send(command, ME).await;
                }
                self.found(finding.await, printer).await;
            }
        }
        true
    }

    fn errand(&self) -> Errand {
        Errand {
            charla: self.charla.clone(),
            settings: self.settings.clone(),
            session: Some((self.session.handle.clone(), self.session.id.clone())),
            exports: self.exports.clone(),
            updated: self.updated.clone(),
        }
    }

    /// Tells what was found, and asks what there is to ask about it.
    async fn found(&self, found: Result<Found, Failure>, printer: &mut Printer) {
        let found = match found {
            Ok(found) => found,
            Err(failure) => return printer.failure(&failure),
        };
        found.words().iter().for_each(|line| printer.note(line));
        let Found::Question(_, picker) = found else { return };
        match self.decided(&picker, printer).await {
            Some(Choice::Agree(offered)) => match self.errand().agreed(offered).await {
                Ok(changed) => changed.words().iter().for_each(|line| printer.note(line)),
                Err(failure) => printer.failure(&failure),
            },
            _ => printer.note("nothing is changed"),
        }
    }

    /// What the person says to a question of ours; nothing where that is no answer.
    async fn decided(&self, picker: &Picker<Choice>, printer: &mut Printer) -> Option<Choice> {
        // Nobody can have meant as the answer what they typed before the question was put.
        self.lines.forget().await;
        printer.card(&format!("{} y or n> ", picker.title()));
        let line = tokio::select! {
            biased;
            () = self.interrupts.leave.cancelled() => None,
            () = self.interrupts.stopped() => None,
            line = self.lines.next() => line,
        };
        if line.is_none() {
            printer.card("\n");
        }
        printer.close_card();
        picker.chosen_by(&line?)
    }

    /// The prompt that a command of the user's own, or of an MCP server, stands for; nothing where there is none of this name.
    async fn expanded(&self, line: &str, printer: &mut Printer) -> Result<Option<Content>, Failure> {
        let mut content = Content::user(line);
        let cancel = self.interrupts.leave.child_token();
        let filler = Filler { by: ME, unread: true, cancel: &cancel };
        let (environment, rule_files) = (self.charla.environment(), self.rule_files.as_slice());
        let place = CommandPlace { settings: &self.settings, environment, rule_files };
        self.session.fill_prompt(line, &mut content, place, filler, printer).await?;
        Ok((content.text() != line).then_some(content))
    }

    /// Runs a command line of the person's own, and shows what it prints once it has ended.
    async fn run_own(&self, command: &str, printer: &mut Printer) {
        let cancel = self.interrupts.leave.child_token();
        let mut running = pin!(run_own(&self.session.handle, command, ME, &cancel));
        let ended = loop {
            tokio::select! {
                biased;
                ended = running.as_mut() => break ended,
                () = self.interrupts.stopped() => {
                    printer.note(&format!("stopping; {AGAIN}"));
                    cancel.cancel();
                }
            }
        };
        match ended {
            Ok(ended) => {
                let shown = ended.display.map_or_else(|| ended.response.to_text(), |shown| shown.to_text());
                shown.lines().for_each(|line| printer.note(line));
            }
            Err(refusal) => printer.failure(&Failure::input(refusal.to_string())),
        }
    }

    /// Shows the turn that somebody else has begun, if one runs.
    async fn watch(&self, printer: &mut Printer) {
        let Some((snapshot, events)) = self.session.handle.snapshot().await else { return };
        if !matches!(snapshot.phase, Phase::Idle | Phase::Open) {
            self.show(Follower::new(events), &snapshot.calls, "", printer).await;
        }
    }

    /// Asks something of the session, and shows what comes of it to its end.
    async fn turn(&self, command: Command, words: &str, printer: &mut Printer) {
        let Some((earlier, events)) = self.session.handle.snapshot().await else {
            return printer.failure(&Failure::system("the session has ended"));
        };
        let mut follower = Follower::new(events);
        let is_turn = matches!(
            command,
            Command::Prompt { .. } | Command::Continue | Command::Compress | Command::Restore
        );
        let reverted = if matches!(command, Command::Redo(_)) { "done again" } else { "taken back" };
        if matches!(command, Command::Compress | Command::Restore) {
            let handle = self.session.handle.clone();
            // What it comes to is told by the events.
            tokio::spawn(async move { handle.send(command, ME).await });
        } else {
            match self.session.send(command, ME).await {
                Reply::Prompted { prompt, .. } => follower = follower.of_prompt(prompt),
                Reply::Refused(Refusal::Ended) => {}
                Reply::Refused(refusal) => return printer.failure(&Failure::input(refusal.to_string())),
                Reply::Reverted { turn, files } => {
                    return printer.note(&format!("{reverted}: {} of turn {turn}", files_in_words(&files)));
                }
                _ => {}
            }
        }
        match is_turn {
            true => self.show(follower, &earlier.calls, words, printer).await,
            false => printer.note(&self.changed(&earlier.choices).await),
        }
    }

    /// What something that was asked of the session has come to. `earlier` is what was chosen before.
    async fn changed(&self, earlier: &Choices) -> String {
        let now = self.session.handle.snapshot().await.map(|(snapshot, _)| snapshot.choices);
        match now {
            Some(now) if now.model != earlier.model => format!("{} answers from now on", now.model),
            Some(now) if now.mode != earlier.mode => format!("approval mode: {}", now.mode),
            _ => "done".to_owned(),
        }
    }

    /// Shows a turn to its end. `open` are calls that were under way before.
    async fn show(&self, follower: Follower, open: &[OpenCall], words: &str, printer: &mut Printer) {
        let thoughts = self.settings.output.thoughts.unwrap_or(false);
        let mut view = View::new(OutputFormat::Text, thoughts, self.session.id.clone(), printer.another());
        view.priced(Prices::new(&self.settings));
        view.with_somebody_to_ask();
        view.in_conversation();
        let seat = Seat {
            me: &self.me,
            environment: self.charla.environment(),
            settings: &self.settings,
            printer: printer.another(),
            lines: self.lines.clone(),
            leaving: Some(self.left.clone()),
        };
        let approver = Approver::start(self.session.handle.clone(), self.session.attach(), seat);
        let mut events = Answer::new(follower, Some(approver), open);
        let mut shown = pin!(view.show(&self.session.model, words, &mut events));
        let mut is_ending = false;
        loop {
            tokio::select! {
                biased;
                () = self.interrupts.leave.cancelled(), if !is_ending => {
                    is_ending = self.stops_here().await;
                    if !is_ending {
                        // A question's last line waits for what is typed.
                        return printer.card("\n");
                    }
                }
                () = self.left.cancelled() => return,
                () = self.interrupts.stopped() => self.stop(printer).await,
                _ = shown.as_mut() => return,
            }
        }
    }

    /// Whoever leaves stops the turn, which then ends by itself. One that runs elsewhere goes on without us, and a question
    /// stays open for whoever comes back: false for these.
    async fn stops_here(&self) -> bool {
        let snapshot = self.session.handle.snapshot().await;
        let is_asking = snapshot.is_some_and(|(snapshot, _)| snapshot.questions().next().is_some());
        let stops = self.session.runs_here() && !is_asking;
        if stops {
            self.session.send(Command::Cancel { target: CancelTarget::Turn }, SIGNAL).await;
        }
        stops
    }

    /// The person wants the turn to stop.
    async fn stop(&self, printer: &mut Printer) {
        printer.note(&format!("stopping; {AGAIN}"));
        // What is over already needs no stopping.
        self.session.send(Command::Cancel { target: CancelTarget::Mine }, ME).await;
    }
}

/// What came from the terminal.
enum Typed {
    Line(String),
    /// Nothing more will.
    End,
    /// Nothing: somebody wants to go on with the session elsewhere.
    AskedFor(String),
    /// The person, or the system, wants it to end.
    Left,
}
