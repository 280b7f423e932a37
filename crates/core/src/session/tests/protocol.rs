//! The session as a protocol: what newcomers see, what answers win, what is kept.

use charla_proto::{RevertSelection, SessionSnapshot};

use super::*;

#[tokio::test(start_paused = true)]
async fn a_newcomer_in_the_middle_of_a_stream_sees_what_those_before_it_saw() {
    let run = Run::new(vec![Answer::Stream(6)], true);
    let mut first = run.session.subscribe();
    run.prompt("go").await;
    let mut text = String::new();
    while text.len() < 3 {
        if let Some(SessionEvent::Turn(TurnEvent::Content { content, .. })) = first.recv().await {
            text.push_str(&content);
        }
    }
    let (snapshot, mut second) = run.session.snapshot().await.unwrap();
    assert_eq!(snapshot.phase, Phase::Asking);
    let mut joined = snapshot.running.text.clone();
    let mut third = run.session.subscribe_from(1).await.unwrap();
    run.world.wake.notify_waiters();
    let mut late = String::new();
    loop {
        match second.recv().await.unwrap() {
            SessionEvent::Turn(TurnEvent::Content { content, .. }) => joined.push_str(&content),
            SessionEvent::Record(record) if matches!(record.fact, Fact::ModelContent(_)) => break,
            _ => {}
        }
    }
    let mut seqs = Vec::new();
    loop {
        match third.recv().await.unwrap() {
            SessionEvent::Turn(TurnEvent::Content { content, delta, .. }) => {
                if !delta {
                    late.clear();
                }
                late.push_str(&content);
            }
            SessionEvent::Record(record) => {
                seqs.push(record.seq);
                if matches!(record.fact, Fact::ModelContent(_)) {
                    break;
                }
            }
            _ => {}
        }
    }
    assert_eq!((joined.as_str(), late.as_str()), ("012345", "012345"));
    assert_eq!(seqs, [2, 3], "every record after the first, once");
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_survives_a_round_trip() {
    let mut run = Run::new(vec![Answer::Calls(vec![("hang", 1), ("write", 2)])], true);
    run.mode(ApprovalMode::Default).await;
    run.prompt("go").await;
    let first = run.asked().await;
    run.asked().await;
    run.session.answer(&first, Outcome::ProceedOnce, "me").await.unwrap();
    settle().await;
    let (snapshot, _) = run.session.snapshot().await.unwrap();
    assert_eq!(snapshot.running.live.values().collect::<Vec<_>>(), ["working"]);
    assert_eq!(snapshot.questions().count(), 1);
    let text = serde_json::to_string(&snapshot).unwrap();
    assert_eq!(serde_json::from_str::<SessionSnapshot>(&text).unwrap(), snapshot);
}

/// Three clients on threads of their own, in every order.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn of_three_answers_at_once_one_wins_a_thousand_times() {
    const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]];
    let clients = [
        ("anna", Outcome::ProceedOnce),
        ("bob", Outcome::Cancel { reason: None }),
        ("carl", Outcome::Cancel { reason: Some("no".to_owned()) }),
    ];
    let mut wins = [0; 3];
    for round in 0..1000 {
        let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)])], true);
        run.prompt("go").await;
        let approval = run.asked().await;
        let gate = Arc::new(tokio::sync::Barrier::new(3));
        let answering = ORDERS[round % 6].map(|client| {
            let (session, approval, gate) = (run.session.clone(), approval.clone(), gate.clone());
            let (name, outcome) = clients[client].clone();
            tokio::spawn(async move {
                gate.wait().await;
                (client, session.answer(&approval, outcome, name).await)
            })
        });
        let mut results = Vec::new();
        for answer in answering {
            results.push(answer.await.unwrap());
        }
        let winners: Vec<usize> =
            results.iter().filter(|(_, result)| result.is_ok()).map(|(client, _)| *client).collect();
        let [winner] = winners.as_slice() else { panic!("round {round}: {results:?}") };
        wins[*winner] += 1;
        let (name, outcome) = clients[*winner].clone();
        let late = Err(Refusal::Late { outcome: outcome.clone(), by: name.to_owned() });
        assert!(results.iter().all(|(client, result)| client == winner || *result == late), "{results:?}");
        run.end().await;
        let ran = !run.world.ran.lock().unwrap().is_empty();
        assert_eq!(ran, outcome.allows(), "round {round}: what won counts");
    }
    assert!(wins.iter().all(|times| *times > 0), "everybody wins sometimes: {wins:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_saves_has_its_rules_kept_whoever_gives_it() {
    let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)])], true);
    run.prompt("go").await;
    let approval = run.asked().await;
    run.session.answer(&approval, Outcome::ProceedAlwaysAndSave, "a browser").await.unwrap();
    let saved = run.until(|fact| matches!(fact, Fact::RulesSaved(_))).await;
    let Fact::RulesSaved(saved) = saved else { unreachable!() };
    assert_eq!((saved.rules.as_str(), saved.by.as_str()), ("write 1", "a browser"));
    assert_eq!(*run.world.saved.lock().unwrap(), ["write 1"]);
}

