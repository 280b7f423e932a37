//! Every tool with arguments nobody should give: a structured error, quickly, and nothing changed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use charla_proto::ToolErrorKind;
use serde_json::{Value, json};

use crate::bench::{Bench, pipe};

/// A workspace full of traps.
fn trapped() -> Bench {
    let bench = Bench::new();
    bench.write("file", "text\n");
    fs::create_dir(bench.root.join("folder")).unwrap();
    pipe(&bench.root.join("pipe"));
    symlink("pipe", bench.root.join("pipe_link")).unwrap();
    symlink("nowhere", bench.root.join("broken")).unwrap();
    symlink("loop_b", bench.root.join("loop_a")).unwrap();
    symlink("loop_a", bench.root.join("loop_b")).unwrap();
    symlink("/dev/zero", bench.root.join("zero")).unwrap();
    let unreadable = bench.write("unreadable", "x");
    fs::set_permissions(unreadable, fs::Permissions::from_mode(0o000)).unwrap();
    bench
}

/// Paths at which there is nothing to read.
fn bad_paths() -> Vec<Value> {
    let mut paths = vec![
        json!(""),
        json!(" "),
        json!("a\0b"),
        json!("\0"),
        json!("x".repeat(1 << 20)),
        json!("x/".repeat(1 << 19)),
        json!("../".repeat(2000)),
        json!("none"),
        json!("file/inner"),
        json!("pipe"),
        json!("pipe_link"),
        json!("broken"),
        json!("loop_a"),
        json!("loop_a/inner"),
        json!("zero"),
        json!("/dev/zero"),
        json!("/dev/random"),
        json!("/dev/tty"),
        json!("/dev/stdin"),
        json!("/proc/kmsg"),
        json!("/proc/self/mem"),
        json!("/proc/self/fd/0"),
        json!("/proc/1/environ"),
        json!("/sys/kernel/notes"),
        json!("~/file"),
        json!("file\n"),
        json!("\u{202e}elif"),
    ];
    paths.extend(wrong_types());
    paths
}

fn wrong_types() -> Vec<Value> {
    vec![
        json!(null),
        json!(7),
        json!(-1.5),
        json!(true),
        json!([]),
        json!(["file"]),
        json!({}),
        json!({"a": 1}),
    ]
}

fn assert_structured(what: &str, error: &charla_proto::ToolError) {
    assert!(!matches!(error.kind, ToolErrorKind::Internal | ToolErrorKind::Other), "{what}: {error:?}");
    assert!(!error.message.is_empty(), "{what}");
    assert!(error.message.len() < 20_000, "{what}: a message of {} bytes", error.message.len());
}

fn shown(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}

#[tokio::test]
async fn paths_that_cannot_be_read_are_refused() {
    let bench = trapped();
    for path in bad_paths() {
        for (tool, args) in [
            ("read_file", json!({"file_path": path})),
            ("list_directory", json!({"dir_path": path})),
            ("replace", json!({"file_path": path, "old_string": "a", "new_string": "b"})),
            ("read_many_files", json!({"include": [path]})),
        ] {
            let error = bench.err(tool, args).await;
            assert_structured(&format!("{tool} {}", shown(&path)), &error);
        }
    }
    // A superuser may read everything.
    if fs::read(bench.root.join("unreadable")).is_err() {
        let error = bench.err("read_file", json!({"file_path": "unreadable"})).await;
        assert_eq!(error.kind, ToolErrorKind::PermissionDenied);
    }
    assert_structured("folder", &bench.err("read_file", json!({"file_path": "folder"})).await);
}

#[tokio::test]
async fn searches_in_impossible_places_are_refused() {
    let bench = trapped();
    let optional = |path: &Value| path.is_null() || path == "";
    for path in bad_paths().into_iter().filter(|path| !optional(path)) {
        for (tool, args) in [
            ("glob", json!({"pattern": "*", "dir_path": path})),
            ("grep_search", json!({"pattern": "x", "dir_path": path})),
        ] {
            let error = bench.err(tool, args).await;
            assert_structured(&format!("{tool} {}", shown(&path)), &error);
        }
    }
}

#[tokio::test]
async fn files_are_not_written_where_none_can_be() {
    let bench = trapped();
    let writable = ["none", "broken", "file\n", "\u{202e}elif"];
    for path in bad_paths() {
        if path.as_str().is_some_and(|path| writable.contains(&path)) {
            continue;
        }
        let error = bench.err("write_file", json!({"file_path": path, "content": "x"})).await;
        assert_structured(&format!("write_file {}", shown(&path)), &error);
    }
    assert_eq!(bench.bytes("file"), b"text\n");
}

#[tokio::test]
async fn a_broken_link_is_written_through_to_its_target() {
    let bench = trapped();
    bench.ok("write_file", json!({"file_path": "broken", "content": "x"})).await;
    assert_eq!(bench.bytes("nowhere"), b"x");
    assert!(fs::symlink_metadata(bench.root.join("broken")).unwrap().is_symlink());
}

