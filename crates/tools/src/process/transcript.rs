//! What a command said, in memory that does not grow with it.

use super::clean::{clean, is_binary};
use super::spill::Spilled;

/// How many characters of a command's output the model is shown.
pub const OUTPUT_LIMIT: usize = 40_000;

/// The head's share of what is shown, in percent: errors tend to come last.
const HEAD_SHARE: usize = 20;

/// Live output not yet shown: more than this between two looks is skipped.
const FRESH_LIMIT: usize = 8 * 1024;

/// The first and the last bytes of an output.
///
/// Bytes are kept as they came and read as text only when somebody asks: a command that writes a gigabyte
/// costs two copies of it and no more memory than one that writes a page.
#[derive(Debug)]
pub(crate) struct Transcript {
    head: Vec<u8>,
    tail: Vec<u8>,
    head_bytes: usize,
    tail_bytes: usize,
    limit: usize,
    total: u64,
    fresh: Vec<u8>,
    skipped: bool,
}

impl Transcript {
    /// Keeps enough to show `limit` characters.
    pub(crate) fn new(limit: usize) -> Self {
        // A character takes at most four bytes.
        let head_bytes = limit * HEAD_SHARE / 100 * 4;
        let tail_bytes = limit * 4 - head_bytes;
        Self {
            head: Vec::new(),
            tail: Vec::new(),
            head_bytes,
            tail_bytes,
            limit,
            total: 0,
            fresh: Vec::new(),
            skipped: false,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_bytes - self.head.len()));
        self.head.extend_from_slice(first);
        let keep = rest.len().saturating_sub(self.tail_bytes);
        self.tail.extend_from_slice(rest.get(keep..).unwrap_or_default());
        if self.tail.len() > 2 * self.tail_bytes {
            self.tail.drain(..self.tail.len() - self.tail_bytes);
        }
        self.fresh.extend_from_slice(bytes);
        if self.fresh.len() > FRESH_LIMIT {
            self.fresh.drain(..self.fresh.len() - FRESH_LIMIT);
            self.skipped = true;
        }
    }

    /// True when bytes were let go that only a file can still hold.
    fn overflows(&self) -> bool {
        self.total > (self.head.len() + self.tail.len()) as u64
    }

    /// True when with so many bytes more there may be more than can be shown, so that a file should hold it.
    pub(crate) fn may_be_cut_by(&self, bytes: usize) -> bool {
        self.total + bytes as u64 > self.limit as u64
    }

    /// True when the text does not show everything.
    pub(crate) fn is_cut(&self) -> bool {
        let binary = is_binary(&self.head);
        self.may_be_cut_by(0) && (binary || self.overflows() || self.whole().chars().count() > self.limit)
    }

    /// Every byte so far; only while nothing was let go.
    pub(crate) fn held(&self) -> Vec<u8> {
        [&self.head[..], &self.tail[..]].concat()
    }

    /// The bytes since the last look, and whether some before them were skipped.
    pub(crate) fn take_fresh(&mut self) -> (Vec<u8>, bool) {
        (std::mem::take(&mut self.fresh), std::mem::take(&mut self.skipped))
    }

    fn whole(&self) -> String {
        clean(&self.held())
    }

    /// The text for the model: whole, or its head and tail with the cut announced.
    pub(crate) fn text(&self, spilled: Option<&Spilled>) -> String {
        if is_binary(&self.head) {
            return format!("[Binary output, {} bytes{}]", self.total, place(spilled));
        }
        let head_limit = self.limit * HEAD_SHARE / 100;
        let tail_limit = self.limit - head_limit;
        if self.overflows() {
            let tail = self.tail.get(self.tail.len().saturating_sub(self.tail_bytes)..).unwrap_or_default();
            let (head, tail) = (clean(&self.head), clean(whole_lines(tail)));
            return self.cut(first(&head, head_limit), last(&tail, tail_limit), spilled);
        }
        let whole = self.whole();
        if whole.chars().count() <= self.limit {
            return whole;
        }
        self.cut(first(&whole, head_limit), last(&whole, tail_limit), spilled)
    }

    fn cut(&self, head: &str, tail: &str, spilled: Option<&Spilled>) -> String {
        let shown = head.chars().count() + tail.chars().count();
        let (total, place) = (self.total, place(spilled));
        format!(
            "{head}\n\n[… the middle is left out: {shown} characters of {total} bytes are shown{place} …]\n\n{tail}"
        )
    }

    /// The last lines, at most `lines` of them.
    pub(crate) fn last_lines(&self, lines: usize) -> String {
        let text = if self.overflows() { clean(whole_lines(&self.tail)) } else { self.whole() };
        let trimmed = text.trim_end_matches('\n');
        let start = trimmed.rmatch_indices('\n').nth(lines.saturating_sub(1)).map_or(0, |(at, _)| at + 1);
        last(trimmed.get(start..).unwrap_or_default(), self.limit).to_owned()
    }
}

