//! Pure helpers on text that several crates need: "did you mean", shell words, paths.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

/// Longer names are not compared: nobody mistypes them, and comparing costs.
const LONGEST_NAME: usize = 100;

/// The name nearest to `typed`, if one is near enough to be what was meant.
///
/// Up to a third of the letters may be wrong, a swap of neighbours counting once; case and all but letters and
/// digits do not count. A name that begins with what was typed, or the other way round, goes first.
pub fn nearest<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = folded(typed)?;
    let letters = typed.chars().count();
    let allowed = (letters / 3).clamp(1, 4);
    let near = names.into_iter().filter_map(|name| {
        let known = folded(name)?;
        let begins = letters >= 3 && known.starts_with(&typed)
            || known.chars().count() >= 3 && typed.starts_with(&known);
        // `shell` for `run_shell_command`: too far letter by letter, yet plainly meant.
        let contains = letters >= 4 && known.contains(&typed);
        let distance = strsim::osa_distance(&typed, &known);
        (begins || contains || distance <= allowed).then_some(((!begins, distance), name))
    });
    near.min_by_key(|(rank, _)| *rank).map(|(_, name)| name)
}

/// Letters and digits in lower case: `readFile`, `read-file` and `read_file` are one name.
fn folded(name: &str) -> Option<String> {
    let letters = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
    let folded: String = letters.take(LONGEST_NAME + 1).collect();
    (1..=LONGEST_NAME).contains(&folded.chars().count()).then_some(folded)
}

