//! The marks of lists.

/// What begins an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker<'a> {
    /// `-`, `*`, `+`, or what stands behind a number.
    pub mark: char,
    /// The number of an ordered item.
    pub number: Option<u64>,
    /// The columns before the mark.
    pub column: usize,
    /// The columns before the item's text.
    pub indent: usize,
    /// The item's text.
    pub rest: &'a str,
}

/// The mark a line begins with.
pub fn marker(line: &str) -> Option<Marker<'_>> {
    let inner = line.trim_start_matches(' ');
    let before = line.len() - inner.len();
    let digits = inner.len() - inner.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let behind = inner.get(digits..)?;
    let mark = behind.chars().next()?;
    let number = match (digits, mark) {
        (0, '-' | '*' | '+') => None,
        (1..=9, '.' | ')') => Some(inner.get(..digits)?.parse().ok()?),
        _ => return None,
    };
    let text = behind.get(1..)?;
    let rest = text.trim_start_matches(' ');
    let gap = text.len() - rest.len();
    let is_marker = before <= 3 && (gap > 0 || text.is_empty());
    // Code in an item begins behind five blanks; then one of them is the item's.
    let (gap, rest) = match gap {
        _ if rest.is_empty() => (1, ""),
        5.. => (1, text.get(1..)?),
        gap => (gap, rest),
    };
    is_marker.then_some(Marker { mark, number, column: before, indent: before + digits + 1 + gap, rest })
}

/// The box of a task and what stands behind it; whether it is done.
pub fn task(text: &str) -> Option<(bool, &str)> {
    let open = text.strip_prefix("[ ] ").map(|rest| (false, rest));
    open.or_else(|| text.strip_prefix("[x] ").or_else(|| text.strip_prefix("[X] ")).map(|rest| (true, rest)))
}
