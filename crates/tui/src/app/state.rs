//! The application's state, and what each happening does to it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use charla::custom_command::{CustomCommand, custom_commands};
use charla::models::Prices;
use charla::session::{PromptHistory, git_branch};
use charla::settings::Settings;
use charla::{Charla, Failure, FirstRun, OpenRequest, RunOptions, SessionSource, Wall};
use charla_proto::{ApprovalAnswered, Fact, SessionEvent};
use charla_terminal::grants;
use tokio::sync::mpsc::UnboundedSender;

use super::activity::Activity;
use super::display::Display;
use super::link::{self, Closing, Link};
use super::news::{News, Teller};
use super::person::Person;
use super::questions::Questions;
use super::setup::{completions, confinement, first_message, found_more, keys, theme};
use super::signals::{Signal, stop_process};
use super::sources::{Happening, Sources};
use super::{Choice, Demands, Ending, Launch, Reason};
use crate::commands::{Exports, KnownServers, Updated, window};
use crate::composer::{Composer, History, Message};
use crate::picker::Picker;
use crate::status::Status;
use crate::text::Role;
use crate::theme::{Background, Painter};
use crate::transcript::Transcript;
use crate::writer::Writer;

/// How often a spinner turns.
const TICK: Duration = Duration::from_millis(100);
/// What is said while a session is opened, or closed for another.
pub(super) const OPENING: &str = "opening the session";
/// How long a second Ctrl-C counts as such.
pub(super) const TWICE: Duration = Duration::from_secs(2);

/// What needs the terminal, and cannot be done here.
pub enum Wish {
    /// Nothing.
    Nothing,
    /// To be stopped until the shell continues us.
    Suspend,
    /// To let the person edit something in their editor.
    Edit(super::composing::EditTask),
}

/// How the application is doing.
pub(super) enum Standing {
    /// The user chooses what is chosen once; the session is opened then.
    SettingUp(Box<(FirstRun, OpenRequest)>),
    /// A session is being opened.
    Opening,
    /// A session is attached to.
    Attached(Box<Link>),
    /// The session is being closed, and this one is opened then.
    Changing(Box<OpenRequest>),
    /// The session is being closed, and this is why.
    Leaving(Reason),
    /// It is over.
    Over(Reason),
}

/// The application.
pub struct App {
    pub(super) base: Base,
    pub(super) display: Display,
    pub(super) composer: Composer,
    pub(super) transcript: Transcript,
    pub(super) questions: Questions,
    pub(super) status: Status,
    pub(super) activity: Activity,
    pub(super) standing: Standing,
    /// A choice that is to be made.
    pub(super) picker: Option<Picker<Choice>>,
    /// What was said before a session was open.
    pub(super) unsent: Vec<Message>,
    /// What the status line says for a moment instead.
    pub(super) hint: Option<String>,
    pub(super) person: Person,
}

/// What everything else stands on.
pub(super) struct Base {
    pub(super) charla: Charla,
    /// Where sessions are opened.
    pub(super) source: Arc<dyn SessionSource>,
    /// Who types.
    pub(super) me: String,
    pub(super) settings: Settings,
    /// What the run says beside the settings files.
    pub(super) demands: Demands,
    /// What holds for every session that is opened here.
    pub(super) options: RunOptions,
    pub(super) history: PromptHistory,
    /// Commands that the user wrote.
    pub(super) custom: Vec<CustomCommand>,
    /// The MCP servers of the session.
    pub(super) servers: KnownServers,
    /// What was written by `/export`.
    pub(super) exports: Exports,
    /// Extensions that were updated.
    pub(super) updated: Updated,
    /// The theme by its name, and what it stands on.
    pub(super) theme: (String, Background),
    /// For what work beside the screen comes to.
    pub(super) tell: UnboundedSender<News>,
}

impl App {
    /// Takes the terminal, and begins to open the session.
    pub fn new(launch: Launch, tell: UnboundedSender<News>) -> std::io::Result<Self> {
        let Launch { charla, source, me, settings, demands, request, first_run, prompt, look } = launch;
        let theme = theme(&charla, &settings).unwrap_or_default();
        let named = (theme.name().to_owned(), Background::Unknown);
        let painter = Painter::new(theme, look.depth, true);
        let mut display = Display::new(painter, look.narrowing)?;
        if look.asks_background {
            display.ask_background();
        }
        let columns = display.size().columns;
        let mut status = Status::new(Prices::new(&settings));
        status.mode = settings.tools.approval_mode.unwrap_or_default();
        status.confinement = match source.server() {
            Some(server) => format!("at {server}"),
            None => confinement(&Wall::look()).to_owned(),
        };
        let history = PromptHistory::of(charla.environment());
        let custom = custom_commands(charla.environment(), &settings.brought, &mut Teller(tell.clone()));
        let (custom, problem) = match custom {
            Ok(custom) => (custom, None),
            Err(failure) => (Vec::new(), Some(failure)),
        };
        let servers = KnownServers::new(found_more(&tell));
        let history_entries = History::new(history.read());
        let mut app = Self {
            display,
            composer: Composer::new(
                keys(&settings),
                history_entries,
                completions(&charla, &custom, &servers, &tell),
            ),
            transcript: Transcript::new(columns, me.clone()),
            questions: Questions::default(),
            status,
            activity: Activity::default(),
            standing: Standing::Opening,
            picker: None,
            unsent: prompt.into_iter().map(first_message).collect(),
            hint: None,
            base: Base {
                charla,
                source,
                me,
                settings,
                demands,
                options: request.options.clone(),
                history,
                custom,
                servers,
                exports: Exports::default(),
                updated: Updated::default(),
                theme: named,
                tell,
            },
            person: Person::default(),
        };
        app.composer.set_placeholder("  Type your message or @path/to/file");
        app.look_around();
        app.look_for_updates();
        problem.iter().for_each(|failure| app.failed(failure));
        app.transcript.shows_thoughts = app.base.settings.output.thoughts.unwrap_or(false);
        match first_run {
            Some(first) => app.set_up(first, request),
            None => app.open(request),
        }
        Ok(app)
    }

