//! What those who follow a session get to see.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_slow_subscriber_loses_deltas_but_no_record() {
    let run = Run::new(vec![], true);
    let mut slow = run.session.subscribe();
    for _ in 0..800 {
        run.prompt("words").await;
    }
    settle().await;
    let mut seqs = Vec::new();
    let mut missed = 0;
    drop(run.session);
    while let Some(event) = slow.recv().await {
        match event {
            SessionEvent::Record(record) => seqs.push(record.seq),
            SessionEvent::Missed => missed += 1,
            _ => {}
        }
    }
    assert!(missed > 0);
    assert_eq!(seqs, (2..=run.world.journal.lock().unwrap().len() as u64).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_follower_tells_one_turn_from_prompt_to_end() {
    let run = Run::new(vec![Answer::Calls(vec![("read", 1)]), Answer::Text("ok")], true);
    let mut follower = Follower::new(run.session.subscribe());
    run.prompt("go").await;
    let mut told = Vec::new();
    while let Some(event) = follower.next().await {
        let name = format!("{event:?}");
        told.push(name.split(['(', ' ', '{']).next().unwrap().to_owned());
    }
    let expected =
        ["StepEnded", "ToolCallRequest", "ToolCallLive", "ToolCallResponse", "Content", "Finished"];
    assert_eq!(told, expected);
}
