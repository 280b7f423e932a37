//! What commands do.

use std::future::Future;
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use charla::custom_command::Piece;
use charla::engine;
use charla::session::init_prompt;
use charla::settings;
use charla::{Begin, Charla, Failure, OpenRequest};
use charla_core::hooks::{EndReason, StartSource};
use charla_proto::{ApprovalMode, Command, RevertSelection};

use super::Reason;
use super::first_run::Set;
use super::help;
use super::link::{Closing, Link};
use super::news::{Asked, News};
use super::setup::first_message;
use super::state::{App, OPENING, Standing};
use crate::commands::{self, Errand, Found, Offered, Slash, marked};
use crate::picker::{Item, Picked, Picker};
use crate::text::{Line, Role};
use crate::theme::{Background, ThemeError, Themes};

/// What there is to know of a theme in a list.
fn about_theme(name: &str, worn: &str, background: Background) -> String {
    let suits = match (name.ends_with("-dark"), name.ends_with("-light"), name == "terminal", background) {
        (true, ..) => "for dark backgrounds",
        (_, true, ..) => "for light backgrounds",
        (_, _, true, _) => "the sixteen colours of your terminal",
        (.., Background::Dark) => "as your terminal is: dark",
        (.., Background::Light) => "as your terminal is: light",
        (.., Background::Unknown) => "for any background",
    };
    marked(name == worn, suits.to_owned())
}

/// Where a conversation goes back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewind {
    /// The message that becomes the last; 0 for none.
    pub to: u64,
    /// What the person said behind it, to say it anew.
    pub words: Option<String>,
}

/// Something chosen from a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A model.
    Model(String),
    /// A mode.
    Mode(ApprovalMode),
    /// A message, to go back to.
    Rewind(Rewind),
    /// The same, with or without the files.
    RewindTo(Rewind, bool),
    /// A session.
    Resume(String),
    /// A theme.
    Theme(String),
    /// The model that answers from now on in every session; none is kept.
    KeepModel(Option<String>),
    /// Whether the folder is trusted.
    Trust(bool),
    /// A prompt whose places are to be filled, commands included.
    Compose(Vec<Piece>),
    /// An extension that is agreed to.
    Agree(Offered),
    /// None of it.
    Nothing,
}

const MODES: [(ApprovalMode, &str); 4] = [
    (ApprovalMode::Plan, "nothing may be changed or run"),
    (ApprovalMode::Default, "reading is free, everything else asks"),
    (ApprovalMode::AutoEdit, "edits in the workspace are free, too"),
    (ApprovalMode::Yolo, "nothing asks; what a rule denies stays denied"),
];

impl App {
    /// A line that begins with `/`.
    pub(super) fn command(&mut self, line: &str, now: Instant) {
        self.transcript.part();
        self.transcript.print(vec![Line::of(Role::Dim, &format!("› {line}"))]);
        let words = line.trim_start_matches('/').trim();
        let (name, arguments) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        if self.custom(name, arguments, now) {
            return;
        }
        match commands::parse(line) {
            Ok((slash, rest)) => self.run(slash, rest.to_owned(), now),
            Err(_) if self.server_prompt(name, arguments.trim(), now) => {}
            Err(problem) => self.transcript.tell(Role::Warning, &problem),
        }
    }

    /// What is asked about is on the machine where the session runs.
    pub(super) fn not_here(&mut self, what: &str) {
        let server = self.base.source.server().unwrap_or("another machine").to_owned();
        self.transcript
            .tell(Role::Warning, &format!("{what} on this machine, and the session is at {server}"));
    }

