//! What is under way, in one line: a spinner, words, the time it takes, and how to stop it.

use std::time::Instant;

use charla_proto::{Fact, ModelSwitch, Phase, SessionEvent, SessionSnapshot, TurnEvent};
use charla_terminal::wording;

use crate::text::{Line, Role};
use crate::transcript::spinner;

/// What the session is doing.
#[derive(Default)]
pub struct Activity {
    /// When the turn began; absent between turns.
    began: Option<Instant>,
    /// When the next attempt begins.
    retries_at: Option<Instant>,
    is_summarizing: bool,
    /// It is being stopped.
    is_stopping: bool,
    /// The model that is asked, where it is not the session's own.
    stands_in: Option<String>,
    /// Something that takes long beside the session, and since when.
    progress: Option<(String, Instant)>,
}

impl Activity {
    /// Begins with a session as it is.
    pub fn begin(&mut self, snapshot: &SessionSnapshot, now: Instant) {
        *self = Self { progress: self.progress.take(), ..Self::default() };
        if !matches!(snapshot.phase, Phase::Idle | Phase::Open) {
            self.began = Some(now);
        }
        self.is_summarizing = snapshot.phase == Phase::Summarizing;
    }

    /// True while a turn runs.
    pub fn is_busy(&self) -> bool {
        self.began.is_some()
    }

    /// True while a row shows passing time.
    pub fn is_moving(&self) -> bool {
        self.began.is_some() || self.progress.is_some() || self.is_summarizing
    }

    /// Somebody wants it to stop.
    pub fn stopping(&mut self) {
        self.is_stopping = self.began.is_some();
    }

    /// Something beside the session takes long, or no longer.
    pub fn progress(&mut self, words: Option<String>, now: Instant) {
        self.progress = match (words, self.progress.take()) {
            (Some(words), Some((_, since))) => Some((words, since)),
            (Some(words), None) => Some((words, now)),
            (None, _) => None,
        };
    }

    /// Something happened in the session.
    pub fn take(&mut self, event: &SessionEvent, now: Instant) {
        match event {
            SessionEvent::Record(record) => match &record.fact {
                Fact::TurnStarted(_) | Fact::TurnResumed(_) => {
                    *self = Self { began: Some(now), progress: self.progress.take(), ..Self::default() };
                }
                Fact::TurnEnded(_) => *self = Self { progress: self.progress.take(), ..Self::default() },
                Fact::ModelContent(_) => self.retries_at = None,
                Fact::Compressed(_) | Fact::CompressionFailed(_) => self.is_summarizing = false,
                _ => {}
            },
            SessionEvent::Turn(event) => match event {
                TurnEvent::Retry(notice) => self.retries_at = Some(now + notice.delay),
                TurnEvent::ModelSwitched(ModelSwitch { to, .. }) => {
                    self.stands_in = Some(to.clone());
                    self.retries_at = None;
                }
                TurnEvent::PreCompress(_) => self.is_summarizing = true,
                TurnEvent::ChatCompressed(_) => self.is_summarizing = false,
                TurnEvent::Content { .. } | TurnEvent::Thought { .. } => self.retries_at = None,
                _ => {}
            },
            SessionEvent::Missed | SessionEvent::Broken(_) => {}
        }
    }

    /// The line, if something is under way. `has_calls` while tools work.
    pub fn line(&self, model: &str, has_calls: bool, now: Instant) -> Option<Line> {
        if let Some((words, since)) = &self.progress {
            return Some(self.moving(words, *since, now, ""));
        }
        if self.is_summarizing {
            let since = self.began.unwrap_or(now);
            return Some(self.moving(
                "the older part of the conversation is summarized",
                since,
                now,
                " · Esc stops",
            ));
        }
        let began = self.began?;
        let model = self.stands_in.as_deref().unwrap_or(model);
        let words = match self.retries_at.map(|at| at.saturating_duration_since(now)) {
            _ if self.is_stopping => return Some(self.moving("stopping", began, now, "")),
            Some(left) if !left.is_zero() => {
                format!("trying again in {} s", left.as_secs_f64().ceil())
            }
            _ if has_calls => "working".to_owned(),
            _ => format!("asking {model}"),
        };
        Some(self.moving(&words, began, now, " · Esc stops"))
    }

    fn moving(&self, words: &str, since: Instant, now: Instant, how: &str) -> Line {
        let mut line = Line::of(Role::Accent, spinner(Some(since), now));
        line.push(Role::Plain, &format!(" {words}"));
        let time = now.saturating_duration_since(since);
        let time = if time.as_secs() > 0 { format!(" · {}", wording::elapsed(time)) } else { String::new() };
        line.push(Role::Dim, &format!("{time}{how}"));
        line
    }
}
