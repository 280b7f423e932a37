//! A turn survives its process.

use super::*;

/// The texts of the responses in the last request.
fn results(world: &World) -> Vec<String> {
    let requests = world.requests.lock().unwrap();
    let contents = &requests.last().unwrap().contents;
    let responses = contents.iter().flat_map(|content| content.function_responses());
    responses.map(|response| response.to_text()).collect()
}

fn answers(world: &World) -> Vec<(String, bool)> {
    let journal = world.journal.lock().unwrap();
    let answers = journal.iter().filter_map(|record| match &record.fact {
        Fact::ApprovalAnswered(answered) => Some((answered.by.clone(), answered.outcome.allows())),
        _ => None,
    });
    answers.collect()
}

#[tokio::test(start_paused = true)]
async fn an_open_question_still_waits_in_the_next_process_and_can_be_answered_there() {
    let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)])], true);
    run.prompt("go").await;
    let approval = run.asked().await;
    let mut again = Run::resume(run.world.clone(), true);
    let (snapshot, _) = again.session.snapshot().await.unwrap();
    assert_eq!(snapshot.phase, Phase::Open);
    let waiting: Vec<_> = snapshot.questions().map(|asked| asked.approval.clone()).collect();
    assert_eq!(waiting, std::slice::from_ref(&approval));
    assert_eq!(again.send(Command::Continue).await, Reply::Done);
    settle().await;
    assert!(again.world.ran.lock().unwrap().is_empty());
    again.session.answer(&approval, Outcome::ProceedOnce, "me").await.unwrap();
    assert_eq!(again.end().await, TurnEnd::Finished);
    assert_eq!(results(&again.world), ["result 1"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_given_while_nothing_runs_takes_effect_when_the_turn_goes_on() {
    let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)])], true);
    run.prompt("go").await;
    let approval = run.asked().await;
    let other = Run::resume(run.world.clone(), false);
    other.session.answer(&approval, Outcome::ProceedOnce, "another process").await.unwrap();
    settle().await;
    assert!(other.world.ran.lock().unwrap().is_empty(), "it is recorded, not acted on");
    let mut again = Run::resume(other.world.clone(), false);
    again.send(Command::Continue).await;
    assert_eq!(again.end().await, TurnEnd::Finished);
    assert_eq!(*again.world.ran.lock().unwrap(), ["write 1"]);
    let late = again.session.answer(&approval, Outcome::ProceedOnce, "too late").await;
    let by = "another process".to_owned();
    assert_eq!(late, Err(Refusal::Late { outcome: Outcome::ProceedOnce, by }));
}

#[tokio::test(start_paused = true)]
async fn with_nobody_there_open_questions_are_refused_when_the_turn_goes_on() {
    let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)])], true);
    run.prompt("go").await;
    run.asked().await;
    let mut again = Run::resume(run.world.clone(), false);
    again.prompt("well?").await;
    assert_eq!(again.end().await, TurnEnd::Finished);
    assert_eq!(answers(&again.world), [(NOBODY.to_owned(), false)]);
    assert_eq!(again.errors(), [ToolErrorKind::NobodyToAsk]);
    let requests = again.world.requests.lock().unwrap();
    let last = requests.last().unwrap();
    assert_paired(last);
    assert_eq!(last.contents.last().unwrap().parts.last().unwrap().as_text(), Some("well?"));
}

