//! Finds the answer that says the same again and again.

/// How much of an answer's end is looked at, in bytes.
const TAIL: usize = 3_000;
/// The end is looked at each time so many bytes have come.
const EVERY: usize = 1_500;
/// The longest piece that is repeated.
const LONGEST_UNIT: usize = 400;
/// A piece with fewer letters is a line, a table or data: it may be long.
const LETTERS: usize = 4;

/// The end of an answer as it comes.
#[derive(Debug, Default)]
pub struct Repetition {
    tail: Vec<u8>,
    unseen: usize,
    /// Within a block of code, where repetition is common.
    in_code: bool,
    line: Vec<u8>,
}

impl Repetition {
    /// Takes the next piece of an answer; true when its end is one short piece over and over.
    pub fn push(&mut self, text: &str) -> bool {
        for byte in text.bytes() {
            self.follow_fences(byte);
            if !self.in_code {
                self.tail.push(byte);
            }
        }
        self.unseen += text.len();
        if self.tail.len() < TAIL || self.unseen < EVERY || self.in_code {
            return false;
        }
        self.unseen = 0;
        self.tail.drain(..self.tail.len() - TAIL);
        repeats(&self.tail)
    }

    fn follow_fences(&mut self, byte: u8) {
        if byte != b'\n' {
            if self.line.len() < 3 && !(self.line.is_empty() && byte == b' ') {
                self.line.push(byte);
            }
            return;
        }
        if self.line == b"```" || self.line == b"~~~" {
            self.in_code = !self.in_code;
            self.tail.clear();
        }
        self.line.clear();
    }
}

/// True when a text is one short piece with words in it, over and over.
fn repeats(text: &[u8]) -> bool {
    let period = period(text);
    let unit = text.get(..period).unwrap_or_default();
    period <= LONGEST_UNIT
        && unit.iter().filter(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii()).count() >= LETTERS
}

/// The smallest distance at which a text is equal to itself.
fn period(text: &[u8]) -> usize {
    // The length of the longest end of each beginning that is also its beginning.
    let mut borders = vec![0usize; text.len()];
    let mut border = 0;
    for at in 1..text.len() {
        while border > 0 && text[at] != text[border] {
            border = borders[border - 1];
        }
        border += usize::from(text[at] == text[border]);
        borders[at] = border;
    }
    text.len() - border
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many bytes came before it was seen.
    fn seen_after(piece: &str, times: usize) -> Option<usize> {
        let mut repetition = Repetition::default();
        (1..=times).find(|_| repetition.push(piece)).map(|count| count * piece.len())
    }

    #[test]
    fn an_answer_that_circles_is_seen_soon_whatever_pieces_it_comes_in() {
        for piece in ["I am stuck. ", "Let me try again.\n\nActually, no. ", "好的，我再试一次。"] {
            assert!(seen_after(piece, 2_000).is_some_and(|bytes| bytes < 5_000), "{piece}");
        }
        let mut repetition = Repetition::default();
        let text = "I am stuck. ".repeat(500);
        let mut pieces = text.as_bytes().chunks(7).map(|piece| std::str::from_utf8(piece).unwrap());
        assert!(pieces.any(|piece| repetition.push(piece)));
    }

    #[test]
    fn lines_tables_data_code_and_lists_are_none() {
        for piece in ["-", "| --- ", "0, 0, 1, ", "\n"] {
            assert_eq!(seen_after(piece, 10_000), None, "{piece}");
        }
        let mut repetition = Repetition::default();
        assert!(!repetition.push("```rust\n"));
        assert!((0..2_000).all(|_| !repetition.push("    value.push(0);\n")));
        let mut repetition = Repetition::default();
        assert!((0..2_000).all(|n| !repetition.push(&format!("- file number {n} is fine\n"))));
    }
}
