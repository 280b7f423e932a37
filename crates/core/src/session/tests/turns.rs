//! How a turn goes on and ends.

use charla_proto::{ChangesReverted, FileChange, RevertedFile};

use super::*;

#[tokio::test(start_paused = true)]
async fn a_turn_runs_tools_until_the_model_stops() {
    let mut run = Run::new(vec![Answer::Calls(vec![("read", 1), ("read", 2)]), Answer::Text("ok")], true);
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(run.statuses(), [CallStatus::Success, CallStatus::Success]);
    let requests = run.world.requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    let results: Vec<_> =
        requests[1].contents[2].function_responses().map(|response| response.to_text()).collect();
    assert_eq!(results, ["result 1", "result 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_marked_as_running_before_it_runs() {
    let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)])], true);
    run.prompt("go").await;
    let approval = run.asked().await;
    assert!(run.world.ran.lock().unwrap().is_empty());
    // The journal fails at the mark: the tool must not run.
    *run.world.room.lock().unwrap() = Some(1);
    run.session.answer(&approval, Outcome::ProceedOnce, "me").await.unwrap();
    loop {
        if let SessionEvent::Broken(_) = run.event().await {
            break;
        }
    }
    assert!(run.world.ran.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn cancelling_stops_the_model_and_keeps_what_was_shown() {
    let mut run = Run::new(vec![Answer::Hangs], true);
    run.prompt("go").await;
    loop {
        if let SessionEvent::Turn(TurnEvent::Content { content: text, .. }) = run.event().await {
            assert_eq!(text, "partial");
            break;
        }
    }
    run.cancel().await;
    assert_eq!(run.end().await, TurnEnd::Cancelled);
    run.prompt("next").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    let requests = run.world.requests.lock().unwrap();
    assert_eq!(requests[1].contents[1].text(), "partial");
}

#[tokio::test(start_paused = true)]
async fn cancelling_stops_running_tools_and_answers_the_waiting_ones() {
    let mut run = Run::new(vec![Answer::Calls(vec![("hang", 1), ("write", 2), ("read", 3)])], true);
    run.mode(ApprovalMode::Yolo).await;
    run.prompt("go").await;
    run.until(|fact| matches!(fact, Fact::CallStarted(_))).await;
    run.cancel().await;
    assert_eq!(run.end().await, TurnEnd::Cancelled);
    assert_eq!(run.statuses(), [CallStatus::Cancelled; 3]);
    assert_eq!(run.errors(), [ToolErrorKind::Cancelled; 3]);
    assert_eq!(*run.world.ran.lock().unwrap(), ["hang 1"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_says_the_same_for_ever_is_ended_and_kept() {
    let stuck: &'static str = "I am stuck. ".repeat(20_000).leak();
    let mut run = Run::new(vec![Answer::Text(stuck), Answer::Text("Out of it.")], true);
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Loop);
    run.prompt("and now?").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    let requests = run.world.requests.lock().unwrap();
    assert!(requests[1].contents[1].text().starts_with("I am stuck. "));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_goes_in_circles_is_told_refused_and_stopped() {
    let replies = (0..10).map(|_| Answer::Calls(vec![("read", 1)])).collect();
    let mut run = Run::new(replies, true);
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Loop);
    assert_eq!(run.world.ran.lock().unwrap().len(), 4);
    assert_eq!(run.statuses().len(), 7);
    assert!(run.errors().contains(&ToolErrorKind::Loop));
    let requests = run.world.requests.lock().unwrap();
    let third = requests[3].contents.last().unwrap().function_responses().next().unwrap().to_text();
    assert!(third.contains("same result 3 times"), "{third}");
}

#[tokio::test(start_paused = true)]
async fn a_limit_ends_the_turn_with_its_name() {
    let replies = (100..130).map(|n| Answer::Calls(vec![("read", n)])).collect();
    let mut run = Run::new(replies, true);
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::StepLimit);
    assert_eq!(run.world.ran.lock().unwrap().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_call_found_running_after_a_crash_is_told_as_interrupted_and_not_run_again() {
    let mut run = Run::new(vec![Answer::Calls(vec![("hang", 1)])], true);
    run.mode(ApprovalMode::Yolo).await;
    run.prompt("go").await;
    run.until(|fact| matches!(fact, Fact::CallStarted(_))).await;
    let mut again = Run::resume(run.world.clone(), true);
    again.prompt("what happened?").await;
    assert_eq!(again.end().await, TurnEnd::Finished);
    assert_eq!(again.errors(), [ToolErrorKind::Interrupted]);
    assert_eq!(*again.world.ran.lock().unwrap(), ["hang 1"]);
    assert_eq!(again.errors(), [ToolErrorKind::Interrupted]);
    let requests = again.world.requests.lock().unwrap();
    let last = requests.last().unwrap();
    assert_paired(last);
    assert!(last.contents[2].function_responses().next().unwrap().is_error());
}

#[tokio::test(start_paused = true)]
async fn a_model_is_told_with_the_next_prompt_what_was_undone_meanwhile() {
    let mut run = Run::new(vec![], true);
    run.prompt("create it").await;
    run.end().await;
    let file = RevertedFile {
        change: FileChange { path: "/w/hello.txt".into(), before: Some("1".into()), after: None },
        mode: None,
    };
    let fact = Fact::ChangesUndone(ChangesReverted { turn: 1, files: vec![file], by: None });
    let world = run.world.clone();
    drop(run);
    let seq = world.journal.lock().unwrap().last().unwrap().seq + 1;
    world.journal.lock().unwrap().push(Record::new(seq, 0, fact));
    let mut again = Run::resume(world, true);
    for prompt in ["go on", "and on"] {
        again.prompt(prompt).await;
        again.end().await;
    }
    let requests = again.world.requests.lock().unwrap();
    let last_words = |request: &GenerateRequest| request.contents.last().unwrap().text();
    let told = last_words(&requests[1]);
    assert!(told.contains("undone the file changes of turn 1") && told.contains("hello.txt"), "{told}");
    assert!(told.ends_with("]\n\ngo on"), "{told}");
    assert_eq!(last_words(&requests[2]), "and on");
}

/// A session whose model is over its limit, and the question that comes of it.
async fn over_its_limit() -> (Run, String) {
    let mut run = Run::new(vec![Answer::Limited, Answer::Text("from the other")], true);
    run.prompt("go").await;
    let approval = run.asked().await;
    (run, approval)
}

fn say(word: &str) -> Outcome {
    Outcome::Answers { answers: vec![word.to_owned()] }
}

#[tokio::test(start_paused = true)]
async fn a_model_over_its_limit_is_replaced_when_the_person_says_yes() {
    let (mut run, approval) = over_its_limit().await;
    run.session.answer(&approval, say("yes"), "anna").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Finished);
    let conversation = Conversation::of(&*run.world.journal.lock().unwrap());
    assert_eq!(conversation.model, "fake/other");
    assert_eq!(run.world.requests.lock().unwrap().len(), 2);
    let late = run.session.answer(&approval, say("no"), "bob").await;
    assert_eq!(late, Err(Refusal::Late { outcome: say("yes"), by: "anna".to_owned() }));
    let journal = run.world.journal.lock().unwrap().clone();
    assert_eq!(crate::replay::replay(&journal).await.difference, None);
}

#[tokio::test(start_paused = true)]
async fn a_no_ends_the_turn_with_the_models_own_error() {
    for outcome in [say("no"), Outcome::Cancel { reason: None }] {
        let (mut run, approval) = over_its_limit().await;
        run.session.answer(&approval, outcome, "anna").await.unwrap();
        assert_eq!(run.end().await, TurnEnd::Error);
        let conversation = Conversation::of(&*run.world.journal.lock().unwrap());
        assert_eq!((conversation.model.as_str(), conversation.open_approvals().count()), ("fake/m", 0));
    }
}

#[tokio::test(start_paused = true)]
async fn an_offer_ends_with_whoever_could_take_it() {
    let (mut run, _) = over_its_limit().await;
    run._client = None;
    assert_eq!(run.end().await, TurnEnd::Error);
    let (mut run, _) = over_its_limit().await;
    run.cancel().await;
    assert!(run.end().await.is_cancelled());
    let mut alone = Run::new(vec![Answer::Limited], false);
    alone.prompt("go").await;
    assert_eq!(alone.end().await, TurnEnd::Error);
}

#[tokio::test(start_paused = true)]
async fn an_offer_of_an_earlier_process_is_closed_and_the_model_asked_again() {
    let (run, approval) = over_its_limit().await;
    let mut next = Run::resume(run.world.clone(), true);
    next.send(Command::Continue).await;
    assert_eq!(next.end().await, TurnEnd::Finished);
    let late = next.session.answer(&approval, say("yes"), "anna").await;
    assert!(matches!(late, Err(Refusal::Late { by, .. }) if by == SESSION));
    let conversation = Conversation::of(&*next.world.journal.lock().unwrap());
    assert_eq!(conversation.model, "fake/m");
}
