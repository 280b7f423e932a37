//! Libraries speak of actions: which flag or command does them, a front end says.

use crate::source::{modules_of, strings};

/// The crates that know no terminal.
const LIBRARIES: [&str; 13] = [
    "proto",
    "schema",
    "core",
    "providers",
    "sandbox",
    "tools",
    "mcp",
    "store",
    "local",
    "charla",
    "server",
    "client",
    "acp",
];

/// Sentences that may name a flag, by their file and their beginning: it is not one of ours.
const OTHERS: [(&str, &str); 1] = [
    // What `grep` is to be given.
    ("crates/core/src/policy/commands/search.rs", "it would read every file"),
];

#[test]
fn libraries_name_no_flag_and_no_command_of_the_binary() {
    let mut found = Vec::new();
    for module in LIBRARIES.into_iter().flat_map(modules_of) {
        let place = module.place();
        let is_others =
            |text: &String| OTHERS.iter().any(|(file, words)| *file == place && text.starts_with(words));
        let named = strings(&module.tokens).into_iter().filter(|text| names_ours(text));
        found.extend(named.filter(|text| !is_others(text)).map(|text| format!("{place}: {text}")));
    }
    assert!(
        found.is_empty(),
        "an action of `Hint`, worded in `terminal`, says the same:\n{}",
        found.join("\n")
    );
}

/// True for words to a person that name one of our commands or a flag. A flag that stands alone is something that is compared or passed
/// on to a program.
fn names_ours(text: &str) -> bool {
    let is_flag = |word: &str| {
        let word = word.trim_start_matches(['`', '\'', '(', '[']);
        word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_prose = words.iter().any(|word| word.chars().all(|c| c.is_alphabetic()));
    text.contains("`charla ") || text.contains("charla --") || is_prose && words.into_iter().any(is_flag)
}

#[test]
fn a_flag_in_a_sentence_is_seen_and_one_that_is_compared_is_not() {
    for text in
        ["`charla models` lists them", "charla --resume {id}", "use --keys", "allow it (--allowed-tools X)"]
    {
        assert!(names_ours(text), "{text}");
    }
    for text in ["--output", "the model -- as ever", "charla", "-m", "a--b is written"] {
        assert!(!names_ours(text), "{text}");
    }
}
