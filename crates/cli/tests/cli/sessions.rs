//! Earlier sessions: listed, read, exported, removed; and what leaves no session at all.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use charla_testkit::{Reply, Script, Usage};
use serde_json::{Value, json};

use crate::elsewhere;
use crate::place::{Place, Run, server};
use crate::terminal::Terminal;

const MODEL: [&str; 2] = ["-m", "gemini-2.5-flash"];

fn ok(place: &Place, arguments: &[&str]) -> Run {
    let run = place.run(arguments);
    assert_eq!(run.code, Some(0), "{arguments:?}: {}{}", run.out, run.err);
    run
}

fn refused(place: &Place, arguments: &[&str], code: i32) -> String {
    let run = place.run(arguments);
    assert_eq!(run.code, Some(code), "{arguments:?}: {}{}", run.out, run.err);
    run.err
}

fn write(name: &str, content: &str) -> Reply {
    Reply::new().call("write_file", json!({"file_path": name, "content": content}))
}

fn paid(words: &str) -> Reply {
    let usage = Usage { prompt: 100_000, output: 10_000, ..Usage::default() };
    Reply::new().text(words).usage(usage)
}

fn blobs(place: &Place) -> Vec<PathBuf> {
    let shelves = fs::read_dir(place.home().join("sessions/blobs")).into_iter().flatten();
    let shelves = shelves.map(|shelf| shelf.unwrap().path());
    shelves.flat_map(|shelf| fs::read_dir(shelf).unwrap().map(|blob| blob.unwrap().path())).collect()
}

#[test]
fn a_run_that_fails_at_its_start_leaves_no_session_and_latest_is_the_real_one() {
    let server = server(Script::always(Reply::new().text("ok")));
    let place = Place::with_server(&server).file("bad.toml", "not a rule");
    ok(&place, &[&MODEL[..], &["-p", "my real conversation"]].concat());
    for (arguments, code) in [
        (&["--include-directories", "/nope", "-p", "hi"][..], 42),
        (&["--policy", "/nope", "-p", "hi"], 52),
        (&["--policy", "bad.toml", "-p", "hi"], 52),
        (&["--allowed-tools", "run_shell_command(", "-p", "hi"], 42),
        (&["--system-prompt", "/nope", "-p", "hi"], 42),
        (&["-p", "/compress"], 42),
    ] {
        refused(&place, &[&MODEL[..], arguments].concat(), code);
        assert_eq!(place.journals().len(), 1, "{arguments:?}");
    }
    ok(&place, &["--resume", "-p", "and go on"]);
    let sent = server.requests().last().unwrap().body.to_string();
    assert!(sent.contains("my real conversation"), "{sent}");
}

#[test]
fn a_session_that_no_model_answered_is_kept_and_not_the_latest() {
    let server = server(Script::always(Reply::new().text("ok")));
    // Nothing listens there: the listener is gone.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = json!({"providers": {"ollama": {"baseUrl": format!("http://127.0.0.1:{port}/v1")}}});
    let unreachable = &["-m", "ollama/none", "-p", "lost words"];
    let place = Place::with_server(&server).settings(&settings.to_string());
    ok(&place, &[&MODEL[..], &["-p", "my real conversation"]].concat());
    assert_ne!(place.run(unreachable).code, Some(0));
    assert_eq!(place.journals().len(), 2);
    assert!(ok(&place, &["sessions"]).out.contains("lost words"));
    let run = ok(&place, &["--resume", "-p", "and go on"]);
    let sent = server.requests().last().unwrap().body.to_string();
    assert!(sent.contains("my real conversation"), "{sent}");
    assert!(run.err.contains("no model answered in the latest session"), "{}", run.err);
    // With nothing else, it is the latest.
    let other = Place::with_server(&server).settings(&settings.to_string());
    assert_ne!(other.run(unreachable).code, Some(0));
    ok(&other, &[&["--resume"], &MODEL[..], &["-p", "again"]].concat());
    let sent = server.requests().last().unwrap().body.to_string();
    assert!(sent.contains("lost words"), "{sent}");
}

