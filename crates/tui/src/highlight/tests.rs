use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::text::Role;

/// Lines with each coloured piece in brackets behind the first letter of its role.
fn marked(language: &str, text: &str) -> String {
    let mut highlighter = Highlighter::new(language).unwrap();
    let mut shown = String::new();
    for line in text.lines() {
        for span in highlighter.line(line).spans() {
            match span.role() {
                Role::Plain => shown.push_str(span.text()),
                role => shown.push_str(&format!("{}[{}]", format!("{role:?}").to_lowercase(), span.text())),
            }
        }
        shown.push('\n');
    }
    shown
}

#[test]
fn rust_is_coloured() {
    assert_snapshot!(marked("rust", r###"
// why
fn main<'a>(x: &'a str) -> Vec<u8> {
    let s = "a \" b"; /* one /* two
    */ still */ let c = '\n'; let n = 0x1f_u8 + 1.5;
    let r = r#"raw "
text"#; true
}
"###), @r##"

    comment[// why]
    keyword[fn] main<'a>(x: &'a type[str]) -> type[Vec]<type[u8]> {
        keyword[let] s = literal["a \" b"]; comment[/* one /* two]
    comment[    */ still */] keyword[let] c = literal['\n']; keyword[let] n = number[0x1f_u8] + number[1.5];
        keyword[let] r = literal[r#"raw "]
    literal[text"#]; number[true]
    }
    "##);
}

#[test]
fn other_languages_are_coloured() {
    assert_snapshot!(marked("python", "def f(x): # doc\n    \"\"\"two\n    lines\"\"\"\n    return None or Foo"), @r#"
    keyword[def] f(x): comment[# doc]
        literal["""two]
    literal[    lines"""]
        keyword[return] number[None] keyword[or] type[Foo]
    "#);
    assert_snapshot!(marked("sh", "for f in \"$x\" ${y} $1; do echo a#b; done # end"), @r##"
    keyword[for] f keyword[in] literal["$x"] type[${y}] type[$1]; keyword[do] echo a#b; keyword[done] comment[# end]
    "##);
    assert_snapshot!(marked("json", "{\"a\": [1, true, \"b\"]}"), @r#"{type["a"]: [number[1], number[true], literal["b"]]}"#);
    assert_snapshot!(marked("yaml", "my-key: text # why\nother: 3"), @"
    type[my-key]: text comment[# why]
    type[other]: number[3]
    ");
    assert_snapshot!(marked("toml", "[a]\nkey = \"v\""), @r#"
    [a]
    type[key] = literal["v"]
    "#);
    assert_snapshot!(marked("sql", "SELECT a FROM t WHERE b = 'x' -- c"), @"keyword[SELECT] a keyword[FROM] t keyword[WHERE] b = literal['x'] comment[-- c]");
    assert_snapshot!(marked("html", "<a href=\"x\">t</a><!-- c\nd -->e"), @r#"
    keyword[<a] type[href]=literal["x"]keyword[>]tkeyword[</a>]comment[<!-- c]
    comment[d -->]e
    "#);
    assert_snapshot!(marked("diff", "@@ -1 +1 @@\n-a\n+b\n c"), @"
    accent[@@ -1 +1 @@]
    removed[-a]
    added[+b]
     c
    ");
    assert_snapshot!(marked("md", "# T\n- a `b` c"), @"
    heading[# T]
    keyword[- ]a code[`b`] c
    ");
    assert_snapshot!(marked("ts", "const x: string = `a\nb`; // c"), @"
    keyword[const] x: type[string] = literal[`a]
    literal[b`]; comment[// c]
    ");
}

#[test]
fn languages_are_known_by_their_names() {
    for name in [
        "rs",
        "Rust",
        "rust,ignore",
        "ts",
        "c++",
        "jsonc",
        "bash",
        "html",
        "patch",
        "kt",
        "css",
        "dockerfile",
    ] {
        assert!(Highlighter::new(name).is_some(), "{name}");
    }
    assert!(Highlighter::new("text").is_none() && Highlighter::new("").is_none());
    for file in ["src/a.rs", "Dockerfile", "x/Makefile", "a.b.tsx"] {
        assert!(Highlighter::for_file(file).is_some(), "{file}");
    }
}

proptest! {
    #[test]
    fn every_character_comes_out_as_it_went_in(
        lines in proptest::collection::vec("[ -~é漢]{0,30}|(\"|'|/\\*|\\*/|//|#|\\$|\\{|<|-->|r#\"|\\\\|`){0,12}", 0..8),
        language in prop_oneof![
            Just("rust"), Just("python"), Just("ts"), Just("sh"), Just("html"), Just("yaml"), Just("php"), Just("lua"),
            Just("css"), Just("haskell"), Just("diff"), Just("md"), Just("json"), Just("c"),
        ],
    ) {
        let mut highlighter = Highlighter::new(language).unwrap();
        for line in &lines {
            prop_assert_eq!(highlighter.line(line).text(), line.as_str());
        }
    }
}
