//! JSON that is not quite JSON.

use std::borrow::Cow;

use memchr::memchr;

/// The text with U+FFFD for every escaped half of a surrogate pair that has no other half.
///
/// Servers that cut strings by UTF-16 units (JavaScript's) write such halves; the strict parser refuses the whole
/// text over one.
pub fn mended(text: &str) -> Cow<'_, str> {
    if memchr(b'\\', text.as_bytes()).is_none() || !text.contains("\\ud") && !text.contains("\\uD") {
        return Cow::Borrowed(text);
    }
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        mended.push_str(before);
        let length = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xD800..0xDC00), Some(0xDC00..0xE000)) => 12,
            (Some(0xD800..0xE000), _) => {
                mended.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            // The escaped character, of any length, goes along: it begins no escape of its own.
            _ => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        mended.push_str(escape.get(..length).unwrap_or(escape));
        rest = escape.get(length..).unwrap_or_default();
    }
    mended.push_str(rest);
    Cow::Owned(mended)
}

/// The UTF-16 unit of the `\uXXXX` that a text begins with.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_pairs_are_replaced_and_nothing_else_is() {
        for (text, expected) in [
            (r#""plain""#, r#""plain""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\uD83D\uDE00 \u00e9""#, r#""\uD83D\uDE00 \u00e9""#),
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\ude00b""#, r#""\ufffdb""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud83d\n\ude00""#, r#""\ufffd\n\ufffd""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#""\ud8"#, r#""\ud8"#),
            ("\"\\ud83d\\", "\"\\ufffd\\"),
            ("\"\\é\\udc00\"", "\"\\é\\ufffd\""),
        ] {
            assert_eq!(mended(text), expected, "{text}");
        }
    }
}
