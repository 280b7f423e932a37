use charla_proto::{ApprovalMode, Command, Outcome, Part, ToolErrorKind, TurnEnd};

use super::*;
use crate::session::tests::{Answer, Run};

mod processes;
mod recordings;

/// The records of a session in which a person, tools and limits had their say.
async fn recorded() -> Vec<Record> {
    let calls = |calls: &[(&'static str, u32)]| Answer::Calls(calls.to_vec());
    let replies =
        vec![calls(&[("read", 1), ("write", 2), ("read", 3)]), calls(&[("write", 7)]), Answer::Text("ok")];
    let mut run = Run::new(replies, true);
    run.prompt("go").await;
    let approval = run.asked().await;
    run.session.answer(&approval, Outcome::ProceedOnce, "me").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Finished);
    run.prompt("again").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    run.world.journal.lock().unwrap().clone()
}

async fn replays(run: &Run) {
    let records = run.world.journal.lock().unwrap().clone();
    assert_eq!(replay(&records).await.difference, None, "{records:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_replays_without_a_difference() {
    let replayed = replay(&recorded().await).await;
    assert_eq!(replayed, Replayed { turns: 2, requests: 4, difference: None });
}

#[tokio::test(start_paused = true)]
async fn a_journal_from_before_errors_had_kinds_replays_too() {
    let mut records = recorded().await;
    let ended = records.iter_mut().filter_map(|record| match &mut record.fact {
        Fact::CallEnded(ended) => ended.error.take(),
        _ => None,
    });
    assert_eq!(ended.collect::<Vec<_>>(), [ToolErrorKind::DeniedByRule]);
    assert_eq!(replay(&records).await.difference, None);
}

#[tokio::test(start_paused = true)]
async fn another_result_is_found_where_the_engine_would_not_have_made_it() {
    let mut records = recorded().await;
    let result = records.iter_mut().filter_map(|record| match &mut record.fact {
        Fact::CallEnded(ended) if ended.response.to_text().contains("denied") => Some(ended),
        _ => None,
    });
    // The denial is told under another call's name: no engine would.
    result.last().unwrap().response.name = "read".to_owned();
    let difference = replay(&records).await.difference.unwrap();
    assert_eq!((difference.turn, difference.step), (1, 2));
    assert_eq!(difference.what, "the record `call_ended` has other content");
    assert_eq!(difference.expected["response"]["name"], "read");
    assert_eq!(difference.got["response"]["name"], "write");
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_gone_is_a_difference() {
    let mut records = recorded().await;
    let start = records.iter().position(|record| matches!(record.fact, Fact::ApprovalAnswered(_)));
    records.remove(start.unwrap());
    let difference = replay(&records).await.difference.unwrap();
    assert_eq!((difference.turn, difference.step), (1, 1));
    assert_eq!(difference.expected["kind"], "call_started");
    assert_eq!(difference.got, Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_where_the_recording_went_on_is_told_what_is_missing() {
    let mut records = recorded().await;
    let said = records.iter_mut().find_map(|record| match &mut record.fact {
        Fact::ModelContent(said) => Some(said),
        _ => None,
    });
    let content = Arc::make_mut(&mut said.unwrap().content);
    content.parts.push(Part::function_call(charla_proto::FunctionCall::new("x", "read", Default::default())));
    let difference = replay(&records).await.difference.unwrap();
    assert_eq!((difference.turn, difference.step), (1, 2));
    assert_eq!(difference.what, "`model_content` is recorded and did not happen");
}

#[tokio::test(start_paused = true)]
async fn a_limit_a_loop_and_a_failure_end_a_replay_as_they_ended_the_session() {
    let mut limited = Run::new((100..130).map(|n| Answer::Calls(vec![("read", n)])).collect(), true);
    limited.prompt("go").await;
    assert_eq!(limited.end().await, TurnEnd::StepLimit);
    replays(&limited).await;
    let mut circling = Run::new((0..10).map(|_| Answer::Calls(vec![("fail", 1)])).collect(), true);
    circling.mode(ApprovalMode::Yolo).await;
    circling.prompt("go").await;
    assert_eq!(circling.end().await, TurnEnd::Loop);
    replays(&circling).await;
    let mut failing = Run::new(vec![Answer::Calls(vec![("read", 1)]), Answer::Fails], true);
    failing.prompt("go").await;
    assert_eq!(failing.end().await, TurnEnd::Error);
    replays(&failing).await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_turn_replays_whatever_it_was_doing() {
    let mut working = Run::new(vec![Answer::Calls(vec![("hang", 1), ("write", 2), ("read", 3)])], true);
    working.mode(ApprovalMode::Yolo).await;
    working.prompt("go").await;
    working.until(|fact| matches!(fact, Fact::CallStarted(_))).await;
    working.cancel().await;
    assert_eq!(working.end().await, TurnEnd::Cancelled);
    replays(&working).await;
    let mut asking = Run::new(vec![Answer::Calls(vec![("write", 1), ("read", 3)])], true);
    asking.prompt("go").await;
    let approval = asking.asked().await;
    asking.session.answer(&approval, Outcome::Cancel { reason: None }, "me").await.unwrap();
    assert_eq!(asking.end().await, TurnEnd::Cancelled);
    replays(&asking).await;
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_turn_replays_as_far_as_it_went_and_so_does_its_repair() {
    let mut run = Run::new(vec![Answer::Calls(vec![("hang", 1), ("read", 2)])], true);
    run.mode(ApprovalMode::Yolo).await;
    run.prompt("go").await;
    run.until(|fact| matches!(fact, Fact::CallStarted(_))).await;
    let mut again = Run::resume(run.world.clone(), true);
    again.prompt("what happened?").await;
    assert_eq!(again.end().await, TurnEnd::Finished);
    replays(&again).await;
}

#[tokio::test(start_paused = true)]
async fn what_nobody_could_allow_is_refused_again() {
    let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)]), Answer::Text("ok")], false);
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    replays(&run).await;
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_was_refused_as_too_long_replays_without_compressing_anew() {
    let mut run =
        Run::new(vec![Answer::Text("one"), Answer::Text("two"), Answer::TooLong, Answer::TooLong], true);
    for end in [TurnEnd::Finished, TurnEnd::Finished, TurnEnd::Error] {
        run.prompt("go on").await;
        assert_eq!(run.end().await, end);
    }
    replays(&run).await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_compressed_and_restored_replays_without_a_difference() {
    let long: &'static str = "Here is what I found out about it. ".repeat(40).leak();
    let replies = vec![Answer::Text(long), Answer::Text(long), Answer::TooLong, Answer::Text("three")];
    let mut run = Run::new(replies, true);
    run.world
        .summarise(format!("<state_snapshot>{}</state_snapshot>", "<goal>find the key</goal>".repeat(3)));
    for _ in 0..3 {
        run.prompt("say more about it").await;
        assert_eq!(run.end().await, TurnEnd::Finished);
    }
    run.send(Command::Restore).await;
    run.prompt("and now?").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    let journal = run.world.journal.lock().unwrap().clone();
    let kinds: Vec<&str> = journal.iter().map(|record| record.fact.kind()).collect();
    assert!(kinds.contains(&"compressed") && kinds.contains(&"restored"), "{kinds:?}");
    replays(&run).await;
}
