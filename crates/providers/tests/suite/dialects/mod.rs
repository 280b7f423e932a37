//! Calls written as text: every dialect, cut anywhere, gives the same calls; markup that is only shown gives none.

mod formats;

use std::path::Path;
use std::sync::Arc;

use charla_proto::{FunctionCall, FunctionDeclaration};
use charla_providers::layers::{TextPiece, split_text};
use formats::{Call, FORMATS, call_sets};
use proptest::prelude::*;
use serde_json::{Value, json};

fn tools() -> Vec<Arc<FunctionDeclaration>> {
    let text = || json!({"type": "string"});
    let tool = |name: &str, properties: Value| {
        Arc::new(FunctionDeclaration {
            name: name.to_owned(),
            parameters_json_schema: json!({"type": "object", "properties": properties}),
            ..FunctionDeclaration::default()
        })
    };
    vec![
        tool("read_file", json!({"path": text()})),
        tool("list_directory", json!({"path": text()})),
        tool("write_file", json!({"path": text(), "content": text(), "options": {"type": "object"}})),
        tool(
            "search",
            json!({"pattern": text(), "limit": {"type": "integer"}, "whole": {"type": "boolean"},
                "tags": {"type": "array", "items": text()}}),
        ),
        tool("run_shell_command", json!({"command": text()})),
        tool("get_weather", json!({"city": text()})),
    ]
}

/// What is shown, and what is called. Checks that nothing is lost.
fn split<'a>(pieces: impl IntoIterator<Item = &'a str> + Clone) -> (String, Vec<FunctionCall>) {
    let whole: String = pieces.clone().into_iter().collect();
    let (mut shown, mut called, mut all) = (String::new(), Vec::new(), String::new());
    for piece in split_text(&tools(), pieces) {
        match piece {
            TextPiece::Text(text) => {
                all.push_str(&text);
                shown.push_str(&text);
            }
            TextPiece::Calls { calls, source } => {
                all.push_str(&source);
                called.extend(calls);
            }
        }
    }
    assert_eq!(all, whole, "something was lost");
    (shown, called)
}

/// The same for the text whole, in single characters and cut in two at every place: all must agree.
fn split_everywhere(text: &str) -> (String, Vec<FunctionCall>) {
    let whole = split([text]);
    let characters: Vec<&str> = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]).collect();
    assert_eq!(split(characters.iter().copied()), whole, "in single characters: {text}");
    for (at, _) in text.char_indices() {
        assert_eq!(split([&text[..at], &text[at..]]), whole, "cut at {at}: {text}");
    }
    whole
}

fn calls_of(found: Vec<FunctionCall>) -> Vec<(String, Value)> {
    let valid = |call: &FunctionCall| assert_eq!(call.invalid, None);
    found.into_iter().inspect(valid).map(|call| (call.name, Value::Object(call.args))).collect()
}

fn expected(calls: &[Call]) -> Vec<(String, Value)> {
    calls.iter().map(|(name, args)| ((*name).to_owned(), args.clone())).collect()
}

#[test]
fn every_dialect_gives_the_same_calls_wherever_it_is_cut() {
    assert!(FORMATS.len() >= 12);
    for format in FORMATS {
        for (set, calls) in call_sets() {
            let text = (format.write)(&calls);
            let (shown, found) = split_everywhere(&text);
            assert_eq!(calls_of(found), expected(&calls), "{} / {set}:\n{text}", format.name);
            assert_eq!(shown.trim(), "", "{} / {set}", format.name);
        }
    }
}

#[test]
fn prose_around_calls_is_shown_and_changes_nothing() {
    for format in FORMATS {
        for (set, calls) in call_sets() {
            let before = format!("I will look at it now.\n\n{}", (format.write)(&calls));
            let (shown, found) = split_everywhere(&before);
            assert_eq!(calls_of(found), expected(&calls), "{} / {set}:\n{before}", format.name);
            assert_eq!(shown.trim(), "I will look at it now.", "{} / {set}", format.name);

            let around = format!("{before}\n\nI wait for `the` result.");
            let (shown, found) = split_everywhere(&around);
            if format.before_prose {
                assert_eq!(calls_of(found), expected(&calls), "{} / {set}:\n{around}", format.name);
                assert!(shown.ends_with("\n\nI wait for `the` result."), "{shown}");
            } else {
                assert_eq!((shown, found), (around, vec![]), "{} / {set}", format.name);
            }
        }
    }
}

