//! Changes of a text as a unified diff.

use std::fmt::Write;
use std::time::{Duration, Instant};

use charla_proto::diff::{DiffOp, differences};
use similar::group_diff_ops;
use similar::udiff::UnifiedHunkHeader;

/// How long the smallest diff is looked for; then a larger one does.
const DIFF_TIME: Duration = Duration::from_millis(500);
/// How many lines are shown around a change.
const CONTEXT: usize = 3;

/// The diff of two texts by these names; empty where they are the same.
pub(super) fn unified(before: (&str, &str), after: (&str, &str)) -> String {
    let ((old_name, old_text), (new_name, new_text)) = (before, after);
    let (old, new) = (lines(old_text), lines(new_text));
    let mut text = String::new();
    let found = differences(&old, &new, Some(Instant::now() + DIFF_TIME));
    for hunk in group_diff_ops(found, CONTEXT).iter().filter(|hunk| !hunk.is_empty()) {
        if text.is_empty() {
            text = format!("--- {old_name}\n+++ {new_name}\n");
        }
        let _ = writeln!(text, "{}", UnifiedHunkHeader::new(hunk));
        for op in hunk {
            let (gone, come) = (old.get(op.old_range()), new.get(op.new_range()));
            match op {
                DiffOp::Equal { .. } => push(&mut text, ' ', gone),
                _ => {
                    push(&mut text, '-', gone);
                    push(&mut text, '+', come);
                }
            }
        }
    }
    text
}

fn push(text: &mut String, sign: char, lines: Option<&[&str]>) {
    for line in lines.into_iter().flatten() {
        text.push(sign);
        text.push_str(line);
        if !line.ends_with(['\n', '\r']) {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// The lines of a text with their ends.
fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r']) {
        let end = if rest.get(at..).is_some_and(|end| end.starts_with("\r\n")) { at + 2 } else { at + 1 };
        let (line, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        lines.push(line);
        rest = after;
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use similar::TextDiff;

    use super::*;

    /// A text of few different lines, so that many stay.
    fn texts() -> impl Strategy<Value = String> {
        let line = prop_oneof![9 => "[a-f]{1,2}\n", 1 => "x\r\n", 1 => "y\r", 1 => "\n", 1 => "z"];
        prop::collection::vec(line, 0..150).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn a_diff_is_what_the_library_makes_of_the_texts(old in texts(), new in texts(), at in 0..200usize) {
            let edited: String = old.chars().enumerate().filter(|(n, _)| n / 5 != at).map(|(_, c)| c).collect();
            for new in [&new, &edited, &old] {
                let expected = TextDiff::from_lines(old.as_str(), new.as_str())
                    .unified_diff()
                    .context_radius(CONTEXT)
                    .header("a", "b")
                    .to_string();
                prop_assert_eq!(unified(("a", &old), ("b", new)), expected);
            }
        }
    }
}
