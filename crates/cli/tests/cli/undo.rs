//! `charla undo` and `charla redo`, after turns that a scripted model made.

use std::fs;
use std::path::PathBuf;

use charla_testkit::{Reply, Script, Server};
use serde_json::{Value, json};

use crate::place::{Place, Run, server};

/// A workspace out of git, and a model that makes these calls, one turn for each list.
struct Work {
    place: Place,
    server: Server,
}

impl Work {
    fn new(turns: &[&[(&str, Value)]]) -> Self {
        let mut replies = Vec::new();
        for calls in turns {
            let reply =
                calls.iter().fold(Reply::new(), |reply, (name, args)| reply.call(*name, args.clone()));
            replies.extend([reply, Reply::new().text("done")]);
        }
        replies.extend([Reply::new().text("I see"), Reply::new().text("I see")]);
        let server = server(Script::new(replies));
        Self { place: Place::with_server(&server), server }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join("work").join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path(name)).ok()
    }

    /// The first turn begins a session, the others go on with it.
    fn turns(&self, count: usize) {
        for turn in 0..count {
            let resume: &[&str] = if turn == 0 { &[] } else { &["--resume"] };
            let run = self.place.run(&[&["--approval-mode", "auto_edit", "-p", "go"], resume].concat());
            assert_eq!(run.code, Some(0), "{}", run.err);
        }
    }

    fn ok(&self, arguments: &[&str]) -> Run {
        let run = self.place.run(arguments);
        assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
        run
    }

    fn refused(&self, arguments: &[&str]) -> Run {
        let run = self.place.run(arguments);
        assert_eq!(run.code, Some(1), "{}{}", run.out, run.err);
        run
    }
}

fn write(name: &str, content: &str) -> (&'static str, Value) {
    ("write_file", json!({"file_path": name, "content": content}))
}

fn replace(name: &str, old: &str, new: &str) -> (&'static str, Value) {
    ("replace", json!({"file_path": name, "instruction": "change it", "old_string": old, "new_string": new}))
}

#[test]
fn a_created_file_goes_away_and_comes_back() {
    let work = Work::new(&[&[write("made/hello.txt", "hello\n")]]);
    work.turns(1);
    assert_eq!(work.read("made/hello.txt").unwrap(), b"hello\n");
    let run = work.ok(&["undo", "--dry-run"]);
    assert_eq!(run.out, "removed       made/hello.txt\n");
    assert!(run.err.starts_with("would undo turn 1 of the session "), "{}", run.err);
    assert!(work.read("made/hello.txt").is_some(), "a dry run does nothing");
    let run = work.ok(&["undo"]);
    assert_eq!(run.out, "removed       made/hello.txt\n");
    assert!(run.err.contains("undid turn 1") && run.err.contains("charla redo"), "{}", run.err);
    assert!(work.read("made/hello.txt").is_none());
    assert!(work.refused(&["undo"]).err.contains("there is nothing to undo"));
    assert!(work.refused(&["undo", "1"]).err.contains("turn 1 is undone already"));
    assert_eq!(work.ok(&["redo"]).out, "brought back  made/hello.txt\n");
    assert_eq!(work.read("made/hello.txt").unwrap(), b"hello\n");
    assert!(work.refused(&["redo"]).err.contains("there is nothing to redo"));
    work.ok(&["undo"]);
    assert!(work.read("made/hello.txt").is_none());
}

