//! What a person types: answers to a card, prompts, and the keys that do something else.

use std::path::{Path, PathBuf};
use std::time::Instant;

use charla_proto::{ApprovalMode, Args, Command, ConfirmationDetail, Outcome, own_words};
use charla_terminal::editor::{Editor, edited_arguments};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::Reason;
use super::news::Asked;
use super::state::{App, TWICE, Wish};
use crate::card::Deed;
use crate::composer::{Action, Message, dropped_paths};
use crate::text::Role;

/// Something a person edits in their editor.
pub struct EditTask {
    editor: Editor,
    name: String,
    begun: String,
    what: Edited,
}

/// What was edited.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Edited {
    /// The draft of a prompt.
    Draft,
    /// A file's new content, for a question, in the place of this.
    Content { approval: String, before: String },
    /// A call's arguments as JSON, for a question, in the place of these.
    Arguments { approval: String, before: Args },
}

/// What came of editing: the text, or why there is none.
pub struct EditResult {
    what: Edited,
    after: Result<String, String>,
}

impl EditTask {
    /// Lets the person edit. The terminal must be free.
    pub async fn run(self) -> EditResult {
        let after = self.editor.edit(Path::new(&self.name), &self.begun).await;
        EditResult { what: self.what, after }
    }
}

fn is_control(key: KeyEvent, letter: char) -> bool {
    key.code == KeyCode::Char(letter) && key.modifiers.contains(KeyModifiers::CONTROL)
}

impl App {
    /// A key was pressed.
    pub(super) fn key(&mut self, key: KeyEvent, now: Instant) -> Wish {
        if self.person.rest.takes(key, now) {
            return Wish::Nothing;
        }
        // Neither a card nor a list has a use for it.
        if is_control(key, 'z') && (self.picker.is_some() || !self.questions.is_empty()) {
            return Wish::Suspend;
        }
        let (preselects, is_picking) = (self.preselects(), self.picker.is_some());
        let deed = match self.questions.front() {
            // What is chosen from a list was asked for in the line.
            Some(card) if !(is_picking && card.is_beside()) => card.key(key, preselects, now),
            _ => Deed::NotMine,
        };
        let wish = match deed {
            Deed::NotMine => self.write(key, now),
            Deed::Answer(Outcome::Cancel { reason: None }) if self.takes_back(key) => self.stop_asking(),
            deed => self.heed(deed, now),
        };
        self.return_keys(now);
        wish
    }

    /// Does what was said to the card on the screen.
    fn heed(&mut self, deed: Deed, now: Instant) -> Wish {
        match deed {
            Deed::NotMine | Deed::Taken => {}
            Deed::Edit => return self.edit_call(),
            Deed::Write(keys) => {
                for key in keys {
                    self.write(key, now);
                }
            }
            Deed::Answer(outcome) => {
                let approval = self.questions.front().map(|card| card.asked().approval.clone());
                if let Some(approval) = approval {
                    self.answer(&approval, outcome);
                }
            }
        }
        Wish::Nothing
    }

    /// Answers a question, once.
    fn answer(&mut self, approval: &str, outcome: Outcome) {
        let Some(link) = self.link() else { return };
        link.answer(approval, outcome);
        if let Some(card) = self.questions.find(approval) {
            card.answered();
        }
    }

    /// True for a key that stops the turn while something waits that the person said.
    fn takes_back(&self, key: KeyEvent) -> bool {
        let stops = key.code == KeyCode::Esc || is_control(key, 'c');
        stops && self.status.queue.iter().any(|queued| queued.by == self.base.me)
    }

    /// Stops the turn at its question: what waits comes back into the line.
    fn stop_asking(&mut self) -> Wish {
        if let Some(card) = self.questions.front() {
            card.answered();
        }
        if let Some(link) = self.link() {
            link.cancel();
        }
        Wish::Nothing
    }

    /// Keys go back to a card when nothing is written any more.
    fn return_keys(&mut self, now: Instant) {
        if self.composer.is_empty()
            && self.picker.is_none()
            && let Some(card) = self.questions.front()
        {
            card.line_is_empty(now);
        }
    }

    /// A key that is for no card.
    fn write(&mut self, key: KeyEvent, now: Instant) -> Wish {
        if self.pick(key, now) {
            return Wish::Nothing;
        }
        let action = self.composer.key(key);
        if !matches!(action, Action::Interrupt) {
            self.forget_interrupt();
        }
        self.act(action, key, now)
    }

    /// Enter says yes to a question: nothing is written that it would send instead.
    pub(super) fn preselects(&self) -> bool {
        self.composer.is_empty()
    }

