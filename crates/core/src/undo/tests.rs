use std::sync::Arc;

use charla_proto::{CallStarted, CallStatus, FunctionResponse, SessionStarted, TurnStarted};

use charla_proto::{Content, Part};

use super::*;

fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    let text = |hash: Option<&str>| hash.map(str::to_owned);
    FileChange { path: Path::new("/w").join(path), before: text(before), after: text(after) }
}

fn started(turn: u64) -> Fact {
    Fact::TurnStarted(TurnStarted {
        turn,
        prompt: Arc::new(Content::user(format!("prompt {turn}"))),
        id: String::new(),
        by: String::new(),
    })
}

fn ended(turn: u64, changes: Vec<FileChange>) -> Fact {
    Fact::CallEnded(Box::new(CallEnded {
        turn,
        call: "c".into(),
        status: CallStatus::Success,
        response: FunctionResponse::output("c", "write_file", "ok"),
        tool: None,
        display: None,
        error: None,
        whole_output: None,
        changes,
        spent: Vec::new(),
    }))
}

fn reverted(turn: u64, paths: &[&str]) -> ChangesReverted {
    let file = |path: &&str| RevertedFile { change: change(path, Some("2"), Some("1")), mode: Some(0o755) };
    ChangesReverted { turn, files: paths.iter().map(file).collect(), by: None }
}

fn records(facts: Vec<Fact>) -> Vec<Record> {
    let first = Fact::SessionStarted(Box::new(SessionStarted {
        version: 1,
        session: "s".into(),
        cwd: "/w".into(),
        model: "m".into(),
        parent: None,
        agent: None,
        imported_up_to: None,
    }));
    let facts = std::iter::once(first).chain(facts);
    facts.zip(1..).map(|(fact, seq)| Record::new(seq, 0, fact)).collect()
}

fn history(facts: Vec<Fact>) -> ChangeHistory {
    ChangeHistory::of(&records(facts))
}

#[test]
fn a_turns_change_of_a_file_is_from_its_first_before_to_its_last_after() {
    let history = history(vec![
        started(1),
        ended(1, vec![change("a", Some("1"), Some("2")), change("b", None, Some("x"))]),
        ended(1, vec![change("a", Some("2"), Some("3")), change("b", Some("x"), None)]),
    ]);
    let turn = history.turn(1).unwrap();
    assert_eq!(turn.prompt, "prompt 1");
    assert_eq!(turn.files.len(), 1, "b is gone again");
    assert_eq!(turn.files[0].change, change("a", Some("1"), Some("3")));
    assert_eq!(turn.files[0].step(Direction::Undo), change("a", Some("3"), Some("1")));
    assert!(!turn.files[0].mixed);
}

#[test]
fn a_foreign_change_during_the_turn_is_noticed() {
    let history = history(vec![
        started(1),
        ended(1, vec![change("a", Some("1"), Some("2"))]),
        ended(1, vec![change("a", Some("foreign"), Some("3"))]),
    ]);
    assert!(history.turn(1).unwrap().files[0].mixed);
}

#[test]
fn undo_goes_from_the_last_turn_to_the_first_and_redo_the_other_way() {
    let mut facts = vec![
        started(1),
        ended(1, vec![change("a", Some("0"), Some("1"))]),
        started(2),
        ended(2, vec![change("a", Some("1"), Some("2"))]),
        started(3),
    ];
    assert_eq!(history(facts.clone()).default_turn(Direction::Undo), Some(2));
    assert_eq!(history(facts.clone()).default_turn(Direction::Redo), None);
    facts.push(Fact::ChangesUndone(reverted(2, &["a"])));
    assert_eq!(history(facts.clone()).default_turn(Direction::Undo), Some(1));
    facts.push(Fact::ChangesUndone(reverted(1, &["a"])));
    assert_eq!(history(facts.clone()).default_turn(Direction::Undo), None);
    assert_eq!(history(facts.clone()).default_turn(Direction::Redo), Some(1));
    facts.push(Fact::ChangesRedone(reverted(1, &["a"])));
    assert_eq!(history(facts.clone()).default_turn(Direction::Redo), Some(2));
    assert_eq!(history(facts).default_turn(Direction::Undo), Some(1));
}