#[tokio::test(start_paused = true)]
async fn allowing_a_server_answers_its_open_questions_and_no_others() {
    let calls = vec![("serve", 1), ("serve", 1), ("serve", 2)];
    let mut run = Run::new(vec![Answer::Calls(calls), Answer::Calls(vec![("serve", 1)])], true);
    run.prompt("go").await;
    let (first, _, other) = (run.asked().await, run.asked().await, run.asked().await);
    run.session.answer(&first, Outcome::ProceedAlwaysServer, "me").await.unwrap();
    settle().await;
    assert_eq!(*run.world.ran.lock().unwrap(), ["serve 1", "serve 1"]);
    run.session.answer(&other, Outcome::ProceedOnce, "me").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(*run.world.ran.lock().unwrap(), ["serve 1", "serve 1", "serve 2", "serve 1"]);
}

#[tokio::test(start_paused = true)]
async fn changed_arguments_run_are_recorded_and_the_model_is_told() {
    let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)])], true);
    run.prompt("go").await;
    let approval = run.asked().await;
    let args = Map::from_iter([("n".to_owned(), json!(5))]);
    run.session.answer(&approval, Outcome::Modify { args: args.clone() }, "me").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(*run.world.ran.lock().unwrap(), ["write 5"]);
    let requests = run.world.requests.lock().unwrap();
    let told = requests[1].contents[2].function_responses().next().unwrap().to_text();
    assert!(
        told.contains("result 5") && told.contains("user changed this call") && told.contains("{\"n\":5}"),
        "{told}"
    );
}

