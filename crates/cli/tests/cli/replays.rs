//! `charla replay`, on sessions that the binary made itself.

use charla_testkit::{Call, Reply, Script, Step};
use serde_json::{Value, json};

use crate::place::{Place, server};

/// A place with one session in which files were read, written and refused.
fn recorded() -> Place {
    let call = |name: &str, args: Value| Step::Call(Call { name: name.to_owned(), args, ..Call::default() });
    let read = || call("read_file", json!({"file_path": "a.txt"}));
    let write = || call("write_file", json!({"file_path": "b.txt", "content": "b"}));
    let server = server(Script::new([
        Reply { steps: vec![read(), write()] },
        Reply::from("done"),
        Reply { steps: vec![write(), read(), call("nonsense", json!({}))] },
        Reply::from("done again"),
    ]));
    let place = Place::with_server(&server);
    std::fs::write(place.path().join("work/a.txt"), "first line\n").unwrap();
    let first = place.run(&["-m", "openai/gpt-test", "-p", "go"]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    let second = place.run(&["-m", "openai/gpt-test", "--approval-mode", "yolo", "--resume", "-p", "more"]);
    assert_eq!(second.code, Some(0), "{}", second.err);
    assert!(server.problems().is_empty(), "{:?}", server.problems());
    place
}

fn journal(place: &Place) -> std::path::PathBuf {
    let mut files =
        std::fs::read_dir(place.home().join("sessions")).unwrap().map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap()
}

#[test]
fn a_session_replays_offline_and_runs_no_tool() {
    let place = recorded();
    std::fs::remove_file(place.path().join("work/b.txt")).unwrap();
    let run = place.run(&["replay", "latest"]);
    assert_eq!(
        (run.code, run.out.as_str()),
        (Some(0), "2 turns, 4 requests, no difference\n"),
        "{}",
        run.err
    );
    assert!(!place.path().join("work/b.txt").exists());
    let run = place.run(&["replay", "latest", "--json"]);
    let told: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((told["turns"].as_u64(), &told["difference"]), (Some(2), &Value::Null));
}

#[test]
fn a_changed_record_is_shown_with_its_place() {
    let place = recorded();
    let path = journal(&place);
    let text = std::fs::read_to_string(&path).unwrap();
    let line = text.lines().find(|line| line.contains("needs approval")).unwrap();
    std::fs::write(&path, text.replace(line, &line.replace("needs approval", "needs a blessing"))).unwrap();
    let run = place.run(&["replay", "latest"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.out.starts_with("turn 1, step 1: the record `call_ended` has other content\n"),
        "{}",
        run.out
    );
    assert!(run.out.contains("\n- ") && run.out.contains("needs a blessing"), "{}", run.out);
    assert!(run.out.contains("\n+ ") && run.out.contains("needs approval"), "{}", run.out);
}

#[test]
fn a_session_that_is_not_there_is_an_input_error() {
    let run = Place::new().run(&["replay", "nothing"]);
    assert_eq!(run.code, Some(42));
    assert!(run.err.contains("there is no session `nothing`"), "{}", run.err);
}
