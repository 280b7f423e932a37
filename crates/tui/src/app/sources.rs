//! Everything the application waits for, as one stream of happenings.

use std::collections::VecDeque;
use std::time::Instant;

use charla_core::session::Subscription;
use charla_proto::SessionEvent;
use crossterm::event::{Event, EventStream, KeyEvent, KeyEventKind};
use futures_util::StreamExt;
use tokio::sync::mpsc::UnboundedReceiver;

use super::background::{Heard, Listening};
use super::news::News;
use super::signals::{Signal, Signals};
use crate::theme::Background;

/// Something that happened.
pub enum Happening {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The terminal has another size.
    Resized,
    /// The window came to the front, or left it.
    Focus(bool),
    /// The terminal told what stands behind its text.
    Background(Background),
    /// The session tells something.
    Session(SessionEvent),
    /// The session is over.
    SessionEnded,
    /// Work beside the screen has come to something.
    News(News),
    /// The system wants something.
    Signal(Signal),
    /// A moment that was waited for has come.
    Time,
    /// Nobody can type any more.
    InputEnded,
}

/// What is waited for.
pub struct Sources {
    input: Option<EventStream>,
    events: Option<Subscription>,
    news: UnboundedReceiver<News>,
    signals: Signals,
    /// Looks for the terminal's answer among the keys.
    listening: Option<Listening>,
    /// Keys that turned out to be typed.
    typed: VecDeque<KeyEvent>,
}

impl Sources {
    /// The terminal's keys, the system's signals and these news.
    pub fn new(news: UnboundedReceiver<News>) -> std::io::Result<Self> {
        Ok(Self {
            input: Some(EventStream::new()),
            events: None,
            news,
            signals: Signals::new()?,
            listening: None,
            typed: VecDeque::new(),
        })
    }

    /// The terminal is about to be asked for its background.
    pub fn listen_for_background(&mut self) {
        self.listening = Some(Listening::new(Instant::now()));
    }

    /// Follows another session, or none.
    pub fn follow(&mut self, events: Option<Subscription>) {
        self.events = events;
    }

    /// Leaves the keys to another program, until [`Self::listen`].
    pub fn deafen(&mut self) {
        self.input = None;
    }

    /// Takes keys again.
    pub fn listen(&mut self) {
        self.input = Some(EventStream::new());
    }

    /// The next happening. Keys go first: what a person types never waits behind what a model says.
    pub async fn next(&mut self, until: Option<Instant>) -> Happening {
        loop {
            if let Some(key) = self.typed.pop_front() {
                return Happening::Key(key);
            }
            let gives_up_at = self.listening.as_ref().and_then(Listening::gives_up_at);
            let Self { input, events, news, signals, .. } = self;
            tokio::select! {
                biased;
                signal = signals.next() => return Happening::Signal(signal),
                event = next_of(input) => match event {
                    Some(Ok(event)) => if let Some(happening) = typed(event)
                        && let Some(happening) = self.apart_from_answer(happening)
                    {
                        return happening;
                    },
                    Some(Err(_)) | None => {
                        *input = None;
                        return Happening::InputEnded;
                    }
                },
                () = moment(gives_up_at), if gives_up_at.is_some() => self.give_up(),
                // However much is told, an answer that was typed counts, and what passes goes by.
                () = moment(until) => return Happening::Time,
                Some(news) = news.recv() => return Happening::News(news),
                event = told(events) => return match event {
                    Some(event) => Happening::Session(event),
                    None => {
                        *events = None;
                        Happening::SessionEnded
                    }
                },
            }
        }
    }

    /// What was typed, or the terminal's answer; nothing while it may be either.
    fn apart_from_answer(&mut self, happening: Happening) -> Option<Happening> {
        let now = Instant::now();
        let Some(listening) = self.listening.as_mut().filter(|listening| !listening.is_over(now)) else {
            self.listening = None;
            return Some(happening);
        };
        let Happening::Key(key) = happening else {
            // Whatever it is, what came before it stays before it.
            self.typed.extend(listening.give_up());
            return Some(happening);
        };
        match listening.take(key, now) {
            Heard::Held => None,
            Heard::Typed(keys) => {
                self.typed.extend(keys);
                self.typed.pop_front().map(Happening::Key)
            }
            Heard::Answer(background) => {
                self.listening = None;
                Some(Happening::Background(background))
            }
        }
    }

    fn give_up(&mut self) {
        if let Some(listening) = &mut self.listening {
            self.typed.extend(listening.give_up());
        }
    }
}

fn typed(event: Event) -> Option<Happening> {
    match event {
        Event::Key(key) if key.kind == KeyEventKind::Release => None,
        Event::Key(key) => Some(Happening::Key(key)),
        Event::Paste(text) => Some(Happening::Paste(text)),
        Event::Resize(..) => Some(Happening::Resized),
        Event::FocusGained => Some(Happening::Focus(true)),
        Event::FocusLost => Some(Happening::Focus(false)),
        Event::Mouse(_) => None,
    }
}

async fn next_of(input: &mut Option<EventStream>) -> Option<std::io::Result<Event>> {
    match input {
        Some(input) => input.next().await,
        None => std::future::pending().await,
    }
}

async fn told(events: &mut Option<Subscription>) -> Option<SessionEvent> {
    match events {
        Some(events) => events.recv().await,
        None => std::future::pending().await,
    }
}

async fn moment(until: Option<Instant>) {
    match until {
        // A timer would have to be woken first, and is asked once a round.
        Some(until) if until <= Instant::now() => {}
        Some(until) => tokio::time::sleep_until(until.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    #[tokio::test]
    async fn a_moment_that_was_waited_for_comes_however_much_is_told() {
        let (tell, news) = unbounded_channel();
        let signals = Signals::new().unwrap();
        let mut sources =
            Sources { input: None, events: None, news, signals, listening: None, typed: VecDeque::new() };
        for _ in 0..3 {
            tell.send(News::FilesFound).unwrap();
        }
        let happening = sources.next(Some(Instant::now())).await;
        assert!(matches!(happening, Happening::Time));
        assert!(matches!(sources.next(None).await, Happening::News(News::FilesFound)));
    }
}
