use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::text::Role;

const WIDE: Layout = Layout { columns: 60, links: true, form: Form::Markdown };

fn shown(text: &str, layout: Layout) -> String {
    lines(text, layout).iter().map(|line| format!("{}\n", line.text())).collect()
}

#[test]
fn blocks_are_laid_out() {
    let text = "# Title *one*\n\nSome words that are long enough to be wrapped at the end of the row, \
        with `code`.\nStill the same.\n\n- one\n- two\n  - inner\n\n    more\n1. first\n1. second\n   text\n\n\
        - [x] done\n- [ ] open\n\n> quoted\n> words\n>\n> - item\n\n---\n\nSetext\n------\nend";
    assert_snapshot!(shown(text, WIDE), @"
    Title one

    Some words that are long enough to be wrapped at the end of
    the row, with code. Still the same.

    • one
    • two
      ◦ inner

        more
    1. first
    2. second text

    ☑ done
    ☐ open

    │ quoted words
    │
    │ • item

    ────────────────────────────────────────────────────────────

    Setext
    end
    ");
}

#[test]
fn code_keeps_its_blanks() {
    let text = "Look:\n```rust\nfn main() {\n\n    let x = 1;\n}\n```\nand\n\n    indented\n\n      more\n\n- item\n  ```\n  in item\n  ```\n";
    assert_snapshot!(shown(text, WIDE), @"
    Look:
      fn main() {

          let x = 1;
      }
    and

      indented

        more

    • item
        in item
    ");
    let all = lines("```rust\nfn\n```", WIDE);
    assert_eq!(all[0].spans()[1].role(), Role::Keyword);
}

#[test]
fn tables_are_fitted_or_told_row_by_row() {
    let text = "| Name | Amount | What it is for |\n|---|---:|:---:|\n| one | 1 | a short text |\n| two \\| b | 22 | `code` and a much longer text that has to be wrapped |\n\nend";
    assert_snapshot!(shown(text, WIDE), @"
    Name    │ Amount │              What it is for
    ────────┼────────┼──────────────────────────────────────────
    one     │      1 │               a short text
    two | b │     22 │  code and a much longer text that has to
            │        │                be wrapped

    end
    ");
    assert_snapshot!(shown(text, Layout { columns: 20, ..WIDE }), @"
    Name: one
    Amount: 1
    What it is for: a
      short text
    ────────
    Name: two | b
    Amount: 22
    What it is for: code
      and a much longer
      text that has to
      be wrapped

    end
    ");
}

#[test]
fn links_can_be_followed_or_read() {
    let text = "See [the page](https://a.example/b), <https://c.example> and ![a picture](d.png).";
    let followed = lines(text, WIDE);
    let span = followed[0].spans().iter().find(|span| span.text() == "the page").unwrap();
    assert_eq!(span.link(), Some("https://a.example/b"));
    assert_eq!(shown(text, WIDE), "See the page, https://c.example and a picture.\n");
    assert_snapshot!(shown(text, Layout { columns: 100, links: false, ..WIDE }), @"See the page (https://a.example/b), https://c.example and a picture (d.png).");
}

#[test]
fn emphasis_is_kept() {
    let all = lines("a **bold *both*** ~~gone~~ __b__ 2*3*4", WIDE);
    let spans = all[0].spans();
    let find = |text: &str| spans.iter().find(|span| span.text() == text).unwrap().emphasis();
    assert!(find("bold ").bold && find("both").italic && find("both").bold && find("gone").strike);
}

#[test]
fn nothing_that_was_said_is_lost() {
    for text in
        ["[a]: https://b.example", "<div>x</div>", "&amp; &lt;b&gt;", "| a | b |", "1986\\. A year", "-", "#"]
    {
        let all = shown(text, WIDE);
        assert!(!all.trim().is_empty() || text == "#", "{text:?} gave {all:?}");
    }
    assert_eq!(shown("[a]: https://b.example", WIDE), "[a]: https://b.example\n");
    assert_eq!(shown("#1 is no heading", WIDE), "#1 is no heading\n");
    assert_eq!(shown("a\\\nb", WIDE), "a\nb\n");
    assert_eq!(shown("2. two\n3. three", WIDE), "2. two\n3. three\n");
}

#[test]
fn what_is_finished_comes_once_and_the_rest_is_the_tail() {
    let mut stream = Stream::new(WIDE);
    let text = |lines: Vec<Line>| lines.iter().map(Line::text).collect::<Vec<_>>();
    stream.push("One par");
    assert_eq!((text(stream.finished()), text(stream.tail())), (vec![], vec!["One par".to_owned()]));
    stream.push("agraph\n\n```rs\nlet a");
    assert_eq!(text(stream.finished()), ["One paragraph"]);
    assert_eq!(text(stream.tail()), ["", "  let a"]);
    stream.push(" = 1;\nlet b");
    assert_eq!(text(stream.finished()), ["", "  let a = 1;"]);
    stream.push("\n```\n");
    assert_eq!(text(stream.finished()), ["  let b"]);
    assert_eq!(text(stream.tail()), [""; 0]);
    assert_eq!(text(stream.end()), [""; 0]);
}

/// Pieces of Markdown, whole and broken.
fn any_markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z ]{0,20}",
        "\\PC{0,8}",
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("```rust\n".to_owned()),
        Just("```\n".to_owned()),
        Just("- ".to_owned()),
        Just("  - ".to_owned()),
        Just("1. ".to_owned()),
        Just("> ".to_owned()),
        Just("# ".to_owned()),
        Just("| a | b |\n|---|---|\n".to_owned()),
        Just("| 漢字 | x |\n".to_owned()),
        Just("**".to_owned()),
        Just("`".to_owned()),
        Just("[x](http://y.example)".to_owned()),
        Just("    ".to_owned()),
        Just("---\n".to_owned()),
        Just("\t".to_owned()),
        Just("\r\n".to_owned()),
    ];
    let pieces = proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat());
    let long = (1usize..4).prop_map(|number| "some long words ".repeat(number * 500));
    (pieces.clone(), prop_oneof![9 => Just(String::new()), 1 => long], pieces)
        .prop_map(|(first, long, last)| format!("{first}{long}{last}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn where_text_is_cut_never_matters(text in any_markdown(), cuts in proptest::collection::vec(1usize..40, 1..20), columns in 10usize..90) {
        let layout = Layout { columns, links: false, ..WIDE };
        let whole = lines(&text, layout);
        let mut stream = Stream::new(layout);
        let mut got = Vec::new();
        let mut rest = text.as_str();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() { break; }
            let (piece, after) = rest.split_at(rest.ceil_char_boundary(*cut));
            stream.push(piece);
            got.extend(stream.finished());
            rest = after;
        }
        let tail = stream.tail();
        prop_assert_eq!(&tail, &stream.end());
        got.extend(tail);
        prop_assert_eq!(got, whole);
    }

    #[test]
    fn no_row_is_too_wide(text in any_markdown(), columns in 2usize..50) {
        for line in lines(&text, Layout { columns, links: false, ..WIDE }) {
            prop_assert!(line.width() <= columns.max(2), "{:?}", line.text());
        }
    }
}

#[test]
fn long_texts_are_laid_out_in_pieces() {
    let paragraph = "word ".repeat(100_000);
    let all = lines(&paragraph, WIDE);
    assert!(all.iter().all(|line| line.width() <= 60));
    assert_eq!(all.iter().map(|line| line.text().matches("word").count()).sum::<usize>(), 100_000);
    let table: String = (0..1000).map(|row| format!("| {row} | x |\n")).collect();
    let mut stream = Stream::new(WIDE);
    stream.push(&format!("| a | b |\n|---|---|\n{table}"));
    assert!(stream.finished().len() >= 1000);
}
