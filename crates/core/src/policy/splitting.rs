//! Command words in rules and flags: split at blanks, with quotes.

/// The words of `text`; absent when a quote is not closed.
pub(crate) fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => {
                let into = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        end if end == c => break,
                        '\\' if c == '"' => into.push(rest.next()?),
                        other => into.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next()?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

/// `word` in a form that [`split`] reads back.
pub(crate) fn quote(word: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(bare) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::{quote, split};

    #[test]
    fn quoted_words_come_back() {
        for words in [vec!["git", "log"], vec!["a b", "", "it's", "\"x\"", "\\"]] {
            let text = words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
            assert_eq!(split(&text).unwrap(), words);
        }
    }

    #[test]
    fn an_open_quote_is_no_list_of_words() {
        assert_eq!(split("git 'log"), None);
    }
}