/// `word` as a shell reads it as one word: bare where that is safe, else in single quotes.
pub fn shell_quote(word: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(bare) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The words of `text`, split at blanks, quotes and backslashes resolved; absent when a quote is not closed.
/// Nothing is expanded, and `#` begins no comment.
pub fn shell_split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => push_until(word.get_or_insert_default(), '\'', &mut rest)?,
            '"' => push_until(word.get_or_insert_default(), '"', &mut rest)?,
            '\\' => word.get_or_insert_default().push(rest.next()?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

/// Takes what is in quotes up to the closing one.
fn push_until(word: &mut String, quote: char, rest: &mut std::str::Chars) -> Option<()> {
    loop {
        match rest.next()? {
            end if end == quote => return Some(()),
            '\\' if quote == '"' => match rest.next()? {
                escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                other => word.extend(['\\', other]),
            },
            other => word.push(other),
        }
    }
}

/// `path` seen from `folder`, with `.` and `..` worked out on the text alone: no link is followed.
pub fn join_path(folder: &Path, path: impl AsRef<Path>) -> PathBuf {
    let mut joined = PathBuf::new();
    for component in folder.join(path).components() {
        match component {
            Component::ParentDir => {
                joined.pop();
            }
            Component::CurDir => {}
            other => joined.push(other),
        }
    }
    joined
}

/// A path on one line: a name with a line break or an escape sequence must not forge what a person reads.
pub fn printable(path: &Path) -> String {
    path.to_string_lossy().chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect()
}

/// Text of several lines as it is: characters that would show nothing, move the cursor or turn the direction of
/// writing are shown by their number, so that what a person agrees to is what they see.
pub fn visible(text: &str) -> String {
    numbered(text, hides).into_owned()
}

/// Text that is to stand between `<mark>` and `</mark>`: it cannot end its own mark, in whatever letters. The mark has a `_`.
pub fn unmarked(text: &str, mark: &str) -> String {
    let (lower, instead) = (text.to_ascii_lowercase(), mark.replace('_', "-"));
    let mut unmarked = String::with_capacity(text.len());
    let mut from = 0;
    for (at, found) in lower.match_indices(mark) {
        unmarked.push_str(text.get(from..at).unwrap_or_default());
        unmarked.push_str(&instead);
        from = at + found.len();
    }
    unmarked.push_str(text.get(from..).unwrap_or_default());
    unmarked
}

/// Text that is read and not agreed to: like [`visible`], but what shapes words stays, so that emoji and scripts with
/// joiners look as their writers meant them.
pub fn readable(text: &str) -> Cow<'_, str> {
    numbered(text, |c| hides(c) && !shapes(c))
}

/// Shows nothing, or turns the direction of writing.
fn hides(c: char) -> bool {
    matches!(c,
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Spaces of a certain width, joiners and the choice between forms of a character.
fn shapes(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{200c}' | '\u{200d}' | '\u{202f}' | '\u{fe00}'..='\u{fe0f}')
}

/// The text with control characters and those that are `hidden` shown by their number.
fn numbered(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_shown = |c: char| match c {
        '\n' | '\t' | ' '..='~' => true,
        c => !c.is_control() && !hidden(c),
    };
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_shown(c) {
            true => shown.push(c),
            false => shown.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// The same on one line: a line break is shown as such, so that what follows cannot pass for a line of ours.
pub fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n").replace('\t', " ")
}

/// A message of ours that may have words of others in it, such as a file's name. Every line but the first stands behind a margin, and what
/// moves the cursor or hides is shown by its number: nothing in it can pass for a line of ours.
pub fn behind_margin(text: &str) -> String {
    visible(text.trim_end_matches('\n')).replace('\n', "\n  │ ")
}

/// The text with `%2C` and the like put in; what is no such number stays.
pub fn percent_decoded(text: &str) -> String {
    let (first, rest) = text.split_once('%').map_or((text, None), |(first, rest)| (first, Some(rest)));
    let mut bytes = first.as_bytes().to_vec();
    for part in rest.into_iter().flat_map(|rest| rest.split('%')) {
        let number = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match number {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend(part.bytes().skip(2));
            }
            None => {
                bytes.push(b'%');
                bytes.extend(part.bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The path in the address of a file (`file:///a%20b`), wherever it is.
pub fn file_address(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once(':')?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.get(rest.find('/')?..)?,
        None => rest,
    };
    let path = path.split(['#', '?']).next().unwrap_or_default();
    scheme.trim_start().eq_ignore_ascii_case("file").then(|| PathBuf::from(percent_decoded(path)))
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
    fn what_is_agreed_to_is_what_is_seen() {
        assert_eq!(one_line("a\nb\tc\u{2028}"), "a\\nb c\\u{2028}");
        assert_eq!(visible("a\u{202e}b\u{1b}[2K\u{200b}\r é\n"), "a\\u{202e}b\\u{1b}[2K\\u{200b}\\u{d} é\n");
    }

    #[test]
    fn what_is_only_read_keeps_its_joiners_and_nothing_else_that_hides() {
        let emoji = "👩\u{200d}🚀 ❤\u{fe0f}\u{a0}x";
        assert_eq!(readable(emoji), emoji);
        assert_eq!(
            readable("a\u{202e}b\u{1b}[2K\u{200b}\u{2066}"),
            "a\\u{202e}b\\u{1b}[2K\\u{200b}\\u{2066}"
        );
    }

    #[test]
    fn a_mistyped_name_finds_the_one_that_was_meant() {
        let tools = ["read_file", "write_file", "run_shell_command", "glob", "grep_search"];
        let keys = ["name", "fallback", "temperature", "maxOutputTokens", "baseUrl"];
        for (typed, meant) in [
            ("readFile", "read_file"),
            ("raed_file", "read_file"),
            ("shell", "run_shell_command"),
            ("grep", "grep_search"),
            ("golb", "glob"),
            ("nmae", "name"),
            ("temprature", "temperature"),
            ("base_url", "baseUrl"),
            ("fallbacks", "fallback"),
            ("max", "maxOutputTokens"),
        ] {
            assert_eq!(nearest(typed, tools.into_iter().chain(keys)), Some(meant), "{typed}");
        }
    }

    #[test]
    fn nothing_is_suggested_for_a_word_that_resembles_nothing() {
        let names = ["name", "fallback", "read_file", "glob", "", "x"];
        for typed in ["colour", "deploy", "", "_", "xylophone", &"x".repeat(1 << 20)] {
            assert_eq!(nearest(typed, names), None, "{}", typed.len());
        }
    }

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        let words = |text| shell_split(text).unwrap();
        assert_eq!(words(r#"git  log "a b" 'c "d"' e\ f"#), ["git", "log", "a b", "c \"d\"", "e f"]);
        assert_eq!(words(r#""a\"b" "\$x" "C:\dir" '' x''y"#), ["a\"b", "$x", r"C:\dir", "", "xy"]);
        assert_eq!(words("echo #1"), ["echo", "#1"]);
        assert_eq!(words(" \n"), [""; 0]);
        for open in ["git 'log", "git \"log", "git log\\", "\"a\\"] {
            assert_eq!(shell_split(open), None, "{open}");
        }
    }

    proptest! {
        #[test]
        fn quoted_words_come_back(words: Vec<String>) {
            let text = words.iter().map(|word| shell_quote(word)).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(shell_split(&text), Some(words));
        }
    }

    #[test]
    fn a_path_is_worked_out_on_its_text() {
        let joined = |path| join_path(Path::new("/a/b"), path);
        assert_eq!(joined("./c/../d"), Path::new("/a/b/d"));
        assert_eq!(joined("../../../x"), Path::new("/x"));
        assert_eq!(joined("/etc/./passwd"), Path::new("/etc/passwd"));
        assert_eq!(joined(""), Path::new("/a/b"));
    }

    #[test]
    fn addresses_of_files_are_known() {
        for (uri, path) in [
            ("file:///a%20b/c.txt#L1", Some("/a b/c.txt")),
            ("FILE://host/a?x", Some("/a")),
            ("file:/a/%2e%2e/b", Some("/a/../b")),
            ("file:a", Some("a")),
            ("file://host", None),
            ("https://host/a", None),
            ("/a", None),
        ] {
            assert_eq!(file_address(uri), path.map(PathBuf::from), "{uri}");
        }
    }

    #[test]
    fn a_name_cannot_forge_a_line() {
        assert_eq!(behind_margin("a\nerror: b\r\u{1b}[2K\n"), "a\n  │ error: b\\u{d}\\u{1b}[2K");
        assert_eq!(printable(Path::new("a\n\u{1b}[2Kb")), "a\u{FFFD}\u{FFFD}[2Kb");
    }
}
