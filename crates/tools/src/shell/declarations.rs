//! Builtins that set variables, by whatever spelling they are reached.

use charla_proto::{Word, WordKind};

use super::effects::Walk;

/// Builtins whose arguments are assignments.
pub(super) const DECLARATIONS: [&str; 5] = ["export", "declare", "typeset", "local", "readonly"];

const WHICH: &str = "which variable it sets is only known to the shell";
const HIDDEN: &str = "it may run commands hidden in what it computes";

impl Walk {
    /// The variables that a builtin sets.
    pub(super) fn assigning(&mut self, name: &str, words: &[Word], source: &str) {
        let rest = words.get(1..).unwrap_or_default();
        match name {
            "read" => self.names(rest, "rse", source),
            "mapfile" | "readarray" | "getopts" => self.names(rest, "t", source),
            "printf" => self.printf(rest, source),
            "wait" if rest.iter().any(|word| word.known().is_none_or(|word| word.starts_with('-'))) => {
                self.unclear(source, WHICH);
            }
            "let" => self.unclear(source, HIDDEN),
            name if DECLARATIONS.contains(&name) => {
                let option = |word: &Word| word.text.starts_with('-') && word.text.contains('x');
                let exports = name == "export" || rest.iter().any(option);
                rest.iter().for_each(|word| self.declaration(word, exports));
            }
            _ => {}
        }
    }

    /// One word of `export NAME=value NAME …`.
    fn declaration(&mut self, word: &Word, exports: bool) {
        let declare = if exports { Walk::exported } else { Walk::env };
        let option = word.known().and_then(|text| text.strip_prefix(['-', '+']));
        match (option, assignment(&word.text), word.kind) {
            // References and numbers: what is assigned later means something else then.
            (Some(letters), ..) if letters.contains(['n', 'i']) => {
                self.unclear(&word.text, "it changes what assignments to a variable mean");
            }
            (Some(_), ..) => {}
            // What is added to is not known.
            (_, Some((name, value)), WordKind::Literal) if word.text.starts_with(&format!("{name}+=")) => {
                declare(self, name, Word::single(value));
            }
            (_, Some((name, value)), WordKind::Literal) => declare(self, name, Word::literal(value)),
            (_, Some((name, value)), WordKind::Single) => declare(self, name, Word::single(value)),
            (_, None, WordKind::Literal) if is_name(&word.text) => {
                declare(self, &word.text, Word::single(format!("${}", word.text)));
            }
            _ => self.unclear(&word.text, WHICH),
        }
    }

    /// Every word that is no option names a variable.
    fn names(&mut self, words: &[Word], letters: &str, source: &str) {
        for word in words {
            match word.known() {
                Some(text) if text.len() > 1 && text.starts_with('-') => {
                    if !text.chars().skip(1).all(|letter| letters.contains(letter)) {
                        self.unclear(source, WHICH);
                    }
                }
                Some(name) => self.env(name, Word::single(format!("${name}"))),
                None => self.unclear(&word.text, WHICH),
            }
        }
    }

    /// `printf -v NAME` and `printf %n NAME`.
    fn printf(&mut self, words: &[Word], source: &str) {
        let format = match words.first().map(Word::known) {
            None => return,
            Some(None) => return self.unclear(source, WHICH),
            Some(Some("--")) => words.get(1).and_then(Word::known),
            Some(Some(first)) => match (first.strip_prefix("-v"), words.get(1)) {
                (Some(""), Some(name)) => return self.names(std::slice::from_ref(name), "", source),
                (Some(_), _) => return self.unclear(source, WHICH),
                (None, _) => Some(first),
            },
        };
        if format.is_none_or(stores_count) {
            self.unclear(source, WHICH);
        }
    }
}

/// True when a format has a `%n`, which sets the variable it is given.
fn stores_count(format: &str) -> bool {
    let mut rest = format.chars();
    while let Some(next) = rest.next() {
        if next != '%' {
            continue;
        }
        let conversion = rest.by_ref().find(|c| !"-+ #0123456789.*'hlLjzt".contains(*c));
        if conversion == Some('n') {
            return true;
        }
    }
    false
}

/// Name and value of a text that is an assignment.
pub(super) fn assignment(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    is_name(name).then_some((name, value))
}

fn is_name(text: &str) -> bool {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_that_counts_is_found_however_it_is_written() {
        for format in ["%n", "xxx%n", "%5n", "%-5.3n", "%ln", "%%%n", "a%sb%n"] {
            assert!(stores_count(format), "{format}");
        }
        for format in ["%s\n", "%%n", "%d items\n", "n", "%", "%(%Y)T\n"] {
            assert!(!stores_count(format), "{format}");
        }
    }
}
