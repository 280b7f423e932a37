//! The last lines of a running command, while it runs.

use std::time::{Duration, Instant};

/// How many lines are shown.
const LINES: usize = 5;
/// How much is kept to find them in.
const KEPT: usize = 4096;
/// A person sees no more pictures than this.
const PAUSE: Duration = Duration::from_millis(80);

/// What the call that spoke last has said.
#[derive(Default)]
pub(super) struct Live {
    call: String,
    text: String,
    drawn: Option<Instant>,
}

impl Live {
    /// Takes a piece in; the last lines, when it is time to show them.
    pub(super) fn push(&mut self, call: &str, piece: &str, now: Instant) -> Option<String> {
        if self.call != call {
            *self = Self { call: call.to_owned(), ..Self::default() };
        }
        self.text.push_str(piece);
        if self.text.len() > 2 * KEPT {
            let from = self.text.len() - KEPT;
            let from = (from..self.text.len()).find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
            self.text.drain(..from);
        }
        if self.drawn.is_some_and(|drawn| now.saturating_duration_since(drawn) < PAUSE) {
            return None;
        }
        self.drawn = Some(now);
        Some(self.last_lines())
    }

    fn last_lines(&self) -> String {
        // A line that was written over is seen as it was left.
        let shown =
            |line: &str| line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default().to_owned();
        let lines: Vec<String> = self.text.lines().rev().take(LINES).map(shown).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_shown_as_they_stand_and_not_too_often() {
        let start = Instant::now();
        let mut live = Live::default();
        assert_eq!(live.push("1", "a\nb\nc\nd\ne\nf\n10%\r20%", start).as_deref(), Some("c\nd\ne\nf\n20%"));
        assert_eq!(live.push("1", "\n", start), None);
        assert_eq!(live.push("1", "g", start + PAUSE).as_deref(), Some("d\ne\nf\n20%\ng"));
        assert_eq!(
            live.push("2", "é".repeat(3 * KEPT).as_str(), start).map(|text| text.len() <= 2 * KEPT),
            Some(true)
        );
    }
}