#[tokio::test(start_paused = true)]
async fn changed_arguments_that_are_denied_or_wrong_do_not_run() {
    let mut run = Run::new(vec![Answer::Calls(vec![("write", 1), ("write", 2)])], true);
    run.prompt("go").await;
    let (first, second) = (run.asked().await, run.asked().await);
    let with = |n: u32| Outcome::Modify { args: Map::from_iter([("n".to_owned(), json!(n))]) };
    run.session.answer(&first, with(7), "me").await.unwrap();
    // Arguments that do not fit the tool are the person's to mend: the question stays.
    let refused = run.session.answer(&second, with(99), "me").await;
    assert!(matches!(refused, Err(Refusal::DoesNotFit { .. })), "{refused:?}");
    run.session.answer(&second, Outcome::Cancel { reason: Some("no".to_owned()) }, "me").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert!(run.world.ran.lock().unwrap().is_empty());
    let mut errors = run.errors();
    errors.sort_by_key(|kind| format!("{kind:?}"));
    assert_eq!(errors, [ToolErrorKind::DeniedByRule, ToolErrorKind::RefusedByPerson]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_its_schema_is_mended_twice_and_then_the_turn_says_so() {
    let check: AnswerCheck = Arc::new(|text| (text != "{}").then(|| format!("`{text}` is not {{}}")));
    for (replies, end, asked) in
        [(vec!["no", "{}"], TurnEnd::Finished, 2), (vec!["no", "no", "no", "{}"], TurnEnd::SchemaMismatch, 3)]
    {
        let world = Arc::new(World::default());
        *world.replies.lock().unwrap() = replies.into_iter().map(Answer::Text).collect();
        world.journal.lock().unwrap().push(first_record());
        let mut setup = setup(&world);
        setup.options.answer_check = Some(check.clone());
        let session = SessionHandle::start(setup, Conversation::of(&*world.journal.lock().unwrap()));
        let events = session.subscribe();
        let mut run = Run { world, session, events, _client: None };
        run.prompt("go").await;
        assert_eq!(run.end().await, end);
        let requests = run.world.requests.lock().unwrap();
        assert_eq!(requests.len(), asked);
        assert!(requests[1].contents.last().unwrap().text().contains("does not fit the JSON Schema"));
    }
}

#[tokio::test(start_paused = true)]
async fn endings_are_decided_here() {
    use FinishReason::{MaxTokens, Other, Pause, Recitation, Safety, Stop, UnexpectedToolCall};
    let table = [
        ("words", Stop, TurnEnd::Finished),
        ("words", MaxTokens, TurnEnd::Truncated),
        ("words", Safety, TurnEnd::Blocked),
        ("words", Recitation, TurnEnd::Blocked),
        ("words", Other("NEW".to_owned()), TurnEnd::Finished),
        ("words", UnexpectedToolCall, TurnEnd::Error),
        ("", Stop, TurnEnd::Error),
        ("", MaxTokens, TurnEnd::Error),
    ];
    for (text, finish, end) in table {
        let mut run = Run::new(vec![Answer::Ends(text, finish.clone())], true);
        run.prompt("go").await;
        assert_eq!(run.end().await, end, "{finish:?}");
    }
    let mut run = Run::new(vec![Answer::Ends("half", Pause), Answer::Text(" whole")], true);
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(run.world.requests.lock().unwrap().len(), 2, "a pause is continued");
}

#[tokio::test(start_paused = true)]
async fn undo_redo_and_rewind_are_recorded_by_the_session() {
    let step = || Answer::Calls(vec![("change", 1)]);
    let mut run = Run::new(vec![step(), Answer::Text("one"), step(), Answer::Text("two")], true);
    run.mode(ApprovalMode::Yolo).await;
    for prompt in ["first", "second"] {
        run.prompt(prompt).await;
        assert_eq!(run.end().await, TurnEnd::Finished);
    }
    let undo = Command::Undo(RevertSelection::default());
    let reply = run.send(undo.clone()).await;
    assert!(matches!(&reply, Reply::Reverted { turn: 2, files } if files.len() == 1), "{reply:?}");
    let reply = run.send(Command::Redo(RevertSelection::default())).await;
    assert!(matches!(reply, Reply::Reverted { turn: 2, .. }), "{reply:?}");
    let contents = Conversation::of(&*run.world.journal.lock().unwrap()).contents;
    let said_one = contents.iter().find(|(_, content)| content.text() == "one").unwrap().0;
    let reply = run.send(Command::Rewind { to: said_one, files: true }).await;
    assert!(matches!(&reply, Reply::Reverted { turn: 1, files } if files.len() == 1), "{reply:?}");
    run.prompt("third").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    let last = run.world.requests.lock().unwrap().last().cloned().unwrap();
    let sent: String = last.contents.iter().map(|content| content.text()).collect();
    assert!(sent.contains("first") && sent.contains("third") && !sent.contains("second"), "{sent}");
    let reply = run.send(Command::Rewind { to: 9999, files: false }).await;
    assert!(matches!(reply, Reply::Refused(Refusal::Unknown { .. })), "{reply:?}");
    // The first turn's change is still there to undo, the second's went with the rewind.
    let reply = run.send(undo.clone()).await;
    assert!(matches!(reply, Reply::Reverted { turn: 1, .. }), "{reply:?}");
    let reply = run.send(undo).await;
    assert!(matches!(reply, Reply::Refused(Refusal::Nothing { .. })), "{reply:?}");
}
