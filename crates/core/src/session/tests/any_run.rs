//! Whatever models, tools, people and crashes do.

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Prompt,
    Cancel,
    Answer(bool),
    Crash(usize),
}

fn any_reply() -> impl Strategy<Value = Answer> {
    let name = prop::sample::select(vec!["read", "write", "fail", "panic", "nonsense"]);
    let calls = prop::collection::vec((name, prop::sample::select(vec![1u32, 2, 7, 99])), 1..4);
    prop_oneof![
        2 => Just(Answer::Text("words")),
        4 => calls.prop_map(Answer::Calls),
        1 => Just(Answer::Fails),
        1 => Just(Answer::Hangs),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Prompt),
        1 => Just(Step::Cancel),
        4 => any::<bool>().prop_map(Step::Answer),
        1 => (0usize..12).prop_map(Step::Crash),
    ]
}

async fn play(replies: Vec<Answer>, steps: Vec<Step>) {
    let mut run = Run::new(replies, true);
    for step in steps {
        match step {
            Step::Prompt => run.prompt("words").await,
            Step::Cancel => drop(run.cancel().await),
            Step::Answer(yes) => {
                let open = Conversation::of(&*run.world.journal.lock().unwrap());
                let open = open.open_approvals().map(|open| open.asked.approval.clone()).next();
                if let Some(approval) = open {
                    let no = Outcome::Cancel { reason: Some("no".to_owned()) };
                    let outcome = if yes { Outcome::ProceedOnce } else { no };
                    run.session.answer(&approval, outcome, "me").await;
                }
            }
            Step::Crash(after) => {
                // The journal takes a few more records and then nothing: as if the process died there.
                *run.world.room.lock().unwrap() = Some(after);
                let _ = run.session.prompt(Content::user("words"), "me").await;
                settle().await;
                run = Run::resume(run.world.clone(), true);
            }
        }
        settle().await;
    }
    // Invariant 6: one more message can always be sent.
    run.cancel().await;
    settle().await;
    run.world.replies.lock().unwrap().clear();
    let before = run.world.requests.lock().unwrap().len();
    run.prompt("one more").await;
    settle().await;
    let requests = run.world.requests.lock().unwrap().clone();
    assert!(requests.len() > before, "the session is bricked");
    for request in requests.iter() {
        assert_paired(request);
    }
    let journal = run.world.journal.lock().unwrap().clone();
    check_journal(&journal);
    let ran = run.world.ran.lock().unwrap().len();
    let marked = journal.iter().filter(|record| matches!(record.fact, Fact::CallStarted(_))).count();
    // A crash may come between the mark and the run, never the other way round.
    assert!(ran <= marked, "no tool runs unmarked");
}

fn check_journal(journal: &[Record]) {
    let mut started = HashSet::new();
    let mut ended = HashSet::new();
    let mut answered = HashSet::new();
    for (n, record) in journal.iter().enumerate() {
        assert_eq!(record.seq, n as u64 + 1, "records have no gaps");
        let line = serde_json::to_string(record).unwrap();
        assert_eq!(&Record::from_json(&line).unwrap(), record, "records survive a round trip");
        match &record.fact {
            Fact::CallStarted(call) => assert!(started.insert(call.call.clone()), "no call starts twice"),
            Fact::CallEnded(call) => assert!(ended.insert(call.call.clone()), "no call ends twice"),
            Fact::ApprovalAnswered(answer) => {
                assert!(answered.insert(answer.approval.clone()), "no approval is answered twice");
            }
            _ => {}
        }
    }
    // Invariant 3: folding in two parts is folding in one.
    let whole = Conversation::of(journal);
    let mut parts = Conversation::of(&journal[..journal.len() / 2]);
    for record in &journal[journal.len() / 2..] {
        parts.apply(record);
    }
    assert_eq!(whole, parts);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_the_conversation_stays_whole(
        replies in prop::collection::vec(any_reply(), 0..12),
        steps in prop::collection::vec(any_step(), 1..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(replies, steps));
    }
}