    /// The terminal.
    pub fn display(&mut self) -> &mut Display {
        &mut self.display
    }

    /// True when there is nothing more to do.
    pub fn is_over(&self) -> bool {
        matches!(self.standing, Standing::Over(_)) || !self.display.is_ours()
    }

    /// Opens a session in place of the one before.
    pub(super) fn open(&mut self, request: OpenRequest) {
        self.standing = Standing::Opening;
        self.person.opening = request.cancel.clone();
        self.activity.progress(Some(OPENING.to_owned()), Instant::now());
        let (background, tell) = (self.person.background.clone(), self.base.tell.clone());
        link::open(self.base.source.clone(), self.base.settings.clone(), request, background, tell);
    }

    /// Looks which branch the workspace is on.
    fn look_around(&mut self) {
        if self.base.source.server().is_none() {
            self.status.branch = git_branch(&self.base.charla.environment().directory);
        }
    }

    /// When something must be done although nothing happens.
    pub fn wakes_at(&mut self) -> Option<Instant> {
        let now = Instant::now();
        // While only a person is waited for, nothing moves.
        let is_moving = match self.questions.is_empty() {
            true => self.activity.is_moving() || self.transcript.is_moving(),
            false => self.transcript.has_running(),
        };
        let tick = is_moving.then(|| now + TICK);
        let arms = self.questions.front().and_then(|card| card.arms_at(now));
        let settles = self.questions.front().and_then(|card| card.settles_at());
        let forgets = self.person.interrupted.map(|when| when + TWICE);
        [self.display.due(now), tick, arms, settles, forgets].into_iter().flatten().min()
    }

    /// Draws a frame if one is due.
    pub fn draw_if_due(&mut self) {
        let now = Instant::now();
        if self.display.due(now).is_some_and(|due| due <= now) {
            self.draw(now);
        }
    }

    fn draw(&mut self, now: Instant) {
        // The news of it may still be on its way.
        if self.display.has_other_size() {
            return self.display.resized(now);
        }
        if let Some(kept) = self.display.resize(&self.transcript.settled(now)) {
            self.transcript.leave(kept, now);
            self.transcript.resize(self.display.size().columns, now);
        }
        let size = self.display.size();
        // What lives takes a third of the screen: when the terminal becomes half as wide or as tall, none of its rows leaves
        // the screen before it is finished.
        let room = self.live(size.columns, size.rows, now).room.min(size.rows / 3);
        let finished = self.transcript.finished(room, now);
        let live = self.live(size.columns, size.rows, now);
        self.display.draw(&finished, &live.lines, live.cursor, now);
    }

    /// What has been written to the terminal is seen from now on: a card counts as seen then and not before.
    pub fn look_what_is_written(&mut self) {
        if !self.display.is_writing()
            && let Some(card) = self.questions.front()
        {
            card.written(Instant::now());
        }
    }

    /// What tells when the last frame is written, while something waits for it.
    pub fn behind(&mut self) -> Option<Writer> {
        let waits = self.questions.front().is_some_and(|card| card.is_on_its_way());
        self.display.behind(waits)
    }

    /// Something happened.
    pub fn take(&mut self, happening: Happening, sources: &mut Sources) -> Wish {
        let now = Instant::now();
        self.display.touch();
        match happening {
            Happening::Key(key) => return self.key(key, now),
            Happening::Paste(text) => self.paste(&text, now),
            Happening::Resized => self.display.resized(now),
            Happening::Focus(is_looking) => self.person.is_looking = Some(is_looking),
            Happening::Background(background) => self.dress_for(background),
            Happening::Session(event) => self.session_event(&event, now),
            Happening::SessionEnded => self.session_ended(),
            Happening::News(news) => self.news(news, sources, now),
            Happening::Signal(Signal::Stop) => return Wish::Suspend,
            Happening::Signal(Signal::Interrupt) => self.interrupt(now),
            Happening::Signal(Signal::Terminate | Signal::HangUp) | Happening::InputEnded => {
                self.leave(Reason::Interrupted);
            }
            Happening::Time => return self.time_passes(now),
        }
        Wish::Nothing
    }