    fn run(&mut self, slash: Slash, rest: String, now: Instant) {
        if self.base.source.server().is_some() && slash.is_about_this_machine(&rest) {
            let what = match slash {
                Slash::Model => "`/model PROVIDER/MODEL` chooses one there; the list is that of models",
                _ => "that looks at models, rules and settings",
            };
            return self.not_here(what);
        }
        match slash {
            Slash::Help => self.transcript.print(help::lines(self.display.size().columns)),
            Slash::Model if rest.is_empty() => self.find_out(Errand::models, now),
            Slash::Model => self.choose(Choice::Model(rest), now),
            Slash::Mode => self.mode(&rest, now),
            Slash::Tools => self.find_out(Errand::tools, now),
            Slash::Mcp => self.find_out(Errand::mcp, now),
            Slash::Extensions if rest == "reload" => self.reload(),
            Slash::Extensions => self.find_out(move |errand| errand.extensions(rest), now),
            Slash::Skills => self.find_out(Errand::skills, now),
            Slash::Agents => self.find_out(Errand::agents, now),
            Slash::Hooks => self.find_out(Errand::hooks, now),
            Slash::Init => self.say(first_message(init_prompt(&rest))),
            Slash::Policy => {
                let mode = self.status.mode;
                self.find_out(move |errand| errand.policy(rest, mode), now);
            }
            Slash::Approvals => self.find_out(move |errand| errand.approvals(rest), now),
            Slash::Memory => {
                self.ask(Command::Refresh, "refreshing");
                self.find_out(Errand::memory, now);
            }
            Slash::Compress => self.ask(Command::Compress, "compressing"),
            Slash::Uncompress => self.ask(Command::Restore, "bringing it back"),
            Slash::Rewind => self.find_out(Errand::messages, now),
            Slash::Undo => self.ask(Command::Undo(RevertSelection::default()), "undo"),
            Slash::Redo => self.ask(Command::Redo(RevertSelection::default()), "redo"),
            Slash::Resume if rest.is_empty() => self.find_out(Errand::sessions, now),
            Slash::Resume => self.choose(Choice::Resume(rest), now),
            Slash::Fork => match self.person.session.clone().filter(|_| self.person.has_spoken) {
                Some(session) => {
                    self.break_off();
                    self.transcript.tell(Role::Dim, &format!("from here on in a copy of {session}"));
                    self.go_to(Begin::Fork { session, at: None });
                }
                None => self.transcript.tell(Role::Warning, "nothing was said yet: there is nothing to copy"),
            },
            Slash::Stats => {
                let window = self.status.window;
                self.find_out(move |errand| errand.stats(window), now);
            }
            Slash::Copy => self.copy(),
            Slash::Export => self.find_out(move |errand| errand.export(rest), now),
            Slash::Theme => self.theme(&rest, now),
            Slash::Settings => self.find_out(Errand::settings, now),
            Slash::Doctor => self.find_out(Errand::doctor, now),
            Slash::Thoughts => self.toggle_thoughts(),
            Slash::Clear => {
                self.break_off();
                self.go_to(Begin::New);
            }
            Slash::HandOver => self.hand_over(&rest),
            Slash::Quit => self.leave(Reason::Left),
        }
    }

    /// Leaves the session to whoever asks for it, or says no to them.
    fn hand_over(&mut self, answer: &str) {
        match commands::hands_over(answer) {
            Ok(true) if !self.link().is_some_and(Link::runs_here) => {
                self.transcript
                    .tell(Role::Warning, "the session does not run here: there is nothing to hand over");
            }
            Ok(true) => {
                if self.activity.is_busy() && self.questions.is_empty() {
                    self.transcript
                        .tell(Role::Dim, "left once the turn is over; Ctrl-C twice leaves at once");
                }
                self.leave_by(Closing { stops: false, waits: true, ..Closing::exit() }, Reason::Left);
            }
            Ok(false) => self.ask(Command::Keep, "keeping it here"),
            Err(problem) => self.transcript.tell(Role::Warning, &problem),
        }
    }

    /// Says that a turn is left in the middle, if one runs.
    fn break_off(&mut self) {
        if self.activity.is_busy() {
            self.transcript.tell(Role::Warning, "the turn is interrupted");
        }
    }

    fn mode(&mut self, name: &str, now: Instant) {
        let known = MODES.iter().find(|(mode, _)| mode.to_string() == name);
        match known {
            Some((mode, _)) => self.choose(Choice::Mode(*mode), now),
            None => {
                if !name.is_empty() {
                    self.transcript.tell(Role::Warning, &commands::unknown_mode(name));
                }
                let held = self.status.mode;
                let item = |(mode, detail): &(ApprovalMode, &str)| Item {
                    label: mode.to_string(),
                    detail: marked(*mode == held, (*detail).to_owned()),
                    choice: Choice::Mode(*mode),
                };
                let picker = Picker::new("approval mode", MODES.iter().map(item).collect());
                self.picker = Some(picker.standing_at(|choice| *choice == Choice::Mode(held)));
            }
        }
    }

