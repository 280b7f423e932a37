//! The words of a command as programs read them: options, their values, and the rest.
//!
//! One reader for whoever asks about options: short ones alone, bundled (`-xvf`) or with their value glued on (`-ofile`), long
//! ones with `=`, with the next word, or shortened as far as programs take them, and `--`, behind which nothing is an option.

use charla_proto::{Word, WordKind};

/// Options by their names.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::policy) struct Named {
    pub letters: &'static str,
    /// With their dashes; a program that takes one dash only has them with one.
    pub long: &'static [&'static str],
    /// Letters that take what is glued to them, and never the next word.
    pub glued: &'static str,
}

impl Named {
    pub(in crate::policy) const NONE: Named = Named { letters: "", long: &[], glued: "" };

    pub(in crate::policy) const fn new(letters: &'static str, long: &'static [&'static str]) -> Named {
        Named { letters, long, glued: "" }
    }

    /// True for a word that is one of these that have one dash, written with one or two.
    fn has_single(&self, text: &str) -> bool {
        let whole = text.split('=').next().unwrap_or(text);
        let mut single = self.long.iter().filter(|long| !long.starts_with("--"));
        single.any(|long| whole == *long || whole.strip_prefix('-') == Some(*long))
    }

    /// True for a long option that is one of these, shortened or not.
    fn has_long(&self, name: &str) -> bool {
        name.len() > 2 && self.long.iter().any(|long| long.starts_with("--") && long.starts_with(name))
    }
}

/// A word, and where it stands among the words of its command.
#[derive(Clone, Debug)]
pub(in crate::policy) struct Place {
    pub at: usize,
    pub word: Word,
}

/// The name of an option as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name<'a> {
    Letter(char),
    Long(&'a str),
}

/// An option that a command is given.
#[derive(Clone, Debug)]
pub(in crate::policy) struct Given<'a> {
    /// The word it stands in.
    pub text: &'a str,
    name: Name<'a>,
    pub value: Option<Place>,
}

impl Given<'_> {
    pub(in crate::policy) fn is(&self, wanted: Named) -> bool {
        let named = match self.name {
            Name::Letter(letter) => wanted.letters.contains(letter),
            Name::Long(name) => wanted.has_long(name),
        };
        named || wanted.has_single(self.text)
    }
}

/// What a command is given.
#[derive(Clone, Debug, Default)]
pub(in crate::policy) struct Arguments<'a> {
    pub options: Vec<Given<'a>>,
    /// What is no option, in its order; what only the shell knows among it.
    pub operands: Vec<Place>,
    /// A word may turn out to be any option.
    pub doubtful: bool,
}

impl<'a> Arguments<'a> {
    /// Those of `words` from the place `from` on. The options of `valued` take a value.
    pub(in crate::policy) fn of(words: &'a [Word], from: usize, valued: &[Named]) -> Self {
        let mut read = Self::default();
        let mut rest = words.iter().enumerate().skip(from);
        let mut ended = false;
        while let Some((at, word)) = rest.next() {
            let text = match word.known() {
                Some("--") if !ended => {
                    ended = true;
                    continue;
                }
                Some(text) if !ended && text.len() > 1 && text.starts_with('-') => text,
                _ => {
                    read.doubtful |= !ended && may_be_option(word);
                    read.operands.push(Place { at, word: word.clone() });
                    continue;
                }
            };
            let takes = |letter| match valued.iter().any(|named| named.letters.contains(letter)) {
                true => Takes::Value,
                false if valued.iter().any(|named| named.glued.contains(letter)) => Takes::Glued,
                false => Takes::Nothing,
            };
            let is_long = |name: &str| valued.iter().any(|named| named.has_long(name));
            let (options, takes_next) = options_in(text, takes, is_long);
            let count = options.len();
            for (number, (name, glued)) in options.into_iter().enumerate() {
                let glued = glued.map(|value| Place { at, word: Word::literal(value) });
                let next = if takes_next && number + 1 == count { rest.next() } else { None };
                let value = glued.or(next.map(|(at, word)| Place { at, word: word.clone() }));
                read.options.push(Given { text, name, value });
            }
        }
        read
    }

