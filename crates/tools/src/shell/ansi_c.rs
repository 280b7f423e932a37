//! The escapes of `$'…'`.

/// The text between `$'` and `'`; absent when it is not text (bytes that are no characters, or a NUL, at
/// which bash cuts the string).
pub(super) fn decode(quoted: &str) -> Option<String> {
    let mut decoded = String::new();
    let mut rest = quoted.chars().peekable();
    while let Some(next) = rest.next() {
        if next != '\\' {
            decoded.push(next);
            continue;
        }
        let escape = rest.next()?;
        let value = match escape {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '?' => escape,
            'x' => byte(digits(&mut rest, 16, 2, 0)?)?,
            'u' => scalar(digits(&mut rest, 16, 4, 0)?)?,
            'U' => scalar(digits(&mut rest, 16, 8, 0)?)?,
            '0'..='7' => byte(digits(&mut rest, 8, 2, escape.to_digit(8)?)?)?,
            'c' => return None,
            other => {
                decoded.push('\\');
                other
            }
        };
        decoded.push(value);
    }
    Some(decoded)
}

/// Up to `most` digits after `value`; absent when there is none at all to read.
fn digits(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    radix: u32,
    most: usize,
    value: u32,
) -> Option<u32> {
    let mut value = value;
    let mut read = 0;
    while read < most
        && let Some(digit) = rest.peek().and_then(|next| next.to_digit(radix))
    {
        value = value.checked_mul(radix)?.checked_add(digit)?;
        rest.next();
        read += 1;
    }
    (read > 0 || radix == 8).then_some(value)
}

fn byte(value: u32) -> Option<char> {
    (1..128).contains(&value).then(|| char::from_u32(value)).flatten()
}

fn scalar(value: u32) -> Option<char> {
    (value != 0).then(|| char::from_u32(value)).flatten()
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_become_the_characters_they_stand_for() {
        assert_eq!(decode(r"\x72m").as_deref(), Some("rm"));
        assert_eq!(decode(r"\162\155 \u2603 \'\\").as_deref(), Some("rm ☃ '\\"));
        assert_eq!(decode(r"\q").as_deref(), Some("\\q"));
    }

    #[test]
    fn what_is_no_text_is_refused() {
        for quoted in [r"\x00", r"\0", r"a\xff", r"\u0000", r"\xg", r"\cA", "\\"] {
            assert_eq!(decode(quoted), None, "{quoted}");
        }
    }
}
