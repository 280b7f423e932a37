use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use charla_proto::{Display, Effect, FileLines, Lane, Preview, Snapshots, Todo, TodoStatus, ToolErrorKind};
use serde_json::json;

use crate::bench::{Bench, run, words};

#[tokio::test]
async fn a_new_file_is_written_with_its_folders() {
    let bench = Bench::new();
    let args = json!({"file_path": "a/b/c.txt", "content": "hello"});
    let plan = bench.plan("write_file", args.clone()).await;
    assert_eq!((plan.title.as_str(), plan.lane), ("Create a/b/c.txt", Lane::Exclusive));
    assert_eq!(plan.effects, [Effect::Write { path: bench.root.join("a/b/c.txt") }]);
    assert!(!bench.exists("a"), "planning writes nothing");
    let output = bench.run("write_file", args).await;
    assert_eq!(bench.bytes("a/b/c.txt"), b"hello");
    let change = &output.changes[0];
    assert_eq!(change.before, None);
    assert_eq!(bench.kept.load(change.after.as_ref().unwrap()).unwrap(), b"hello");
    assert_eq!(fs::metadata(bench.root.join("a/b/c.txt")).unwrap().permissions().mode() & 0o600, 0o600);
}

#[tokio::test]
async fn a_person_is_shown_what_was_changed_read_or_planned() {
    let bench = Bench::new();
    bench.write("a.txt", "one\ntwo\n");
    let path = bench.root.join("a.txt");
    let shown = async |tool, args| bench.run(tool, args).await.display.unwrap();
    let read = json!({"file_path": "a.txt", "start_line": 2});
    let lines = Some(FileLines { first: 2, last: 2, total: 2 });
    assert_eq!(shown("read_file", read).await, Display::File { path: path.clone(), lines });
    let edit = json!({"file_path": "a.txt", "old_string": "two", "new_string": "2"});
    let display = shown("replace", edit).await;
    let Display::Diff { path: changed, diff } = &display else { panic!("{display:?}") };
    assert!(*changed == path && diff.contains("-two\n+2\n"), "{display:?}");
    let todo = json!({"description": "test it", "status": "pending"});
    let display = shown("write_todos", json!({"todos": [todo]})).await;
    let todo = Todo { description: "test it".to_owned(), status: TodoStatus::Pending };
    assert_eq!(display, Display::Todos { items: vec![todo] });
}

#[tokio::test]
async fn content_given_by_a_person_replaces_the_whole_file() {
    let bench = Bench::new();
    for (tool, args) in [
        ("replace", json!({"file_path": "a.txt", "old_string": "two", "new_string": "2"})),
        ("write_file", json!({"file_path": "a.txt", "content": "2\n"})),
    ] {
        bench.write("a.txt", "one\ntwo\n");
        let call = bench.prepare(tool, args).await.unwrap();
        let args = call.args_for_content("mine\n").unwrap();
        bench.ok(tool, args.into()).await;
        assert_eq!(bench.bytes("a.txt"), b"mine\n", "{tool}");
    }
    let args = json!({"file_path": "new.txt", "old_string": "", "new_string": "its own\n"});
    let call = bench.prepare("replace", args).await.unwrap();
    bench.ok("replace", call.args_for_content("mine\n").unwrap().into()).await;
    assert_eq!(bench.bytes("new.txt"), b"mine\n");
    let reading = bench.prepare("read_file", json!({"file_path": "a.txt"})).await.unwrap();
    assert_eq!(reading.args_for_content("mine\n"), None);
}

