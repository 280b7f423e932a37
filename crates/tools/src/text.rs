//! Text in files: how it is encoded, and how to write it back the same way.

/// How a file's text is encoded. UTF-16 and UTF-32 are known by their byte order mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 without a mark.
    #[default]
    Utf8,
    /// UTF-8 with a byte order mark.
    Utf8Bom,
    /// UTF-16, little end first.
    Utf16Le,
    /// UTF-16, big end first.
    Utf16Be,
    /// UTF-32, little end first.
    Utf32Le,
    /// UTF-32, big end first.
    Utf32Be,
    /// One byte a character, for text that is no UTF-8. Every byte has its own character, so what an edit
    /// does not touch is written back byte for byte, whatever the real encoding is.
    Latin1,
}

impl Encoding {
    /// Its name for people and models.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "UTF-8",
            Encoding::Utf8Bom => "UTF-8 with BOM",
            Encoding::Utf16Le => "UTF-16 LE",
            Encoding::Utf16Be => "UTF-16 BE",
            Encoding::Utf32Le => "UTF-32 LE",
            Encoding::Utf32Be => "UTF-32 BE",
            Encoding::Latin1 => "Latin-1",
        }
    }

    /// The mark files in it begin with.
    fn mark(self) -> &'static [u8] {
        match self {
            Encoding::Utf8 | Encoding::Latin1 => &[],
            Encoding::Utf8Bom => &[0xEF, 0xBB, 0xBF],
            Encoding::Utf16Le => &[0xFF, 0xFE],
            Encoding::Utf16Be => &[0xFE, 0xFF],
            Encoding::Utf32Le => &[0xFF, 0xFE, 0, 0],
            Encoding::Utf32Be => &[0, 0, 0xFE, 0xFF],
        }
    }
}

/// A file's text, without a byte order mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The text.
    pub text: String,
    /// How it was encoded.
    pub encoding: Encoding,
}

/// These bytes are no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the content is binary")]
pub struct Binary;

/// The text in `bytes`. Encoding it again gives the same bytes.
pub fn decode(bytes: &[u8]) -> Result<Decoded, Binary> {
    let (encoding, rest) = by_mark(bytes);
    let text = match encoding {
        Encoding::Utf16Le => utf16(rest, u16::from_le_bytes)?,
        Encoding::Utf16Be => utf16(rest, u16::from_be_bytes)?,
        Encoding::Utf32Le => utf32(rest, u32::from_le_bytes)?,
        Encoding::Utf32Be => utf32(rest, u32::from_be_bytes)?,
        Encoding::Utf8 | Encoding::Utf8Bom | Encoding::Latin1 => {
            if looks_binary(rest) {
                return Err(Binary);
            }
            match std::str::from_utf8(rest) {
                Ok(text) => text.to_owned(),
                Err(_) if encoding == Encoding::Utf8Bom => return Err(Binary),
                Err(_) => {
                    let text = rest.iter().copied().map(char::from).collect();
                    return Ok(Decoded { text, encoding: Encoding::Latin1 });
                }
            }
        }
    };
    Ok(Decoded { text, encoding })
}

/// `text` as bytes, with the mark its encoding has. `Err` holds a character that the encoding lacks.
pub fn encode(text: &str, encoding: Encoding) -> Result<Vec<u8>, char> {
    let mut bytes = encoding.mark().to_vec();
    match encoding {
        Encoding::Utf8 | Encoding::Utf8Bom => bytes.extend_from_slice(text.as_bytes()),
        Encoding::Utf16Le => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
        Encoding::Utf16Be => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
        Encoding::Utf32Le => bytes.extend(text.chars().flat_map(|c| u32::from(c).to_le_bytes())),
        Encoding::Utf32Be => bytes.extend(text.chars().flat_map(|c| u32::from(c).to_be_bytes())),
        Encoding::Latin1 => {
            for c in text.chars() {
                bytes.push(u8::try_from(u32::from(c)).map_err(|_| c)?);
            }
        }
    }
    Ok(bytes)
}

fn by_mark(bytes: &[u8]) -> (Encoding, &[u8]) {
    // UTF-32's mark begins with UTF-16's, so it is tried first.
    let marked =
        [Encoding::Utf32Le, Encoding::Utf32Be, Encoding::Utf8Bom, Encoding::Utf16Le, Encoding::Utf16Be];
    for encoding in marked {
        if let Some(rest) = bytes.strip_prefix(encoding.mark()) {
            return (encoding, rest);
        }
    }
    (Encoding::Utf8, bytes)
}

