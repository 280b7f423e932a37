//! Files through the editor: what is not saved is read, changes are the editor's, and rules hold as ever.

use charla_testkit::{Reply, Script};
use serde_json::json;

use crate::editor::{edit, new, place, prompt};
use crate::place::server;

fn files() -> serde_json::Value {
    json!({"fs": {"readTextFile": true, "writeTextFile": true}})
}

#[test]
fn a_change_is_shown_as_one_and_made_by_us_where_the_editor_makes_none() {
    let replace = json!({"file_path": "a.txt", "old_string": "two", "new_string": "zwei"});
    let model = server(Script::new([Reply::new().call("replace", replace), "Done.".into()]));
    let place = place(&model).file("a.txt", "one\ntwo\n");
    let seen = edit(&place, &json!({"answers": ["proceed_once"], "steps": [new(&place), prompt("go")]}));
    assert_eq!(place.read("a.txt").unwrap(), "one\nzwei\n", "{seen:#?}");
    let path = place.work().canonicalize().unwrap().join("a.txt");
    let diff = json!({"type": "diff", "path": path, "oldText": "one\ntwo\n", "newText": "one\nzwei\n"});
    assert_eq!(seen.list("asked")[0]["toolCall"]["content"][0], diff, "{seen:#?}");
    let call = seen.call();
    assert_eq!(
        (&call["content"][0], &call["kind"], &call["status"]),
        (&diff, &json!("edit"), &json!("completed"))
    );
    assert_eq!(call["locations"][0]["path"], json!(path), "{call}");
    assert!(seen.list("writes").is_empty());
}

#[test]
fn what_runs_unasked_shows_its_changes_too() {
    let write = json!({"file_path": "a.txt", "content": "one\nzwei\n"});
    let model = server(Script::new([Reply::new().call("write_file", write), "Done.".into()]));
    let place = place(&model).file("a.txt", "one\ntwo\n");
    let mode =
        json!({"method": "session/set_mode", "params": {"sessionId": "$session", "modeId": "auto_edit"}});
    let seen = edit(&place, &json!({"steps": [new(&place), mode, prompt("go")]}));
    assert!(seen.list("asked").is_empty(), "{seen:#?}");
    let diff = &seen.call()["content"][0];
    assert_eq!((&diff["type"], &diff["newText"]), (&json!("diff"), &json!("one\nzwei\n")), "{seen:#?}");
}

#[test]
fn unsaved_text_is_read_and_the_editor_makes_the_change() {
    let replace = json!({"file_path": "a.txt", "old_string": "unsaved", "new_string": "changed"});
    let read = Reply::new().call("read_file", json!({"file_path": "a.txt"}));
    let model = server(Script::new([read, Reply::new().call("replace", replace), "Done.".into()]));
    let place = place(&model).file("a.txt", "one\r\nsaved\r\n");
    let path = place.work().canonicalize().unwrap().join("a.txt");
    // Editors have their own line ends.
    let buffers = json!({path.to_str().unwrap(): "one\nunsaved\n"});
    let steps = [new(&place), prompt("go"), prompt("/undo")];
    let plan =
        json!({"capabilities": files(), "buffers": buffers, "answers": ["proceed_once"], "steps": steps});
    let seen = edit(&place, &plan);
    assert!(model.requests()[1].body.to_string().contains("unsaved"), "{seen:#?}");
    assert_eq!(seen.list("writes").len(), 1, "{seen:#?}");
    assert_eq!(seen.list("writes")[0]["content"], "one\r\nchanged\r\n");
    let diff = &seen.list("asked")[0]["toolCall"]["content"][0];
    assert_eq!(diff["oldText"], "one\r\nunsaved\r\n", "{seen:#?}");
    // What was not saved comes back, too.
    assert_eq!(place.read("a.txt").unwrap(), "one\r\nunsaved\r\n", "{seen:#?}");
}

#[test]
fn rules_and_paths_are_judged_before_the_editor_is_asked() {
    let outside = tempfile::tempdir().unwrap();
    let elsewhere = outside.path().canonicalize().unwrap().join("made.txt");
    let write = |path: &str| Reply::new().call("write_file", json!({"file_path": path, "content": "x"}));
    let replies = [write("denied.txt"), write(elsewhere.to_str().unwrap()), "Done.".into()];
    let model = server(Script::new(replies));
    let place = place(&model);
    std::fs::create_dir_all(place.home().join("policies")).unwrap();
    let rule = "[[rule]]\ntoolName = \"write_file\"\nargsPattern = \"denied\"\ndecision = \"deny\"\npriority = 500\n";
    std::fs::write(place.home().join("policies/mine.toml"), rule).unwrap();
    let steps = [new(&place), prompt("go")];
    let plan = json!({"capabilities": files(), "answers": ["reject"], "steps": steps});
    let seen = edit(&place, &plan);
    assert!(seen.list("writes").is_empty(), "{seen:#?}");
    assert_eq!(seen.list("asked").len(), 1, "{seen:#?}");
    assert_eq!(seen.list("asked")[0]["toolCall"]["rawInput"]["file_path"], json!(elsewhere), "{seen:#?}");
    assert!(!elsewhere.exists() && place.read("denied.txt").is_none());
}