    fn theme(&mut self, name: &str, now: Instant) {
        if !name.is_empty() {
            return self.choose(Choice::Theme(name.to_owned()), now);
        }
        let (worn, background) = self.base.theme.clone();
        let item = |name: String| Item {
            detail: about_theme(&name, &worn, background),
            label: name.clone(),
            choice: Choice::Theme(name),
        };
        let names = themes(&self.base.charla).names();
        let picker = Picker::new("theme", names.into_iter().map(item).collect());
        self.picker = Some(picker.standing_at(|choice| *choice == Choice::Theme(worn.clone())));
    }

    fn copy(&mut self) {
        match self.transcript.last_answer() {
            "" => self.transcript.tell(Role::Warning, "there is no answer yet"),
            answer => {
                self.display.copy(&STANDARD.encode(answer));
                self.transcript.tell(Role::Dim, "copied, where the terminal allows it");
            }
        }
    }

    /// Asks something of the session, where there is one.
    fn ask(&mut self, command: Command, what: &str) {
        self.ask_for(command, Asked::Other(what.to_owned()));
    }

    fn ask_for(&mut self, command: Command, asked: Asked) {
        match self.link() {
            Some(link) => link.ask(command, asked),
            None => self.transcript.tell(Role::Warning, "the session is not open yet"),
        }
    }

    /// Finds something out beside the screen.
    fn find_out<F, W>(&mut self, errand: F, now: Instant)
    where
        F: FnOnce(Errand) -> W,
        W: Future<Output = Result<Found, Failure>> + Send + 'static,
    {
        let session = self.link().map(|link| (link.handle().clone(), link.id().to_owned()));
        let work = errand(Errand {
            charla: self.base.charla.clone(),
            settings: self.base.settings.clone(),
            session,
            exports: self.base.exports.clone(),
            updated: self.base.updated.clone(),
        });
        let tell = self.base.tell.clone();
        self.activity.progress(Some("looking".to_owned()), now);
        tokio::spawn(async move {
            let _ = tell.send(News::Found(work.await));
        });
    }

    /// What was found out.
    pub(super) fn found(&mut self, found: Result<Found, Failure>, now: Instant) {
        self.activity.progress(None, now);
        match found {
            Ok(Found::Lines(mut lines)) => {
                lines.push(Line::new());
                self.transcript.print(lines);
            }
            Ok(Found::Filled(mut lines, filling)) => {
                lines.push(Line::new());
                lines.extend(filling.bars());
                lines.push(Line::new());
                self.transcript.print(lines);
            }
            Ok(Found::Listing(named)) => {
                let columns = self.display.size().columns;
                let lines = named.iter().flat_map(|(name, about)| help::explained(name, about, columns));
                let lines: Vec<Line> = lines.chain([Line::new()]).collect();
                self.transcript.print(lines);
            }
            Ok(Found::Recorded { besides, .. }) => {
                besides.iter().for_each(|words| self.transcript.tell(Role::Warning, words));
            }
            Ok(Found::Choice(picker)) => self.picker = Some(picker),
            Ok(Found::Question(lines, picker)) => {
                self.transcript.print(lines);
                self.picker = Some(picker);
            }
            Ok(Found::Changed(lines)) => {
                self.transcript.print(lines);
                self.reload();
            }
            Ok(Found::Session(id)) => self.go_to(Begin::Resume(id)),
            Err(failure) => self.failed(&failure),
        }
    }

    /// A key, while something is to be chosen; false where nothing is.
    pub(super) fn pick(&mut self, key: crossterm::event::KeyEvent, now: Instant) -> bool {
        let Some(picker) = &mut self.picker else { return false };
        match picker.key(key) {
            Picked::More => {}
            Picked::Left => {
                self.picker = None;
                self.end_set_up(Set::Done);
            }
            Picked::Chosen(choice) => {
                self.picker = None;
                self.choose(choice, now);
            }
        }
        true
    }

