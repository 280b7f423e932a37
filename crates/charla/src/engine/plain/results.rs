//! What the model says after a tool has run.
//!
//! In words of its own a model of this size says what is not so. It answers with lines of the result instead:
//! a grammar lets it choose where to begin and where to end.

use std::fmt::Write;
use std::sync::Arc;

use charla_proto::{Content, FunctionResponse, GenerateRequest};
use serde_json::Value;

/// Lines to choose from, and their bytes: about as much as the model may say. A longer result is told by its beginning.
const LINES: usize = 40;
const BYTES: usize = 1500;
/// Bytes of a line.
const WIDTH: usize = 400;
/// At how many of the first lines the answer may begin: behind a title, but not in the middle.
const BEGINNINGS: usize = 3;

/// A question, what a tool returned, and the lines of it that are the answer.
struct ResultExample {
    tool: &'static str,
    question: &'static str,
    result: &'static str,
    answer: &'static str,
}

const EXAMPLES: [ResultExample; 8] = [
    ResultExample {
        tool: "list_directory",
        question: "List the files in images",
        result: "Directory listing for /home/me/web/images:\ncat.png (310 bytes)\ndog.png (95 bytes)",
        answer: "cat.png (310 bytes)\ndog.png (95 bytes)",
    },
    ResultExample {
        tool: "list_directory",
        question: "What is in this folder?",
        result: "Directory listing for /home/me/web:\n[DIR] docs\nindex.html (80 bytes)\nstyle.css (44 bytes)",
        answer: "[DIR] docs\nindex.html (80 bytes)\nstyle.css (44 bytes)",
    },
    ResultExample {
        tool: "read_file",
        question: "Show me setup.cfg",
        result: "[metadata]\nname = lantern\nversion = 2",
        answer: "[metadata]\nname = lantern\nversion = 2",
    },
    ResultExample {
        tool: "read_file",
        question: "What does notes.txt say?",
        result: "Buy a lamp.\nCall the harbour.",
        answer: "Buy a lamp.\nCall the harbour.",
    },
    ResultExample {
        tool: "grep_search",
        question: "Search for password",
        result: "2 match(es) for 'password' in 1 file(s) in /home/me/web:\n---\nFile: lib/login.py\n\
                 L4: password = ask()\nL9: check(password)",
        answer: "File: lib/login.py\nL4: password = ask()\nL9: check(password)",
    },
    ResultExample {
        tool: "grep_search",
        question: "Where is Session used?",
        result: "No matches found for 'Session' in /home/me/web.",
        answer: "No matches found for 'Session' in /home/me/web.",
    },
    ResultExample {
        tool: "run_shell_command",
        question: "Run git fetch",
        result: "Output: fatal: could not read from remote repository\nExit Code: 1",
        answer: "Output: fatal: could not read from remote repository\nExit Code: 1",
    },
    ResultExample {
        tool: "run_shell_command",
        question: "Execute the command date",
        result: "Output: Fri Mar  6 10:00:01 UTC 2026",
        answer: "Output: Fri Mar  6 10:00:01 UTC 2026",
    },
];

/// The request for the answer to a question whose tools have run; `None` when they returned nothing to tell.
pub(super) fn request(
    request: &GenerateRequest,
    question: &str,
    results: &[&FunctionResponse],
) -> Option<GenerateRequest> {
    let told: Vec<String> = results.iter().map(|result| result.to_text()).collect();
    let told = told.join("\n");
    let tellable = |line: &&str| line.chars().all(|c| c == '\t' || !c.is_control());
    let all: Vec<&str> =
        told.trim_matches('\n').lines().map(|line| cut(line.trim_end())).filter(tellable).collect();
    let mut room = BYTES;
    let fits = |line: &&&str| {
        let left = room.checked_sub(line.len());
        room = left.unwrap_or(room);
        left.is_some()
    };
    let mut lines: Vec<&str> = all.iter().take(LINES).take_while(fits).copied().collect();
    let rest = format!("({} more lines)", all.len() - lines.len());
    if lines.len() < all.len() {
        lines.push(&rest);
    }
    if lines.iter().all(|line| line.is_empty()) {
        return None;
    }
    let alike = EXAMPLES.iter().filter(|example| results.iter().any(|result| result.name == example.tool));
    let examples = alike.flat_map(|example| {
        [asked(example.question, example.result), Content::model(example.answer)].map(Arc::new)
    });
    let asked = Arc::new(asked(question, &lines.join("\n")));
    let mut plain = GenerateRequest {
        contents: examples.chain([asked]).collect(),
        tools: Vec::new(),
        tool_config: None,
        ..request.clone()
    };
    plain.extra.insert("grammar", Value::from(grammar(&lines)));
    Some(plain)
}

/// The beginning of a line that is too long.
fn cut(line: &str) -> &str {
    line.get(..line.floor_char_boundary(WIDTH)).unwrap_or(line)
}

fn asked(question: &str, result: &str) -> Content {
    Content::user(format!("{question}\n\nResult:\n{result}"))
}

/// Lines of the result one after the other, from any of the first ones that is not empty to any other.
fn grammar(lines: &[&str]) -> String {
    let full = |number: &usize| lines.get(*number).is_some_and(|line| !line.is_empty());
    let beginnings: Vec<String> =
        (0..lines.len()).filter(full).take(BEGINNINGS).map(|number| format!("line{number}")).collect();
    let mut rules = format!("root ::= {}", beginnings.join(" | "));
    for number in (0..lines.len()).filter(full) {
        let line = escaped(lines.get(number).copied().unwrap_or_default());
        let _ = write!(rules, "\nline{number} ::= \"{line}\"");
        if let Some(next) = (number + 1..lines.len()).find(full) {
            let _ = write!(rules, " (\"{}\" line{next})?", "\\n".repeat(next - number));
        }
    }
    rules
}

/// The line between the quotation marks of a grammar.
fn escaped(line: &str) -> String {
    line.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(result: &str) -> Option<GenerateRequest> {
        let result = FunctionResponse::output("1", "read_file", result);
        request(&GenerateRequest::default(), "Show notes", &[&result])
    }

    #[test]
    fn the_answer_is_made_of_the_lines_of_the_result() {
        let plain = told("one\n\ntwo \"2\"\\\n").unwrap();
        let grammar = plain.extra.get("grammar").unwrap().as_str().unwrap();
        let rules =
            ["root ::= line0 | line2", r#"line0 ::= "one" ("\n\n" line2)?"#, r#"line2 ::= "two \"2\"\\""#];
        assert_eq!(grammar, rules.join("\n"));
        assert!(plain.contents.last().unwrap().text().ends_with("Result:\none\n\ntwo \"2\"\\"));
    }

    #[test]
    fn the_grammar_of_a_long_result_stays_small() {
        let long: String = (0..100_000).map(|number| format!("line {number}\n")).collect();
        let plain = told(&long).unwrap();
        let grammar = plain.extra.get("grammar").unwrap().as_str().unwrap();
        assert!(grammar.len() < 20_000);
        assert!(grammar.ends_with("::= \"(99960 more lines)\""), "{grammar}");
    }

    #[test]
    fn nothing_is_told_of_an_empty_result() {
        assert!(told("  \n\n").is_none());
    }
}
