use std::os::unix::fs::symlink;

use charla_proto::{Effect, Lane, PartKind, ToolErrorKind};
use serde_json::json;

use crate::bench::Bench;

#[tokio::test]
async fn a_file_is_read_as_it_is() {
    let bench = Bench::new();
    bench.write("a.txt", "one\r\ntwo\n\tthree");
    assert_eq!(bench.ok("read_file", json!({"file_path": "a.txt"})).await, "one\r\ntwo\n\tthree");
    let absolute = bench.root.join("a.txt");
    assert_eq!(
        bench.ok("read_file", json!({"file_path": absolute, "start_line": 2, "end_line": 2})).await,
        "[Lines 2-2 of 3 are shown.]\ntwo\n"
    );
    bench.write("empty", "");
    assert_eq!(bench.ok("read_file", json!({"file_path": "empty"})).await, "(the file is empty)");
}

#[tokio::test]
async fn a_long_file_says_how_to_read_on_until_it_is_all_read() {
    let bench = Bench::new();
    let text: String = (1..=5230).map(|n| format!("line {n}\n")).collect();
    bench.write("long", &text);
    let (mut start, mut read) = (1, String::new());
    for _ in 0..10 {
        let page = bench.ok("read_file", json!({"file_path": "long", "start_line": start})).await;
        let (note, body) = page.split_once("]\n").unwrap();
        read.push_str(body);
        let Some((_, next)) = note.split_once("start_line ") else { break };
        start = next.trim_end_matches('.').parse().unwrap();
    }
    assert_eq!(read, text);
    let error = bench.err("read_file", json!({"file_path": "long", "start_line": 6000})).await;
    assert!(error.message.contains("5230 lines"), "{error}");
    let error = bench.err("read_file", json!({"file_path": "long", "start_line": 9, "end_line": 3})).await;
    assert_eq!(error.kind, ToolErrorKind::InvalidArgs);
}

#[tokio::test]
async fn long_lines_and_much_text_are_cut_and_it_is_said() {
    let bench = Bench::new();
    bench.write("wide", format!("{}\nend\n", "é".repeat(5000)));
    let text = bench.ok("read_file", json!({"file_path": "wide"})).await;
    assert!(text.contains("1 lines were cut after 2000 characters") && text.ends_with("[truncated]\nend\n"));
    bench.write("huge", format!("{}\n", "x".repeat(1990)).repeat(1000));
    let text = bench.ok("read_file", json!({"file_path": "huge"})).await;
    assert!(
        text.chars().count() < 410_000 && text.contains("To read on, call read_file with start_line 201.")
    );
}

#[tokio::test]
async fn other_encodings_are_decoded() {
    let bench = Bench::new();
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    bench.write("utf16", [&[0xFF, 0xFE][..], &wide("héllo 🦀")].concat());
    bench.write("utf8bom", "\u{FEFF}héllo 🦀");
    let wide: Vec<u8> = "\u{FEFF}héllo 🦀".chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
    bench.write("utf32", wide);
    for name in ["utf16", "utf8bom", "utf32"] {
        assert_eq!(bench.ok("read_file", json!({"file_path": name})).await, "héllo 🦀", "{name}");
    }
    bench.write("latin1", b"caf\xE9");
    assert!(bench.ok("read_file", json!({"file_path": "latin1"})).await.ends_with("Latin-1.]\ncafé"));
}

#[tokio::test]
async fn images_are_shown_by_what_they_are_and_svg_is_text() {
    let bench = Bench::new();
    bench.write("picture.txt", b"\x89PNG\r\n\x1a\nrest");
    let output = bench.run("read_file", json!({"file_path": "picture.txt"})).await;
    let PartKind::InlineData(blob) = &output.content[0].kind else { panic!("{output:?}") };
    assert_eq!((blob.mime_type.as_str(), blob.data.as_str()), ("image/png", "iVBORw0KGgpyZXN0"));
    bench.write("a.svg", "<svg/>");
    assert_eq!(bench.ok("read_file", json!({"file_path": "a.svg"})).await, "<svg/>");
    bench.write("program", b"\x7fELF\x02\0\0\0");
    assert_eq!(bench.err("read_file", json!({"file_path": "program"})).await.kind, ToolErrorKind::BinaryFile);
}

#[tokio::test]
async fn the_plan_tells_where_a_path_really_leads() {
    let bench = Bench::new();
    let outside = bench.root.join("../outside.txt");
    std::fs::write(&outside, "o").unwrap();
    symlink(&outside, bench.root.join("link")).unwrap();
    let plan = bench.plan("read_file", json!({"file_path": "link"})).await;
    assert_eq!(plan.effects, [Effect::Read { path: outside.canonicalize().unwrap() }]);
    assert!(plan.title.contains("outside the workspace"), "{}", plan.title);
    assert_eq!(plan.lane, Lane::Shared);
    let plan = bench.plan("read_file", json!({"file_path": ".env"})).await;
    assert!(plan.title.contains("may hold secrets"), "{}", plan.title);
}

