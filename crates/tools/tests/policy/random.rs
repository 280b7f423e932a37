//! Whatever the text: no panic, and nothing runs unasked that is not understood.

use charla_core::policy::Decision;
use charla_proto::text::shell_quote;
use charla_proto::{ApprovalMode, Effect};
use charla_tools::shell;
use proptest::prelude::*;

use super::{place, user_rules};

const MODES: [ApprovalMode; 3] = [ApprovalMode::Plan, ApprovalMode::Default, ApprovalMode::AutoEdit];

fn grammar_fails(text: &str) -> bool {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).unwrap();
    parser.parse(text, None).unwrap().root_node().has_error()
}

fn check(text: &str) -> Result<(), TestCaseError> {
    let book = user_rules(include_str!("rules.toml"));
    let plan = shell::plan(text, &place());
    let unclear = plan.effects.iter().any(|effect| matches!(effect, Effect::Unclear { .. }));
    for mode in MODES {
        let allowed = Decision::from(&book.explain(&plan, mode).verdict) == Decision::Allow;
        prop_assert!(!(allowed && unclear), "{text:?} is unclear, yet allowed");
        prop_assert!(!(allowed && grammar_fails(text)), "{text:?} is no shell, yet allowed");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics_and_is_never_allowed_without_being_understood(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn a_soup_of_shell_words_never_panics_and_is_never_allowed_without_being_understood(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "ls", "cat", "make", "git", "log", " ", " ", " ", "\n", ";", "&", "|", "&&", "||", "(", ")", "{", "}", "$(", "`", "\"", "'", "\\",
            "<", ">", "<<", "<<EOF\n", "EOF", "<<<", "2>&1", ">(", "<(", "$", "${", "$((", "))", "[[", "]]", "[", "]", "if ", "then ", "fi",
            "for f in ", "do ", "done", "case ", " in ", "esac", ";;", "function ", "f()", "x=", "x+=(", "!", "*", "?", "~", "#", "=", "-",
            "time ", "coproc ", "eval ", "bash -c ", "xargs ", "find . -exec ", "{}", "\\;", "+", "\r", "\u{0}", "\u{202e}", "é", "/", "..", ".env",
        ]), 0..24)
    ) {
        check(&pieces.concat())?;
    }

    #[test]
    fn a_command_that_asks_is_never_hidden_by_a_line_that_is_allowed(
        index in any::<prop::sample::Index>(),
        shape in 0..8usize,
    ) {
        let lines = allowed_lines();
        let line = index.get(&lines);
        let hidden = match shape {
            0 => format!("make\n{line}"),
            1 => format!("{line}\nmake"),
            2 => format!("(\n{line}\nmake\n)"),
            3 => format!("if ls; then\n{line}\nmake\nfi"),
            4 => format!("bash -c {}", shell_quote(&format!("{line}\nmake"))),
            5 => format!("eval {}", shell_quote(&format!("make\n{line}"))),
            6 => format!("echo \"$(\n{line}\nmake\n)\""),
            _ => format!("for f in a; do\n{line}\nmake\ndone"),
        };
        let book = user_rules(include_str!("rules.toml"));
        let verdict = book.explain(&shell::plan(&hidden, &place()), ApprovalMode::Default).verdict;
        prop_assert_ne!(Decision::from(&verdict), Decision::Allow, "{:?}", hidden);
    }
}

fn allowed_lines() -> Vec<String> {
    let corpus: toml::Table = include_str!("corpus.toml").parse().unwrap();
    let groups = corpus["group"].as_array().unwrap();
    let plain = groups.iter().filter(|group| group.get("mode").is_none() && group.get("rules").is_none());
    let lines = plain.filter_map(|group| group.get("allow")?.as_array()).flatten();
    lines.map(|line| line.as_str().unwrap().to_owned()).collect()
}

#[test]
fn deep_nesting_and_long_lines_are_unclear_not_fatal() {
    let deep = |open: &str, close: &str| format!("{}ls{}", open.repeat(5000), close.repeat(5000));
    let texts = [
        deep("(", ")"),
        deep("$(", ")"),
        deep("{ ", ";}"),
        deep("if ", ""),
        deep("\"$(", ")\""),
        "`".repeat(9000),
        "!".repeat(9000),
        format!("ls {}", "a".repeat(100_000)),
        format!("echo {}", "{a,b}".repeat(2000)),
        format!("echo {}", "{".repeat(5000)),
        "ls;".repeat(20_000),
        format!("w <<E\n{}\nE", "\\\n".repeat(3000)),
    ];
    for text in texts {
        let short: String = text.chars().take(20).collect();
        check(&text).unwrap_or_else(|error| panic!("{short}: {error}"));
    }
}