#[test]
fn every_byte_comes_back_in_order_of_turns() {
    let work = Work::new(&[
        &[replace("crlf.txt", "two", "zwei"), replace("crlf.txt", "one", "eins")],
        &[replace("latin.txt", "plain", "changed"), replace("crlf.txt", "zwei", "deux")],
    ]);
    let crlf = b"\xef\xbb\xbfone\r\ntwo\r\nno end";
    let latin = b"caf\xe9 plain\r\n";
    work.write("crlf.txt", crlf);
    work.write("latin.txt", latin);
    work.turns(2);
    assert_eq!(work.read("crlf.txt").unwrap(), b"\xef\xbb\xbfeins\r\ndeux\r\nno end");
    let changed = work.read("latin.txt").unwrap();
    assert_ne!(changed, latin);

    let run = work.refused(&["undo", "1"]);
    assert!(run.err.contains("crlf.txt was changed again by turn 2"), "{}", run.err);
    assert!(run.err.contains("undo turn 2 first"), "{}", run.err);

    assert_eq!(work.ok(&["undo"]).out, "restored      latin.txt\nrestored      crlf.txt\n");
    assert_eq!(work.read("latin.txt").unwrap(), latin);
    assert_eq!(work.read("crlf.txt").unwrap(), b"\xef\xbb\xbfeins\r\nzwei\r\nno end");
    work.ok(&["undo"]);
    assert_eq!(work.read("crlf.txt").unwrap(), crlf);
    work.ok(&["redo"]);
    work.ok(&["redo"]);
    assert_eq!(work.read("latin.txt").unwrap(), changed);
    assert_eq!(work.read("crlf.txt").unwrap(), b"\xef\xbb\xbfeins\r\ndeux\r\nno end");
}

#[test]
fn a_file_the_user_edited_stops_it_all_and_the_others_can_go_alone() {
    let work = Work::new(&[&[write("mine.txt", "one\ntwo\n"), write("free file.txt", "x\n")]]);
    work.write("mine.txt", "one\n");
    work.turns(1);
    work.write("mine.txt", "one\ntwo\nmine\n");
    let run = work.refused(&["undo"]);
    assert!(run.out.contains("+mine\n") && !run.out.contains("-two"), "{}", run.out);
    assert!(run.err.contains("nothing was changed: mine.txt was changed since"), "{}", run.err);
    assert!(run.err.contains("charla undo 1 --only 'free file.txt'"), "{}", run.err);
    assert_eq!(work.read("mine.txt").unwrap(), b"one\ntwo\nmine\n");
    assert_eq!(work.read("free file.txt").unwrap(), b"x\n");

    assert_eq!(work.ok(&["undo", "1", "--only", "free file.txt"]).out, "removed       free file.txt\n");
    assert!(work.read("free file.txt").is_none());
    let run = work.place.run(&["undo", "1", "--only", "other.txt"]);
    assert_eq!(run.code, Some(42));
    assert!(run.err.contains("they are: mine.txt"), "{}", run.err);
    work.write("mine.txt", "one\ntwo\n");
    assert_eq!(work.ok(&["undo"]).out, "restored      mine.txt\n");
    assert_eq!(work.read("mine.txt").unwrap(), b"one\n");
}

#[test]
fn a_file_the_user_put_back_by_hand_is_no_conflict() {
    let work = Work::new(&[&[write("a.txt", "new"), write("b.txt", "new")]]);
    work.write("a.txt", "old");
    work.turns(1);
    work.write("a.txt", "old");
    assert_eq!(work.ok(&["undo"]).out, "already done  a.txt\nremoved       b.txt\n");
    assert_eq!(work.ok(&["redo"]).out, "restored      a.txt\nbrought back  b.txt\n");
    assert_eq!(work.read("a.txt").unwrap(), b"new");
}

#[test]
fn the_model_is_told_of_the_undo_with_the_next_prompt_only() {
    let work = Work::new(&[&[write("hello.txt", "hello\n")]]);
    work.turns(1);
    work.ok(&["undo"]);
    for _ in 0..2 {
        work.ok(&["--resume", "-p", "and now?"]);
    }
    let requests = work.server.requests();
    let told: Vec<usize> = requests
        .iter()
        .map(|request| {
            let body = request.body.to_string();
            body.matches("The user has undone the file changes of turn 1: hello.txt").count()
        })
        .collect();
    assert_eq!(told, [0, 0, 1, 1], "told once, and then part of the history");
    assert!(work.server.problems().is_empty(), "{:?}", work.server.problems());
}

