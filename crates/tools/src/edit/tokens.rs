//! A line as words and signs.

use super::lines::plain;

/// A shorter word is too easily another word.
const LEAST_LETTERS: usize = 7;

/// The words and signs of a line, without the blanks between them.
pub(super) fn split(line: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut in_word = false;
    for c in plain(line).chars() {
        match tokens.last_mut() {
            Some(word) if in_word && c.is_alphanumeric() => word.push(c),
            _ if c != ' ' => tokens.push(c.to_string()),
            _ => {}
        }
        in_word = c.is_alphanumeric();
    }
    tokens
}

/// True when two lines are the same but for words that one of them misspells.
pub(super) fn are_misspelt(a: &[String], b: &[String]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || is_misspelt(a, b))
}

/// One letter more, less, other or two swapped, within a long word of letters. The first and the last letter
/// are hardly ever mistyped; they tell `lock` from `unlock` and `user` from `users`.
fn is_misspelt(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let letters = |word: &[char]| word.iter().all(|c| c.is_alphabetic() && *c <= '\u{24F}');
    a.len().min(b.len()) >= LEAST_LETTERS
        && letters(&a)
        && letters(&b)
        && a.first() == b.first()
        && a.last() == b.last()
        && is_one_slip(&a, &b)
}

fn is_one_slip(a: &[char], b: &[char]) -> bool {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let same = long.iter().zip(short).take_while(|(x, y)| x == y).count();
    let (long, short) = (long.get(same..).unwrap_or_default(), short.get(same..).unwrap_or_default());
    match (long, short) {
        (long, short) if long.len() == short.len() + 1 => long.get(1..) == Some(short),
        ([a, b, long @ ..], [c, d, short @ ..]) if a == d && b == c => long == short,
        // Case is meaning: `Config` and `config` are two names.
        ([a, long @ ..], [b, short @ ..]) if !a.to_lowercase().eq(b.to_lowercase()) => long == short,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_part_words_but_not_signs() {
        assert_eq!(split("a+ b1 ==(c_d)"), ["a", "+", "b1", "=", "=", "(", "c", "_", "d", ")"]);
        assert_ne!(split("a b"), split("ab"));
        assert_eq!(split("  "), Vec::<String>::new());
    }

    #[test]
    fn slips_are_told_from_other_words() {
        for (a, b) in [
            ("configuration", "configuraton"),
            ("recieve", "receive"),
            ("neccessary", "necessary"),
            ("occurence", "occurrence"),
        ] {
            assert!(is_misspelt(a, b) && is_misspelt(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("maximum", "minimum"),
            ("enabled", "disabled"),
            ("visitor", "visitors"),
            ("synchronous", "asynchronous"),
            ("version1", "version2"),
            ("getItems", "getitems"),
            ("start", "smart"),
            ("配置文件加载错误", "配置文件保存错误"),
            ("abcdefgh", "abdcefhg"),
        ] {
            assert!(!is_misspelt(a, b), "{a} {b}");
        }
    }
}
