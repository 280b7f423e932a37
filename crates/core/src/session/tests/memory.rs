//! A conversation of any length takes no more memory than what is sent of it.

use std::sync::Weak;

use charla_proto::CompressionStatus;

use super::room::{SNAPSHOT, compression, sent, start, talk, world};
use super::*;

/// The contents of all prompts, to see which still live.
type Prompts = Vec<Weak<Content>>;

async fn turns(run: &mut Run, count: usize) -> Prompts {
    let mut prompts = Prompts::new();
    for n in 0..count {
        *run.world.replies.lock().unwrap() = vec![Answer::Calls(vec![("read", 1_000)])];
        run.prompt(&format!("turn {n}: read once more")).await;
        loop {
            let SessionEvent::Record(record) = run.event().await else { continue };
            match &record.fact {
                Fact::TurnStarted(started) => prompts.push(Arc::downgrade(&started.prompt)),
                Fact::TurnEnded(ended) => {
                    assert_eq!(ended.end, TurnEnd::Finished, "turn {n}");
                    break;
                }
                _ => {}
            }
        }
        // What the test's own fakes hold does not count.
        run.world.requests.lock().unwrap().clear();
    }
    prompts
}

/// A journal that holds texts, as a file does.
fn forget(world: &World) {
    let mut journal = world.journal.lock().unwrap();
    let lines: Vec<String> = journal.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    *journal = lines.iter().map(|line| Record::from_json(line).unwrap()).collect();
}

#[tokio::test(start_paused = true)]
async fn two_thousand_turns_leave_only_what_is_sent_in_memory() {
    let world = world();
    world.summarise(SNAPSHOT);
    let mut run = start(&world, 4_000);
    let prompts = turns(&mut run, 2_000).await;
    forget(&world);
    assert!(*world.summaries.lock().unwrap() > 100);
    // Subscribers that lag are served from a bounded number of characters; these turns have some 2,000 each.
    let alive = prompts.iter().filter(|prompt| prompt.strong_count() > 0).count();
    assert!(alive < 700, "{alive} prompts are still held");

    let folded = Conversation::of(&*world.journal.lock().unwrap());
    let mut bounded = folded.clone();
    bounded.forget_replaced();
    assert_eq!(folded.contents.len(), 8_000);
    assert!(bounded.contents.len() < 20, "{} contents", bounded.contents.len());
    assert_eq!(bounded.sent(), folded.sent());

    run.send(Command::Restore).await;
    let report = compression(&mut run).await;
    assert_eq!(report.messages, 8_000);
}

#[tokio::test(start_paused = true)]
async fn forgetting_changes_nothing_of_what_the_records_tell() {
    let world = world();
    world.summarise(SNAPSHOT);
    let mut run = start(&world, 4_000);
    turns(&mut run, 40).await;
    let journal = world.journal.lock().unwrap().clone();
    let mut whole = Conversation::new();
    let mut forgetful = Conversation::new();
    for record in &journal {
        whole.apply(record);
        forgetful.apply(record);
        forgetful.forget_replaced();
        assert_eq!(forgetful.sent(), whole.sent(), "record {}", record.seq);
        assert!(forgetful.is_whole());
    }
    assert!(forgetful.contents.len() < whole.contents.len());
    let seq = whole.seq + 1;
    let restored = Record::new(seq, 0, Fact::Restored(charla_proto::Restored { by: None }));
    let mut lacking = forgetful.clone();
    lacking.apply(&restored);
    assert!(!lacking.is_whole());
    let back = charla_proto::Rewound { to: journal[4].seq, files: vec![], by: None };
    forgetful.apply(&Record::new(seq, 0, Fact::Rewound(back)));
    assert!(!forgetful.is_whole());
    whole.apply(&restored);
    assert!(whole.is_whole());
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_lags_far_behind_still_gets_every_record() {
    let world = world();
    let mut run = start(&world, 100_000_000);
    let mut slow = run.session.subscribe();
    for _ in 0..60 {
        *run.world.replies.lock().unwrap() = vec![Answer::Calls(vec![("read", 200_000)])];
        run.prompt("read").await;
        assert_eq!(run.end().await, TurnEnd::Finished);
    }
    drop(run);
    let mut seqs = Vec::new();
    while let Some(event) = slow.recv().await {
        if let SessionEvent::Record(record) = event {
            seqs.push(record.seq);
        }
    }
    let last = world.journal.lock().unwrap().last().unwrap().seq;
    assert_eq!(seqs, (2..=last).collect::<Vec<_>>());
}

/// The session says that its journal failed, and does nothing more.
async fn broken(run: &mut Run) {
    while !matches!(run.event().await, SessionEvent::Broken(_)) {}
}

#[tokio::test(start_paused = true)]
async fn a_process_that_dies_while_it_compresses_or_restores_leaves_the_conversation_as_it_was() {
    let world = world();
    world.summarise(SNAPSHOT);
    let mut run = start(&world, 100_000);
    talk(&mut run).await;
    let whole = sent(&world);
    *world.room.lock().unwrap() = Some(0);
    run.send(Command::Compress).await;
    broken(&mut run).await;
    assert_eq!(sent(&world), whole);

    *world.room.lock().unwrap() = None;
    let mut run = start(&world, 100_000);
    run.send(Command::Compress).await;
    assert_eq!(compression(&mut run).await.status, CompressionStatus::Compressed);
    let short = sent(&world);
    *world.room.lock().unwrap() = Some(0);
    run.send(Command::Restore).await;
    broken(&mut run).await;
    assert_eq!(sent(&world), short);

    *world.room.lock().unwrap() = None;
    let mut run = start(&world, 100_000);
    run.send(Command::Restore).await;
    assert_eq!(compression(&mut run).await.status, CompressionStatus::Restored);
    assert_eq!(sent(&world), whole);
    run.prompt("and now?").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(world.requests.lock().unwrap().last().unwrap().contents.len(), whole.len() + 1);
}
