//! Summaries that are no help: the conversation stays as it was, and nobody pays for it twice.

use charla_proto::{CompressionReport, CompressionStatus};

use super::room::{SNAPSHOT, compression, sent, start, start_with, talk, world};
use super::*;

type Case = (&'static str, Summariser, CompressionStatus);

fn says(text: String) -> Summariser {
    Arc::new(move |_: &GenerateRequest| Ok(ended_with(vec![Part::text(text.clone())], FinishReason::Stop)))
}

fn ends(parts: Vec<Part>, finish: FinishReason) -> Summariser {
    Arc::new(move |_: &GenerateRequest| Ok(ended_with(parts.clone(), finish.clone())))
}

fn fails(kind: LlmErrorKind) -> Summariser {
    Arc::new(move |_: &GenerateRequest| Err(LlmError::new(kind, "fake")))
}

fn useless() -> Vec<Case> {
    use CompressionStatus::*;
    let call = Part::function_call(FunctionCall::new("1", "read", Map::new()));
    let cut = SNAPSHOT.replace("</state_snapshot>", "");
    let long = SNAPSHOT.replace("no macros", &"no macros ".repeat(20_000));
    vec![
        ("nothing", says(String::new()), EmptySummary),
        ("whitespace", says(" \n\t ".to_owned()), EmptySummary),
        ("a refusal", says("I cannot summarize this.".to_owned()), EmptySummary),
        ("empty snapshot", says("<state_snapshot> </state_snapshot>".to_owned()), EmptySummary),
        ("only thoughts", ends(vec![Part::thought(SNAPSHOT)], FinishReason::Stop), EmptySummary),
        ("a call", ends(vec![call], FinishReason::Stop), EmptySummary),
        ("cut off", ends(vec![Part::text(cut.clone())], FinishReason::MaxTokens), EmptySummary),
        ("refused halfway", ends(vec![Part::text(cut)], FinishReason::Safety), EmptySummary),
        ("no answer", Arc::new(|_: &GenerateRequest| Ok(GenerateResponse::default())), EmptySummary),
        ("more than it got", says(long), WouldInflate),
        ("invalid stream", fails(LlmErrorKind::InvalidStream), EmptySummary),
        ("blocked", fails(LlmErrorKind::Blocked), Failed),
        ("broken connection", fails(LlmErrorKind::Network), Failed),
        ("server error", fails(LlmErrorKind::Server), Failed),
        ("too long for it", fails(LlmErrorKind::ContextOverflow), Failed),
    ]
}

fn last_contents(world: &World) -> Vec<Arc<Content>> {
    world.requests.lock().unwrap().last().unwrap().contents.clone()
}

#[tokio::test(start_paused = true)]
async fn a_useless_summary_leaves_the_history_as_it_was_and_the_next_prompt_works() {
    let untouched = {
        let world = world();
        let mut run = start(&world, 100_000);
        talk(&mut run).await;
        run.prompt("still there?").await;
        assert_eq!(run.end().await, TurnEnd::Finished);
        last_contents(&world)
    };
    for (name, summariser, expected) in useless() {
        let world = world();
        let mut run = start(&world, 100_000);
        talk(&mut run).await;
        *world.summariser.lock().unwrap() = Some(summariser);
        let before = sent(&world);
        run.send(Command::Compress).await;
        let CompressionReport { status, before: tokens, after, .. } = compression(&mut run).await;
        assert_eq!((status, tokens), (expected, after), "{name}");
        assert_eq!(sent(&world), before, "{name}");
        run.prompt("still there?").await;
        assert_eq!(run.end().await, TurnEnd::Finished, "{name}");
        assert!(last_contents(&world) == untouched, "{name}");
        assert_eq!(*world.summaries.lock().unwrap(), 1, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_of_one_turn_is_compressed_where_somebody_wants_it() {
    let world = world();
    world.summarise(SNAPSHOT);
    let mut run = start(&world, 100_000);
    let long = (0..200).map(|n| format!("Here is what I found out about the part {n}. ")).collect::<String>();
    world.replies.lock().unwrap().push(Answer::Text(long.leak()));
    run.prompt("rule 0: keep file-0.txt. Say more.").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    run.send(Command::Compress).await;
    let CompressionReport { status, before, after, .. } = compression(&mut run).await;
    assert_eq!(status, CompressionStatus::Compressed);
    assert!(after < before, "{after} of {before}");
    run.prompt("and now?").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    let requests = world.requests.lock().unwrap();
    let sent: String = requests.last().unwrap().contents.iter().map(|content| content.text()).collect();
    // The person's own words stay, the model's are told in short.
    assert!(sent.contains("file-0.txt") && sent.contains("make -j2") && sent.contains("and now?"), "{sent}");
    assert!(!sent.contains("Here is what I found out"), "{sent}");
}

#[tokio::test(start_paused = true)]
async fn a_prompt_never_costs_more_than_two_summaries() {
    // Honest but long: it shrinks the history without ever making it fit.
    let long = SNAPSHOT.replace("no macros", &"no macros ".repeat(30));
    for (name, summariser, _) in
        useless().into_iter().chain([("long", says(long), CompressionStatus::Compressed)])
    {
        let world = world();
        *world.summariser.lock().unwrap() = Some(summariser);
        let mut run = start(&world, 700);
        for n in 0..12 {
            let before = *world.summaries.lock().unwrap();
            *world.replies.lock().unwrap() = vec![Answer::Calls(vec![("read", 1_000)]); 4];
            run.prompt(&format!("rule {n} {}", "words ".repeat(50))).await;
            run.end().await;
            assert!(*world.summaries.lock().unwrap() - before <= 2, "{name}, prompt {n}");
            // A new process has no memory but the journal.
            run = start(&world, 700);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_not_paid_for_again_until_the_conversation_has_grown() {
    for (name, summariser, _) in useless() {
        let world = world();
        *world.summariser.lock().unwrap() = Some(summariser);
        let mut run = start(&world, 4_000);
        // Some 190 tokens a turn: the threshold of 2,800 is passed in the fifteenth turn.
        talk(&mut run).await;
        for n in 0..8 {
            let long: &'static str = "Here is what I found out about it. ".repeat(20).leak();
            world.replies.lock().unwrap().push(Answer::Text(long));
            run.prompt(&format!("and {n}?")).await;
            assert_eq!(run.end().await, TurnEnd::Finished, "{name}");
            run = start(&world, 4_000);
        }
        // Eight prompts above the threshold would be eight summaries: it has grown by a tenth of the window
        // twice.
        let asked = *world.summaries.lock().unwrap();
        assert!((1..=2).contains(&asked), "{name}: {asked}");
    }
}

#[tokio::test(start_paused = true)]
async fn when_nothing_can_be_said_without_it_a_passing_failure_is_tried_once_more() {
    let world = world();
    let mut run = start_with(&world, None, Compression::default());
    talk(&mut run).await;
    drop(run);
    let asked = world.clone();
    *world.summariser.lock().unwrap() =
        Some(Arc::new(move |_: &GenerateRequest| match *asked.summaries.lock().unwrap() {
            1 => Err(LlmError::new(LlmErrorKind::Overloaded, "busy")),
            _ => Ok(ended_with(vec![Part::text(SNAPSHOT)], FinishReason::Stop)),
        }));
    let mut run = start(&world, 1_500);
    run.prompt("go on").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(*world.summaries.lock().unwrap(), 2);

    // A wrong key does not pass; what does not fit is left out, and can be had back.
    *world.summariser.lock().unwrap() = Some(fails(LlmErrorKind::Auth));
    run.send(Command::Restore).await;
    compression(&mut run).await;
    run.prompt("and on").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(*world.summaries.lock().unwrap(), 3);
    let first = last_contents(&world)[0].text();
    assert!(first.contains("older messages are left out here"), "{first}");
    run.send(Command::Restore).await;
    assert_eq!(compression(&mut run).await.status, CompressionStatus::Restored);
}

#[tokio::test(start_paused = true)]
async fn what_is_said_while_a_summary_is_made_is_part_of_the_next_request() {
    let world = world();
    let mut run = start_with(&world, None, Compression::default());
    talk(&mut run).await;
    drop(run);
    let asked = world.clone();
    *world.summariser.lock().unwrap() =
        Some(Arc::new(move |_: &GenerateRequest| match *asked.summaries.lock().unwrap() {
            1 => Err(LlmError::new(LlmErrorKind::Overloaded, "busy")),
            _ => Ok(ended_with(vec![Part::text(SNAPSHOT)], FinishReason::Stop)),
        }));
    let mut run = start(&world, 1_500);
    let before = world.requests.lock().unwrap().len();
    run.prompt("go on").await;
    // The second attempt comes after a second.
    tokio::time::sleep(Duration::from_millis(500)).await;
    run.prompt("and hurry").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    let requests = world.requests.lock().unwrap().clone();
    assert_eq!(requests.len(), before + 1);
    assert!(requests.last().unwrap().contents.last().unwrap().text().ends_with("and hurry"));
    let records = world.journal.lock().unwrap().clone();
    assert_eq!(crate::replay::replay(&records).await.difference, None);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_refuses_the_length_is_asked_again_with_less() {
    let world = world();
    world.summarise(SNAPSHOT);
    let mut run = start_with(&world, None, Compression::default());
    talk(&mut run).await;
    world.replies.lock().unwrap().push(Answer::TooLong);
    run.prompt("go on").await;
    assert_eq!(compression(&mut run).await.status, CompressionStatus::Compressed);
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(*world.summaries.lock().unwrap(), 1);

    // One that refuses everything ends the turn, and is not asked for ever.
    let asked = world.requests.lock().unwrap().len();
    *world.replies.lock().unwrap() = vec![Answer::TooLong; 50];
    run.prompt("and on").await;
    assert_eq!(run.end().await, TurnEnd::Error);
    assert!(world.requests.lock().unwrap().len() - asked <= 3);
    assert!(*world.summaries.lock().unwrap() <= 3);

    world.replies.lock().unwrap().truncate(1);
    let compression = Compression { automatic: false, ..Compression::default() };
    let mut off = start_with(&world, None, compression);
    off.prompt("off").await;
    assert_eq!(off.end().await, TurnEnd::Error);
    assert!(*world.summaries.lock().unwrap() <= 3);
}