#[test]
fn a_call_that_is_cut_off_is_invalid_or_prose_but_never_runs() {
    let calls = vec![("write_file", json!({"path": "a.txt", "content": "one { \"two\" } three"}))];
    for format in FORMATS {
        let text = (format.write)(&calls);
        let mut invalid = 0;
        for (at, _) in text.char_indices() {
            let (_, found) = split([&text[..at]]);
            for call in found {
                assert_eq!(call.name, "write_file");
                match &call.invalid {
                    Some(reason) => {
                        assert!(!reason.reason.is_empty());
                        invalid += 1;
                    }
                    None => {
                        assert_eq!(Value::Object(call.args), calls[0].1, "{}: {}", format.name, &text[..at])
                    }
                }
            }
        }
        assert!(invalid > 20, "{}: told {invalid} times", format.name);
    }
}

#[test]
fn the_whole_calls_of_a_cut_answer_still_count() {
    let two =
        [("read_file", json!({"path": "a.txt"})), ("write_file", json!({"path": "b", "content": "text"}))];
    for format in FORMATS {
        let text = (format.write)(&two);
        let cut = text.find("text").expect("the argument") + 2;
        let (_, found) = split_everywhere(&text[..cut]);
        assert_eq!(found.len(), 2, "{}: {}", format.name, &text[..cut]);
        assert_eq!(
            (found[0].invalid.is_some(), found[1].invalid.is_some()),
            (false, true),
            "{}",
            format.name
        );
    }
}

#[test]
fn calls_of_tools_that_were_not_declared_are_prose() {
    let undeclared = [("read_files", json!({"path": "a"})), ("Read_File", json!({"path": "a"}))];
    for format in FORMATS {
        for call in &undeclared {
            let text = (format.write)(std::slice::from_ref(call));
            assert_eq!(split_everywhere(&text), (text.clone(), vec![]), "{}", format.name);
        }
    }
}

#[test]
fn markers_glued_to_prose_count_and_quoted_ones_do_not() {
    let call = [("read_file", json!({"path": "a"}))];
    for name in ["Mistral array", "Kimi", "DeepSeek 3.1", "Hermes", "gpt-oss"] {
        let format = FORMATS.iter().find(|format| format.name == name).expect("a format");
        let text = (format.write)(&call);
        for before in ["Let me check", "Let me check.", "Let me check. "] {
            let (shown, found) = split_everywhere(&format!("{before}{text}"));
            assert_eq!(calls_of(found), expected(&call), "{before}{text}");
            assert_eq!(shown, before);
        }
        for before in [
            "Write `",
            "It says \"",
            "The form is ",
            "- ",
            "> ",
            "+",
            "| x | ",
            "1. ",
            "// ",
            "(",
            "Use: `x` or `",
        ] {
            let text = format!("{before}{text}");
            assert_eq!(split_everywhere(&text), (text.clone(), vec![]), "{text}");
        }
        let explained = format!("{text} is what it writes.");
        assert_eq!(split_everywhere(&explained).1, [], "{explained}");
    }
}

#[test]
fn common_slips_are_forgiven() {
    let read = expected(&[("read_file", json!({"path": "a"}))]);
    for text in [
        "```json\n{\"tool_call\": {\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n```",
        "```json\n{\"tool_call\": {\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}}}\n```",
        "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}\n</tool_call>",
        "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}}\n</tool_call>",
        "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\",},}\n</tool_call>",
        "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}",
        "<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
        "<function=read_file>{\"path\": \"a\"</function>",
        "[TOOL_CALLS] [{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}]</s>",
        "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}</tool_call><|im_end|>",
    ] {
        let (shown, found) = split_everywhere(text);
        assert_eq!(calls_of(found), read, "{text}");
        assert_eq!(shown, "", "{text}");
    }
    let broken = "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {path: a}}\n</tool_call>";
    let (_, found) = split_everywhere(broken);
    assert!(found[0].invalid.as_ref().unwrap().reason.contains("not valid JSON"));
}

