//! Fitting the model's new text to the file where its old text was not there exactly.

use charla_proto::diff::{DiffOp, differences};

/// `new` as it goes into the file in place of `found`. Lines it shares with `wanted` keep the form they have
/// in the file; the others get the indentation that goes with the file's.
pub(super) fn to_file(found: &str, wanted: &[&str], new: &str, with_end: bool) -> String {
    let (body, new_end) = match new.strip_suffix('\n').filter(|_| with_end) {
        Some(body) => (body, true),
        None => (new, false),
    };
    let there: Vec<&str> = found.split('\n').take(wanted.len()).collect();
    let new: Vec<&str> = body.split('\n').collect();
    let indents = Indents::new(wanted, &there);
    let mut lines: Vec<String> = Vec::with_capacity(new.len());
    for op in differences(wanted, &new, None) {
        match op {
            DiffOp::Equal { old_index, len, .. } => {
                lines.extend(there.iter().skip(old_index).take(len).map(|line| (*line).to_owned()));
            }
            DiffOp::Insert { new_index, new_len, .. } | DiffOp::Replace { new_index, new_len, .. } => {
                lines.extend(new.iter().skip(new_index).take(new_len).map(|line| indents.applied(line)));
            }
            DiffOp::Delete { .. } => {}
        }
    }
    let mut text = lines.join("\n");
    // The last line of a file may have no end, and then gets none.
    if new_end && found.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// How the model's indentation maps to the file's.
struct Indents<'a> {
    /// The model's and the file's indentation of the same lines.
    pairs: Vec<(&'a str, &'a str)>,
    /// One step of the model's.
    given_step: Option<usize>,
    /// One step of the file's, as text.
    step: Option<String>,
}

impl<'a> Indents<'a> {
    fn new(wanted: &[&'a str], there: &[&'a str]) -> Self {
        let filled = |pair: &(&&str, &&str)| !pair.0.trim().is_empty();
        let pairs: Vec<(&str, &str)> = wanted
            .iter()
            .zip(there)
            .filter(filled)
            .map(|(given, there)| (indentation(given), indentation(there)))
            .collect();
        let step_of = |side: fn(&(&'a str, &'a str)) -> &'a str| {
            let widths = pairs.iter().map(|pair| side(pair).len());
            let steps = widths.clone().zip(widths.skip(1)).map(|(a, b)| a.abs_diff(b));
            steps.filter(|step| *step > 0).min()
        };
        let given_step = step_of(|pair| pair.0);
        let tabs = pairs.iter().any(|(_, there)| there.contains('\t'));
        let step = match step_of(|pair| pair.1) {
            _ if tabs => Some("\t".to_owned()),
            Some(width) => Some(" ".repeat(width)),
            None => None,
        };
        Self { pairs, given_step, step }
    }

    fn applied(&self, line: &str) -> String {
        let given = indentation(line);
        let rest = line.get(given.len()..).unwrap_or_default();
        if rest.trim().is_empty() {
            return line.to_owned();
        }
        format!("{}{rest}", self.mapped(given))
    }

    fn mapped(&self, given: &str) -> String {
        if let Some((_, there)) = self.pairs.iter().find(|(known, _)| *known == given) {
            return (*there).to_owned();
        }
        let below = self.pairs.iter().filter(|(known, _)| given.starts_with(known));
        if let Some((known, there)) = below.max_by_key(|(known, _)| known.len()) {
            let deeper = given.get(known.len()..).unwrap_or_default();
            return format!("{there}{}", self.converted(deeper));
        }
        let above = self.pairs.iter().filter(|(known, _)| known.starts_with(given));
        let Some((known, there)) = above.min_by_key(|(known, _)| known.len()) else {
            return given.to_owned();
        };
        let extra = self.converted(known.get(given.len()..).unwrap_or_default());
        there.strip_suffix(extra.as_str()).unwrap_or(given).to_owned()
    }

    /// Indentation in the model's steps as one in the file's.
    fn converted(&self, indent: &str) -> String {
        let Some(step) = &self.step else { return indent.to_owned() };
        if indent.contains('\t') {
            return if step == "\t" { indent.to_owned() } else { indent.replace('\t', step) };
        }
        let width = match self.given_step {
            Some(width) => width,
            // Tabs in the file and one line to go by: four blanks are the usual step.
            None if step == "\t" => 4,
            None => return indent.to_owned(),
        };
        if indent.len().is_multiple_of(width) { step.repeat(indent.len() / width) } else { indent.to_owned() }
    }
}

fn indentation(line: &str) -> &str {
    let end = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(found: &str, wanted: &str, new: &str) -> String {
        to_file(found, &wanted.split('\n').collect::<Vec<_>>(), new, false)
    }

    #[test]
    fn new_lines_get_the_files_indentation() {
        assert_eq!(
            fitted(
                "\tif x {\n\t\ty();\n\t}",
                "if x {\n    y();\n}",
                "if z {\n    if w {\n        y();\n    }\n}"
            ),
            "\tif z {\n\t\tif w {\n\t\t\ty();\n\t\t}\n\t}"
        );
        assert_eq!(
            fitted("    a:\n        b", "a:\n  b", "a:\n  c:\n    d"),
            "    a:\n        c:\n            d"
        );
        assert_eq!(fitted("  a\n    b", "\ta\n\t\tb", "\ta\n\t\tc\n\t\t\td"), "  a\n    c\n      d");
        assert_eq!(fitted("        x", "    x", "if y:\n    z"), "    if y:\n        z");
    }

    #[test]
    fn lines_that_do_not_change_keep_the_files_form() {
        assert_eq!(
            fitted("say “hi”  \nx = 1", "say \"hi\"\nx  = 1", "say \"hi\"\nx = 2"),
            "say “hi”  \nx = 2"
        );
    }

    #[test]
    fn a_missing_last_newline_stays_missing() {
        assert_eq!(to_file("a b", &["a  b"], "c\n", true), "c");
        assert_eq!(to_file("a b\n", &["a  b"], "c\n", true), "c\n");
        assert_eq!(to_file("a b\n", &["a  b"], "", true), "");
    }
}