    /// Text was pasted.
    pub(super) fn paste(&mut self, text: &str, now: Instant) {
        let deed = self.questions.front().map_or(Deed::NotMine, |card| card.paste(text, now));
        match deed {
            Deed::Taken => return,
            deed => drop(self.heed(deed, now)),
        }
        if let Some(picker) = &mut self.picker {
            return picker.paste(text);
        }
        match self.dropped(text) {
            Some(files) => files.into_iter().for_each(|file| self.composer.attach(file)),
            None => drop(self.composer.paste(text)),
        }
    }

    /// The files that were dragged onto the terminal, if that is what was pasted.
    fn dropped(&self, pasted: &str) -> Option<Vec<PathBuf>> {
        let environment = self.base.charla.environment();
        let paths = dropped_paths(pasted)?.into_iter();
        let files: Vec<PathBuf> =
            paths.map(|path| environment.expand(&path.to_string_lossy(), &environment.directory)).collect();
        files.iter().all(|file| file.is_file()).then_some(files)
    }

    fn act(&mut self, action: Action, key: KeyEvent, now: Instant) -> Wish {
        match action {
            Action::Redraw => {}
            Action::Unused => self.spare_key(key),
            Action::Send(message) => self.submit(*message, now),
            Action::Cancel => self.cancel(),
            Action::Interrupt if self.composer.is_empty() => self.interrupt(now),
            Action::Interrupt => self.composer.clear(),
            Action::Leave => self.leave(Reason::Left),
            Action::Suspend => return Wish::Suspend,
            Action::EditExternally => return self.edit_draft(),
            Action::CycleMode => self.cycle_mode(),
            Action::ClearScreen => self.display.clear_screen(),
        }
        Wish::Nothing
    }

    /// Keys that the composer has no use for.
    fn spare_key(&mut self, key: KeyEvent) {
        if is_control(key, 'o') {
            self.toggle_thoughts();
        }
    }

    /// Thoughts are shown whole, or no longer.
    pub(super) fn toggle_thoughts(&mut self) {
        let is_whole = !self.transcript.shows_thoughts;
        self.transcript.shows_thoughts = is_whole;
        // Where something streams, words of ours would stand in the middle of it.
        if !self.transcript.is_moving() {
            let words = if is_whole { "thoughts are shown whole" } else { "thoughts are one row" };
            self.transcript.tell(Role::Dim, &format!("{words} from now on"));
        }
    }

    fn submit(&mut self, message: Message, now: Instant) {
        self.keep(&message.text);
        if message.text.starts_with('/') && message.files.is_empty() {
            return self.command(message.text.trim_end(), now);
        }
        if let Some(command) = message.text.strip_prefix('!').filter(|_| message.files.is_empty()) {
            return self.run_own(command.trim());
        }
        self.say(message);
    }

    /// Says something, at the latest once the session is open.
    pub(super) fn say(&mut self, message: Message) {
        match self.link() {
            Some(link) => link.say(message),
            None => self.unsent.push(message),
        }
    }

    /// Runs a command line of the person's own: a call that they make.
    fn run_own(&mut self, command: &str) {
        match self.link() {
            _ if command.is_empty() => self.transcript.tell(Role::Warning, "! runs the command behind it"),
            Some(link) => link.run(command),
            None => self.transcript.tell(Role::Warning, "the session is not open yet"),
        }
    }

    /// Keeps what was sent, to go back to it.
    fn keep(&self, text: &str) {
        let (history, text) = (self.base.history.clone(), text.to_owned());
        // Nothing depends on it: where it fails, it is not there next time.
        tokio::task::spawn_blocking(move || history.add(&text));
    }

    /// Stops what the person began themselves, else the turn, if one runs.
    fn cancel(&mut self) {
        if let Some(composing) = &self.person.composing {
            return composing.cancel();
        }
        if let (Some(call), Some(link)) = (self.transcript.own_call(), self.link()) {
            return link.stop(call);
        }
        if self.activity.is_moving()
            && let Some(link) = self.link()
        {
            link.cancel();
            self.activity.stopping();
        }
    }

    /// A prompt that waited is taken back: its words stand in the composer again, with the files that went with it.
    pub(super) fn bring_back(&mut self, prompt: &str) {
        let queued = self.status.queue.iter().find(|queued| queued.id == prompt);
        let words = queued.and_then(|queued| own_words(&queued.content)).unwrap_or_default().to_owned();
        let files = self.person.sent_files.remove(prompt).unwrap_or_default();
        if !words.is_empty() || !files.is_empty() {
            self.composer.bring_back(&words, files);
        }
    }

    /// What the person said is recorded: should it come back, these files go with it.
    pub(super) fn prompted(&mut self, prompt: String, files: Vec<PathBuf>, waits: bool) {
        if waits && !files.is_empty() {
            self.person.sent_files.insert(prompt, files);
        }
    }

