use std::sync::Arc;

use charla_proto::FunctionDeclaration;

use super::*;

fn scanner() -> Scanner {
    let tool = FunctionDeclaration { name: "read_file".to_owned(), ..FunctionDeclaration::default() };
    Scanner::new(Declared::new(&[Arc::new(tool)]))
}

/// What is shown at once of a text that may go on.
fn shown_at_once(text: &str) -> String {
    let pieces = scanner().push(text);
    pieces.into_iter().map(|piece| if let Piece::Text(text) = piece { text } else { String::new() }).collect()
}

#[test]
fn prose_is_shown_as_it_comes() {
    for text in [
        "Hello",
        "a list: [1] and {x} and a < b, `code` and ~",
        "```python\nprint({\"name\": 1})\n",
        "```json\n{\"version\": 1,",
        "{\"name\": \"my-package\",",
        "if (a) {",
        "{ \"files\": [",
        "<b>bold</b> and <think",
        "[link](http://x)\n[1]: y",
    ] {
        assert_eq!(shown_at_once(text), text);
    }
}

#[test]
fn only_what_may_become_a_call_is_held_back() {
    for (text, shown) in [
        ("Look:\n<tool", "Look:\n"),
        ("Look:\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {", "Look:\n"),
        ("```js", ""),
        ("```json\n{\"tool_c", ""),
        ("```json\n{\"tool_call\": {\"name\": \"read_f", ""),
        ("{\"name\": \"read_file\"", ""),
        ("Done.[TOOL_CALLS]read_", "Done."),
    ] {
        assert_eq!(shown_at_once(text), shown, "{text}");
    }
    assert_eq!(
        shown_at_once("<tool_call>\n{\"name\": \"other\", \"argu"),
        "<tool_call>\n{\"name\": \"other\", \"argu"
    );
}

#[test]
fn a_long_call_in_small_pieces_takes_linear_time() {
    let content = "let x = { y: \"z\" };\\n".repeat(20_000);
    let text = format!(
        "<tool_call>{{\"name\": \"read_file\", \"arguments\": {{\"c\": \"{}\"}}}}</tool_call>",
        content.replace('"', "\\\"")
    );
    let mut scanner = scanner();
    let mut pieces = Vec::new();
    let started = std::time::Instant::now();
    for piece in text.as_bytes().chunks(7) {
        pieces.extend(scanner.push(std::str::from_utf8(piece).unwrap()));
    }
    pieces.extend(scanner.finish());
    assert!(matches!(&pieces[..], [Piece::Calls { source, .. }] if *source == text));
    assert!(started.elapsed() < std::time::Duration::from_secs(60), "{:?}", started.elapsed());
}
