//! A conversation line by line, without a screen: for screen readers and for terminals that know no sequences.

use std::io::BufRead;
use std::sync::Arc;

use charla::models::Prices;
use charla::session::PromptDraft;
use charla::settings::{OutputFormat, Settings};
use charla::{Begin, Charla, Failure, OpenRequest, OpenedSession, SessionSource};
use charla_core::CancellationToken;
use charla_core::session::Follower;
use charla_proto::{Command, Fact, OpenCall, Phase, Refusal, Reply, SessionEvent};
use charla_terminal::answer::Answer;
use charla_terminal::approver::{Approver, TERMINAL};
use charla_terminal::exit::{CANCELLED, OK, code};
use charla_terminal::headless::View;
use charla_terminal::printer::Printer;
use charla_tui::commands::{Errand, Linear, linear};
use tokio::sync::oneshot;

use crate::intent::Ask;
use crate::signals::cancel_on_signals;
use crate::talk::begun;

/// Who types.
const USER: &str = "user";

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
    /// What is said first.
    pub opening: Option<String>,
}

/// Talks until the person leaves, and returns the exit code.
pub async fn run(ask: Ask, charla: &Charla, mut printer: Printer) -> i32 {
    let (settings, request) = match begun(&ask, charla, &mut printer) {
        Ok(begun) => begun,
        Err(failure) => {
            printer.failure(&failure);
            return code(failure.kind);
        }
    };
    let scene = Scene {
        charla: charla.clone(),
        source: Arc::new(charla.clone()),
        me: TERMINAL.to_owned(),
        settings,
        request,
        opening: ask.opening,
    };
    talk(scene, "charla --resume", printer).await
}

/// Talks line by line. `again` opens a session again, with its id behind it.
pub async fn talk(scene: Scene, again: &str, mut printer: Printer) -> i32 {
    let talk = match open(scene, &mut printer).await {
        Ok(talk) => talk,
        Err(failure) => {
            printer.failure(&failure);
            return code(failure.kind);
        }
    };
    let session = talk.session.id.clone();
    let code = talk.run(&mut printer).await;
    printer.note(&format!("go on with: {again} {session}"));
    code
}

async fn open(scene: Scene, printer: &mut Printer) -> Result<Talk, Failure> {
    let Scene { charla, source, me, settings, request, opening } = scene;
    let cancel = cancel_on_signals();
    let begins_anew = request.begin == Begin::New;
    let request = OpenRequest { cancel: cancel.clone(), ..request };
    let session = source.open(&settings, request, Box::new(printer.another())).await?;
    let how = if begins_anew { "type a prompt" } else { "the conversation goes on; type a prompt" };
    printer.note(&format!("{}: {how}, /help lists commands, /quit or Ctrl-D leaves", session.model));
    Ok(Talk { session, charla, me, settings, cancel, opening })
}

/// A conversation.
struct Talk {
    session: OpenedSession,
    charla: Charla,
    /// Who types.
    me: String,
    settings: Settings,
    cancel: CancellationToken,
    /// What is said first.
    opening: Option<String>,
}

impl Talk {
    async fn run(self, printer: &mut Printer) -> i32 {
        if self.session.is_open {
            self.turn(Command::Continue, "", printer).await;
        } else {
            self.watch(printer).await;
        }
        let mut opening = self.opening.clone();
        let code = loop {
            let line = match opening.take() {
                Some(line) => line,
                None => {
                    printer.card("> ");
                    let line = tokio::select! {
                        biased;
                        () = self.cancel.cancelled() => break CANCELLED,
                        line = read_line() => line,
                    };
                    printer.close_card();
                    let Some(line) = line else { break OK };
                    line
                }
            };
            if !self.take(line.trim_end_matches(['\r', '\n']), printer).await {
                break OK;
            }
        };
        printer.close_card();
        self.session.close().await;
        code
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
            let draft = PromptDraft { words: line.to_owned(), ..PromptDraft::default() };
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
        let snapshot = self.session.handle.snapshot().await.map(|(snapshot, _)| snapshot).unwrap_or_default();
        let errand = Errand {
            charla: self.charla.clone(),
            settings: self.settings.clone(),
            session: Some((self.session.handle.clone(), self.session.id.clone())),
        };
        match linear(line, errand, snapshot.choices.mode, snapshot.room.window) {
            Linear::Leave => return false,
            Linear::Ask(command) => self.turn(command, "", printer).await,
            Linear::Tell(lines) => lines.iter().for_each(|line| printer.note(line)),
            Linear::Find(finding, command) => {
                if let Some(command) = command {
                    self.session.send(command, USER).await;
                }
                match finding.await {
                    Ok(found) => found.words().iter().for_each(|line| printer.note(line)),
                    Err(failure) => printer.failure(&failure),
                }
            }
        }
        true
    }

