//! Characters that make a text look like something it is not.

use super::syntax::Trouble;

/// Longer lines are not shown to a person in a way that can be checked.
const MAX_LINE: usize = 8 * 1024;

/// The first thing about `text` that a person could not see or would take for something else.
pub(super) fn suspicious(text: &str) -> Option<Trouble> {
    if text.trim().is_empty() {
        return Some(trouble("", "there is nothing to run"));
    }
    if text.lines().any(|line| line.len() > MAX_LINE) {
        return Some(trouble(&text.chars().take(80).collect::<String>(), "a line is too long to be checked"));
    }
    for line in text.split('\n') {
        for word in line.split([' ', '\t']) {
            if let Some(reason) = word.chars().find_map(fault).or_else(|| mixture(word)) {
                return Some(trouble(&visible(word), reason));
            }
        }
    }
    None
}

fn trouble(what: &str, reason: &str) -> Trouble {
    Trouble { what: what.to_owned(), reason: reason.to_owned() }
}

fn fault(c: char) -> Option<&'static str> {
    match c {
        '\r' => Some("a carriage return can hide what stands before it"),
        c if c.is_control() && c != '\t' => Some("it holds a control character"),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}' => {
            Some("it holds a mark that changes the direction of text")
        }
        '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2064}'
        | '\u{feff}'
        | '\u{180e}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{fe00}'..='\u{fe0e}'
        | '\u{e0000}'..='\u{e0fff}' => Some("it holds a character that cannot be seen"),
        '\u{a0}'
        | '\u{1680}'
        | '\u{2000}'..='\u{200a}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{202f}'
        | '\u{205f}'
        | '\u{3000}' => Some("it holds a space that the shell does not take for one"),
        '\u{2018}'..='\u{201f}' | '\u{2032}' | '\u{2035}' => {
            Some("it holds a quote that the shell does not take for one")
        }
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => {
            Some("it holds a dash that commands do not take for one")
        }
        '\u{ff01}'..='\u{ff5e}' | '\u{37e}' | '\u{2044}' | '\u{2215}' | '\u{2223}' | '\u{a789}' => {
            Some("it holds a look-alike of a plain character")
        }
        '\u{1d400}'..='\u{1d7ff}' => Some("it holds a look-alike of a plain character"),
        _ => None,
    }
}

/// Latin letters together with letters that look like them.
fn mixture(word: &str) -> Option<&'static str> {
    let latin = word.chars().any(|c| c.is_ascii_alphabetic());
    let alike = word.chars().any(|c| {
        matches!(c, '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{530}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}')
    });
    (latin && alike).then_some("it mixes letters that look alike")
}

/// `word` with everything but plain characters spelled out.
fn visible(word: &str) -> String {
    word.chars()
        .take(60)
        .flat_map(|c| if c.is_ascii_graphic() { vec![c] } else { c.escape_default().collect() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::suspicious;

    #[test]
    fn text_in_any_one_script_is_fine() {
        for text in
            ["ls -la", "echo '你好' 日本語 한국어", "echo Привет", "grep café notes.md", "echo 🦀 ❤\u{fe0f}"]
        {
            assert_eq!(suspicious(text), None, "{text}");
        }
    }

    #[test]
    fn what_hides_or_imitates_is_named() {
        for text in [
            "ls\u{202e}txt",
            "r\u{200b}m x",
            "ls\rrm",
            "l\u{0455} x",
            "ｒｍ x",
            "ls\u{a0}x",
            "rm \u{2013}rf",
            "\u{0}",
        ] {
            assert!(suspicious(text).is_some(), "{text:?}");
        }
    }
}
