//! Compression: what is kept, what can be taken back, what is done when nothing helps.

use charla_proto::{
    CompressionReport, CompressionStatus, CompressionTrigger, ModelContent, PreCompress, TurnEnded,
    TurnStarted, UsageMetadata,
};

use super::*;
use crate::compress::Counter;

/// A token is four characters of text or result.
pub(super) fn counter() -> Counter {
    Arc::new(|request: &GenerateRequest| {
        let system = request.system_instruction.iter();
        let sizes = request.contents.iter().chain(system).map(|content| crate::compress::size(content));
        sizes.sum::<usize>() as u64 / 4
    })
}

pub(super) fn start_with(world: &Arc<World>, window: Option<u32>, compression: Compression) -> Run {
    let conversation = Conversation::of(&*world.journal.lock().unwrap());
    let mut setup = setup(world);
    setup.model = BoundModel { window, count: counter(), ..setup.model };
    setup.options.compression = compression;
    let session = SessionHandle::start(setup, conversation);
    let client = Some(session.attach());
    let events = session.subscribe();
    Run { world: world.clone(), session, events, _client: client }
}

pub(super) fn start(world: &Arc<World>, window: u32) -> Run {
    start_with(world, Some(window), Compression::default())
}

pub(super) fn world() -> Arc<World> {
    let world = Arc::new(World::default());
    world.journal.lock().unwrap().push(first_record());
    world
}

pub(super) const SNAPSHOT: &str = "<state_snapshot><overall_goal>Plant facts and find them again</overall_goal>\
    <key_knowledge>The build runs with make -j2; the parser lives in src/parse.rs; decision: no macros.</key_knowledge>\
    <task_state>lexer done, parser under way</task_state></state_snapshot>";

/// Ten prompts, each answered at length.
pub(super) async fn talk(run: &mut Run) {
    for n in 0..10 {
        let long: &'static str = "Here is what I found out about it. ".repeat(20).leak();
        run.world.replies.lock().unwrap().push(Answer::Text(long));
        run.prompt(&format!("rule {n}: keep file-{n}.txt. Say more.")).await;
        assert_eq!(run.end().await, TurnEnd::Finished);
    }
}

pub(super) fn sent(world: &World) -> Vec<(u64, Arc<Content>)> {
    Conversation::of(&*world.journal.lock().unwrap()).sent()
}

fn last_request(run: &Run) -> String {
    let requests = run.world.requests.lock().unwrap();
    let contents = &requests.last().unwrap().contents;
    contents.iter().map(|content| content.text()).collect::<Vec<_>>().join("\n")
}

pub(super) async fn compression(run: &mut Run) -> CompressionReport {
    loop {
        if let SessionEvent::Turn(TurnEvent::ChatCompressed(report)) = run.event().await {
            return report;
        }
    }
}

async fn announced(run: &mut Run) -> PreCompress {
    loop {
        if let SessionEvent::Turn(TurnEvent::PreCompress(coming)) = run.event().await {
            return coming;
        }
    }
}

async fn failed(run: &mut Run) -> (LlmErrorKind, String) {
    let fact = run.until(|fact| matches!(fact, Fact::TurnEnded(_))).await;
    let Fact::TurnEnded(ended) = fact else { unreachable!() };
    assert_eq!(ended.end, TurnEnd::Error);
    (ended.error.unwrap(), ended.detail.unwrap())
}

#[tokio::test(start_paused = true)]
async fn facts_and_the_users_words_survive_and_the_request_fits() {
    let world = world();
    world.summarise(SNAPSHOT);
    let mut run = start(&world, 2_000);
    talk(&mut run).await;
    run.prompt("and now?").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    let sent = last_request(&run);
    for n in 0..10 {
        assert!(sent.contains(&format!("rule {n}: keep file-{n}.txt.")), "rule {n} is lost: {sent}");
    }
    for fact in ["make -j2", "src/parse.rs", "no macros", "parser under way", "and now?"] {
        assert!(sent.contains(fact), "{fact} is lost");
    }
    assert!(*world.summaries.lock().unwrap() >= 1);
    for request in world.requests.lock().unwrap().iter() {
        assert_paired(request);
        assert!(counter()(request) < 2_000);
    }
}