#[tokio::test(start_paused = true)]
async fn the_model_is_told_whether_a_call_was_never_approved_not_begun_or_running() {
    let calls = vec![("hang", 1), ("write", 2), ("write", 3)];
    let mut run = Run::new(vec![Answer::Calls(calls)], true);
    run.prompt("go").await;
    let (first, second, _third) = (run.asked().await, run.asked().await, run.asked().await);
    for approval in [first, second] {
        run.session.answer(&approval, Outcome::ProceedOnce, "me").await.unwrap();
    }
    settle().await;
    let mut again = Run::resume(run.world.clone(), true);
    again.cancel().await;
    assert_eq!(again.end().await, TurnEnd::Cancelled);
    let kinds = [ToolErrorKind::Interrupted, ToolErrorKind::Cancelled, ToolErrorKind::NotApproved];
    assert_eq!(again.errors(), kinds);
    again.prompt("and?").await;
    assert_eq!(again.end().await, TurnEnd::Finished);
    let told = results(&again.world);
    assert!(told[0].contains("was running when the program ended"), "{told:?}");
    assert!(told[1].contains("approved, but the turn was cancelled before it began"), "{told:?}");
    assert!(told[2].contains("before anybody had approved it"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_cut_is_asked_for_again() {
    let run = Run::new(vec![Answer::Hangs, Answer::Text("whole")], true);
    run.prompt("go").await;
    settle().await;
    let mut again = Run::resume(run.world.clone(), true);
    again.send(Command::Continue).await;
    assert_eq!(again.end().await, TurnEnd::Finished);
    let requests = again.world.requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].contents, requests[1].contents);
}

#[tokio::test(start_paused = true)]
async fn an_approval_holds_only_for_what_was_shown() {
    let mut run = Run::new(vec![Answer::Calls(vec![("drift", 1)])], true);
    run.prompt("go").await;
    let first = run.asked().await;
    run.session.answer(&first, Outcome::ProceedOnce, "me").await.unwrap();
    // As if the process had died right after the answer.
    let world = run.world.clone();
    world.journal.lock().unwrap().truncate(5);
    world.ran.lock().unwrap().clear();
    *world.drift.lock().unwrap() += 1;
    let mut again = Run::resume(world.clone(), true);
    again.send(Command::Continue).await;
    let second = again.asked().await;
    assert_ne!(first, second);
    assert!(world.ran.lock().unwrap().is_empty());
    again.session.answer(&second, Outcome::ProceedOnce, "me").await.unwrap();
    assert_eq!(again.end().await, TurnEnd::Finished);
    assert_eq!(world.ran.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn always_holds_in_the_next_process() {
    let step = || Answer::Calls(vec![("write", 1)]);
    let mut run = Run::new(vec![step()], true);
    run.prompt("go").await;
    let approval = run.asked().await;
    run.session.answer(&approval, Outcome::ProceedAlways, "me").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Finished);
    let mut again = Run::resume(run.world.clone(), false);
    *again.world.replies.lock().unwrap() = vec![step(), Answer::Calls(vec![("write", 2)])];
    again.prompt("again").await;
    assert_eq!(again.end().await, TurnEnd::Finished);
    assert_eq!(*again.world.ran.lock().unwrap(), ["write 1", "write 1"]);
    assert_eq!(again.errors(), [ToolErrorKind::NobodyToAsk]);
}

#[tokio::test(start_paused = true)]
async fn there_is_nothing_to_go_on_with_when_no_turn_is_open() {
    let run = Run::new(vec![], true);
    let reply = run.send(Command::Continue).await;
    assert!(matches!(reply, Reply::Refused(Refusal::Nothing { .. })), "{reply:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_nobody_can_answer_any_more_leaves_its_turn_open() {
    let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)])], true);
    run.prompt("go").await;
    run.asked().await;
    let world = run.world.clone();
    let Run { session, events, _client, .. } = run;
    drop(session);
    let mut events = events;
    while events.recv().await.is_some() {}
    drop(_client);
    let conversation = Conversation::of(&*world.journal.lock().unwrap());
    assert_eq!(conversation.open_approvals().count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_model_is_told_once_what_was_undone_while_its_turn_was_open() {
    let calls = |calls: &[(&'static str, u32)]| Answer::Calls(calls.to_vec());
    let replies =
        vec![calls(&[("change", 1)]), Answer::Text("ok"), calls(&[("write", 1)]), calls(&[("read", 2)])];
    let mut run = Run::new(replies, true);
    run.mode(ApprovalMode::Yolo).await;
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    run.mode(ApprovalMode::Default).await;
    run.prompt("go on").await;
    let approval = run.asked().await;
    let mut next = Run::resume(run.world.clone(), true);
    let reply = next.send(Command::Undo(charla_proto::RevertSelection::default())).await;
    assert!(matches!(reply, Reply::Reverted { turn: 1, .. }), "{reply:?}");
    next.send(Command::Continue).await;
    next.session.answer(&approval, Outcome::ProceedOnce, "me").await.unwrap();
    assert_eq!(next.end().await, TurnEnd::Finished);
    let requests = next.world.requests.lock().unwrap();
    let told = requests.last().unwrap().contents.iter().map(|content| content.text());
    let told = told.filter(|text| text.contains("has undone the file changes of turn 1"));
    assert_eq!(told.map(|text| text.matches("has undone").count()).collect::<Vec<_>>(), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_was_only_recorded_holds_when_the_turn_goes_on_or_is_cancelled() {
    for (goes_on, by) in [(true, "bob"), (false, "me")] {
        let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)])], true);
        run.prompt("go").await;
        let approval = run.asked().await;
        let mut next = Run::resume(run.world.clone(), true);
        next.session.answer(&approval, Outcome::Cancel { reason: None }, "bob").await.unwrap();
        match goes_on {
            true => drop(next.send(Command::Continue).await),
            false => next.cancel().await,
        }
        let ended = next.until(|fact| matches!(fact, Fact::TurnEnded(_))).await;
        assert!(matches!(ended, Fact::TurnEnded(ended) if ended.by.as_deref() == Some(by)));
        assert_eq!(next.errors(), [ToolErrorKind::RefusedByPerson]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_could_answer_is_not_taken_for_a_refusal() {
    let run = Run::new(vec![Answer::Calls(vec![("write", 1)])], false);
    // The process dies between the answer and the call's end.
    *run.world.room.lock().unwrap() = Some(4);
    run.prompt("go").await;
    settle().await;
    let mut next = Run::resume(run.world.clone(), true);
    next.send(Command::Continue).await;
    assert_eq!(next.end().await, TurnEnd::Finished);
    assert_eq!(next.errors(), [ToolErrorKind::NobodyToAsk]);
}

#[tokio::test(start_paused = true)]
async fn what_a_loop_is_made_of_is_known_after_a_restart() {
    let again = || Answer::Calls(vec![("read", 1), ("write", 1)]);
    let mut run = Run::new((0..4).map(|_| again()).collect(), true);
    run.prompt("go").await;
    let args = Map::from_iter([("n".to_owned(), json!(2))]);
    for _ in 0..2 {
        let approval = run.asked().await;
        run.session.answer(&approval, Outcome::Modify { args: args.clone() }, "me").await.unwrap();
    }
    let approval = run.asked().await;
    let mut next = Run::resume(run.world.clone(), true);
    next.send(Command::Continue).await;
    next.session.answer(&approval, Outcome::Modify { args }, "me").await.unwrap();
    next.asked().await;
    settle().await;
    let told = results(&next.world);
    assert!(told.last().unwrap().contains("the same result 3 times"), "{told:?}");
    let journal = next.world.journal.lock().unwrap();
    assert!(matches!(&journal.last().unwrap().fact, Fact::CallEnded(ended)
        if ended.response.name == "read" && ended.response.to_text().contains("the same result 4 times")));
}

/// The journal as it was before its last record.
fn without_the_end(world: &World) {
    let end = world.journal.lock().unwrap().pop();
    assert!(matches!(end.unwrap().fact, Fact::TurnEnded(_)));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_lacks_only_its_end_gets_it_and_the_model_is_not_asked_again() {
    let mut run = Run::new(vec![Answer::Text("whole"), Answer::Text("more")], true);
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    without_the_end(&run.world);
    let mut again = Run::resume(run.world.clone(), true);
    let mut shown = Follower::new(again.session.subscribe());
    again.send(Command::Continue).await;
    assert_eq!(again.end().await, TurnEnd::Finished);
    assert_eq!(again.world.requests.lock().unwrap().len(), 1);
    assert_eq!(shown.next().await, Some(TurnEvent::whole_content("whole")));
    assert!(matches!(shown.next().await, Some(TurnEvent::Finished { .. })));
    // What is said before the end joins the turn.
    without_the_end(&again.world);
    let mut again = Run::resume(again.world.clone(), true);
    again.prompt("and?").await;
    assert_eq!(again.end().await, TurnEnd::Finished);
    let requests = again.world.requests.lock().unwrap();
    let said: Vec<String> = requests[1].contents.iter().map(|content| content.text()).collect();
    assert_eq!(said, ["go", "whole", "and?"]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_was_cancelled_stays_cancelled_though_its_end_was_lost() {
    let mut run = Run::new(vec![Answer::Hangs], true);
    run.prompt("go").await;
    settle().await;
    run.cancel().await;
    assert_eq!(run.end().await, TurnEnd::Cancelled);
    without_the_end(&run.world);
    let mut again = Run::resume(run.world.clone(), true);
    again.send(Command::Continue).await;
    assert_eq!(again.end().await, TurnEnd::Cancelled);
    assert_eq!(again.world.requests.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_always_given_while_nothing_runs_answers_the_other_questions_it_covers() {
    let calls = vec![("write", 1), ("write", 1), ("write", 2)];
    let mut run = Run::new(vec![Answer::Calls(calls)], true);
    run.prompt("go").await;
    let first = run.asked().await;
    settle().await;
    let other = Run::resume(run.world.clone(), false);
    other.session.answer(&first, Outcome::ProceedAlways, "another process").await.unwrap();
    let mut again = Run::resume(other.world.clone(), false);
    again.send(Command::Continue).await;
    assert_eq!(again.end().await, TurnEnd::Finished);
    assert_eq!(*again.world.ran.lock().unwrap(), ["write 1", "write 1"]);
    let by =
        [(EARLIER_ANSWER.to_owned(), true), ("another process".to_owned(), true), (NOBODY.to_owned(), false)];
    let mut answered = answers(&again.world);
    answered.sort();
    assert_eq!(answered, by);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_while_a_call_is_checked_again_waits_for_that() {
    let args = Map::from_iter([("n".to_owned(), json!(2))]);
    for (outcome, ran) in [(Outcome::ProceedOnce, "write 1"), (Outcome::Modify { args }, "write 2")] {
        let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)])], true);
        run.prompt("go").await;
        let approval = run.asked().await;
        let mut again = Run::resume(run.world.clone(), true);
        let (_, answered) =
            tokio::join!(again.send(Command::Continue), again.session.answer(&approval, outcome, "me"));
        assert_eq!(answered, Ok(()));
        assert_eq!(again.end().await, TurnEnd::Finished);
        assert_eq!(*again.world.ran.lock().unwrap(), [ran]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_journal_with_the_ids_of_servers_goes_on_at_any_record() {
    let journal = include_str!("../../replay/tests/server_ids.jsonl");
    let records: Vec<Record> = journal.lines().map(|line| Record::from_json(line).unwrap()).collect();
    for length in 1..=records.len() {
        let world = Arc::new(World::default());
        *world.journal.lock().unwrap() = records[..length].to_vec();
        let run = Run::resume(world, false);
        run.send(Command::Continue).await;
        settle().await;
        run.prompt("go on").await;
        settle().await;
        let requests = run.world.requests.lock().unwrap().clone();
        assert!(!requests.is_empty(), "after record {length}");
        requests.iter().for_each(assert_paired);
        let conversation = Conversation::of(&*run.world.journal.lock().unwrap());
        assert_eq!(conversation.unanswered().count(), 0, "after record {length}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_process_recorded_is_read_though_nothing_new_has_come() {
    let mut run = Run::new(vec![Answer::Text("said before")], true);
    run.prompt("go").await;
    run.end().await;
    let again = Run::resume(run.world.clone(), true);
    let last = again.session.snapshot().await.unwrap().0.seq;
    let mut events = again.session.subscribe_from(1).await.unwrap();
    let mut seqs = Vec::new();
    while seqs.last() != Some(&last) {
        let event = tokio::time::timeout(Duration::from_secs(60), events.recv()).await;
        if let Some(SessionEvent::Record(record)) = event.expect("the records come") {
            seqs.push(record.seq);
        }
    }
    assert_eq!(seqs, (2..=last).collect::<Vec<_>>());
}
