//! Words back into text.

/// `word` as it would be typed: bare where that is safe, else in single quotes.
pub fn quote(word: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(bare) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