#[test]
fn a_session_is_listed_shown_and_exported_with_what_it_cost() {
    let server = server(Script::new([write("a.txt", "alpha\n"), paid("Wrote it."), "Again.".into()]));
    let place = Place::with_server(&server);
    ok(&place, &[&MODEL[..], &["--approval-mode", "auto_edit", "-p", "Write a file"]].concat());
    ok(&place, &["--fork", "latest", "-p", "And now"]);
    let list = ok(&place, &["sessions"]).out;
    assert_eq!(list.lines().count(), 2, "{list}");
    assert!(list.lines().all(|line| line.contains('*') && line.contains("Write a file")), "{list}");
    assert_eq!(list.matches("(fork)").count(), 1, "{list}");
    assert_eq!(ok(&place, &["--list-sessions"]).out, list);
    let rows: Value = serde_json::from_str(&ok(&place, &["sessions", "list", "-o", "json"]).out).unwrap();
    let first = &rows[1];
    assert_eq!(first["title"], "Write a file");
    assert_eq!(first["model"], "gemini/gemini-2.5-flash");
    // 100,000 tokens in for $0.03 and 10,000 out for $0.025, and the figures of the call before.
    let cost = first["spent"]["costUsd"].as_f64().unwrap();
    assert!((0.055..0.056).contains(&cost), "{cost}");
    assert!(rows[0]["forkedFrom"][0] == first["session"], "{rows}");
    let id = first["session"].as_str().unwrap();
    let shown = ok(&place, &["sessions", "show", id]).out;
    for expected in [
        "title        Write a file",
        "turn 1 (",
        "you    Write a file",
        "write_file {",
        "files: a.txt",
        "$0.055",
    ] {
        assert!(shown.contains(expected), "{expected} is missing:\n{shown}");
    }
    let markdown = ok(&place, &["sessions", "export", id]).out;
    assert!(
        markdown.starts_with("# Write a file\n") && markdown.contains("**Model:**\n\nWrote it.\n"),
        "{markdown}"
    );
    let export: Value =
        serde_json::from_str(&ok(&place, &["sessions", "export", id, "--format", "json"]).out).unwrap();
    assert_eq!(export["records"][0]["kind"], "session_started");
    let page = ok(&place, &["sessions", "export", id, "--format", "html"]).out;
    assert!(page.starts_with("<!doctype html>") && page.contains("<p>Wrote it.</p>"), "{page}");
}

#[test]
fn sessions_are_shown_and_deleted_by_number_and_by_an_id_of_digits() {
    let server = server(Script::new(["Hello.", "Hello again."]));
    let place = Place::with_server(&server);
    ok(&place, &[&MODEL[..], &["-p", "go"]].concat());
    let (id, journal) = place.journals().pop().unwrap();
    let other = "11112222-old";
    let path = place.home().join(format!("sessions/{other}.jsonl"));
    std::fs::write(path, journal.replace(&id, other)).unwrap();
    for (which, meant) in [("1", id.as_str()), ("2", other), ("1111", other)] {
        let shown = ok(&place, &["sessions", "show", which, "-o", "json"]).out;
        assert!(shown.contains(meant), "{which}: {shown}");
        let exported = ok(&place, &["sessions", "export", which]).out;
        assert!(exported.contains(&format!("- session `{meant}`")), "{which}: {exported}");
        let listed = ok(&place, &["rewind", "--session", which]);
        assert!(listed.out.contains("Hello."), "{which}: {} {}", listed.out, listed.err);
    }
    assert_eq!(ok(&place, &["--resume", "1111", "-p", "go on"]).out, "Hello again.\n");
    ok(&place, &["sessions", "delete", "1", "2"]);
    assert!(place.journals().is_empty());
}

#[test]
fn a_deleted_session_takes_its_contents_along() {
    let server = server(Script::new([write("a.txt", "secret zero\n"), "Done.".into()]));
    let place = Place::with_server(&server);
    ok(&place, &[&MODEL[..], &["--approval-mode", "auto_edit", "-p", "go"]].concat());
    assert!(!blobs(&place).is_empty());
    ok(&place, &["--delete-session", "latest"]);
    assert!(blobs(&place).is_empty());
    assert!(place.journals().is_empty());
}

#[test]
fn old_sessions_are_pruned_and_a_dry_run_only_tells() {
    let server = server(Script::always(Reply::new().text("ok")));
    let place = Place::with_server(&server);
    for words in ["one", "two", "three"] {
        ok(&place, &[&MODEL[..], &["-p", words]].concat());
    }
    for (id, text) in place.journals() {
        if !text.contains("three") {
            let path = place.home().join(format!("sessions/{id}.jsonl"));
            let file = fs::File::options().append(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(40 * 86_400)).unwrap();
        }
    }
    let run = ok(&place, &["sessions", "prune", "--keep", "2", "--dry-run"]);
    assert_eq!(run.out.lines().count(), 1, "{}", run.out);
    assert!(run.err.starts_with("would delete 1 sessions"), "{}", run.err);
    assert_eq!(place.journals().len(), 3);
    ok(&place, &["sessions", "prune"]);
    assert_eq!(place.journals().len(), 1);
    assert_eq!(ok(&place, &["sessions", "prune"]).out, "");
    assert!(refused(&place, &["sessions", "prune", "--older-than", "soon"], 42).contains("30d"));
}

