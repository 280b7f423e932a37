//! Requests with their answers, and which of them are like a given one.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// One on each line: tool (`-` for none), request, argument or answer.
const TABLE: &str = include_str!("examples.tsv");
/// As many at the table's beginning are always shown: each tool, and that not everything needs one.
const ALWAYS: usize = 6;
/// So many more, those most like the request, are shown after them.
const ALIKE: usize = 5;

/// A request and what is to be done.
#[derive(Debug, PartialEq)]
pub(super) struct Example {
    /// The tool, or `-` when it is answered in words.
    pub(super) tool: &'static str,
    /// What the user says.
    pub(super) request: &'static str,
    /// The tool's argument, or the answer.
    pub(super) answer: &'static str,
}

struct Bank {
    examples: Vec<(Example, BTreeSet<String>)>,
    /// In how many examples a feature is found.
    frequency: HashMap<String, u16>,
}

static BANK: LazyLock<Bank> = LazyLock::new(|| {
    let mut bank = Bank { examples: Vec::new(), frequency: HashMap::new() };
    for line in TABLE.lines() {
        let mut fields = line.splitn(3, '\t');
        if let (Some(tool), Some(request), Some(answer)) = (fields.next(), fields.next(), fields.next()) {
            let features = features(request);
            for feature in &features {
                *bank.frequency.entry(feature.clone()).or_default() += 1;
            }
            bank.examples.push((Example { tool, request, answer }, features));
        }
    }
    bank
});

/// What to show before this request, the likest last. Only examples of tools that are offered.
pub(super) fn for_request(request: &str, offered: impl Fn(&str) -> bool) -> Vec<&'static Example> {
    let wanted = features(request);
    let fits = |example: &Example| example.tool == "-" || offered(example.tool);
    let (always, others) = BANK.examples.split_at(ALWAYS.min(BANK.examples.len()));
    let mut alike: Vec<(f32, &Example)> = others
        .iter()
        .filter(|(example, _)| fits(example))
        .map(|(example, features)| (BANK.likeness(&wanted, features), example))
        // Without this a greeting would be followed by the table's beginning, which lists folders.
        .filter(|(likeness, _)| *likeness > 0.0)
        .collect();
    alike.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    alike.truncate(ALIKE);
    let always = always.iter().map(|(example, _)| example).filter(|example| fits(example));
    always.chain(alike.into_iter().rev().map(|(_, example)| example)).collect()
}

/// True when requests for a tool begin with this word.
pub(super) fn begin_with(word: &str) -> bool {
    let tools = BANK.examples.iter().filter(|(example, _)| example.tool != "-");
    let mut firsts = tools.filter_map(|(example, _)| example.request.split_whitespace().next());
    firsts.any(|first| first.eq_ignore_ascii_case(word))
}

impl Bank {
    /// The cosine of two requests, where rare features count more.
    fn likeness(&self, one: &BTreeSet<String>, other: &BTreeSet<String>) -> f32 {
        let length = |features: &BTreeSet<String>| {
            features.iter().map(|feature| self.weight(feature).powi(2)).sum::<f32>().sqrt()
        };
        let shared: f32 = one.intersection(other).map(|feature| self.weight(feature).powi(2)).sum();
        shared / (length(one) * length(other)).max(f32::EPSILON)
    }

    fn weight(&self, feature: &str) -> f32 {
        let count = self.frequency.get(feature).copied().unwrap_or_default();
        let all = u16::try_from(self.examples.len()).unwrap_or(u16::MAX);
        (1.0 + f32::from(all) / (1.0 + f32::from(count))).ln()
    }
}

/// What a request is recognised by: its words, its signs, and what kinds of names it has.
fn features(request: &str) -> BTreeSet<String> {
    let request = request.to_lowercase();
    let mut features = BTreeSet::new();
    let is_sign = |c: char| !c.is_alphabetic() && !c.is_whitespace();
    for piece in request.split_whitespace() {
        let name = piece.trim_matches(|c: char| matches!(c, '"' | '?' | '!'));
        let inner = name.trim_matches('.');
        let kinds = [("file name", '.'), ("path", '/'), ("identifier", '_')];
        features.extend(
            kinds.iter().find(|(_, sign)| inner.contains(*sign)).map(|(kind, _)| format!("a {kind}")),
        );
        features.extend(piece.chars().filter(|c| is_sign(*c)).map(String::from));
        let words = piece.split(is_sign).filter(|word| !word.is_empty());
        features.extend(words.map(str::to_owned));
    }
    features
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_an_example() {
        assert_eq!(BANK.examples.len(), TABLE.lines().count());
        let tools = ["-", "list_directory", "read_file", "grep_search", "run_shell_command"];
        for (example, _) in &BANK.examples {
            assert!(tools.contains(&example.tool), "{example:?}");
            let given =
                example.tool == "-" || example.answer == "." || example.request.contains(example.answer);
            assert!(given, "the argument is not in the request: {example:?}");
        }
        let always: BTreeSet<&str> =
            BANK.examples[..ALWAYS].iter().map(|(example, _)| example.tool).collect();
        assert_eq!(always.len(), tools.len());
    }

    #[test]
    fn no_example_is_one_of_the_requests_that_the_model_is_measured_with() {
        let measured = include_str!("../../../../cli/tests/cli/tool_prompts.tsv");
        for line in measured.lines() {
            let (_, request) = line.split_once('\t').unwrap();
            let same =
                BANK.examples.iter().find(|(example, _)| example.request.eq_ignore_ascii_case(request));
            assert!(same.is_none(), "{request}");
        }
    }

    #[test]
    fn the_likest_example_is_the_last() {
        let last = |request: &str| for_request(request, |_| true).last().unwrap().tool;
        assert_eq!(last("cat config.toml"), "read_file");
        assert_eq!(last("Execute yarn build"), "run_shell_command");
        assert_eq!(last("Which files mention Kafka?"), "grep_search");
        assert_eq!(last("hello"), "-");
        assert_eq!(last(""), "-");
    }
}
