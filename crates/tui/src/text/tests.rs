use proptest::prelude::*;

use super::*;

fn rows(line: &Line, columns: usize) -> Vec<String> {
    line.wrap(columns).iter().map(Line::text).collect()
}

#[test]
fn widths_are_those_of_a_terminal() {
    for (text, columns) in [
        ("abc", 3),
        ("漢字", 4),
        ("e\u{301}", 1),
        ("👩\u{200d}🚀", 2),
        ("🇵🇹", 2),
        ("", 0),
        ("ﬀ", 1),
        ("한", 2),
    ] {
        assert_eq!(width(text), columns, "{text:?}");
    }
}

#[test]
fn nothing_in_a_span_moves_the_cursor_or_hides() {
    let span = Span::new(Role::Plain, "a\u{1b}[2Jb\r\u{202e}c\td\ne\u{7f}");
    assert_eq!(span.text(), "a\\u{1b}[2Jb\\u{d}\\u{202e}c    d e\\u{7f}");
    let link = |address| Span::new(Role::Link, "x").with_link(address).link().map(str::to_owned);
    assert_eq!(link("https://a.example/b"), Some("https://a.example/b".to_owned()));
    assert_eq!(link("https://a\u{1b}\\\u{1b}[2J"), None);
}

#[test]
fn lines_are_broken_between_words() {
    let line = Line::plain("the quick brown fox");
    assert_eq!(rows(&line, 10), ["the quick", "brown fox"]);
    assert_eq!(rows(&line, 9), ["the quick", "brown fox"]);
    assert_eq!(rows(&line, 5), ["the", "quick", "brown", "fox"]);
    assert_eq!(rows(&Line::plain("abcdefgh ij"), 4), ["abcd", "efgh", "ij"]);
    assert_eq!(rows(&Line::plain("  two  blanks"), 8), ["  two", "blanks"]);
    assert_eq!(rows(&Line::plain("漢字漢字。"), 8), ["漢字漢", "字。"]);
    assert_eq!(rows(&Line::new(), 8), [""]);
}

#[test]
fn a_word_in_two_roles_stays_whole() {
    let mut line = Line::plain("one tw");
    line.push(Role::Accent, "o three");
    let wrapped = line.wrap(7);
    assert_eq!(wrapped.iter().map(Line::text).collect::<Vec<_>>(), ["one two", "three"]);
    assert_eq!(wrapped[0].spans()[1].role(), Role::Accent);
    assert_eq!(rows(&line, 5), ["one", "two", "three"]);
}

#[test]
fn other_rows_hang_below_the_first() {
    let rows = Line::plain("one two three").wrap_behind(10, &Line::plain("• "), &Line::plain("  "));
    assert_eq!(rows.iter().map(Line::text).collect::<Vec<_>>(), ["• one two", "  three"]);
    let code = Line::plain("a  b  c  d").fold_behind(12, &Line::plain("  "), &Line::plain("    "));
    assert_eq!(code.iter().map(Line::text).collect::<Vec<_>>(), ["  a  b  c  d"]);
}

#[test]
fn what_is_too_long_is_cut() {
    let mut line = Line::plain("one ");
    line.push(Role::Dim, "漢字");
    for (columns, text) in [(8, "one 漢字"), (7, "one 漢…"), (6, "one …"), (1, "…"), (0, "")] {
        assert_eq!(line.truncate(columns).text(), text, "{columns}");
    }
}

fn any_line() -> impl Strategy<Value = Line> {
    let text = prop_oneof![
        "[a-z]{0,12}",
        " {0,9}",
        "\\PC{0,6}",
        any::<String>(),
        Just("漢字、。".to_owned()),
        Just("👩\u{200d}🚀e\u{301}".to_owned()),
    ];
    let role = prop_oneof![Just(Role::Plain), Just(Role::Code), Just(Role::Dim)];
    proptest::collection::vec((role, text), 0..8).prop_map(|spans| {
        let mut line = Line::new();
        spans.iter().for_each(|(role, text)| line.push(*role, text));
        line
    })
}

proptest! {
    #[test]
    fn no_row_is_wider_than_it_may_be_and_no_word_is_lost(line in any_line(), columns in 2usize..40) {
        let squeezed = |text: &str| text.replace(' ', "");
        let wrapped = line.wrap(columns);
        prop_assert!(wrapped.iter().all(|row| row.width() <= columns), "{:?}", wrapped);
        let joined: String = wrapped.iter().map(Line::text).collect();
        prop_assert_eq!(squeezed(&joined), squeezed(&line.text()));
        let folded = line.fold_behind(columns, &Line::new(), &Line::new());
        prop_assert!(folded.iter().all(|row| row.width() <= columns), "{:?}", folded);
        prop_assert_eq!(folded.iter().map(Line::text).collect::<String>(), line.text());
        prop_assert!(line.truncate(columns).width() <= columns);
    }

    #[test]
    fn prefixes_count(line in any_line(), columns in 12usize..40, prefix in "[│ ]{0,30}") {
        let prefix = Line::plain(&prefix);
        for row in line.wrap_behind(columns, &prefix, &prefix) {
            prop_assert!(row.width() <= columns);
        }
    }
}

#[test]
fn a_line_of_a_megabyte_is_wrapped() {
    let line = Line::plain(&"word ".repeat(1 << 18));
    assert_eq!(line.wrap(80).len(), (1 << 18) / 16);
    assert_eq!(Line::plain(&"x".repeat(1 << 20)).wrap(64).len(), (1 << 20) / 64);
}
