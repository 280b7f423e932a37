//! The price of a text, in hundredths of a token.

/// Prices are whole hundredths: sums stay exact and cheap.
pub(super) const HUNDREDTHS: u64 = 100;

/// What a character is to a tokenizer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Punctuation,
    /// Full stops and commas of Chinese and Japanese, dashes and curly quotes: a token each.
    WidePunctuation,
    Blank,
    LineEnd,
    Han,
    Kana,
    Hangul,
    /// A letter of another script.
    Letter,
    /// Symbols, emoji, control characters.
    Other,
}

fn class_of(c: char) -> Class {
    match c {
        'a'..='z' => Class::Lower,
        'A'..='Z' => Class::Upper,
        '0'..='9' => Class::Digit,
        '\n' | '\r' => Class::LineEnd,
        ' ' | '\t' => Class::Blank,
        '!'..='~' => Class::Punctuation,
        '\u{2010}'..='\u{2027}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff65}' => Class::WidePunctuation,
        '\u{3040}'..='\u{30ff}' => Class::Kana,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' => Class::Han,
        '\u{20000}'..='\u{3134f}' => Class::Han,
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7af}' => Class::Hangul,
        _ if c.is_alphabetic() => Class::Letter,
        _ => Class::Other,
    }
}

/// The price of a text.
pub(super) fn price(text: &str) -> u64 {
    let mut scan = Scan { sum: 0, last: Class::Other, blanks: 0, letters: 0, capitals: 0 };
    for c in text.chars() {
        scan.take(class_of(c));
    }
    scan.end_word();
    scan.sum
}

struct Scan {
    sum: u64,
    last: Class,
    /// Blanks in a row.
    blanks: u32,
    /// Of the ASCII word being read.
    letters: u64,
    capitals: u64,
}

impl Scan {
    fn take(&mut self, class: Class) {
        if !matches!(class, Class::Lower | Class::Upper) {
            self.end_word();
        }
        let again = class == self.last;
        match class {
            Class::Lower | Class::Upper => self.letter(class),
            Class::Digit => self.sum += if again { 60 } else { 190 },
            Class::Punctuation => self.sum += if again { 31 } else { 70 },
            // A line end right behind punctuation belongs to its token, and several are one.
            Class::LineEnd if again => {}
            Class::LineEnd if self.last == Class::Punctuation => self.sum += 25,
            Class::LineEnd => self.sum += 115,
            // One blank belongs to the word behind it, more are an indentation.
            Class::Blank => {
                self.blanks = if again { self.blanks + 1 } else { 1 };
                self.sum += if self.blanks == 2 { 42 } else { 0 };
            }
            Class::WidePunctuation => self.sum += 90,
            Class::Han => self.sum += 68,
            Class::Kana => self.sum += 55,
            Class::Hangul => self.sum += 65,
            Class::Letter => self.sum += if again { 30 } else { 60 },
            Class::Other => self.sum += 60,
        }
        self.last = class;
    }

    /// Words of code are cut where a capital begins: `camelCase`, `HTTPServer`.
    fn letter(&mut self, class: Class) {
        if class == Class::Upper && self.last == Class::Lower {
            self.end_word();
        } else if class == Class::Lower && self.capitals == self.letters && self.letters > 1 {
            self.letters -= 1;
            self.capitals -= 1;
            self.end_word();
            (self.letters, self.capitals) = (1, 1);
        }
        self.letters += 1;
        self.capitals += u64::from(class == Class::Upper);
    }

    fn end_word(&mut self) {
        self.sum += match self.letters {
            0 => 0,
            letters if letters > 1 && letters == self.capitals => 20 * letters,
            1 => 130,
            2..=4 => 109,
            5..=7 => 101,
            8..=10 => 136,
            letters => 144 + 15 * (letters - 10),
        };
        (self.letters, self.capitals) = (0, 0);
    }
}
