use proptest::prelude::*;

use super::*;

fn rows(texts: &[&str]) -> Vec<Row> {
    texts.iter().map(|text| Row { bytes: (*text).to_owned(), columns: text.chars().count() }).collect()
}

struct Trial {
    screen: Screen,
    terminal: vt100::Parser,
}

impl Trial {
    fn new(columns: usize, rows: usize) -> Self {
        let size = |count: usize| std::num::NonZeroU16::new(u16::try_from(count).unwrap()).unwrap();
        Self {
            screen: Screen::new(Size { columns, rows }, Narrowing::Breaks),
            terminal: vt100::Parser::new(size(rows), size(columns), 10_000),
        }
    }

    fn frame(&mut self, finished: &[&str], live: &[&str], row: usize, column: usize) -> usize {
        let bytes = self.screen.frame(rows(finished), rows(live), Place { row, column });
        self.terminal.process(bytes.as_bytes());
        bytes.len()
    }

    /// Everything that was written, scrollback included, without blank rows at the end.
    fn all(&mut self) -> Vec<String> {
        let screen = self.terminal.screen_mut();
        let (height, width) = screen.size();
        screen.set_scrollback(usize::MAX);
        let behind = screen.scrollback();
        let mut all = Vec::new();
        for offset in (1..=behind).rev() {
            screen.set_scrollback(offset);
            all.extend(screen.rows(0, width.get()).next());
        }
        screen.set_scrollback(0);
        all.extend(screen.rows(0, width.get()).take(height.get().into()));
        while all.last().is_some_and(String::is_empty) {
            all.pop();
        }
        all
    }
}

#[test]
fn what_is_finished_stands_above_what_lives() {
    let mut trial = Trial::new(20, 6);
    trial.frame(&[], &["> ", "status"], 0, 2);
    assert_eq!(trial.terminal.screen().cursor_position(), (0, 2));
    trial.frame(&["one", "two"], &["> a", "status"], 0, 3);
    assert_eq!(trial.all(), ["one", "two", "> a", "status"]);
    assert_eq!(trial.terminal.screen().cursor_position(), (2, 3));
    let many: Vec<String> = (0..20).map(|n| format!("line {n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    trial.frame(&many, &["> ", "status"], 0, 2);
    let mut expected = vec!["one", "two"];
    expected.extend(&many);
    expected.extend(["> ", "status"]);
    let all = trial.all();
    assert_eq!(
        all.iter().map(|row| row.trim_end()).collect::<Vec<_>>(),
        expected.iter().map(|row| row.trim_end()).collect::<Vec<_>>()
    );
}

#[test]
fn only_what_changed_is_written() {
    let mut trial = Trial::new(20, 6);
    trial.frame(&[], &["a", "b", "c"], 2, 0);
    assert_eq!(trial.frame(&[], &["a", "b", "c"], 2, 0), 0);
    assert!(trial.frame(&[], &["a", "X", "c"], 2, 0) < 60);
    // What stands there already becomes finished without being written again.
    let live = trial.screen.frame(rows(&["a"]), rows(&["X", "c", "d"]), Place { row: 2, column: 0 });
    assert!(!live.contains('a') && !live.contains('X') && live.contains('d'), "{live:?}");
    trial.terminal.process(live.as_bytes());
    assert_eq!(trial.all(), ["a", "X", "c", "d"]);
}

#[test]
fn a_region_that_shrinks_leaves_nothing_behind() {
    let mut trial = Trial::new(20, 6);
    trial.frame(&[], &["1", "2", "3", "4", "5"], 4, 0);
    trial.frame(&[], &["1", "status"], 0, 1);
    assert_eq!(trial.all(), ["1", "status"]);
    trial.terminal.process(trial.screen.clear().as_bytes());
    assert!(trial.all().is_empty());
}

#[test]
fn rows_that_fill_the_line_keep_their_last_character() {
    let mut trial = Trial::new(5, 4);
    trial.frame(&["12345"], &["abcde", "fghij"], 1, 4);
    trial.frame(&["abcde"], &["fghij"], 0, 0);
    assert_eq!(trial.all(), ["12345", "abcde", "fghij"]);
}

proptest! {
    /// Whatever is finished and whatever lives: the terminal holds every finished row once, in order, then the region.
    #[test]
    fn scrollback_equals_what_was_finished(
        frames in proptest::collection::vec((0..9_usize, 1..9_usize, 0..9_usize, any::<bool>()), 1..40)
    ) {
        let mut trial = Trial::new(12, 8);
        let (mut finished_so_far, mut number): (Vec<String>, usize) = (Vec::new(), 0);
        for (finished, live, row, clears) in frames {
            let mut named = |count: usize| -> Vec<String> {
                (0..count).map(|_| { number += 1; format!("row {number}") }).collect()
            };
            let (finished, live) = (named(finished), named(live));
            if clears {
                let bytes = trial.screen.clear();
                trial.terminal.process(bytes.as_bytes());
            }
            let row = row.min(live.len() - 1);
            let borrowed = |rows: &[String]| rows.to_vec();
            let (done, lives) = (borrowed(&finished), borrowed(&live));
            trial.frame(
                &done.iter().map(String::as_str).collect::<Vec<_>>(),
                &lives.iter().map(String::as_str).collect::<Vec<_>>(),
                row,
                1,
            );
            finished_so_far.extend(finished);
            let expected: Vec<String> = finished_so_far.iter().chain(&live).cloned().collect();
            prop_assert_eq!(trial.all(), expected);
        }
    }
}

#[test]
fn rows_that_never_change_stay_where_they_are_when_the_terminal_becomes_smaller() {
    let size = |columns, rows| Size { columns, rows };
    let settled = rows(&["one", "two"]);
    let shown = |narrowing| {
        let mut screen = Screen::new(size(20, 6), narrowing);
        screen.frame(Vec::new(), rows(&["one", "two", "open", "> "]), Place { row: 3, column: 2 });
        screen
    };
    for (narrowing, smaller, kept) in [
        (Narrowing::Breaks, size(10, 6), 2),
        (Narrowing::Breaks, size(20, 4), 2),
        (Narrowing::Breaks, size(30, 6), 0),
        (Narrowing::Cuts, size(10, 6), 0),
    ] {
        let (bytes, stay) = shown(narrowing).resize(smaller, &settled);
        assert_eq!(stay, kept, "{smaller:?}");
        let up = 3 - kept;
        assert!(bytes.starts_with(&format!("\r\u{1b}[{up}A")), "{bytes:?}");
    }
    assert_eq!(shown(Narrowing::Breaks).resize(size(10, 6), &rows(&["other"])).1, 0);
}
