use proptest::prelude::*;

use super::*;

fn one<'a>(old: &'a str, new: &'a str) -> Edit<'a> {
    Edit { old, new, all: false }
}

fn edited(text: &str, old: &str, new: &str) -> String {
    replace(text, one(old, new)).unwrap().text
}

#[test]
fn exact_text_is_replaced_and_nothing_else_changes() {
    assert_eq!(edited("a\nb\nc", "b", "x"), "a\nx\nc");
    assert_eq!(edited("\u{feff}a\r\nb\r\nc", "b\nc", "x\ny\nz"), "\u{feff}a\r\nx\r\ny\r\nz");
    assert_eq!(edited("a\r\nb\nc\r\n", "a\n", ""), "b\nc\r\n");
    assert_eq!(edited("one\r\ntwo\nthree", "two", "2\n2"), "one\r\n2\n2\nthree");
}

#[test]
fn other_blanks_are_found_and_the_files_indentation_is_kept() {
    let text = "fn f() {\n        if x {\n            y();\n        }\n}\n";
    let old = "if x {\n    y();\n}";
    let new = "if x {\n    z();\n    w();\n}";
    let after = "fn f() {\n        if x {\n            z();\n            w();\n        }\n}\n";
    assert_eq!(edited(text, old, new), after);
    assert_eq!(edited("\tx  =  1;\n", "x = 1;", "x = 2;"), "\tx = 2;\n");
}

#[test]
fn typographic_twins_are_equal() {
    assert_eq!(edited("say “hi” – now\n", "say \"hi\" - now", "bye"), "bye\n");
}

#[test]
fn a_near_miss_is_taken_only_when_it_is_the_only_one() {
    let text = "let configuration = load_configuration(path)?;\nrun(configuration);\n";
    let result =
        replace(text, one("let configuration = load_configuraton(path)?;", "let c = load(path)?;")).unwrap();
    assert_eq!(
        (result.how, result.text.as_str()),
        (MatchKind::Nearly, "let c = load(path)?;\nrun(configuration);\n")
    );
    let twice = "let value_one = compute(1);\nlet value_two = compute(2);\n";
    assert!(matches!(
        replace(twice, one("let value_xxx = compute(1);", "x")),
        Err(EditError::NotFound { .. })
    ));
}

#[test]
fn what_is_there_twice_is_not_guessed() {
    let error = replace("a\nb\na\n", one("a", "x")).unwrap_err();
    assert_eq!(error, EditError::Ambiguous { lines: vec![1, 3] });
    let all = replace("a\nb\na\n", Edit { old: "a", new: "x", all: true }).unwrap();
    assert_eq!((all.text.as_str(), all.places), ("x\nb\nx\n", 2));
    assert!(matches!(replace("  a b\n a  b\n", one("a\tb", "x")), Err(EditError::Ambiguous { .. })));
}

#[test]
fn a_miss_says_what_is_nearest() {
    let error = replace("alpha beta gamma\n", one("alpha betta delta epsilon", "x")).unwrap_err().to_string();
    assert!(error.contains("line 1") && error.contains("alpha beta gamma"), "{error}");
    assert_eq!(replace("a", one("a", "a")), Err(EditError::Same));
    assert_eq!(replace("a", one("", "a")), Err(EditError::Empty));
}

proptest! {
    #[test]
    fn replacing_a_unique_text_is_plain_substitution(
        before in "[a-c\\r\\n ]{0,20}", after in "[a-c\\r\\n ]{0,20}", new in "[d-f\\n]{0,10}",
    ) {
        let before = before.replace('\r', "");
        let after = after.replace('\r', "");
        let text = format!("{before}@unique@{after}");
        let result = replace(&text, one("@unique@", &new)).unwrap();
        prop_assert_eq!(result.text, format!("{before}{new}{after}"));
    }

    #[test]
    fn line_ends_outside_the_place_never_change(
        lines in prop::collection::vec(("[a-z]{0,4}", any::<bool>()), 1..12), at in 0usize..12,
    ) {
        let at = at % lines.len();
        let mut text = String::new();
        let mut expected = String::new();
        for (n, (line, crlf)) in lines.iter().enumerate() {
            let end = if *crlf { "\r\n" } else { "\n" };
            text += &format!("{}{end}", if n == at { "<MARK>" } else { line });
            expected += &format!("{}{end}", if n == at { "<DONE>" } else { line });
        }
        prop_assert_eq!(edited(&text, "<MARK>", "<DONE>"), expected);
    }

    #[test]
    fn no_text_makes_it_fail(text in "\\PC{0,60}", old in "\\PC{0,20}", new in "\\PC{0,20}", all: bool) {
        let _ = replace(&text, Edit { old: &old, new: &new, all });
    }
}