#[test]
fn a_session_in_use_is_left_alone() {
    let work = Work::new(&[&[write("hello.txt", "hello\n")]]);
    work.turns(1);
    let sessions = work.place.home().join("sessions");
    let entries = fs::read_dir(sessions).unwrap().map(|entry| entry.unwrap().path());
    let journal = entries.into_iter().find(|path| path.extension().is_some_and(|e| e == "jsonl")).unwrap();
    let held = fs::File::options().append(true).open(journal).unwrap();
    held.lock().unwrap();
    let run = work.place.run(&["undo"]);
    assert_eq!(run.code, Some(42), "{}", run.err);
    assert!(run.err.contains("is in use by another process"), "{}", run.err);
    assert!(work.read("hello.txt").is_some());
    work.ok(&["undo", "--dry-run"]);
}

#[test]
fn a_session_without_changes_points_to_the_one_that_has_some() {
    let work = Work::new(&[&[write("hello.txt", "hello\n")]]);
    work.turns(1);
    work.ok(&["-p", "just a question"]);
    let run = work.refused(&["undo"]);
    assert!(run.err.contains("hint: an earlier session has: charla undo --session "), "{}", run.err);
    let id = run.err.trim_end().rsplit(' ').next().unwrap();
    work.ok(&["undo", "--session", id]);
    assert!(work.read("hello.txt").is_none());
    let run = work.place.run(&["undo", "7", "--session", id]);
    assert_eq!(run.code, Some(42), "{}", run.err);
    assert!(run.err.contains("has no turn 7"), "{}", run.err);
}

#[cfg(unix)]
#[test]
fn a_folder_that_became_a_link_leads_nowhere() {
    let work = Work::new(&[&[write("inner/a.txt", "new\n")]]);
    work.turns(1);
    let outside = work.place.path().join("outside");
    fs::rename(work.path("inner"), &outside).unwrap();
    std::os::unix::fs::symlink(&outside, work.path("inner")).unwrap();
    let run = work.refused(&["undo"]);
    assert!(run.err.contains("inner/a.txt cannot be reached: ~/work/inner is a link now"), "{}", run.err);
    assert_eq!(fs::read(outside.join("a.txt")).unwrap(), b"new\n");
}

#[cfg(unix)]
#[test]
fn permissions_given_meanwhile_survive_undo_and_redo() {
    use std::os::unix::fs::PermissionsExt;
    let work = Work::new(&[&[write("run.sh", "echo\n"), write("old.sh", "new\n")]]);
    work.write("old.sh", "old\n");
    work.turns(1);
    let set = |name: &str| fs::set_permissions(work.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    let mode = |name: &str| fs::metadata(work.path(name)).unwrap().permissions().mode() & 0o777;
    set("run.sh");
    set("old.sh");
    work.ok(&["undo"]);
    assert_eq!(mode("old.sh"), 0o755);
    work.ok(&["redo"]);
    assert_eq!((mode("run.sh"), mode("old.sh")), (0o755, 0o755));
}

/// As if the process had been killed after the file got its new content and before that was recorded.
fn forget_after_call_started(work: &Work) {
    let (id, text) = work.place.journals().remove(0);
    let kept: Vec<&str> = text.lines().collect();
    let end = kept.iter().position(|line| line.contains("\"kind\":\"call_started\"")).unwrap();
    let path = work.place.home().join("sessions").join(format!("{id}.jsonl"));
    fs::write(path, format!("{}\n", kept[..=end].join("\n"))).unwrap();
}

#[test]
fn a_change_that_was_made_and_not_recorded_before_a_kill_is_undone() {
    let work = Work::new(&[&[write("a.txt", "new\n")]]);
    work.write("a.txt", "old\n");
    work.turns(1);
    forget_after_call_started(&work);
    assert_eq!(work.ok(&["undo"]).out, "restored      a.txt\n");
    assert_eq!(work.read("a.txt").unwrap(), b"old\n");
    work.ok(&["redo"]);
    assert_eq!(work.read("a.txt").unwrap(), b"new\n");
}

#[test]
fn a_change_that_was_not_made_before_a_kill_leaves_nothing_to_undo() {
    let work = Work::new(&[&[write("a.txt", "new\n")]]);
    work.write("a.txt", "old\n");
    work.turns(1);
    forget_after_call_started(&work);
    work.write("a.txt", "old\n");
    assert_eq!(work.ok(&["undo"]).out, "already done  a.txt\n");
    assert_eq!(work.read("a.txt").unwrap(), b"old\n");
}
