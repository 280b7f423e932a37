//! A difference in words a person can read.

use serde_json::Value;

use super::Difference;

/// How many lines of each side are shown from the first one that differs.
const SHOWN: usize = 8;
/// How much of a line is shown.
const WIDTH: usize = 200;

/// Both sides from the first line that differs to the last, a few lines of each.
pub(super) fn short_diff(difference: &Difference) -> String {
    let [expected, got] = [&difference.expected, &difference.got].map(|side| match side {
        Value::Null => String::new(),
        side => format!("{side:#}"),
    });
    let expected: Vec<&str> = expected.lines().collect();
    let got: Vec<&str> = got.lines().collect();
    let same = expected.iter().zip(&got).take_while(|(a, b)| a == b).count();
    let rest = expected.len().min(got.len()) - same;
    let tail = expected.iter().rev().zip(got.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    for (mark, side) in [("- ", &expected), ("+ ", &got)] {
        let lines = side.iter().take(side.len() - tail).skip(same);
        let more = lines.len().saturating_sub(SHOWN);
        for line in lines.take(SHOWN) {
            let cut: String = line.chars().take(WIDTH).collect();
            let dots = if cut.len() < line.len() { "…" } else { "" };
            text.push_str(&format!("{mark}{cut}{dots}\n"));
        }
        if more > 0 {
            text.push_str(&format!("{mark}… {} more lines\n", more));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        let side = |name: &str| json!({"kind": "call_ended", "name": name, "status": "success"});
        let (expected, got) = (side("read"), side("write"));
        let difference = Difference { turn: 2, step: 1, what: String::new(), expected, got };
        assert_eq!(short_diff(&difference), "-   \"name\": \"read\",\n+   \"name\": \"write\",\n");
    }

    #[test]
    fn a_side_that_has_nothing_shows_nothing() {
        let (expected, got) = (json!({"a": "é".repeat(500)}), Value::Null);
        let difference = Difference { turn: 1, step: 1, what: String::new(), expected, got };
        let shown = short_diff(&difference);
        assert_eq!(shown.lines().count(), 3);
        assert!(shown.lines().all(|line| line.starts_with("- ") && line.chars().count() <= WIDTH + 3));
    }
}