    /// The first option that is one of these.
    pub(in crate::policy) fn find(&self, wanted: Named) -> Option<&Given<'a>> {
        self.options.iter().find(|given| given.is(wanted))
    }

    pub(in crate::policy) fn has(&self, wanted: Named) -> bool {
        self.find(wanted).is_some()
    }

    /// True when one of these is given, or may be.
    pub(in crate::policy) fn may_have(&self, wanted: Named) -> bool {
        self.doubtful || self.has(wanted)
    }

    /// The word of an operand, if that is known.
    pub(in crate::policy) fn operand(&self, number: usize) -> Option<&str> {
        self.operands.get(number).and_then(|place| place.word.known())
    }
}

/// True for a word that only the shell knows and that may become an option.
pub(super) fn may_be_option(word: &Word) -> bool {
    match word.kind {
        WordKind::Literal => false,
        WordKind::Glob => word.text.starts_with(['*', '?', '[', '-']),
        WordKind::Single | WordKind::Unknown => true,
    }
}

/// What a letter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    /// What is glued to it.
    Glued,
    /// What is glued to it, or else the next word.
    Value,
}

/// The options that one word says, with what is glued to them, and whether the next word is the value of the last.
pub(super) fn options_in<'a>(
    text: &'a str,
    takes: impl Fn(char) -> Takes,
    is_valued_long: impl Fn(&str) -> bool,
) -> (Vec<(Name<'a>, Option<&'a str>)>, bool) {
    if text.starts_with("--") {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        return (vec![(Name::Long(name), value)], value.is_none() && is_valued_long(name));
    }
    let mut options = Vec::new();
    let mut rest = text.strip_prefix('-').unwrap_or_default().chars();
    while let Some(letter) = rest.next() {
        let takes = takes(letter);
        if takes == Takes::Nothing {
            options.push((Name::Letter(letter), None));
            continue;
        }
        let glued = Some(rest.as_str()).filter(|glued| !glued.is_empty());
        options.push((Name::Letter(letter), glued));
        return (options, glued.is_none() && takes == Takes::Value);
    }
    (options, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_however_they_are_written() {
        const VALUED: Named = Named::new("of", &["--output", "--file"]);
        let read = |line: &str| {
            let words: Vec<Word> = line.split(' ').map(Word::literal).collect();
            let read = Arguments::of(&words, 1, &[VALUED]);
            let value = |given: &Given<'_>| given.value.as_ref().map(|place| place.word.text.clone());
            let values: Vec<String> =
                read.options.iter().filter(|given| given.is(VALUED)).filter_map(value).collect();
            let operands: Vec<String> = read.operands.iter().map(|place| place.word.text.clone()).collect();
            (values.join(","), operands.join(","))
        };
        for line in [
            "x -o a b",
            "x -oa b",
            "x -vo a b",
            "x -voa b",
            "x --output a b",
            "x --output=a b",
            "x --out a b",
            "x b --o=a",
        ] {
            assert_eq!(read(line), ("a".to_owned(), "b".to_owned()), "{line}");
        }
        assert_eq!(read("x -- -o a"), (String::new(), "-o,a".to_owned()));
        assert_eq!(read("x -v - -o"), (String::new(), "-".to_owned()));
        let words: Vec<Word> = ["go", "test", "-exec", "./x"].map(Word::literal).to_vec();
        let single = Named::new("", &["-exec"]);
        assert!(Arguments::of(&words, 1, &[]).has(single));
        let words: Vec<Word> = ["go", "test", "-ex"].map(Word::literal).to_vec();
        assert!(!Arguments::of(&words, 1, &[]).has(single));
        let doubtful = |word: Word| Arguments::of(&[Word::literal("x"), word], 1, &[]).doubtful;
        assert!(doubtful(Word::single("$x")) && doubtful(Word { text: "*".into(), kind: WordKind::Glob }));
        assert!(!doubtful(Word { text: "src/*".into(), kind: WordKind::Glob }));
    }
}
