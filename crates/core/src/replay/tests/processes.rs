//! Sessions of several processes and people.

use charla_proto::{CancelTarget, Content, Delivery, Reply};
use serde_json::{Map, json};

use super::*;

fn calls(calls: &[(&'static str, u32)]) -> Answer {
    Answer::Calls(calls.to_vec())
}

async fn answer(run: &Run, approval: &str, outcome: Outcome, by: &str) {
    run.session.answer(approval, outcome, by).await.unwrap();
}

fn kinds(run: &Run) -> Vec<String> {
    run.world.journal.lock().unwrap().iter().map(|record| record.fact.kind().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn answers_given_to_a_process_that_only_waited_replay() {
    let mut run = Run::new(vec![calls(&[("write", 1), ("write", 2), ("read", 3)])], true);
    run.prompt("go").await;
    let first = run.asked().await;
    let second = run.asked().await;
    let waiting = Run::resume(run.world.clone(), true);
    let args = Map::from_iter([("n".to_owned(), json!(5))]);
    answer(&waiting, &second, Outcome::Modify { args }, "anna").await;
    answer(&waiting, &first, Outcome::ProceedOnce, "bob").await;
    let mut last = Run::resume(run.world.clone(), true);
    assert_eq!(last.send(Command::Continue).await, Reply::Done);
    assert_eq!(last.end().await, TurnEnd::Finished);
    replays(&last).await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_another_process_cancelled_replays_up_to_its_end() {
    let mut run = Run::new(vec![calls(&[("hang", 1), ("write", 2)])], true);
    run.mode(ApprovalMode::Yolo).await;
    run.prompt("go").await;
    run.until(|fact| matches!(fact, Fact::CallStarted(_))).await;
    let mut next = Run::resume(run.world.clone(), true);
    next.cancel().await;
    assert_eq!(next.end().await, TurnEnd::Cancelled);
    replays(&next).await;
}

#[tokio::test(start_paused = true)]
async fn prompts_modes_and_models_given_while_a_turn_runs_replay() {
    let replies = vec![calls(&[("read", 1), ("write", 2)]), Answer::Text("ok"), Answer::Hangs];
    let mut run = Run::new(replies, true);
    run.prompt("go").await;
    let approval = run.asked().await;
    for (words, delivery, by) in [
        ("hurry", Delivery::Join, "anna"),
        ("forget it", Delivery::Join, "bob"),
        ("and then", Delivery::AfterTurn, "anna"),
    ] {
        run.session.send(Command::Prompt { content: Content::user(words), delivery }, by).await;
    }
    let forgotten = Conversation::of(&*run.world.journal.lock().unwrap()).queue[1].id.clone();
    run.send(Command::Cancel { target: CancelTarget::Prompt(forgotten) }).await;
    run.mode(ApprovalMode::AutoEdit).await;
    run.send(Command::SetModel { model: "fake/other".to_owned() }).await;
    answer(&run, &approval, Outcome::ProceedAlwaysAndSave, "bob").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    // The prompt that waited has begun a turn of its own.
    run.until(|fact| matches!(fact, Fact::TurnStarted(_))).await;
    run.session.send(Command::Cancel { target: CancelTarget::Turn }, "anna").await;
    assert!(run.end().await.is_cancelled());
    let kinds = kinds(&run);
    for kind in ["prompt_joined", "prompt_withdrawn", "mode_changed", "model_changed", "rules_saved"] {
        assert!(kinds.iter().any(|made| made == kind), "{kind} in {kinds:?}");
    }
    replays(&run).await;
}

#[tokio::test(start_paused = true)]
async fn questions_that_an_always_has_answered_too_replay() {
    let mut run = Run::new(vec![calls(&[("write", 1), ("write", 1), ("serve", 3), ("serve", 3)])], true);
    run.prompt("go").await;
    let asked = [run.asked().await, run.asked().await, run.asked().await, run.asked().await];
    answer(&run, &asked[0], Outcome::ProceedAlways, "me").await;
    answer(&run, &asked[2], Outcome::ProceedAlwaysServer, "me").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    replays(&run).await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_does_not_go_on_as_recorded_is_found_in_any_process() {
    let mut run = Run::new(vec![calls(&[("write", 1)])], true);
    run.prompt("go").await;
    run.asked().await;
    let mut next = Run::resume(run.world.clone(), false);
    next.send(Command::Continue).await;
    assert_eq!(next.end().await, TurnEnd::Finished);
    let mut records = next.world.journal.lock().unwrap().clone();
    let resumed = records.iter_mut().find_map(|record| match &mut record.fact {
        Fact::TurnResumed(resumed) => Some(resumed),
        _ => None,
    });
    // With somebody there the question would have waited.
    resumed.unwrap().somebody = true;
    for record in &mut records {
        if let Fact::ApprovalAnswered(answered) = &mut record.fact {
            answered.by = "me".to_owned();
        }
    }
    let difference = replay(&records).await.difference.unwrap();
    assert_eq!(difference.what, "the record `call_ended` has other content");
    assert_eq!(
        (&difference.expected["error"], &difference.got["error"]),
        (&json!("nobody_to_ask"), &json!("refused_by_person"))
    );
}