fn place(spilled: Option<&Spilled>) -> String {
    match spilled {
        None => String::new(),
        Some(Spilled { path, failed: Some(problem), .. }) => {
            format!("; keeping all of it in {} failed: {problem}", path.display())
        }
        Some(Spilled { path, full: true, .. }) => {
            format!("; as much as a file may hold of it is in {}", path.display())
        }
        Some(Spilled { path, .. }) => format!("; all of it is in {}", path.display()),
    }
}

/// Without the piece of a line at the beginning, which may begin inside a character or an escape sequence.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let newline = bytes.iter().take(4096).position(|byte| *byte == b'\n');
    newline.and_then(|at| bytes.get(at + 1..)).unwrap_or(bytes)
}

fn first(text: &str, count: usize) -> &str {
    let end = text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

fn last(text: &str, count: usize) -> &str {
    let Some(back) = count.checked_sub(1) else { return "" };
    let start = text.char_indices().rev().nth(back).map_or(0, |(at, _)| at);
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(limit: usize, chunks: &[&str]) -> Transcript {
        let mut transcript = Transcript::new(limit);
        for chunk in chunks {
            transcript.push(chunk.as_bytes());
        }
        transcript
    }

    #[test]
    fn what_fits_is_whole_even_when_it_passed_from_head_to_tail() {
        let transcript = of(10, &["漢字漢字漢", "字漢字漢字"]);
        assert!(!transcript.is_cut());
        assert_eq!(transcript.text(None), "漢字漢字漢字漢字漢字");
    }

    #[test]
    fn what_does_not_fit_keeps_head_and_tail_and_says_so() {
        let transcript = of(10, &["abcdefgh", "ijklmnop"]);
        assert!(transcript.is_cut());
        let text = transcript.text(None);
        assert!(text.starts_with("ab\n\n[… the middle is left out: 10 characters of 16 bytes"), "{text}");
        assert!(text.ends_with("]\n\nijklmnop"), "{text}");
    }

    #[test]
    fn memory_does_not_grow_with_the_output() {
        let mut transcript = Transcript::new(100);
        for number in 0..100_000 {
            transcript.push(format!("line {number}\n").as_bytes());
        }
        assert!(transcript.head.capacity() + transcript.tail.capacity() < 4_000);
        assert!(transcript.fresh.capacity() < 4 * FRESH_LIMIT);
        let text = transcript.text(None);
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("line 99999\n"), "{text}");
        assert_eq!(transcript.last_lines(2), "line 99998\nline 99999");
    }

    #[test]
    fn binary_output_is_named_not_shown() {
        let transcript = of(100, &["\u{7f}ELF\0\0\0"]);
        assert_eq!(transcript.text(None), "[Binary output, 7 bytes]");
    }

    #[test]
    fn a_lagging_watcher_sees_the_newest_and_learns_of_the_gap() {
        let mut transcript = of(100, &["x".repeat(FRESH_LIMIT).as_str(), "new"]);
        let (fresh, skipped) = transcript.take_fresh();
        assert!(skipped && fresh.ends_with(b"new") && fresh.len() == FRESH_LIMIT);
        assert_eq!(transcript.take_fresh(), (Vec::new(), false));
    }
}