#[tokio::test]
async fn the_plan_shows_the_whole_change() {
    let bench = Bench::new();
    bench.write("a.txt", "one\ntwo\nthree\n");
    let args = json!({"file_path": "a.txt", "old_string": "two", "new_string": "2", "instruction": "count"});
    let plan = bench.plan("replace", args.clone()).await;
    let Preview::Diff { before, after, diff, .. } = plan.preview else { panic!("no diff") };
    assert_eq!((before.as_deref(), after.as_str()), (Some("one\ntwo\nthree\n"), "one\n2\nthree\n"));
    assert!(diff.contains("@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"), "{diff}");
    let output = bench.run("replace", args).await;
    let change = &output.changes[0];
    assert_eq!(bench.kept.load(change.before.as_ref().unwrap()).unwrap(), b"one\ntwo\nthree\n");
    assert_eq!(bench.kept.load(change.after.as_ref().unwrap()).unwrap(), b"one\n2\nthree\n");
}

#[tokio::test]
async fn an_existing_file_keeps_its_encoding_line_ends_and_mode() {
    let bench = Bench::new();
    let path = bench.write("script.sh", "a\r\nb\r\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    bench.ok("write_file", json!({"file_path": "script.sh", "content": "x\ny\n"})).await;
    assert_eq!(bench.bytes("script.sh"), b"x\r\ny\r\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
    bench.write("bom", "\u{FEFF}a\n");
    bench.ok("write_file", json!({"file_path": "bom", "content": "é"})).await;
    assert_eq!(bench.bytes("bom"), "\u{FEFF}é".as_bytes());
    bench.write("wide", [0xFE, 0xFF, 0, b'a', 0, b'b']);
    bench.ok("replace", json!({"file_path": "wide", "old_string": "b", "new_string": "c"})).await;
    assert_eq!(bench.bytes("wide"), [0xFE, 0xFF, 0, b'a', 0, b'c']);
    bench.write("legacy", b"\xA4\xE9 one\n");
    bench.ok("replace", json!({"file_path": "legacy", "old_string": "one", "new_string": "two"})).await;
    assert_eq!(bench.bytes("legacy"), b"\xA4\xE9 two\n");
    let error =
        bench.err("replace", json!({"file_path": "legacy", "old_string": "two", "new_string": "日"})).await;
    assert_eq!(error.kind, ToolErrorKind::Encoding);
}

#[tokio::test]
async fn links_and_other_names_of_a_file_stay() {
    let bench = Bench::new();
    bench.write("real", "old");
    symlink("real", bench.root.join("link")).unwrap();
    fs::hard_link(bench.root.join("real"), bench.root.join("twin")).unwrap();
    bench.ok("write_file", json!({"file_path": "link", "content": "new"})).await;
    assert!(fs::symlink_metadata(bench.root.join("link")).unwrap().is_symlink());
    assert_eq!((bench.bytes("real"), bench.bytes("twin")), (b"new".to_vec(), b"new".to_vec()));
    assert_eq!(fs::metadata(bench.root.join("real")).unwrap().nlink(), 2);
    let left: Vec<_> = fs::read_dir(&bench.root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[tokio::test]
async fn what_cannot_be_written_as_text_is_refused_and_stays() {
    let bench = Bench::new();
    bench.write("bin", b"\0\x01");
    let path = bench.write("locked", "x");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let write =
        async |path: &str| bench.err("write_file", json!({"file_path": path, "content": "y"})).await.kind;
    assert_eq!(write("bin").await, ToolErrorKind::BinaryFile);
    assert_eq!(write("locked").await, ToolErrorKind::PermissionDenied);
    assert_eq!(write(".").await, ToolErrorKind::IsADirectory);
    assert_eq!((bench.bytes("bin"), bench.bytes("locked")), (b"\0\x01".to_vec(), b"x".to_vec()));
    let error = bench.err("write_file", json!({"file_path": "locked/inner", "content": "y"})).await;
    assert_eq!(error.kind, ToolErrorKind::NotADirectory);
}

#[tokio::test]
async fn content_with_left_out_parts_is_refused() {
    let bench = Bench::new();
    let content = "fn a() {}\n// ... rest of code unchanged ...\n";
    let error = bench.err("write_file", json!({"file_path": "a.rs", "content": content})).await;
    assert!(
        error.kind == ToolErrorKind::Omission && error.message.contains("rest of code unchanged"),
        "{error}"
    );
    assert!(!bench.exists("a.rs"));
    bench.write("a.rs", "x");
    let args = json!({"file_path": "a.rs", "old_string": "x", "new_string": "# ... existing code ..."});
    assert_eq!(bench.err("replace", args).await.kind, ToolErrorKind::Omission);
}

#[tokio::test]
async fn replace_is_literal_and_creates_nothing_unasked() {
    let bench = Bench::new();
    bench.write("a", "price: X\n");
    bench.ok("replace", json!({"file_path": "a", "old_string": "X", "new_string": "$1 $& $$ \\n"})).await;
    assert_eq!(bench.bytes("a"), b"price: $1 $& $$ \\n\n");
    let error =
        bench.err("replace", json!({"file_path": "none", "old_string": "a", "new_string": "b"})).await;
    assert_eq!(error.kind, ToolErrorKind::NotFound);
    assert!(!bench.exists("none"));
    bench.ok("replace", json!({"file_path": "new", "old_string": "", "new_string": "made"})).await;
    assert_eq!(bench.bytes("new"), b"made");
    let error =
        bench.err("replace", json!({"file_path": "new", "old_string": "", "new_string": "again"})).await;
    assert_eq!(error.kind, ToolErrorKind::InvalidArgs);
    bench.write("void", "");
    bench.ok("replace", json!({"file_path": "void", "old_string": "", "new_string": "filled"})).await;
    assert_eq!(bench.bytes("void"), b"filled");
    let text = bench
        .ok(
            "replace",
            json!({"file_path": "new", "old_string": "m", "new_string": "f", "allow_multiple": true}),
        )
        .await;
    assert!(text.starts_with("Changed 1 place in"), "{text}");
}

#[tokio::test]
async fn whether_a_text_is_in_a_secret_file_is_not_told_before_somebody_agreed() {
    let bench = Bench::new();
    bench.write(".env", "TOKEN=secret\nTOKEN=secret\n");
    for guess in ["TOKEN=secret", "TOKEN=secre", "nothing like it"] {
        let args = json!({"file_path": ".env", "old_string": guess, "new_string": "x"});
        let call = bench.prepare("replace", args).await.unwrap();
        assert_eq!(call.plan().preview, Preview::None, "{guess}");
        assert!(run(call).await.error.is_some(), "{guess}");
    }
}

#[tokio::test]
async fn an_inexact_match_is_shown_to_the_model() {
    let bench = Bench::new();
    bench.write("a", "\tif x {\n\t\ty();\n\t}\n");
    let args = json!({"file_path": "a", "old_string": "if x {\n    y();\n}", "new_string": "z();"});
    let text = bench.ok("replace", args).await;
    assert!(text.contains("other blanks") && text.contains("+\tz();"), "{text}");
}

#[tokio::test]
async fn a_file_somebody_else_changed_is_not_overwritten() {
    let bench = Bench::new();
    bench.write("a", "one\n");
    let call = bench.prepare("write_file", json!({"file_path": "a", "content": "two\n"})).await.unwrap();
    bench.write("a", "user's own\n");
    assert_eq!(run(call).await.error.unwrap().kind, ToolErrorKind::Conflict);
    assert_eq!(bench.bytes("a"), b"user's own\n");
    let call = bench.prepare("write_file", json!({"file_path": "b", "content": "two\n"})).await.unwrap();
    bench.write("b", "came first");
    assert_eq!(run(call).await.error.unwrap().kind, ToolErrorKind::Conflict);
}

#[tokio::test]
async fn a_replacement_is_matched_again_when_the_file_changed() {
    let bench = Bench::new();
    let edit = json!({"file_path": "a", "old_string": "two", "new_string": "2"});
    bench.write("a", "one\ntwo\n");
    let call = bench.prepare("replace", edit.clone()).await.unwrap();
    bench.write("a", "zero\none\ntwo\nthree\n");
    assert_eq!(run(call).await.error, None);
    assert_eq!(bench.bytes("a"), b"zero\none\n2\nthree\n");
    for changed in ["one\nno more\n", "two\ntwo\n"] {
        bench.write("a", "one\ntwo\n");
        let call = bench.prepare("replace", edit.clone()).await.unwrap();
        bench.write("a", changed);
        assert_eq!(run(call).await.error.unwrap().kind, ToolErrorKind::Conflict);
        assert_eq!(bench.bytes("a"), changed.as_bytes());
    }
    bench.write("a", "  if a {\n  two  b\n");
    let near = json!({"file_path": "a", "old_string": "two b", "new_string": "2"});
    let call = bench.prepare("replace", near).await.unwrap();
    bench.write("a", "  if a {\n  two  b\nmore\n");
    assert_eq!(
        run(call).await.error.unwrap().kind,
        ToolErrorKind::Conflict,
        "a near match of another text is not taken"
    );
}

#[tokio::test]
async fn two_changes_of_one_file_in_one_step_both_happen() {
    let bench = Bench::new();
    bench.write("a", "one two\n");
    let first = bench
        .prepare("replace", json!({"file_path": "a", "old_string": "one", "new_string": "1"}))
        .await
        .unwrap();
    let second = bench
        .prepare("replace", json!({"file_path": "a", "old_string": "two", "new_string": "2"}))
        .await
        .unwrap();
    let third = bench.prepare("write_file", json!({"file_path": "a", "content": "whole\n"})).await.unwrap();
    assert_eq!(run(first).await.error, None);
    assert_eq!(run(second).await.error, None);
    assert_eq!(bench.bytes("a"), b"1 2\n");
    assert_eq!(run(third).await.error, None);
    assert_eq!(bench.bytes("a"), b"whole\n");
}

#[tokio::test]
async fn writing_what_is_there_changes_nothing() {
    let bench = Bench::new();
    let path = bench.write("a", "same\n");
    let inode = fs::metadata(&path).unwrap().ino();
    let output = bench.run("write_file", json!({"file_path": "a", "content": "same\n"})).await;
    assert!(output.changes.is_empty() && words(&output).contains("already has exactly this content"));
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
}

#[tokio::test]
async fn facts_are_remembered_in_the_memory_file() {
    let bench = Bench::new();
    bench.ok("save_memory", json!({"fact": "likes tea"})).await;
    let output = bench.run("save_memory", json!({"fact": "speaks\nGerman"})).await;
    assert_eq!(bench.bytes("../memory/CHARLA.md"), b"## Remembered\n\n- likes tea\n- speaks German\n");
    assert!(output.changes[0].before.is_some());
}

#[tokio::test]
async fn what_a_fact_changes_is_known_before_it_is_saved() {
    let bench = Bench::new();
    let first = bench.prepare("save_memory", json!({"fact": "likes tea"})).await.unwrap();
    let second = bench.prepare("save_memory", json!({"fact": "speaks German"})).await.unwrap();
    for call in [first, second] {
        let announced = call.changes();
        assert_eq!(announced, run(call).await.changes);
        assert_eq!(announced.len(), 1);
    }
}

#[tokio::test]
async fn todos_are_a_list_with_one_step_at_most_in_progress() {
    let bench = Bench::new();
    let todos = json!({"todos": [
        {"description": "plan", "status": "completed"},
        {"description": "do\nit", "status": "in_progress"},
        {"description": "rest", "status": "pending"},
    ]});
    let text = bench.ok("write_todos", todos).await;
    assert_eq!(text, "The list is now:\n1. [x] plan\n2. [>] do it\n3. [ ] rest");
    let two = json!({"description": "x", "status": "in_progress"});
    assert_eq!(bench.err("write_todos", json!({"todos": [two, two]})).await.kind, ToolErrorKind::InvalidArgs);
    assert!(bench.plan("write_todos", json!({"todos": []})).await.effects.is_empty());
}
