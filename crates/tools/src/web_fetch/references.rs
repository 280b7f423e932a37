//! Character references of HTML: `&amp;`, `&#38;`, `&#x26;`.

/// Every name with its characters, one a line, sorted by bytes: one text instead of thousands of pointers, which
/// would have to be put in at every start of the program. Names without a semicolon are those that need none.
const NAMES: &str = include_str!("references.txt");

/// The longest name that needs no semicolon.
const LONGEST_BARE: usize = 6;

/// What the bytes 0x80 to 0x9f meant before Unicode; pages still refer to them by these numbers.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// What a reference after an `&` stands for, and its length; nothing where it is none. In an attribute a name without
/// its semicolon is none when a letter, a digit or `=` follows: it is part of an address.
pub(super) fn read(after: &str, in_attribute: bool) -> Option<(String, usize)> {
    match after.strip_prefix('#') {
        Some(number) => numbered(number).map(|(character, length)| (character.into(), length + 1)),
        None => named(after, in_attribute),
    }
}

fn numbered(text: &str) -> Option<(char, usize)> {
    let (digits, base) = match text.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let length = digits.bytes().take_while(|byte| char::from(*byte).is_digit(base)).count();
    if length == 0 {
        return None;
    }
    // One too large for a number is no character either.
    let number = digits.get(..length).and_then(|digits| u32::from_str_radix(digits, base).ok());
    let mut end = text.len() - digits.len() + length;
    end += usize::from(text.as_bytes().get(end) == Some(&b';'));
    Some((number.map_or(char::REPLACEMENT_CHARACTER, character), end))
}

fn character(number: u32) -> char {
    match number {
        0 => char::REPLACEMENT_CHARACTER,
        0x80..=0x9f => WINDOWS.get(number as usize - 0x80).copied().unwrap_or_default(),
        _ => char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

fn named(text: &str, in_attribute: bool) -> Option<(String, usize)> {
    let length = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let bytes = text.as_bytes();
    if bytes.get(length) == Some(&b';')
        && let Some(found) = text.get(..=length).and_then(known)
    {
        return Some((found, length + 1));
    }
    let bare = (2..=length.min(LONGEST_BARE)).rev();
    let (found, end) = bare.filter_map(|end| Some((text.get(..end).and_then(known)?, end))).next()?;
    let goes_on = bytes.get(end).is_some_and(|next| *next == b'=' || next.is_ascii_alphanumeric());
    (!(in_attribute && goes_on)).then_some((found, end))
}

/// The characters of a name.
fn known(name: &str) -> Option<String> {
    let (mut low, mut high) = (0, NAMES.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        let start = NAMES.get(..middle)?.rfind('\n').map_or(0, |end| end + 1);
        let (line, _) = NAMES.get(start..)?.split_once('\n')?;
        let (known, characters) = line.split_once(' ')?;
        match known.cmp(name) {
            std::cmp::Ordering::Less => low = start + line.len() + 1,
            std::cmp::Ordering::Greater => high = start,
            std::cmp::Ordering::Equal => {
                let numbers = characters.split(' ').filter_map(|hex| u32::from_str_radix(hex, 16).ok());
                return Some(numbers.filter_map(char::from_u32).collect());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found() {
        for line in NAMES.lines() {
            let (name, characters) = line.split_once(' ').unwrap();
            let numbers = characters.split(' ').map(|hex| u32::from_str_radix(hex, 16).unwrap());
            let expected: String = numbers.map(|number| char::from_u32(number).unwrap()).collect();
            assert_eq!(read(name, false), Some((expected, name.len())), "{name}");
            assert!(name.ends_with(';') || (2..=LONGEST_BARE).contains(&name.len()), "{name}");
        }
        assert!(NAMES.lines().is_sorted());
    }

    #[test]
    fn references_end_where_they_should() {
        let cases = [
            ("amp", false, Some(("&", 3))),
            ("ampx", false, Some(("&", 3))),
            ("ampx", true, None),
            ("amp=1", true, None),
            ("amp;x", true, Some(("&", 4))),
            ("notit;", false, Some(("¬", 3))),
            ("notin;", false, Some(("∉", 6))),
            ("NewLine;", false, Some(("\n", 8))),
            ("NotEqualTilde;", false, Some(("≂̸", 14))),
            ("nonsense;", false, None),
            ("", false, None),
            ("#65", false, Some(("A", 3))),
            ("#x41;B", true, Some(("A", 5))),
            ("#X41", true, Some(("A", 4))),
            ("#150;", false, Some(("–", 5))),
            ("#0;", false, Some(("\u{fffd}", 3))),
            ("#xd800;", false, Some(("\u{fffd}", 7))),
            ("#99999999999999;", false, Some(("\u{fffd}", 16))),
            ("#;", false, None),
            ("#x;", false, None),
            ("#é", false, None),
        ];
        for (text, in_attribute, expected) in cases {
            let expected = expected.map(|(characters, length)| (characters.to_owned(), length));
            assert_eq!(read(text, in_attribute), expected, "{text} {in_attribute}");
        }
    }
}
