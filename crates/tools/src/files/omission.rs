//! Placeholders that stand for code the model left out. Written to a file they would delete that code.

/// What such a line speaks of.
const OMITTED: &[&str] = &[
    "rest of ",
    "remaining ",
    "existing ",
    "previous ",
    "unchanged",
    "remains the same",
    "remain the same",
    "stays the same",
    "same as before",
    "as before",
    "same as above",
    "omitted",
    "other methods",
    "other functions",
    "other code",
];

/// What is left out, where the words above are common ones.
const THINGS: &[&str] = &[
    "code",
    "file",
    "content",
    "method",
    "function",
    "class",
    "implementation",
    "import",
    "logic",
    "test",
    "line",
    "field",
    "config",
    "section",
    "component",
    "style",
    "module",
    "unchanged",
    "same",
    "omitted",
    "before",
    "above",
];

/// The first line of `text` that stands for omitted text and that the file did not have before.
pub(super) fn placeholder<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    let suspicious = |line: &&str| is_placeholder(line);
    text.lines().map(str::trim).filter(suspicious).find(|line| !before.lines().any(|old| old.trim() == *line))
}

/// A line that says nothing but that something was left out: comment signs and brackets around an ellipsis
/// and words for it.
fn is_placeholder(line: &str) -> bool {
    if line.len() > 120 {
        return false;
    }
    let signs = |c: char| c.is_whitespace() || "/#*-<!>{}()[];%\"'`".contains(c);
    let bare = line.trim_matches(signs).to_lowercase();
    let Some(words) = without_ellipsis(&bare) else { return false };
    let words = words.trim_matches(signs);
    OMITTED.iter().any(|omitted| words.starts_with(omitted) || words.ends_with(omitted.trim_end()))
        && THINGS.iter().any(|thing| words.contains(thing))
}

/// The words beside an ellipsis at the beginning or the end.
fn without_ellipsis(line: &str) -> Option<&str> {
    let begun = line.strip_prefix("...").or_else(|| line.strip_prefix('…'));
    let rest = begun.unwrap_or(line);
    let ended = rest.strip_suffix("...").or_else(|| rest.strip_suffix('…'));
    if begun.is_none() && ended.is_none() {
        return None;
    }
    Some(ended.unwrap_or(rest).trim_matches(['.', '…', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_stand_for_left_out_code_are_known() {
        for line in [
            "// ... rest of code unchanged ...",
            "# ... existing code ...",
            "    /* … remaining methods … */",
            "<!-- ... rest of the file ... -->",
            "... rest of code unchanged ...",
            "(rest of methods ...)",
            "// ... (unchanged)",
            "{/* ... existing imports ... */}",
            "-- ... same as before",
            "// other methods remain the same...",
        ] {
            assert_eq!(placeholder(line, ""), Some(line.trim()), "{line}");
        }
    }

    #[test]
    fn ordinary_code_and_prose_is_none() {
        for line in [
            "let rest = &args[1..];",
            "print(...)",
            "fn f(args: ...) {}",
            "Loading ...",
            "// the rest of the code is below",
            "const { a, ...rest } = props;",
            "existing code must not break...ever, says the manual about previous versions",
            "return { ...existing }",
            "match x { 0..=5 => unchanged, _ => other }",
            "Please wait...",
            "",
        ] {
            assert_eq!(placeholder(line, ""), None, "{line}");
        }
    }

    #[test]
    fn a_line_the_file_had_before_may_stay() {
        let line = "// ... rest of code ...";
        assert_eq!(placeholder(line, &format!("a\n  {line}\nb")), None);
    }
}