    /// Ctrl-C: stops what runs; twice, leaves.
    pub(super) fn interrupt(&mut self, now: Instant) {
        let is_second = self.person.interrupted.is_some_and(|when| now < when + TWICE);
        if is_second {
            self.leave(Reason::Dismissed);
            return;
        }
        self.cancel();
        self.person.interrupted = Some(now);
        self.hint = Some("Press Ctrl+C again to exit".to_owned());
    }

    /// Time passes: a Ctrl-C of long ago counts no more, and a letter that nothing has followed answers.
    pub(super) fn time_passes(&mut self, now: Instant) -> Wish {
        if self.person.interrupted.is_some_and(|when| now >= when + TWICE) {
            self.forget_interrupt();
        }
        let Some(card) = self.questions.front() else { return Wish::Nothing };
        let (deed, rest) = card.settle(now);
        if matches!(deed, Deed::Answer(_)) {
            self.person.rest = rest;
        }
        self.heed(deed, now)
    }

    /// Something else is done: the next Ctrl-C is the first again.
    fn forget_interrupt(&mut self) {
        if self.person.interrupted.take().is_some() {
            self.hint = None;
        }
    }

    /// The next mode. The one in which nothing asks is never come upon by walking.
    fn cycle_mode(&mut self) {
        let mode = match self.status.mode {
            ApprovalMode::Default => ApprovalMode::AutoEdit,
            ApprovalMode::AutoEdit => ApprovalMode::Plan,
            ApprovalMode::Plan | ApprovalMode::Yolo => ApprovalMode::Default,
        };
        if let Some(link) = self.link() {
            link.ask(Command::SetMode { mode }, Asked::Other(format!("approval mode {mode}")));
        }
    }

    fn edit_draft(&mut self) -> Wish {
        Wish::Edit(EditTask {
            editor: self.editor(),
            name: "prompt.md".to_owned(),
            begun: self.composer.labelled(),
            what: Edited::Draft,
        })
    }

    /// What a question is about, for the editor: a file's new content, else the arguments. What was written before and could
    /// not be used is gone on with.
    fn edit_call(&mut self) -> Wish {
        let editor = self.editor();
        let Some(card) = self.questions.front() else { return Wish::Nothing };
        let (asked, draft) = (card.asked(), card.draft().map(str::to_owned));
        let approval = asked.approval.clone();
        let (name, before, what) = match &asked.confirmation.detail {
            ConfirmationDetail::Edit { path, after, .. } => {
                let what = Edited::Content { approval, before: after.clone() };
                (path.to_string_lossy().into_owned(), after.clone(), what)
            }
            _ => {
                let args = self.transcript.arguments(&asked.call).cloned().unwrap_or_default();
                let text = serde_json::to_string_pretty(&args).unwrap_or_default();
                let what = Edited::Arguments { approval, before: args };
                ("arguments.json".to_owned(), format!("{text}\n"), what)
            }
        };
        Wish::Edit(EditTask { editor, name, begun: draft.unwrap_or(before), what })
    }

    fn editor(&self) -> Editor {
        Editor::of(self.base.charla.environment(), &self.base.settings)
    }

    /// The person's editor has ended.
    pub fn edited(&mut self, edited: EditResult) {
        let EditResult { what, after } = edited;
        let approval = match (&what, &after) {
            (Edited::Draft, Ok(text)) => return self.composer.set_labelled(text.trim_end_matches('\n')),
            (Edited::Draft, Err(problem)) => return self.transcript.tell(Role::Warning, problem),
            (Edited::Content { approval, .. } | Edited::Arguments { approval, .. }, _) => approval,
        };
        let outcome = after.as_ref().map_err(Clone::clone).and_then(|text| what.became(text));
        if let (Some(card), Ok(text)) = (self.questions.find(approval), after) {
            card.keep_draft((outcome != Ok(None)).then_some(text));
        }
        match outcome {
            Ok(Some(outcome)) => self.answer(approval, outcome),
            Ok(None) => self.complain(approval, "nothing was changed in the editor"),
            Err(problem) => self.complain(approval, &problem),
        }
    }

    /// Says at a question what was wrong with the last try.
    fn complain(&mut self, approval: &str, problem: &str) {
        if let Some(card) = self.questions.find(approval) {
            card.complain(problem);
        }
    }
}

impl Edited {
    /// The answer that a text is; nothing where it says what was there before.
    fn became(&self, text: &str) -> Result<Option<Outcome>, String> {
        match self {
            Self::Draft => Ok(None),
            Self::Content { before, .. } => {
                let outcome = Outcome::ModifyWithEditor { new_content: text.to_owned() };
                Ok((text != before).then_some(outcome))
            }
            Self::Arguments { before, .. } => {
                Ok(edited_arguments(text, before)?.map(|args| Outcome::Modify { args }))
            }
        }
    }
}