    fn session_event(&mut self, event: &SessionEvent, now: Instant) {
        self.activity.take(event, now);
        self.transcript.take(event, now);
        if let SessionEvent::Record(record) = event {
            if let Fact::PromptWithdrawn(withdrawn) = &record.fact
                && withdrawn.by == self.base.me
            {
                self.bring_back(&withdrawn.prompt);
            }
            self.status.take(record);
            match &record.fact {
                Fact::CallAsked(asked) => {
                    self.questions.push(asked);
                    self.call_the_person(&asked.confirmation.tool);
                }
                Fact::ApprovalAnswered(answered) => self.question_answered(answered),
                Fact::ModelChanged(changed) => {
                    self.status.window = window(&self.base.settings, &changed.model)
                }
                Fact::TurnStarted(_) | Fact::ClientCallStarted(_) => self.person.has_spoken = true,
                Fact::TurnEnded(_) => {
                    self.questions.clear();
                    self.look_around();
                    let queue = &self.status.queue;
                    self.person
                        .sent_files
                        .retain(|prompt, _| queue.iter().any(|queued| queued.id == *prompt));
                }
                // The person may have switched it themselves.
                Fact::ClientCallEnded(_) => self.look_around(),
                _ => {}
            }
        }
    }

    /// A question has its answer: who gave it is told, and what it allows from now on.
    fn question_answered(&mut self, answered: &ApprovalAnswered) {
        let Some((card, was_shown)) = self.questions.close(&answered.approval) else { return };
        if was_shown && answered.by != self.base.me {
            self.transcript.tell(Role::Dim, &format!("answered by {}", answered.by));
        }
        let given = grants::given_to(&answered.outcome, card.asked());
        given.iter().for_each(|words| self.transcript.tell(Role::Dim, words));
    }

    /// A question waits: whoever looks elsewhere is told.
    fn call_the_person(&mut self, tool: &str) {
        let words = format!("{} waits for your answer", charla_proto::text::one_line(tool));
        let is_away = self.person.is_looking == Some(false);
        self.display.ring(is_away.then_some(words.as_str()));
    }

    fn session_ended(&mut self) {
        if matches!(self.standing, Standing::Attached(_)) {
            // It ends with a reason of its own, which was told.
            self.standing = Standing::Over(Reason::Failed(Failure::system("the session ended by itself")));
        }
    }

    /// The session, once it is open.
    pub(super) fn link(&self) -> Option<&Link> {
        match &self.standing {
            Standing::Attached(link) => Some(link),
            _ => None,
        }
    }

    /// Leaves: the session is closed first.
    pub(super) fn leave(&mut self, reason: Reason) {
        let stops = self.activity.is_busy() && self.questions.is_empty();
        self.leave_by(Closing { stops, ..Closing::exit() }, reason);
    }

    /// The same, with the session closed like this.
    pub(super) fn leave_by(&mut self, closing: Closing, reason: Reason) {
        match std::mem::replace(&mut self.standing, Standing::Opening) {
            Standing::Attached(link) => {
                link.close(closing);
                self.activity.stopping();
                self.standing = Standing::Leaving(reason);
            }
            // What was begun for the session is taken back, which is told as its failure.
            Standing::Opening => {
                self.person.opening.cancel();
                self.standing = Standing::Leaving(reason);
            }
            Standing::Changing(_) | Standing::Leaving(_) | Standing::SettingUp(_) => {
                self.standing = Standing::Over(reason)
            }
            Standing::Over(reason) => self.standing = Standing::Over(reason),
        }
    }

    /// Stops until somebody continues the process.
    pub fn suspend(&mut self) {
        let _ = self.display.give();
        stop_process();
        self.take_terminal_back();
    }

    /// The terminal is ours again.
    pub fn take_terminal_back(&mut self) {
        if let Some(card) = self.questions.front() {
            card.disarm();
        }
        if self.display.take_back().is_err() {
            self.leave(Reason::Interrupted);
        }
        self.transcript.resize(self.display.size().columns, Instant::now());
    }

    /// Writes what is left to write, and gives the terminal back.
    pub fn end(mut self) -> Ending {
        let now = Instant::now();
        if self.display.is_ours() {
            self.transcript.break_off(now);
            let finished = self.transcript.finished(0, now);
            self.display.draw(&finished, &[], crate::screen::Place::default(), now);
        }
        let reason = match self.standing {
            Standing::Over(reason) => reason,
            _ => Reason::Failed(Failure::system("a part of Charla failed, and the terminal was given back")),
        };
        let session = self.person.session.filter(|_| self.person.has_spoken);
        Ending { reason, session, is_read: self.display.end() }
    }
}