#[test]
fn what_cannot_be_read_is_told_and_can_be_deleted() {
    let place = Place::new();
    fs::create_dir_all(place.home().join("sessions")).unwrap();
    fs::write(place.home().join("sessions/broken.jsonl"), "").unwrap();
    let run = ok(&place, &["sessions"]);
    assert!(run.err.contains("`charla sessions delete broken` removes it"), "{}", run.err);
    ok(&place, &["sessions", "delete", "broken"]);
    assert_eq!(ok(&place, &["sessions"]).err, "there are no sessions yet\n");
}

#[test]
fn a_subfolder_goes_on_with_the_projects_session_and_says_so() {
    let server = server(Script::always(Reply::new().text("ok")));
    let place = Place::with_server(&server);
    fs::create_dir_all(place.work().join(".git")).unwrap();
    fs::create_dir_all(place.work().join("deep/er")).unwrap();
    ok(&place, &[&MODEL[..], &["-p", "from above"]].concat());
    let run = ok(&place, &["-C", "deep/er", "--resume", "-p", "on"]);
    assert!(
        run.err.contains("began in ~/work; its tools work in this folder now: ~/work/deep/er"),
        "{}",
        run.err
    );
    assert!(server.requests()[1].body.to_string().contains("from above"));
    // Another project is another matter.
    fs::create_dir_all(place.work().join("other/.git")).unwrap();
    assert!(
        refused(&place, &["-C", "other", "--resume", "-p", "on"], 42).contains("no session of this folder")
    );
    assert!(refused(&place, &["-C", "nowhere", "-p", "on"], 42).contains("cannot work in nowhere"));
}

#[test]
fn what_is_asked_of_sessions_that_are_not_there_gets_a_way_out() {
    let server = server(Script::always(Reply::new().text("ok")));
    let place = Place::with_server(&server);
    ok(&place, &[&MODEL[..], &["-p", "hello"]].concat());
    for (arguments, code, hint) in [
        (&["--resume", "", "-p", "x"][..], 42, "--resume alone goes on"),
        (&["--resume", "and now", "-p", "x"], 42, "the prompt goes behind -p"),
        (&["--resume", "ffffffff", "-p", "x"], 42, "`charla sessions` lists them all"),
        (&["rewind", "999"], 42, "`charla rewind` lists the messages"),
        (&["undo", "9"], 42, "`charla sessions show` lists the turns"),
        (&["--fork", "latest", "--at", "999", "-p", "x"], 42, "`charla rewind` lists the messages"),
    ] {
        let told = refused(&place, arguments, code);
        assert!(told.contains(hint), "{arguments:?}: {told}");
    }
    ok(&place, &["replay"]);
}

#[test]
fn a_question_of_the_model_is_listed_with_its_options_and_no_ends_its_turn() {
    let ask = json!({"questions": [{
        "question": "Which colour shall it have?", "header": "Colour", "type": "choice",
        "options": [{"label": "red", "description": "like blood"}, {"label": "blue", "description": "like the sea"}],
    }]});
    let replies = [Reply::new().call("ask_user", ask), write("a.txt", "x")];
    let server = server(Script::new(replies));
    let place = elsewhere::place(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test", "-p", "go"]);
    terminal.wait_for("Which colour shall it have?");
    let listed = ok(&place, &["approvals"]).out;
    for expected in ["ask_user", "(in ~/work)", "Which colour shall it have?", "- red: like blood", "- blue"]
    {
        assert!(listed.contains(expected), "{expected} is missing:\n{listed}");
    }
    let id = listed.split_whitespace().next().unwrap();
    let run = elsewhere::answer(&place, id, &["no"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("its turn ends here") && !run.err.contains("goes on"), "{}", run.err);
    assert_eq!(terminal.finish().0, Some(130));
}

#[test]
fn a_file_that_the_user_removed_comes_back_by_undo() {
    let server = server(Script::new([write("a.txt", "new\n"), "Done.".into()]));
    let place = Place::with_server(&server).file("a.txt", "old\n");
    ok(&place, &[&MODEL[..], &["--approval-mode", "auto_edit", "-p", "go"]].concat());
    fs::remove_file(place.work().join("a.txt")).unwrap();
    assert_eq!(ok(&place, &["undo"]).out, "brought back  a.txt\n");
    assert_eq!(place.read("a.txt").as_deref(), Some("old\n"));
}
