//! What is said about an answer that does not fit its schema.

const WORDS: [&str; 2] = [
    "Your answer does not fit the JSON Schema: ",
    ". Answer again with the corrected JSON value and nothing else.",
];
const ENDED: &str = "the answer does not fit the schema: ";

/// What the model is told, so that it mends its answer.
pub(super) fn words_for_model(problem: &str) -> String {
    let [before, after] = WORDS;
    format!("{before}{problem}{after}")
}

/// What is said of a turn that ends so.
pub(super) fn detail(problem: &str) -> String {
    format!("{ENDED}{problem}")
}

/// The problem that such words tell of.
pub(crate) fn schema_problem(words: &str) -> Option<&str> {
    let [before, after] = WORDS;
    let told = words.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    told.or_else(|| words.strip_prefix(ENDED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_problem_can_be_read_from_what_was_said() {
        let problem = "`a`: 1 is not of type \"string\"";
        assert_eq!(schema_problem(&words_for_model(problem)), Some(problem));
        assert_eq!(schema_problem(&detail(problem)), Some(problem));
        assert_eq!(schema_problem("go on"), None);
    }
}