#[test]
fn text_that_only_shows_markup_calls_nothing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/dialects/quotes");
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).expect("the corpus").map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut count = 0;
    let mut wrong = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a text");
        for quote in text.split("\n=====\n").filter(|quote| !quote.trim().is_empty()) {
            count += 1;
            let (shown, found) = split_everywhere(quote);
            if !found.is_empty() || shown != quote {
                wrong.push(format!("{}:\n{quote}\n{found:#?}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(count >= 60, "{count} texts");
}

fn fragment() -> impl Strategy<Value = String> {
    let marks = prop::sample::select(vec![
        "<tool_call>",
        "</tool_call>",
        "<function=read_file>",
        "<parameter=path>",
        "</parameter>",
        "</function>",
        "[TOOL_CALLS]",
        "read_file",
        "{\"path\": \"a\"}",
        "{\"name\": \"read_file\", \"arguments\": {\"path\": \"x\"}}",
        "{\"tool_call\": {\"name\": \"read_file\", \"arguments\": {}}}",
        "```json\n",
        "```",
        "```\n",
        "\n",
        "\n\n",
        " ",
        "<|python_tag|>",
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁sep｜>",
        "<｜tool▁call▁end｜>",
        "<|tool_call_begin|>functions.read_file:0",
        "<|tool_call_argument_begin|>",
        "<|channel|>commentary to=functions.read_file",
        "<|message|>",
        "<|call|>",
        "<invoke name=\"read_file\">",
        "</invoke>",
        "<arg_key>",
        "</arg_value>",
        "Example:\n",
        "`",
        "\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        ";",
        "\\",
        "\\u00e9",
        "\\ud83d",
        "😀",
        "<pre>",
        "</pre>",
        "Word. ",
        "> ",
        "    ",
    ]);
    prop_oneof![4 => marks.prop_map(str::to_owned), 1 => "\\PC{0,6}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_text_cut_anywhere_is_read_alike_and_nothing_is_lost(
        fragments in prop::collection::vec(fragment(), 0..14),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let text = fragments.concat();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.retain(|cut| text.is_char_boundary(*cut));
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&text[from..cut]);
            from = cut;
        }
        pieces.push(&text[from..]);
        prop_assert_eq!(split(pieces), split([text.as_str()]));
        let characters: Vec<&str> = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]).collect();
        prop_assert_eq!(split(characters), split([text.as_str()]));
    }
}

/// The form the guidance asks for, fenced and bare.
fn required() -> [String; 2] {
    let call = r#"{"tool_call": {"name": "read_file", "arguments": {"path": "a"}}}"#;
    [format!("```json\n{call}\n```"), call.to_owned()]
}

#[test]
fn the_required_block_that_ends_an_answer_is_a_call_whatever_announced_it() {
    let read = expected(&[("read_file", json!({"path": "a"}))]);
    for block in required() {
        for announcement in [
            "Here is the tool call in the required format:\n",
            "I will call it as follows:\n\n",
            "For example:\n",
            "I respond with:\n\n",
            "调用如下：\n",
            "## Format\n\n",
            "I will look: ",
            "I will look. ",
            "Let me read it, ",
            "好的：",
            "First I look at the code `x` and then ",
        ] {
            for after in ["", "\n", "\n\n<|im_end|>"] {
                let text = format!("{announcement}{block}{after}");
                let (shown, found) = split_everywhere(&text);
                assert_eq!(calls_of(found), read, "{text}");
                assert_eq!(shown.trim(), announcement.trim(), "{text}");
            }
            // With prose behind it, it is shown: an announced example, or a form within a line.
            let explained = format!("{announcement}{block}\n\nThat is how it is written.");
            assert_eq!(split_everywhere(&explained), (explained.clone(), vec![]), "{explained}");
        }
    }
}

#[test]
fn the_required_block_within_quotes_or_other_code_is_shown() {
    let [fenced, bare] = required();
    for text in [
        format!("It says \"{bare}"),
        format!("Write `{bare}`"),
        format!("- {bare}"),
        format!("> {bare}"),
        format!("call = {bare}"),
        format!("parse({bare}"),
        format!("For example:\n```python\nx = {bare}\n```"),
        format!("For example:\n<pre>\n{bare}\n</pre>"),
        format!("For example:\n````markdown\n{fenced}\n````"),
        "For example:\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}".to_owned(),
        "For example:\n{\"tool_call\": {\"name\": \"read_file\", \"arguments\": {\"path\": \"...\"}}}"
            .to_owned(),
    ] {
        assert_eq!(split_everywhere(&text), (text.clone(), vec![]), "{text}");
    }
}
