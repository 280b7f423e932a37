//! Output of terminals, cleaned for readers that are none.

/// Turns bytes, cut anywhere, into text without terminal controls.
///
/// Bytes that are no UTF-8 become replacement characters, escape sequences go away, line ends become `\n`.
/// A lone carriage return becomes one too: a progress bar then takes many lines, but nothing of a file with
/// old line ends is lost.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    /// The beginning of a character whose end has not come yet.
    partial: Vec<u8>,
    escape: Escape,
    after_return: bool,
}

/// Where in an escape sequence the stream stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    /// After ESC.
    Begun,
    /// After ESC and an intermediate byte: one more byte ends it.
    Intermediate,
    /// After ESC `[`, until a final byte.
    Control,
    /// After ESC `]`, `P`, `^`, `_` or `X`, until BEL or ESC `\`.
    Text,
    /// An ESC inside [`Escape::Text`].
    TextEnding,
}

impl Cleaner {
    /// The text of these bytes, as far as it is complete.
    pub(crate) fn push(&mut self, bytes: &[u8], text: &mut String) {
        let joined;
        let bytes = if self.partial.is_empty() {
            bytes
        } else {
            self.partial.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.partial);
            &joined
        };
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            for character in chunk.valid().chars() {
                self.take(character, text);
            }
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && is_incomplete(invalid) {
                self.partial = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.take(char::REPLACEMENT_CHARACTER, text);
            }
        }
    }

    /// What is left when no more comes.
    pub(crate) fn finish(&mut self, text: &mut String) {
        if !std::mem::take(&mut self.partial).is_empty() {
            self.take(char::REPLACEMENT_CHARACTER, text);
        }
        if std::mem::take(&mut self.after_return) {
            text.push('\n');
        }
        self.escape = Escape::None;
    }

    fn take(&mut self, character: char, text: &mut String) {
        self.escape = match (self.escape, character) {
            (Escape::None, '\u{1b}') => Escape::Begun,
            (Escape::None, character) => {
                self.plain(character, text);
                Escape::None
            }
            (Escape::Begun, '[') => Escape::Control,
            (Escape::Begun, ']' | 'P' | '^' | '_' | 'X') => Escape::Text,
            (Escape::Begun | Escape::Intermediate, ' '..='/') => Escape::Intermediate,
            (Escape::Begun | Escape::Control | Escape::Intermediate, '\u{1b}') => Escape::Begun,
            (Escape::Control, ' '..='?') => Escape::Control,
            // A line end has no place in a control sequence: what looked like one was cut off.
            (Escape::Begun | Escape::Control | Escape::Intermediate, '\n') => {
                self.plain(character, text);
                Escape::None
            }
            (Escape::Begun | Escape::Control | Escape::Intermediate, _) => Escape::None,
            (Escape::Text, '\u{7}') => Escape::None,
            (Escape::Text, '\u{1b}') => Escape::TextEnding,
            (Escape::Text, '\n') => {
                self.plain(character, text);
                Escape::None
            }
            (Escape::Text, _) => Escape::Text,
            (Escape::TextEnding, '\\') => Escape::None,
            (Escape::TextEnding, _) => Escape::Text,
        };
    }

    fn plain(&mut self, character: char, text: &mut String) {
        if std::mem::take(&mut self.after_return) && character != '\n' {
            text.push('\n');
        }
        match character {
            '\r' => self.after_return = true,
            '\n' | '\t' => text.push(character),
            // C1 controls are what 8-bit terminals act on.
            character if character.is_control() => {}
            character => text.push(character),
        }
    }
}

/// True for the beginning of a character, so that the rest may still come.
fn is_incomplete(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none())
}

/// The text of these bytes, all of it.
pub(crate) fn clean(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut cleaner = Cleaner::default();
    cleaner.push(bytes, &mut text);
    cleaner.finish(&mut text);
    text
}

/// True for what is no text: a NUL byte among the first, as in every format that is not text.
pub(crate) fn is_binary(head: &[u8]) -> bool {
    head.iter().take(8 * 1024).any(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escape_sequences_go_and_text_stays() {
        let cases = [
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;a title\u{7}prompt", "prompt"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}(Bplain\u{1b}=", "plain"),
            ("\u{1b}[?25lhidden\u{1b}[K", "hidden"),
            ("a\u{1b}[31\nb", "a\nb"),
            ("one\r\ntwo\rthree\r", "one\ntwo\nthree\n"),
            ("bell\u{7}back\u{8}\u{9b}del\u{7f}", "bellbackdel"),
            ("tab\tkept — 漢字", "tab\tkept — 漢字"),
        ];
        for (raw, cleaned) in cases {
            assert_eq!(clean(raw.as_bytes()), cleaned, "{raw:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(clean(b"a\xff\xfeb\xe6\xbc"), "a\u{fffd}\u{fffd}b\u{fffd}");
        assert!(is_binary(b"\x7fELF\0"));
        assert!(!is_binary("grüße".as_bytes()));
    }

    proptest! {
        #[test]
        fn cutting_the_stream_anywhere_changes_nothing(
            raw in proptest::collection::vec(prop_oneof![
                Just(b'\x1b'), Just(b'['), Just(b'\r'), Just(b'\n'), Just(0xe6u8), Just(0xbcu8), Just(0xa2u8),
                any::<u8>(),
            ], 0..60),
            cut in 0usize..60,
        ) {
            let cut = cut.min(raw.len());
            let mut text = String::new();
            let mut cleaner = Cleaner::default();
            cleaner.push(&raw[..cut], &mut text);
            cleaner.push(&raw[cut..], &mut text);
            cleaner.finish(&mut text);
            prop_assert_eq!(text, clean(&raw));
        }
    }
}
