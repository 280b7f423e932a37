//! JSON as models write it: perhaps not finished yet, perhaps with raw line breaks in its strings.
//!
//! A strict parser can tell neither how far an unfinished text got nor where a value ends that has prose
//! behind it. This one can, and it forgives what models get wrong without changing the meaning: control
//! characters and stray backslashes in strings, a comma too many, Python's `True`, `False` and `None`.

use serde_json::{Map, Number, Value};

/// What was found at the beginning of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Parsed {
    /// A whole value and its length in bytes.
    Whole(Value, usize),
    /// The text ends within the value; what was whole of it.
    Partial(Value),
    /// No JSON from this byte on; what was whole before it.
    Broken(Value, usize),
}

/// Values nested deeper are broken: no call needs them, and the stack is finite.
const MAX_DEPTH: usize = 64;

/// Reads the JSON value that `text` begins with.
pub(super) fn parse(text: &str) -> Parsed {
    let mut reader = Reader { text, at: 0 };
    let mut value = Value::Null;
    match reader.value(&mut value, 0) {
        Ok(()) => Parsed::Whole(value, reader.at),
        Err(End::Out) => Parsed::Partial(value),
        Err(End::Broken) => Parsed::Broken(value, reader.at),
    }
}

enum End {
    Out,
    Broken,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next byte that is no white space.
    fn next(&mut self) -> Result<u8, End> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().bytes().next().ok_or(End::Out)
    }

    /// Reads into `into` as it goes, so that an unfinished container shows what it has.
    fn value(&mut self, into: &mut Value, depth: usize) -> Result<(), End> {
        if depth > MAX_DEPTH {
            return Err(End::Broken);
        }
        match self.next()? {
            b'{' => self.object(into, depth),
            b'[' => self.array(into, depth),
            b'"' => {
                *into = Value::String(self.string()?);
                Ok(())
            }
            _ => self.word(into),
        }
    }

    fn object(&mut self, into: &mut Value, depth: usize) -> Result<(), End> {
        self.at += 1;
        *into = Value::Object(Map::new());
        loop {
            match self.next()? {
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                b',' => self.at += 1,
                b'"' => {
                    let key = self.string()?;
                    if self.next()? != b':' {
                        return Err(End::Broken);
                    }
                    self.at += 1;
                    let Value::Object(map) = into else { return Err(End::Broken) };
                    let slot = map.entry(key).or_insert(Value::Null);
                    *slot = Value::Null;
                    self.value(slot, depth + 1)?;
                    self.separator(b'}')?;
                }
                _ => return Err(End::Broken),
            }
        }
    }

    fn array(&mut self, into: &mut Value, depth: usize) -> Result<(), End> {
        self.at += 1;
        *into = Value::Array(Vec::new());
        loop {
            match self.next()? {
                b']' => {
                    self.at += 1;
                    return Ok(());
                }
                b',' => self.at += 1,
                _ => {
                    let Value::Array(items) = into else { return Err(End::Broken) };
                    items.push(Value::Null);
                    let Some(slot) = items.last_mut() else { return Err(End::Broken) };
                    self.value(slot, depth + 1)?;
                    self.separator(b']')?;
                }
            }
        }
    }

    fn separator(&mut self, closer: u8) -> Result<(), End> {
        let next = self.next()?;
        if next == b',' || next == closer { Ok(()) } else { Err(End::Broken) }
    }

    /// A number, or one of the three words. At the end of the text it may still grow.
    fn word(&mut self, into: &mut Value) -> Result<(), End> {
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let rest = self.rest();
        let word = rest.split(|c| !part(c)).next().unwrap_or_default();
        if word.is_empty() {
            return Err(End::Broken);
        }
        if word.len() == rest.len() {
            return Err(End::Out);
        }
        let value = match word {
            "true" | "True" => Some(Value::Bool(true)),
            "false" | "False" => Some(Value::Bool(false)),
            "null" | "None" => Some(Value::Null),
            number => serde_json::from_str::<Number>(number).ok().map(Value::Number),
        };
        *into = value.ok_or(End::Broken)?;
        self.at += word.len();
        Ok(())
    }

    fn string(&mut self) -> Result<String, End> {
        let mut characters = self.rest().char_indices().skip(1);
        let mut text = String::new();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    self.at += at + 1;
                    return Ok(text);
                }
                '\\' => match characters.next().ok_or(End::Out)?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'b' => text.push('\u{8}'),
                    'f' => text.push('\u{c}'),
                    quoted @ ('"' | '\\' | '/') => text.push(quoted),
                    'u' => match unicode_escape(self.rest().get(at..).unwrap_or_default())? {
                        Some((escaped, length)) => {
                            text.push(escaped);
                            // The backslash and the `u` are read already.
                            characters.nth(length - 3);
                        }
                        None => text.push_str("\\u"),
                    },
                    other => {
                        text.push('\\');
                        text.push(other);
                    }
                },
                other => text.push(other),
            }
        }
        Err(End::Out)
    }
}

/// The character of a `\uXXXX` escape, or of two that make a pair, and the length of the escape in bytes;
/// `None` when it is no escape. Half a pair is the replacement character.
fn unicode_escape(text: &str) -> Result<Option<(char, usize)>, End> {
    let unit = |at: usize| -> Result<Option<u32>, End> {
        let digits: String = text.chars().skip(at + 2).take(4).collect();
        let opens = text.chars().skip(at).zip("\\u".chars()).all(|(a, b)| a == b);
        let partial = digits.chars().count() < 4;
        if !opens || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
            return Ok(None);
        }
        if partial { Err(End::Out) } else { Ok(u32::from_str_radix(&digits, 16).ok()) }
    };
    let Some(first) = unit(0)? else { return Ok(None) };
    if (0xD800..0xDC00).contains(&first)
        && let Some(second) = unit(6)?
        && (0xDC00..0xE000).contains(&second)
    {
        let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        return Ok(Some((char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)));
    }
    Ok(Some((char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sound_json_is_read_as_the_strict_parser_reads_it() {
        for text in [
            r#"{"a":[1,-2.5e3,true,null,{"b":"\"}{ \\ \u00e9\ud83d\ude00 \/"}],"c":""}"#,
            r#"[[],{},"x"]"#,
            r#""just a string""#,
        ] {
            let strict: Value = serde_json::from_str(text).unwrap();
            let with_prose = format!("{text} and more");
            assert_eq!(parse(&with_prose), Parsed::Whole(strict, text.len()), "{text}");
            for (cut, _) in text.char_indices() {
                let begun = text.get(..cut).unwrap();
                assert!(matches!(parse(begun), Parsed::Partial(_)), "{begun}");
            }
        }
    }

    #[test]
    fn what_models_get_wrong_is_read_as_they_meant_it() {
        let text = "{\"code\": \"a\n\tb\\d+\", \"flag\": True, \"list\": [1, 2,],}";
        let Parsed::Whole(value, length) = parse(text) else { panic!("{:?}", parse(text)) };
        assert_eq!(value, json!({"code": "a\n\tb\\d+", "flag": true, "list": [1, 2]}));
        assert_eq!(length, text.len());
    }

    #[test]
    fn an_unfinished_value_shows_what_is_whole() {
        let Parsed::Partial(value) = parse(r#"{"name": "read", "arguments": {"path": "a/b"#) else {
            panic!()
        };
        assert_eq!(value, json!({"name": "read", "arguments": {"path": null}}));
        assert!(matches!(parse("{...}"), Parsed::Broken(_, 1)));
        assert!(matches!(parse(&"[".repeat(5000)), Parsed::Broken(..)));
    }
}