    /// Runs a command line of the person's own, and shows what it prints until it ends.
    async fn run_own(&self, command: &str, printer: &mut Printer) {
        let mut events = self.session.handle.subscribe();
        let args = [("command".to_owned(), command.into())].into_iter().collect();
        let run = Command::RunTool { name: "run_shell_command".to_owned(), args };
        let id = match self.session.send(run, USER).await {
            Reply::Called { call } => call,
            Reply::Refused(refusal) => return printer.failure(&Failure::input(refusal.to_string())),
            _ => return,
        };
        loop {
            let event = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return,
                event = events.recv() => event,
            };
            match event {
                None => return,
                Some(SessionEvent::Record(record)) => match &record.fact {
                    Fact::ClientCallEnded(ended) if ended.call == id => {
                        return printer.note(&ended.response.to_text());
                    }
                    _ => {}
                },
                Some(_) => {}
            }
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
        let earlier = self.session.handle.snapshot().await.map(|(snapshot, _)| snapshot).unwrap_or_default();
        let mut follower = Follower::new(self.session.handle.subscribe());
        let is_turn = matches!(
            command,
            Command::Prompt { .. } | Command::Continue | Command::Compress | Command::Restore
        );
        if matches!(command, Command::Compress | Command::Restore) {
            let handle = self.session.handle.clone();
            // What it comes to is told by the events.
            tokio::spawn(async move { handle.send(command, USER).await });
        } else {
            match self.session.send(command, USER).await {
                Reply::Prompted { prompt, .. } => follower = follower.of_prompt(prompt),
                Reply::Refused(Refusal::Ended) => {}
                Reply::Refused(refusal) => return printer.failure(&Failure::input(refusal.to_string())),
                Reply::Reverted { turn, files } => {
                    return printer.note(&format!("done: {} files of turn {turn}", files.len()));
                }
                _ => {}
            }
        }
        match is_turn {
            true => self.show(follower, &earlier.calls, words, printer).await,
            false => printer.note("done"),
        }
    }

    /// Shows a turn to its end. `open` are calls that were under way before.
    async fn show(&self, follower: Follower, open: &[OpenCall], words: &str, printer: &mut Printer) {
        let thoughts = self.settings.output.thoughts.unwrap_or(false);
        let mut view = View::new(OutputFormat::Text, thoughts, self.session.id.clone(), printer.another());
        view.priced(Prices::new(&self.settings));
        view.with_somebody_to_ask();
        let (handle, client) = (self.session.handle.clone(), self.session.attach());
        let (environment, printer) = (self.charla.environment(), printer.another());
        let approver = Approver::start(handle, client, &self.me, environment, &self.settings, printer);
        let mut events = Answer::new(follower, Some(approver), open);
        let shown = view.show(&self.session.model, words, &mut events);
        tokio::select! {
            biased;
            // A turn that runs here is stopped, and ends by itself; one elsewhere goes on without us.
            () = self.cancel.cancelled(), if !self.session.runs_here() => {}
            _ = shown => {}
        }
    }
}

/// One line of standard input; nothing at its end. Read on a thread of its own, which is left behind when the run ends.
async fn read_line() -> Option<String> {
    let (sender, line) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = Vec::new();
        let read = std::io::stdin().lock().read_until(b'\n', &mut line).ok().filter(|bytes| *bytes > 0);
        let _ = sender.send(read.map(|_| String::from_utf8_lossy(&line).into_owned()));
    });
    line.await.ok().flatten()
}