#[tokio::test]
async fn a_file_that_is_made_between_planning_and_reading_is_read() {
    let bench = Bench::new();
    let call = bench.prepare("read_file", json!({"file_path": "later"})).await.unwrap();
    bench.write("later", "now");
    assert_eq!(crate::bench::words(&crate::bench::run(call).await), "now");
}

#[tokio::test]
async fn a_link_that_is_turned_after_approval_is_not_followed() {
    let bench = Bench::new();
    bench.write("a", "a");
    bench.write("../secret", "s");
    let link = bench.root.join("link");
    symlink("a", &link).unwrap();
    let call = bench.prepare("read_file", json!({"file_path": "link"})).await.unwrap();
    std::fs::remove_file(&link).unwrap();
    symlink("../secret", &link).unwrap();
    assert_eq!(crate::bench::run(call).await.error.unwrap().kind, ToolErrorKind::Conflict);
}

#[tokio::test]
async fn many_files_come_with_their_names_and_what_is_left_out_is_said() {
    let bench = Bench::new();
    bench.write("a.rs", "A");
    bench.write("sub/b.rs", "B");
    bench.write("sub/c.png", b"\x89PNG\r\n\x1a\n");
    bench.write("sub/.env", "KEY=1");
    bench.write("node_modules/d.rs", "D");
    bench.write("blob.rs", b"\0\0");
    let text = bench.ok("read_many_files", json!({"include": ["**/*", "a.rs"]})).await;
    let at = |name: &str| text.find(&format!("--- {} ---", bench.root.join(name).display()));
    assert!(at("a.rs").unwrap() < at("sub/b.rs").unwrap() && text.matches("a.rs ---").count() == 1, "{text}");
    assert!(!text.contains("KEY=1") && text.contains("sub/.env (may hold secrets"), "{text}");
    assert!(text.contains("c.png (media, not named)") && text.contains("blob.rs (binary_file)"), "{text}");
    assert!(at("node_modules/d.rs").is_none());
    let output = bench.run("read_many_files", json!({"include": ["sub/*.png"]})).await;
    assert!(output.content[1].as_text().is_none());
    let text =
        bench.ok("read_many_files", json!({"include": ["sub/.env", "sub"], "exclude": ["**/*.rs"]})).await;
    assert!(text.contains("KEY=1") && !text.contains("b.rs"), "{text}");
    let plan = bench.plan("read_many_files", json!({"include": ["sub/.env"]})).await;
    assert!(plan.title.contains("may hold secrets"), "{}", plan.title);
    let flat = bench.ok("read_many_files", json!({"include": ["**/*.rs"], "recursive": false})).await;
    assert!(!flat.contains("/b.rs"), "{flat}");
    assert_eq!(
        bench.err("read_many_files", json!({"include": ["*.none"]})).await.kind,
        ToolErrorKind::NotFound
    );
    assert_eq!(
        bench.err("read_many_files", json!({"include": ["../*"]})).await.kind,
        ToolErrorKind::InvalidArgs
    );
}

#[tokio::test]
async fn too_many_files_are_not_read_and_it_is_said() {
    let bench = Bench::new();
    for n in 0..250 {
        bench.write(&format!("f{n:03}"), "x");
    }
    let text = bench.ok("read_many_files", json!({"include": ["*"]})).await;
    assert!(text.contains("[50 more file(s) match"), "{text}");
}

#[tokio::test]
async fn a_folder_is_listed_without_what_is_ignored() {
    let bench = Bench::new();
    bench.write("b.txt", "12345");
    bench.write("sub/inner", "");
    bench.write("build/out", "");
    bench.write(".gitignore", "build/\n");
    bench.write(".charlaignore", "private\n");
    bench.write("private", "");
    bench.write("skip.log", "");
    symlink("b.txt", bench.root.join("link")).unwrap();
    let text = bench.ok("list_directory", json!({"dir_path": ".", "ignore": ["*.log"]})).await;
    let (_, entries) = text.split_once(":\n").unwrap();
    assert_eq!(
        entries,
        "[DIR] sub\n.charlaignore (8 bytes)\n.gitignore (7 bytes)\nb.txt (5 bytes)\nlink (link to b.txt)\n(3 ignored)"
    );
    let all = json!({"dir_path": ".", "file_filtering_options": {"respect_git_ignore": false}});
    assert!(bench.ok("list_directory", all).await.contains("[DIR] build"));
    assert_eq!(
        bench.err("list_directory", json!({"dir_path": "b.txt"})).await.kind,
        ToolErrorKind::NotADirectory
    );
    assert_eq!(bench.err("list_directory", json!({"dir_path": "none"})).await.kind, ToolErrorKind::NotFound);
    std::fs::create_dir(bench.root.join("void")).unwrap();
    assert!(bench.ok("list_directory", json!({"dir_path": "void"})).await.ends_with("is empty."));
}
