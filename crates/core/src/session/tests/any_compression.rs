//! Whatever is said, summarised, refused, cancelled, restored and resumed: what is sent fits and is whole.

use super::room::{SNAPSHOT, counter, start, world};
use super::*;

const WINDOW: u32 = 2_500;

#[derive(Clone, Debug)]
enum Step {
    /// A prompt of so many words, answered by steps with results of these sizes.
    Prompt(usize, Vec<u32>),
    /// The provider refuses the next request as too long.
    TooLong,
    Compress,
    Restore,
    Cancel,
    /// Another process goes on.
    Resume,
    /// Summaries are of this kind from now on.
    Summaries(Kind),
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Good,
    Long,
    Empty,
    Broken,
    Busy,
    /// Calls a tool, which is never run.
    Call,
}

fn any_step() -> impl Strategy<Value = Step> {
    let results = prop::collection::vec(prop_oneof![1u32..10, 1_000u32..4_000, Just(30_000)], 0..5);
    let kind = prop_oneof![
        3 => Just(Kind::Good),
        1 => Just(Kind::Long),
        1 => Just(Kind::Empty),
        1 => Just(Kind::Broken),
        1 => Just(Kind::Busy),
        1 => Just(Kind::Call),
    ];
    prop_oneof![
        8 => (prop_oneof![9 => 1usize..200, 1 => Just(3_000)], results).prop_map(|(words, sizes)| Step::Prompt(words, sizes)),
        1 => Just(Step::TooLong),
        2 => Just(Step::Compress),
        2 => Just(Step::Restore),
        1 => Just(Step::Cancel),
        2 => Just(Step::Resume),
        2 => kind.prop_map(Step::Summaries),
    ]
}

fn summariser(kind: Kind) -> Summariser {
    let text = |text: String| Ok(ended_with(vec![Part::text(text)], FinishReason::Stop));
    Arc::new(move |_: &GenerateRequest| match kind {
        Kind::Good => text(SNAPSHOT.to_owned()),
        Kind::Long => text(SNAPSHOT.replace("no macros", &"no macros ".repeat(300))),
        Kind::Empty => text(String::new()),
        Kind::Broken => Err(LlmError::new(LlmErrorKind::Network, "cut")),
        Kind::Call => {
            let call = FunctionCall::new("call", "write", Map::new());
            Ok(ended_with(vec![Part::function_call(call)], FinishReason::Stop))
        }
        Kind::Busy => Err(LlmError::new(LlmErrorKind::Overloaded, "busy")),
    })
}

async fn play(steps: Vec<Step>) {
    let world = world();
    *world.summariser.lock().unwrap() = Some(summariser(Kind::Good));
    *world.ids.lock().unwrap() = ServerIds::Same;
    let mut run = start(&world, WINDOW);
    let mut prompts = 0;
    let mut coming = 0;
    for step in steps {
        let before = *world.summaries.lock().unwrap();
        let mut most = 0;
        let mut small_prompt = false;
        let refused = world.replies.lock().unwrap().iter().any(|reply| matches!(reply, Answer::TooLong));
        let sent = Conversation::of(&*world.journal.lock().unwrap()).sent();
        let sent = sent.into_iter().map(|(_, content)| content).collect();
        let whole = counter()(&GenerateRequest::new("", sent));
        match step {
            Step::Prompt(words, sizes) => {
                // Steps that a refused prompt did not come to are made by the next.
                coming += sizes.iter().sum::<u32>() as u64 / 4;
                let calls = sizes.into_iter().map(|size| Answer::Calls(vec![("read", size), ("read", 1)]));
                world.replies.lock().unwrap().extend(calls);
                run.prompt(&format!("prompt {prompts}. {}", "words ".repeat(words))).await;
                prompts += 1;
                // A conversation of many windows comes down in steps.
                most = 2 + (whole + coming) / u64::from(WINDOW);
                // What the provider refuses although it is small cannot be helped.
                small_prompt = words < 500 && !refused;
            }
            Step::TooLong => world.replies.lock().unwrap().push(Answer::TooLong),
            Step::Compress => {
                run.send(Command::Compress).await;
                most = 1;
            }
            Step::Restore => drop(run.send(Command::Restore).await),
            Step::Cancel => run.cancel().await,
            Step::Resume => run = start(&world, WINDOW),
            Step::Summaries(kind) => *world.summariser.lock().unwrap() = Some(summariser(kind)),
        }
        // Waits out pauses between summaries, too.
        tokio::time::sleep(Duration::from_secs(60)).await;
        let asked = *world.summaries.lock().unwrap() - before;
        assert!(asked as u64 <= most, "{asked} summaries");
        let ends = world.journal.lock().unwrap().iter().rev().find_map(|record| match &record.fact {
            Fact::TurnEnded(ended) => Some(ended.error),
            _ => None,
        });
        let overflow = ends == Some(Some(LlmErrorKind::ContextOverflow));
        assert!(!(small_prompt && overflow), "one more message can always be sent");
        check(&world);
    }
    run.send(Command::Restore).await;
    settle().await;
    let said = Conversation::of(&*world.journal.lock().unwrap()).sent();
    let told = said.iter().filter(|(_, content)| content.text().starts_with("prompt ")).count();
    assert_eq!(told, prompts, "every prompt is back");
}

fn check(world: &World) {
    for request in world.requests.lock().unwrap().drain(..) {
        assert_paired(&request);
        assert_eq!(request.contents[0].role, Role::User);
        // A little above what it has room for, the server is left to judge: counts are estimates.
        assert!(counter()(&request) < u64::from(WINDOW) * 11 / 10, "sent although it does not fit");
    }
    let journal = world.journal.lock().unwrap();
    let whole = Conversation::of(&*journal);
    let mut forgetful = Conversation::new();
    for record in &*journal {
        forgetful.apply(record);
        forgetful.forget_replaced();
    }
    if forgetful.is_whole() {
        assert_eq!(forgetful.sent(), whole.sent());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn what_is_sent_fits_and_nothing_is_lost(steps in prop::collection::vec(any_step(), 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(steps));
    }
}
