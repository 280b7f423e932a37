//! Cutting text to size: never inside a character, and never without saying so.

pub use charla_proto::text::middle;

/// The beginning of a line that is too long, with a mark; the line itself otherwise.
pub fn line(text: &str, most: usize) -> (std::borrow::Cow<'_, str>, bool) {
    match text.char_indices().nth(most) {
        Some((at, _)) => {
            let kept = text.get(..at).unwrap_or_default();
            (std::borrow::Cow::Owned(format!("{kept}... [truncated]")), true)
        }
        None => (std::borrow::Cow::Borrowed(text), false),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_is_untouched() {
        assert_eq!(line("héé", 3), ("héé".into(), false));
        assert_eq!(middle("héé", 3), None);
    }

    #[test]
    fn what_was_cut_is_said() {
        assert_eq!(line("日本語", 2), ("日本... [truncated]".into(), true));
        let cut = middle(&format!("{}{}", "a".repeat(50), "語".repeat(50)), 20).unwrap();
        assert_eq!(cut, format!("aaaa\n[… 80 of 100 characters left out …]\n{}", "語".repeat(16)));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "\\PC{0,60}", most in 0usize..70) {
            let (kept, cut) = line(&text, most);
            prop_assert_eq!(cut, text.chars().count() > most);
            prop_assert!(cut || kept == text);
            prop_assert_eq!(middle(&text, most).is_some(), cut);
        }
    }
}