#[tokio::test(start_paused = true)]
async fn a_compression_is_announced_before_it_is_tried() {
    let world = world();
    world.summarise(SNAPSHOT);
    let mut run = start(&world, 100_000);
    talk(&mut run).await;
    run.send(Command::Compress).await;
    let coming = announced(&mut run).await;
    assert_eq!((coming.trigger, coming.window), (CompressionTrigger::Manual, Some(100_000)));
    assert_eq!(coming.older + coming.kept, 20);
    let report = compression(&mut run).await;
    assert_eq!((report.status, report.before), (CompressionStatus::Compressed, coming.tokens));
    assert_eq!(report.messages, coming.kept + 2);

    let mut small = start(&world, 1_200);
    small.prompt(&"more ".repeat(200)).await;
    let coming = announced(&mut small).await;
    assert_eq!((coming.trigger, coming.window), (CompressionTrigger::Auto, Some(1_200)));
    assert!(coming.tokens > 840);
    assert_eq!(small.end().await, TurnEnd::Finished);
}

#[tokio::test(start_paused = true)]
async fn threshold_and_kept_share_are_settings() {
    let kept = |keep: f64| async move {
        let world = world();
        world.summarise(SNAPSHOT);
        let mut run = start_with(&world, Some(100_000), Compression { keep, ..Compression::default() });
        talk(&mut run).await;
        run.send(Command::Compress).await;
        announced(&mut run).await.kept
    };
    assert!(kept(0.7).await > kept(0.2).await + 6);
    let world = world();
    world.summarise(SNAPSHOT);
    let compression = Compression { threshold: 0.01, ..Compression::default() };
    let mut run = start_with(&world, Some(100_000), compression);
    talk(&mut run).await;
    assert!(*world.summaries.lock().unwrap() > 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_done_by_itself_is_still_done_when_asked_for() {
    let world = world();
    world.summarise(SNAPSHOT);
    let compression = Compression { automatic: false, ..Compression::default() };
    let mut run = start_with(&world, Some(2_100), compression);
    talk(&mut run).await;
    assert_eq!(*world.summaries.lock().unwrap(), 0);
    run.prompt(&"words ".repeat(500)).await;
    let (kind, detail) = failed(&mut run).await;
    assert_eq!((kind, *world.summaries.lock().unwrap()), (LlmErrorKind::ContextOverflow, 0));
    assert!(detail.contains("the model's window has 2100"), "{detail}");
    run.send(Command::Compress).await;
    assert_eq!(compression_of(&mut run).await, CompressionStatus::Compressed);
    run.prompt("now?").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
}

async fn compression_of(run: &mut Run) -> CompressionStatus {
    compression(run).await.status
}

#[tokio::test(start_paused = true)]
async fn what_can_never_fit_is_a_typed_error_that_names_what_fills_the_window() {
    let world = world();
    world.summarise(SNAPSHOT);
    let mut run = start(&world, 650);
    run.prompt(&"words ".repeat(500)).await;
    let (kind, detail) = failed(&mut run).await;
    assert_eq!(kind, LlmErrorKind::ContextOverflow);
    assert!(detail.contains("your messages 750"), "{detail}");
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_was_refused_does_not_stand_in_the_way_of_the_next() {
    for automatic in [true, false] {
        let world = world();
        world.summarise("no snapshot");
        let compression = Compression { automatic, ..Compression::default() };
        let mut run = start_with(&world, Some(2_000), compression);
        run.prompt(&"words ".repeat(5_000)).await;
        assert_eq!(failed(&mut run).await.0, LlmErrorKind::ContextOverflow);
        run.prompt("short").await;
        let fact = run.until(|fact| matches!(fact, Fact::TurnEnded(_))).await;
        let Fact::TurnEnded(ended) = fact else { unreachable!() };
        assert_eq!(ended.end, TurnEnd::Finished, "{:?}", ended.detail);
        assert_eq!(*world.summaries.lock().unwrap(), 0);
        {
            let requests = world.requests.lock().unwrap();
            let told = requests[0].contents[0].text();
            assert!(told.starts_with("words words"), "{told}");
            assert!(
                told.contains("the rest did not fit the window and was left out") && told.ends_with("short")
            );
        }
        // Nothing is lost: whoever has a larger window brings it back.
        run.send(Command::Restore).await;
        assert_eq!(compression_of(&mut run).await, CompressionStatus::Restored);
    }
}

#[tokio::test(start_paused = true)]
async fn outputs_are_not_cut_for_a_prompt_that_cannot_fit_without_them() {
    let world = world();
    world.summarise("no snapshot");
    *world.replies.lock().unwrap() = vec![Answer::Calls(vec![("read", 4_000)])];
    let mut run = start(&world, 3_000);
    run.prompt("read it").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    run.prompt(&"words ".repeat(5_000)).await;
    assert_eq!(failed(&mut run).await.0, LlmErrorKind::ContextOverflow);
    let journal = world.journal.lock().unwrap();
    assert!(!journal.iter().any(|record| matches!(record.fact, Fact::OutputsCut(_))));
}

#[tokio::test(start_paused = true)]
async fn what_may_fit_by_a_better_count_is_left_to_the_server() {
    let mut run = start(&world(), 700);
    run.prompt(&"words ".repeat(500)).await;
    assert_eq!(run.end().await, TurnEnd::Finished);
}

#[tokio::test(start_paused = true)]
async fn absurd_figures_of_a_server_do_not_stop_a_short_conversation() {
    let world = world();
    let usage = UsageMetadata { prompt_token_count: Some(u64::MAX), ..UsageMetadata::default() };
    let said = Arc::new(Content::model("Hello."));
    let said = ModelContent {
        turn: 1,
        content: said,
        finish: Some(FinishReason::Stop),
        usage: Some(usage),
        citations: vec![],
        hook: None,
    };
    let prompt = Arc::new(Content::user("hi"));
    let ended = TurnEnded { turn: 1, end: TurnEnd::Finished, detail: None, error: None, by: None };
    let facts = [
        Fact::TurnStarted(TurnStarted { turn: 1, prompt, id: String::new(), by: String::new() }),
        Fact::ModelContent(Box::new(said)),
        Fact::TurnEnded(Box::new(ended)),
    ];
    let records = facts.into_iter().zip(2..).map(|(fact, seq)| Record::new(seq, 0, fact));
    world.journal.lock().unwrap().extend(records);
    let mut run = start(&world, 2_000);
    run.prompt("and now?").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(last_request(&run), "hi\nHello.\nand now?");
}

#[tokio::test(start_paused = true)]
async fn an_instruction_that_fills_the_window_is_named_and_costs_no_summary() {
    let world = world();
    world.summarise(SNAPSHOT);
    *world.instruction.lock().unwrap() = Some(|_| "rule ".repeat(1_000));
    let mut run = start(&world, 700);
    for _ in 0..3 {
        run.prompt("hello").await;
        let (kind, detail) = failed(&mut run).await;
        assert_eq!(kind, LlmErrorKind::ContextOverflow);
        assert!(detail.contains("instructions and instruction files 1250"), "{detail}");
    }
    assert_eq!((*world.summaries.lock().unwrap(), world.requests.lock().unwrap().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_huge_result_is_cut_and_the_model_is_told_where_the_whole_is() {
    let world = world();
    world.summarise(SNAPSHOT);
    *world.replies.lock().unwrap() = vec![Answer::Calls(vec![("read", 1), ("read", 60_000)])];
    let mut run = start(&world, 3_000);
    run.prompt("read it").await;
    let report = compression(&mut run).await;
    assert_eq!((report.status, report.trigger), (CompressionStatus::OutputsCut, CompressionTrigger::Auto));
    assert!(report.after < 3_000 && report.before > 15_000);
    assert_eq!(run.end().await, TurnEnd::Finished);
    let requests = world.requests.lock().unwrap();
    let results: Vec<_> = requests[1].contents[2].function_responses().map(|r| r.to_text()).collect();
    assert_eq!(results[0], "result 1");
    assert!(
        results[1].contains("the whole is in the journal of the test, call charla_3_2"),
        "{}",
        results[1]
    );
    assert_eq!(*world.summaries.lock().unwrap(), 0);
    // The journal has all of it.
    drop(requests);
    let journal = world.journal.lock().unwrap();
    let whole = journal.iter().any(|record| match &record.fact {
        Fact::CallEnded(ended) => ended.response.to_text().len() > 60_000,
        _ => false,
    });
    assert!(whole);
}

#[tokio::test(start_paused = true)]
async fn a_cut_result_that_is_rewound_leaves_nothing_to_restore() {
    let world = world();
    *world.replies.lock().unwrap() = vec![Answer::Calls(vec![("read", 60_000)])];
    let mut run = start(&world, 3_000);
    run.prompt("read it").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    let mut conversation = Conversation::of(&*world.journal.lock().unwrap());
    assert!(conversation.shortening.is_any());
    let rewound = charla_proto::Rewound { to: conversation.contents[0].0, files: vec![], by: None };
    conversation.apply(&Record::new(conversation.seq + 1, 0, Fact::Rewound(rewound)));
    assert!(!conversation.shortening.is_any());
}

#[tokio::test(start_paused = true)]
async fn a_turn_of_many_steps_is_compressed_within_and_keeps_its_prompt() {
    let world = world();
    world.summarise(SNAPSHOT);
    *world.replies.lock().unwrap() = (0..12).map(|n| Answer::Calls(vec![("read", 1_000 + n)])).collect();
    let mut run = start(&world, 3_000);
    run.prompt("read them all, and mind the gap").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(*world.summaries.lock().unwrap(), 1);
    for request in world.requests.lock().unwrap().iter() {
        assert_paired(request);
        assert!(counter()(request) < 3_000);
        assert!(request.contents.iter().any(|content| content.text().contains("mind the gap")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_compression_is_taken_back_with_one_command() {
    let world = world();
    let mut run = start(&world, 100_000);
    talk(&mut run).await;
    world.summarise(SNAPSHOT);
    let before = sent(&world);
    for _ in 0..2 {
        run.send(Command::Compress).await;
        let report = compression(&mut run).await;
        assert_eq!(report.status, CompressionStatus::Compressed);
        assert!(report.after < report.before);
    }
    run.send(Command::Restore).await;
    let report = compression(&mut run).await;
    assert_eq!((report.status, report.messages), (CompressionStatus::Restored, 20));
    assert_eq!(sent(&world), before);
    run.prompt("still?").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    let contents = world.requests.lock().unwrap().last().unwrap().contents.clone();
    assert_eq!(contents.len(), 21);
    assert!(before.iter().map(|said| &said.1).zip(&contents).all(|(a, b)| a == b));
    run.send(Command::Restore).await;
    assert_eq!(compression_of(&mut run).await, CompressionStatus::NothingToRestore);
}

#[tokio::test(start_paused = true)]
async fn a_resumed_session_is_still_compressed() {
    let world = world();
    world.summarise(SNAPSHOT);
    let mut run = start(&world, 100_000);
    talk(&mut run).await;
    run.send(Command::Compress).await;
    compression(&mut run).await;
    drop(run);
    let mut again = start(&world, 100_000);
    again.prompt("go on").await;
    assert_eq!(again.end().await, TurnEnd::Finished);
    let sent = last_request(&again);
    assert!(sent.starts_with("The session so far") && sent.ends_with("go on"), "{sent}");
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_for_during_a_turn_waits_for_its_end() {
    let world = world();
    world.summarise(SNAPSHOT);
    let mut run = start(&world, 100_000);
    talk(&mut run).await;
    run.prompt("first").await;
    run.send(Command::Compress).await;
    run.send(Command::Restore).await;
    run.prompt("second").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(compression_of(&mut run).await, CompressionStatus::Compressed);
    assert_eq!(compression_of(&mut run).await, CompressionStatus::Restored);
    assert_eq!(run.end().await, TurnEnd::Finished);
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_was_asked_for_can_be_cancelled() {
    let world = world();
    let mut run = start(&world, 100_000);
    talk(&mut run).await;
    let before = sent(&world);
    // The summary is begun before the cancellation is heard.
    tokio::join!(run.send(Command::Compress), run.cancel());
    assert_eq!(compression_of(&mut run).await, CompressionStatus::Cancelled);
    assert_eq!(sent(&world), before);
}