fn utf16(bytes: &[u8], read: fn([u8; 2]) -> u16) -> Result<String, Binary> {
    let (units, rest) = bytes.as_chunks::<2>();
    let text: Result<String, _> = char::decode_utf16(units.iter().map(|unit| read(*unit))).collect();
    if rest.is_empty() { text.map_err(|_| Binary) } else { Err(Binary) }
}

fn utf32(bytes: &[u8], read: fn([u8; 4]) -> u32) -> Result<String, Binary> {
    let (units, rest) = bytes.as_chunks::<4>();
    let text: Option<String> = units.iter().map(|unit| char::from_u32(read(*unit))).collect();
    if rest.is_empty() { text.ok_or(Binary) } else { Err(Binary) }
}

/// A zero byte anywhere, or many control characters at the beginning.
fn looks_binary(bytes: &[u8]) -> bool {
    if bytes.contains(&0) {
        return true;
    }
    let head = bytes.get(..8192).unwrap_or(bytes);
    let control = |byte: &&u8| matches!(byte, 0..=6 | 14..=26 | 28..=31 | 127);
    head.iter().filter(control).count() * 10 > head.len() * 3
}

/// What most lines of a text end in; `None` when it has a single line.
pub fn line_end(text: &str) -> Option<&'static str> {
    let all = text.matches('\n').count();
    let crlf = text.matches("\r\n").count();
    match all {
        0 => None,
        _ if crlf * 2 > all => Some("\r\n"),
        _ => Some("\n"),
    }
}

/// `text` with every line ending in `end`.
pub fn with_line_end(text: &str, end: &str) -> String {
    let plain = text.replace("\r\n", "\n");
    if end == "\n" { plain } else { plain.replace('\n', end) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Encoding; 7] = [
        Encoding::Utf8,
        Encoding::Utf8Bom,
        Encoding::Utf16Le,
        Encoding::Utf16Be,
        Encoding::Utf32Le,
        Encoding::Utf32Be,
        Encoding::Latin1,
    ];

    #[test]
    fn marked_files_are_read_and_written_back_the_same() {
        for encoding in ALL {
            let text = if encoding == Encoding::Latin1 { "caf\u{e9}\r\n" } else { "café 日本 🦀\r\n" };
            let bytes = encode(text, encoding).unwrap();
            assert_eq!(decode(&bytes), Ok(Decoded { text: text.to_owned(), encoding }));
        }
        assert_eq!(encode("hi", Encoding::Utf16Be).unwrap(), [0xFE, 0xFF, 0, b'h', 0, b'i']);
        assert_eq!(encode("h", Encoding::Utf32Le).unwrap(), [0xFF, 0xFE, 0, 0, b'h', 0, 0, 0]);
        assert_eq!(encode("日", Encoding::Latin1), Err('日'));
    }

    #[test]
    fn binary_is_told_from_text() {
        for bytes in [&b"\x7fELF\0\0"[..], &[0xFF, 0xFE, 1], &[0xFF, 0xFE, 0, 0xD8], b"\x01\x02\x03\x04abc"] {
            assert_eq!(decode(bytes), Err(Binary), "{bytes:?}");
        }
        for text in ["", "plain", "\x1b[31mred\x1b[0m", "日本語"] {
            assert_eq!(decode(text.as_bytes()).unwrap().text, text);
        }
    }

    #[test]
    fn the_line_end_is_that_of_most_lines() {
        assert_eq!(line_end("a"), None);
        assert_eq!(line_end("a\r\nb\r\nc\n"), Some("\r\n"));
        assert_eq!(line_end("a\r\nb\n"), Some("\n"));
        assert_eq!(with_line_end("a\nb\r\n", "\r\n"), "a\r\nb\r\n");
    }

    proptest! {
        #[test]
        fn decoded_bytes_encode_to_themselves(mark in 0usize..7, rest in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut bytes = ALL[mark].mark().to_vec();
            bytes.extend(rest);
            if let Ok(decoded) = decode(&bytes) {
                prop_assert_eq!(encode(&decoded.text, decoded.encoding).unwrap(), bytes);
            }
        }
    }
}