#[tokio::test]
async fn every_field_of_every_tool_refuses_wrong_types() {
    let bench = trapped();
    let good = json!({
        "read_file": {"file_path": "file"},
        "read_many_files": {"include": ["file"]},
        "list_directory": {"dir_path": "."},
        "glob": {"pattern": "*"},
        "grep_search": {"pattern": "x"},
        "write_file": {"file_path": "file", "content": "text\n"},
        "replace": {"file_path": "file", "old_string": "text", "new_string": "text!"},
        "save_memory": {"fact": "x"},
        "write_todos": {"todos": []},
    });
    let mut tried = 0;
    for tool in bench.names() {
        let base = good[&tool].as_object().unwrap_or_else(|| panic!("no example for {tool}"));
        let schema = bench.tool(&tool).declaration().parameters_json_schema.clone();
        let required: Vec<&str> =
            schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        for (field, kind) in schema["properties"].as_object().unwrap() {
            for value in wrong_types().into_iter().chain([json!("text"), json!(-3)]) {
                let is_null = value.is_null() && !required.contains(&field.as_str());
                if fits(&value, kind) || is_null {
                    continue;
                }
                let mut args = base.clone();
                args.insert(field.clone(), value.clone());
                let error = bench.prepare(&tool, Value::Object(args)).await.err();
                let error = error.unwrap_or_else(|| panic!("{tool}.{field} takes {value}"));
                assert_eq!(error.kind, ToolErrorKind::InvalidArgs, "{tool}.{field} {value}: {error}");
                assert!(error.message.contains(field.as_str()), "{tool}.{field} {value}: {error}");
                tried += 1;
            }
        }
        for field in &required {
            let mut args = base.clone();
            args.remove(*field);
            let error = bench.err(&tool, Value::Object(args)).await;
            assert!(error.message.contains(&format!("the field `{field}` is missing")), "{tool}: {error}");
        }
        let mut args = base.clone();
        args.insert("x".repeat(1 << 20), json!("y".repeat(1 << 20)));
        assert_structured(&tool, &bench.err(&tool, Value::Object(args)).await);
    }
    assert!(tried > 200, "{tried}");
    assert_eq!(bench.bytes("file"), b"text\n");
}

/// True when a value is of the type a schema wants and within its bounds.
fn fits(value: &Value, schema: &Value) -> bool {
    match schema["type"].as_str() {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => {
            value.as_i64().is_some_and(|number| number >= schema["minimum"].as_i64().unwrap_or(0))
        }
        Some("array") => {
            let empty = value.as_array().is_some_and(Vec::is_empty);
            let strings = schema["items"]["type"] == "string" && value == &json!(["file"]);
            (empty && schema["minItems"].is_null()) || strings
        }
        Some("object") => value.is_object(),
        _ => true,
    }
}

#[tokio::test]
async fn huge_strings_cost_no_more_than_an_error() {
    let bench = trapped();
    let huge = "x".repeat(1 << 20);
    for (tool, args) in [
        ("glob", json!({"pattern": huge})),
        ("glob", json!({"pattern": "{".repeat(5000)})),
        ("grep_search", json!({"pattern": huge})),
        ("grep_search", json!({"pattern": "(".repeat(5000)})),
        ("grep_search", json!({"pattern": "x", "include_pattern": huge})),
        ("read_many_files", json!({"include": [huge.clone() + "*"]})),
        ("list_directory", json!({"dir_path": ".", "ignore": [huge]})),
        ("replace", json!({"file_path": "file", "old_string": huge, "new_string": "y"})),
        ("read_many_files", json!({"include": vec!["*"; 2000]})),
        ("save_memory", json!({"fact": huge})),
        ("write_todos", json!({"todos": [{"description": huge, "status": "pending"}]})),
    ] {
        assert_structured(tool, &bench.err(tool, args).await);
    }
    bench.ok("write_file", json!({"file_path": "large", "content": huge})).await;
    assert_eq!(bench.bytes("large").len(), 1 << 20);
    let too_much = "x".repeat(21_000_000);
    let error = bench.err("write_file", json!({"file_path": "larger", "content": too_much})).await;
    assert_eq!(error.kind, ToolErrorKind::TooLarge);
}

#[tokio::test]
async fn numbers_beyond_reason_are_refused_or_harmless() {
    let bench = trapped();
    let most = u64::MAX;
    bench.err("read_file", json!({"file_path": "file", "start_line": most})).await;
    bench.ok("read_file", json!({"file_path": "file", "end_line": most})).await;
    bench.ok("grep_search", json!({"pattern": "text", "context": most, "total_max_matches": most, "max_matches_per_file": most})).await;
    assert_structured(
        "float",
        &bench.err("read_file", json!({"file_path": "file", "start_line": 1e300})).await,
    );
    bench.ok("read_file", json!({"file_path": "file", "start_line": 1.0})).await;
}
