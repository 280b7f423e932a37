//! What work beside the screen has come to.

use std::time::Instant;

use charla::models::Prices;
use charla::{Begin, Failure, OpenRequest, OpenedSession};
use charla_proto::{Command, Refusal, Reply, SessionSnapshot};
use charla_terminal::wording;

use super::Reason;
use super::link::{Closing, Link};
use super::news::{Asked, News, Opened};
use super::sources::Sources;
use super::state::{App, Standing};
use crate::commands::window;
use crate::spent::Spent;
use crate::text::Role;

impl App {
    /// Something came of work beside the screen.
    pub(super) fn news(&mut self, news: News, sources: &mut Sources, now: Instant) {
        match news {
            News::Opened(Ok(opened)) => self.opened(*opened, sources, now),
            News::Opened(Err(failure)) => self.not_opened(failure, now),
            News::Told { notice, is_warning } => {
                let (role, mark) = if is_warning { (Role::Warning, "warning: ") } else { (Role::Dim, "") };
                self.transcript.tell(role, &format!("{mark}{}", wording::notice(&notice)));
            }
            News::Progress(words) => self.activity.progress(words, now),
            News::Replied(asked, Reply::Refused(refusal)) => self.refused(&asked, &refusal),
            News::Replied(Asked::Rewind(Some(words)), _) => self.composer.bring_back(&words, Vec::new()),
            News::Replied(Asked::Prompt(files), Reply::Prompted { prompt, waits }) => {
                self.prompted(prompt, files, waits);
            }
            News::Replied(..) => {}
            News::Surveyed(found) => self.surveyed(found, now),
            News::Spent(session, earlier) => {
                if self.person.session.as_ref() == Some(&session) {
                    self.status.add_earlier(&earlier);
                }
            }
            News::FilesFound => self.composer.refresh(),
            News::Composed(message) => self.composed(message, now),
            News::Found(found) => self.found(found, now),
            News::Closed(background) => match std::mem::replace(&mut self.standing, Standing::Opening) {
                Standing::Leaving(reason) => self.standing = Standing::Over(reason),
                Standing::Changing(request) => {
                    sources.follow(None);
                    self.transcript.break_off(now);
                    self.questions.clear();
                    self.person.background = background;
                    self.open(*request);
                }
                other => self.standing = other,
            },
        }
    }

    /// A session that cannot be opened ends the application, unless it was to take the place of another.
    fn not_opened(&mut self, failure: Failure, now: Instant) {
        self.activity.progress(None, now);
        self.reloaded();
        if let Standing::Leaving(reason) = &mut self.standing {
            let reason = std::mem::replace(reason, Reason::Left);
            self.standing = Standing::Over(reason);
            return;
        }
        match self.person.session.clone() {
            Some(session) if self.person.has_spoken => {
                self.failed(&failure);
                self.open(OpenRequest {
                    begin: Begin::Resume(session),
                    options: self.base.options.clone(),
                    ..OpenRequest::default()
                });
                self.person.session = None;
            }
            _ => self.standing = Standing::Over(Reason::Failed(failure)),
        }
    }

    /// Says what failed, and what to do.
    pub(super) fn failed(&mut self, failure: &Failure) {
        self.transcript.tell(Role::Failure, &format!("error: {failure}"));
        if let Some(hint) = failure.hint.as_ref().and_then(wording::hint) {
            self.transcript.tell(Role::Dim, &format!("hint: {hint}"));
        }
    }

    fn refused(&mut self, asked: &Asked, refusal: &Refusal) {
        match (asked, refusal) {
            // The same said twice by the same person is said.
            (Asked::Answer(_, mine), Refusal::Late { by, outcome })
                if *by == self.base.me && outcome == mine => {}
            (Asked::Answer(..), Refusal::Late { by, .. }) => {
                self.transcript.tell(Role::Dim, &format!("answered already by {by}"));
            }
            (Asked::Answer(approval, _), refusal) => match self.questions.find(approval) {
                Some(card) => card.complain(&refusal.to_string()),
                None => self.transcript.tell(Role::Warning, &refusal.to_string()),
            },
            (Asked::Prompt(_), refusal) => {
                self.transcript.tell(Role::Failure, &format!("not said: {refusal}"))
            }
            (Asked::Rewind(_), refusal) => self.transcript.tell(Role::Warning, &format!("rewind: {refusal}")),
            (Asked::Other(what), refusal) => {
                self.transcript.tell(Role::Warning, &format!("{what}: {refusal}"));
            }
        }
    }

    /// Looks what earlier processes spent in a session; [`News::Spent`] tells.
    fn look_up_spent(&self, session: &OpenedSession, snapshot: &SessionSnapshot) {
        if snapshot.contents.is_empty() {
            return;
        }
        let (handle, id, last) = (session.handle.clone(), session.id.clone(), snapshot.seq);
        let (prices, tell) = (Prices::new(&self.base.settings), self.base.tell.clone());
        tokio::spawn(async move {
            let spent = Spent::until(&handle, last, prices).await;
            let _ = tell.send(News::Spent(id, Box::new(spent)));
        });
    }

    fn opened(&mut self, opened: Opened, sources: &mut Sources, now: Instant) {
        let Opened { session, snapshot, events, records, goes_on } = opened;
        self.activity.progress(None, now);
        // An earlier session can be come back to whatever it holds, for instance when it was rewound to its beginning.
        self.person.has_spoken = goes_on || !snapshot.contents.is_empty();
        if matches!(self.standing, Standing::Leaving(_)) {
            let link =
                Link::new(session, &self.base.charla, &self.base.options.rule_files, self.base.tell.clone());
            link.close(Closing::exit());
            return;
        }
        self.person.background = None;
        match self.reloaded() {
            // What was said stands above.
            true => {
                self.transcript.go_on(&snapshot, now);
                self.status.go_on(&snapshot);
            }
            false => {
                if snapshot.contents.is_empty() {
                    self.transcript.tell(Role::Dim, "/help lists commands and keys");
                    self.transcript.part();
                }
                self.transcript.begin(&snapshot, &records, now);
                self.status.begin(&snapshot);
                self.look_up_spent(&session, &snapshot);
            }
        }
        self.status.window = snapshot.room.window.or_else(|| window(&self.base.settings, &self.status.model));
        self.activity.begin(&snapshot, now);
        self.questions.begin(&snapshot);
        sources.follow(Some(events));
        let link =
            Link::new(session, &self.base.charla, &self.base.options.rule_files, self.base.tell.clone());
        self.base.servers.follow(link.servers().cloned());
        self.person.session = Some(link.id().to_owned());
        if link.is_open() {
            self.transcript.tell(Role::Dim, "going on with what an earlier process left");
            link.ask(Command::Continue, Asked::Other("going on".to_owned()));
        }
        self.unsent.drain(..).for_each(|message| link.say(message));
        self.standing = Standing::Attached(Box::new(link));
    }
}