#[test]
fn a_partial_undo_leaves_the_other_files_to_undo() {
    let history = history(vec![
        started(1),
        ended(1, vec![change("a", Some("1"), Some("2")), change("b", Some("1"), Some("2"))]),
        Fact::ChangesUndone(reverted(1, &["a"])),
    ]);
    let turn = history.turn(1).unwrap();
    let paths = |direction| -> Vec<_> {
        turn.reversible(direction).map(|file| file.change.path.to_str().unwrap().to_owned()).collect()
    };
    assert_eq!(paths(Direction::Undo), ["/w/b"]);
    assert_eq!(paths(Direction::Redo), ["/w/a"]);
    assert_eq!(turn.reversible(Direction::Redo).next().unwrap().mode, Some(0o755));
}

#[test]
fn the_later_turn_that_is_in_the_way_is_named() {
    let history = history(vec![
        started(1),
        ended(1, vec![change("a", Some("0"), Some("1"))]),
        started(2),
        ended(2, vec![change("a", Some("1"), Some("2"))]),
    ]);
    assert_eq!(history.later_turn(1, Path::new("/w/a"), Some("2")), Some(2));
    assert_eq!(history.later_turn(1, Path::new("/w/a"), Some("mine")), None);
    assert_eq!(history.later_turn(2, Path::new("/w/a"), Some("2")), None);
}

#[test]
fn the_model_is_told_once_what_was_undone_and_nothing_when_it_was_redone() {
    let mut facts = vec![started(1), Fact::ChangesUndone(reverted(1, &["a", "b\n]"]))];
    let note = |facts: &[Fact]| crate::note::note_for_model(&Conversation::of(&records(facts.to_vec())));
    assert_eq!(
        note(&facts).unwrap(),
        "[Note: The user has undone the file changes of turn 1: a, b\\n]. They are again as before it.]\n\n"
    );
    facts.push(Fact::ChangesRedone(reverted(1, &["a"])));
    let told = note(&facts).unwrap();
    assert!(told.contains("turn 1: b\\n].") && !told.contains("brought back"), "{told}");
    facts.push(Fact::ChangesRedone(reverted(1, &["b\n]"])));
    assert_eq!(note(&facts), None);
    facts.push(Fact::ChangesUndone(reverted(1, &["a"])));
    facts.push(started(2));
    assert_eq!(note(&facts), None);
    facts.push(Fact::ChangesRedone(reverted(1, &["a"])));
    assert!(note(&facts).unwrap().contains("brought back the file changes of turn 1: a."));
}

#[test]
fn a_turn_is_named_by_the_users_words_not_by_the_note() {
    let mut prompt = Content::user("go on");
    prompt.parts.insert(0, Part::text("[Note: The user has undone it.]\n\n"));
    let history = history(vec![Fact::TurnStarted(TurnStarted {
        turn: 2,
        prompt: Arc::new(prompt),
        id: String::new(),
        by: String::new(),
    })]);
    assert_eq!(history.turn(2).unwrap().prompt, "go on");
}

fn begun(turn: u64, changes: Vec<FileChange>) -> Fact {
    Fact::CallStarted(CallStarted { turn, call: "c".into(), rule: None, confinement: None, changes })
}

fn cut_off(turn: u64, error: ToolErrorKind) -> Fact {
    let Fact::CallEnded(ended) = ended(turn, Vec::new()) else { unreachable!() };
    Fact::CallEnded(Box::new(CallEnded { status: CallStatus::Error, error: Some(error), ..*ended }))
}

#[test]
fn what_a_call_had_begun_when_its_process_ended_can_be_undone() {
    let planned = change("a", Some("1"), Some("2"));
    let begin = || vec![started(1), begun(1, vec![planned.clone()])];
    let killed = history(begin());
    assert_eq!(killed.turn(1).unwrap().files[0].change, planned);
    assert_eq!(killed.changes_after(0).len(), 1);
    for error in [ToolErrorKind::Interrupted, ToolErrorKind::Cancelled] {
        let resumed = history([begin(), vec![cut_off(1, error)]].concat());
        assert_eq!(resumed.turn(1).unwrap().files[0].change, planned, "{error:?}");
    }
}

#[test]
fn a_call_that_told_what_it_did_did_just_that() {
    let begin = || vec![started(1), begun(1, vec![change("a", Some("1"), Some("2"))])];
    let told = change("a", Some("1"), Some("3"));
    let done = history([begin(), vec![ended(1, vec![told.clone()])]].concat());
    assert_eq!(done.turn(1).unwrap().files[0].change, told);
    let failed = history([begin(), vec![cut_off(1, ToolErrorKind::Io)]].concat());
    assert!(failed.turn(1).unwrap().files.is_empty());
}