    fn choose(&mut self, choice: Choice, now: Instant) {
        match choice {
            Choice::Nothing => self.transcript.tell(Role::Dim, "no: nothing was run, sent or changed"),
            Choice::Agree(offered) => self.find_out(move |errand| errand.agreed(offered), now),
            Choice::KeepModel(model) => self.keep_model(model.as_deref()),
            Choice::Trust(yes) => self.trust(yes),
            Choice::Compose(pieces) => self.compose(pieces, now),
            Choice::Model(model) => self.ask(Command::SetModel { model: model.clone() }, &model),
            Choice::Mode(mode) => {
                self.ask(Command::SetMode { mode }, "approval mode");
                if engine::at_most(&self.status.model) < mode {
                    let words =
                        format!("the built-in model is too small for {mode}: changes and commands still ask");
                    self.transcript.tell(Role::Warning, &words);
                }
            }
            Choice::Rewind(to) => {
                let item = |label: &str, files| Item {
                    label: label.to_owned(),
                    detail: String::new(),
                    choice: Choice::RewindTo(to.clone(), files),
                };
                let items = vec![item("files stay as they are", false), item("files go back, too", true)];
                self.picker = Some(Picker::new("rewind", items));
            }
            Choice::RewindTo(Rewind { to, words }, files) => {
                self.ask_for(Command::Rewind { to, files }, Asked::Rewind(words));
            }
            Choice::Resume(session) if self.base.source.server().is_some() => {
                self.find_out(|errand| errand.session_of_server(session), now);
            }
            Choice::Resume(session) => self.find_out(|errand| errand.session_to_resume(session), now),
            Choice::Theme(name) => match self.dress(&name) {
                Ok(()) => self.keep_theme(&name),
                Err(error) => self.transcript.tell(Role::Warning, &error.to_string()),
            },
        }
    }

    /// Keeps the theme in the user's settings.
    fn keep_theme(&mut self, name: &str) {
        match settings::keep(self.base.charla.environment(), &["terminal", "theme"], &name.into()) {
            Ok(file) => {
                self.transcript.tell(Role::Dim, &format!("theme {name}, kept in {}", file.display()));
            }
            Err(failure) => self.failed(&failure),
        }
    }

    /// Puts on the theme of this name.
    fn dress(&mut self, name: &str) -> Result<(), ThemeError> {
        let theme = themes(&self.base.charla).get(name, self.base.theme.1)?;
        self.display.painter().set_theme(theme);
        self.base.theme.0 = name.to_owned();
        Ok(())
    }

    /// The terminal's background is known: the theme that is worn suits it from now on.
    pub(super) fn dress_for(&mut self, background: Background) {
        self.base.theme.1 = background;
        let name = self.base.theme.0.clone();
        // A theme that is gone from its folder stays as it was.
        let _ = self.dress(&name);
    }

    /// Goes on in another session; the one before is closed first.
    pub(super) fn go_to(&mut self, begin: Begin) {
        let (start, reason) = match begin {
            Begin::New => (StartSource::Clear, EndReason::Clear),
            _ => (StartSource::Resume, EndReason::Exit),
        };
        let options = self.base.options.clone();
        let request = OpenRequest { begin, options, start, ..OpenRequest::default() };
        let stops = self.activity.is_busy() && self.questions.is_empty();
        let hands_over = self.person.reloading.is_some();
        match std::mem::replace(&mut self.standing, Standing::Opening) {
            Standing::Attached(link) => {
                link.close(Closing { stops, reason, hands_over, waits: hands_over });
                self.activity.progress(Some(OPENING.to_owned()), Instant::now());
                self.standing = Standing::Changing(Box::new(request));
            }
            other => self.standing = other,
        }
    }
}

/// The themes that can be named: built-in ones, and those in the user's folder.
pub(super) fn themes(charla: &Charla) -> Themes {
    Themes::new(charla.environment().charla_home().map(|home| home.join("themes")))
}
