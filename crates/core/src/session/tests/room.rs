//! Compression: what is kept, what is refused, what can be taken back.

use charla_proto::{CompressionReport, CompressionStatus};

use super::*;

/// A window of this many tokens, a token being four characters of text or result.
fn small_window(world: &Arc<World>, window: u32) -> SessionSetup {
    let count: crate::compress::Counter = Arc::new(|request: &GenerateRequest| {
        let texts = request.contents.iter().map(|content| {
            let results: usize = content.function_responses().map(|r| r.to_text().len()).sum();
            content.text().len() + results
        });
        texts.sum::<usize>() as u64 / 4
    });
    SessionSetup { window: Some((window, count)), ..setup(world, true) }
}

fn start(world: &Arc<World>, window: u32) -> Run {
    let conversation = Conversation::of(&*world.journal.lock().unwrap());
    let session = SessionHandle::start(small_window(world, window), conversation);
    let events = session.subscribe();
    Run { world: world.clone(), session, events }
}

fn world() -> Arc<World> {
    let world = Arc::new(World::default());
    world.journal.lock().unwrap().push(first_record());
    world
}

const SNAPSHOT: &str = "<state_snapshot><overall_goal>Plant facts and find them again</overall_goal>\
    <key_knowledge>The build runs with make -j2; the parser lives in src/parse.rs; decision: no macros.</key_knowledge>\
    <task_state>lexer done, parser under way</task_state></state_snapshot>";

/// Ten prompts, each answered at length.
async fn talk(run: &mut Run) {
    for n in 0..10 {
        let long: &'static str = "Here is what I found out about it. ".repeat(20).leak();
        run.world.replies.lock().unwrap().push(Reply::Text(long));
        run.prompt(&format!("rule {n}: keep file-{n}.txt. Say more.")).await;
        assert_eq!(run.end().await, TurnEnd::Finished);
    }
}

fn last_request(run: &Run) -> String {
    let requests = run.world.requests.lock().unwrap();
    let contents = &requests.last().unwrap().contents;
    contents.iter().map(|content| content.text()).collect::<Vec<_>>().join("\n")
}

async fn compression(run: &mut Run) -> CompressionReport {
    loop {
        match run.event().await {
            SessionEvent::Delta(Delta::Compression(report)) if report.status != CompressionStatus::Begun => {
                return report;
            }
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn facts_and_the_users_words_survive_and_the_request_fits() {
    let world = world();
    *world.summary.lock().unwrap() = Some(SNAPSHOT.to_owned());
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
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_garbage_or_too_much_leaves_the_history_as_it_was() {
    for bad in [None, Some(String::new()), Some("ok".to_owned()), Some("blah <b> blah </b> ".repeat(2000))] {
        let world = world();
        let mut run = start(&world, 100_000);
        talk(&mut run).await;
        *world.summary.lock().unwrap() = bad.clone();
        let before = Conversation::of(&*world.journal.lock().unwrap()).sent();
        run.session.send(Command::Compress).await;
        let report = compression(&mut run).await;
        let expected = match &bad {
            None => CompressionStatus::Failed,
            Some(text) if text.len() > 100 => CompressionStatus::WouldInflate,
            Some(_) => CompressionStatus::EmptySummary,
        };
        assert_eq!((report.status, report.before), (expected, report.after), "{bad:?}");
        assert_eq!(Conversation::of(&*world.journal.lock().unwrap()).sent(), before);
        run.prompt("still there?").await;
        assert_eq!(run.end().await, TurnEnd::Finished);
    }
}

#[tokio::test(start_paused = true)]
async fn a_prompt_never_costs_more_than_two_summaries() {
    let world = world();
    // Honest but long: it shrinks the history without ever making it fit.
    *world.summary.lock().unwrap() = Some(SNAPSHOT.replace("no macros", &"no macros ".repeat(30)));
    let mut run = start(&world, 700);
    for n in 0..12 {
        let before = *world.summaries.lock().unwrap();
        run.prompt(&format!("rule {n} {}", "words ".repeat(50))).await;
        run.end().await;
        assert!(*world.summaries.lock().unwrap() - before <= 2, "prompt {n}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_can_never_fit_is_a_typed_error_that_names_what_fills_the_window() {
    let world = world();
    let mut run = start(&world, 100);
    run.prompt(&"words ".repeat(500)).await;
    let fact = run.until(|fact| matches!(fact, Fact::TurnEnded(_))).await;
    let Fact::TurnEnded(ended) = fact else { unreachable!() };
    assert_eq!((ended.end, ended.error), (TurnEnd::Error, Some(LlmErrorKind::ContextOverflow)));
    assert!(ended.detail.unwrap().contains("a text of 3000 characters"));
    run.prompt("short").await;
    // The long prompt is still there, so the window is still full: told again, not hung.
    assert_eq!(run.end().await, TurnEnd::Error);
}

#[tokio::test(start_paused = true)]
async fn a_compression_is_taken_back_with_one_command() {
    let world = world();
    let mut run = start(&world, 100_000);
    talk(&mut run).await;
    *world.summary.lock().unwrap() = Some(SNAPSHOT.to_owned());
    let before = Conversation::of(&*world.journal.lock().unwrap()).sent();
    run.session.send(Command::Compress).await;
    let report = compression(&mut run).await;
    assert_eq!(report.status, CompressionStatus::Compressed);
    assert!(report.after < report.before);
    run.session.send(Command::Restore).await;
    assert_eq!(compression(&mut run).await.status, CompressionStatus::Restored);
    assert_eq!(Conversation::of(&*world.journal.lock().unwrap()).sent(), before);
    run.session.send(Command::Restore).await;
    assert_eq!(compression(&mut run).await.status, CompressionStatus::NotNeeded);
}

#[tokio::test(start_paused = true)]
async fn a_resumed_session_is_still_compressed() {
    let world = world();
    *world.summary.lock().unwrap() = Some(SNAPSHOT.to_owned());
    let mut run = start(&world, 100_000);
    talk(&mut run).await;
    run.session.send(Command::Compress).await;
    compression(&mut run).await;
    drop(run);
    let mut again = start(&world, 100_000);
    again.prompt("go on").await;
    assert_eq!(again.end().await, TurnEnd::Finished);
    let sent = last_request(&again);
    assert!(sent.starts_with("The session so far") && sent.ends_with("go on"), "{sent}");
}
