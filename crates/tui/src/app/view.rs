//! The live region, from top to bottom: what runs, the question or what is under way, what waits, the composer, the status.

use std::time::Instant;

use charla_proto::Delivery;
use charla_proto::text::one_line;

use super::state::App;
use crate::screen::Place;
use crate::text::{Line, Role};

/// Rows of the composer at most, as a part of the screen.
const COMPOSER_SHARE: usize = 3;

/// What a frame shows below what is finished.
pub struct Live {
    /// The rows.
    pub lines: Vec<Line>,
    /// Where the cursor is among them.
    pub cursor: Place,
    /// How many rows were left for what runs.
    pub room: usize,
}

impl App {
    /// The live region for a screen of this size.
    pub(super) fn live(&mut self, columns: usize, rows: usize, now: Instant) -> Live {
        let (foot, mut cursor) = self.foot(columns, rows, now);
        let room = rows.saturating_sub(foot.len());
        let (card, place) = match self.questions.front() {
            Some(_) => self.card(columns, room, now),
            None => (Vec::new(), None),
        };
        let above = room.saturating_sub(card.len());
        let running = self.transcript.live(now);
        // Of what is too tall its end is shown.
        let hidden = running.len().saturating_sub(above);
        let mut lines: Vec<Line> = running.into_iter().skip(hidden).collect();
        cursor = match place {
            Some(place) => Place { row: lines.len() + place.row, column: place.column },
            None => Place { row: lines.len() + card.len() + cursor.row, column: cursor.column },
        };
        lines.extend(card);
        lines.extend(foot);
        Live { lines, cursor, room: above }
    }

    fn card(&mut self, columns: usize, rows: usize, now: Instant) -> (Vec<Line>, Option<Place>) {
        let about = (self.questions.more(), self.preselects());
        match self.questions.front() {
            Some(card) => card.view(columns, rows, about, now),
            None => (Vec::new(), None),
        }
    }

    /// What stands at the bottom, and the cursor in it.
    fn foot(&mut self, columns: usize, rows: usize, now: Instant) -> (Vec<Line>, Place) {
        let mut lines = Vec::new();
        if self.questions.is_empty() {
            let has_calls = self.transcript.has_calls();
            lines.extend(
                self.activity.line(&self.status.model, has_calls, now).map(|line| line.truncate(columns)),
            );
        }
        lines.extend(self.waiting(columns));
        let rule = Line::of(Role::Border, &"─".repeat(columns));
        lines.push(rule.clone());
        let most = (rows / COMPOSER_SHARE).max(1);
        let (written, place) = self.written(columns, most);
        let cursor = Place { row: lines.len() + place.row, column: place.column };
        lines.extend(written);
        lines.push(rule);
        lines.push(match &self.hint {
            Some(hint) => Line::of(Role::Warning, hint).truncate(columns),
            None => self.standing_below(columns),
        });
        (lines, cursor)
    }

    /// The status line; with vi's keys, what letters mean first.
    fn standing_below(&self, columns: usize) -> Line {
        let mode = self.composer.mode_name().map(|mode| format!(" {mode}")).unwrap_or_default();
        let rest = self.status.line(columns.saturating_sub(mode.len()));
        Line::of(Role::Warning, &mode).then(rest)
    }

    /// The composer, or the choice that is to be made.
    fn written(&mut self, columns: usize, rows: usize) -> (Vec<Line>, Place) {
        match &self.picker {
            Some(picker) => picker.view(columns, rows.max(8)),
            None => {
                let view = self.composer.view(columns, rows);
                (view.lines, Place { row: view.cursor.0, column: view.cursor.1 })
            }
        }
    }

    /// Prompts that wait.
    fn waiting(&self, columns: usize) -> Vec<Line> {
        let queued = self.status.queue.iter().map(|queued| {
            let words = match queued.delivery {
                Delivery::Join => "joins the next request",
                Delivery::AfterTurn => "waits for the end of the turn",
            };
            (words, queued.content.text())
        });
        let unsent = self.unsent.iter().map(|message| ("waits for the session", message.text.clone()));
        queued
            .chain(unsent)
            .map(|(words, text)| {
                let mut line = Line::of(Role::Dim, &format!("{words}: "));
                line.push(Role::Plain, &one_line(&text));
                line.truncate(columns)
            })
            .collect()
    }
}
