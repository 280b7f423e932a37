//! Cutting text to size: never inside a character, and never without saying so.

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

/// The beginning and the end of a text of more than `most` characters, with a line between them that says
/// how much was left out; `None` when it fits.
pub fn middle(text: &str, most: usize) -> Option<String> {
    let total = text.chars().count();
    if total <= most {
        return None;
    }
    // The end of an output usually says how it went, so it gets more than the beginning.
    let head = most / 5;
    let tail = most - head;
    let at = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(at, _)| at);
    let first = text.get(..at(head)).unwrap_or_default();
    let last = text.get(at(total - tail)..).unwrap_or_default();
    Some(format!("{first}\n[… {} of {total} characters left out …]\n{last}", total - most))
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
