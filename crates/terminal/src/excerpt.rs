//! The beginning and the end of a tool's output.

/// Lines that are shown: from the beginning, and from the end.
const FIRST: usize = 3;
const LAST: usize = 5;

/// What is shown of an output.
#[derive(Debug, PartialEq, Eq)]
pub struct Excerpt<'a> {
    /// Its first lines; all of them, where they are few.
    pub first: Vec<&'a str>,
    /// How many are left out.
    pub hidden: usize,
    /// Its last lines.
    pub last: Vec<&'a str>,
}

impl<'a> Excerpt<'a> {
    /// Of this output. Empty lines are passed over, and a line that was written over is seen as it was left.
    pub fn of(output: &'a str) -> Self {
        let mut first: Vec<&str> =
            output.lines().map(last_state).filter(|line| !line.trim().is_empty()).collect();
        let hidden = first.len().saturating_sub(FIRST + LAST);
        if hidden == 0 {
            return Self { first, hidden, last: Vec::new() };
        }
        let last = first.split_off(FIRST + hidden);
        first.truncate(FIRST);
        Self { first, hidden, last }
    }
}

/// What a line of a progress bar shows in the end.
pub fn last_state(line: &str) -> &str {
    line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_lines_are_shown_whole_and_of_many_the_ends() {
        let few = Excerpt::of("a\n\n10%\r20%\r\nb");
        assert_eq!(few, Excerpt { first: vec!["a", "20%", "b"], hidden: 0, last: vec![] });
        let many: Vec<String> = (1..=10).map(|line| line.to_string()).collect();
        let many = many.join("\n");
        let many = Excerpt::of(&many);
        assert_eq!(
            many,
            Excerpt { first: vec!["1", "2", "3"], hidden: 2, last: vec!["6", "7", "8", "9", "10"] }
        );
    }
}
