use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;

fn shown(unified: &str, columns: usize) -> String {
    lines(unified, columns).iter().map(|line| format!("{}\n", line.text())).collect()
}

const CHANGE: &str = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -9,3 +9,3 @@ fn main() {\n one\n-let old_name = 1;\n+let new_name = 1;\n two\n\
    @@ -30,2 +30,3 @@\n x\n+--- forged\n y\n";

#[test]
fn lines_have_their_numbers_and_signs() {
    assert_snapshot!(shown(CHANGE, 60), @"
    src/main.rs
     9   one
    10 - let old_name = 1;
    10 + let new_name = 1;
    11   two
    ⋯
    30   x
    31 + --- forged
    32   y
    ");
}

#[test]
fn words_that_differ_are_marked() {
    let all = lines("@@ -1 +1 @@\n-let old_name = call(1);\n+let new_name = call(1);\n", 60);
    let marks = |line: &Line, role| -> Vec<String> {
        line.spans().iter().filter(|span| span.role() == role).map(|span| span.text().to_owned()).collect()
    };
    assert_eq!(marks(&all[0], Role::RemovedWord), ["old_name"]);
    assert_eq!(marks(&all[1], Role::AddedWord), ["new_name"]);
    let all = lines("@@ -1 +1 @@\n-something\n+quite different\n", 60);
    assert!(marks(&all[0], Role::RemovedWord).is_empty());
}

#[test]
fn nothing_in_a_diff_hides() {
    let all = shown("@@ -1 +1 @@\n-a\u{200d}b\u{202e}\u{1b}[2K\n+a\u{fe0f}\n", 60);
    assert_snapshot!(all, @r"
     1 - a\u{200d}b\u{202e}\u{1b}[2K
     1 + a\u{fe0f}
    ");
}

#[test]
fn files_are_named_by_what_happens_to_them() {
    let head = |old: &str, new: &str| shown(&format!("--- {old}\n+++ {new}\n@@ -0,0 +1 @@\n+x\n"), 60);
    assert!(head("/dev/null", "b/new.rs").starts_with("new.rs (new)\n"));
    assert!(head("a/old.rs\t2024", "/dev/null").starts_with("old.rs (deleted)\n"));
    assert!(head("a/x", "b/y").starts_with("x → y\n"));
}

#[test]
fn long_lines_are_folded_behind_their_number() {
    let all = shown(&format!("@@ -1 +1 @@\n-x\n+{}\n", "y".repeat(20)), 15);
    assert_snapshot!(all, @"
     1 - x
     1 + yyyyyyyyyy
         yyyyyyyyyy
    ");
}

proptest! {
    #[test]
    fn no_diff_breaks_it_and_no_row_is_too_wide(
        pieces in proptest::collection::vec("@@ -[0-9]{1,3},[0-9]{1,2} \\+[0-9]{1,3},[0-9]{1,2} @@|[-+ \\\\]?[ -~漢é]{0,40}|--- a/x|\\+\\+\\+ b/x|\\PC{0,9}", 0..20),
        columns in 10usize..60,
    ) {
        for line in lines(&pieces.join("\n"), columns) {
            prop_assert!(line.width() <= columns, "{:?}", line.text());
        }
    }
}
