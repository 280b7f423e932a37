//! Questions put to a person, and what comes of the answers.

use charla_proto::{ConfirmationDetail, Grant};

use super::*;

#[tokio::test(start_paused = true)]
async fn the_first_answer_wins_and_a_late_one_is_told_who_won() {
    let mut run = Run::new(vec![Answer::Calls(vec![("hang", 1), ("write", 2)])], true);
    run.prompt("go").await;
    let (first, _second) = (run.asked().await, run.asked().await);
    assert_eq!(run.session.answer(&first, Outcome::ProceedOnce, "anna").await, Ok(()));
    let late = run.session.answer(&first, Outcome::Cancel { reason: None }, "bob").await;
    assert_eq!(late, Err(Refusal::Late { outcome: Outcome::ProceedOnce, by: "anna".to_owned() }));
    let unknown = run.session.answer("nothing", Outcome::ProceedOnce, "bob").await;
    assert!(matches!(unknown, Err(Refusal::Unknown { .. })), "{unknown:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_one_of_many_questions_does_not_weigh_the_others_anew() {
    let calls = (100..130).map(|n| ("write", n)).collect();
    let mut run = Run::new(vec![Answer::Calls(calls), Answer::Text("done")], true);
    run.prompt("go").await;
    let mut questions = Vec::new();
    for _ in 0..30 {
        questions.push(run.asked().await);
    }
    *run.world.judged.lock().unwrap() = 0;
    for question in &questions {
        run.session.answer(question, Outcome::ProceedOnce, "anna").await.unwrap();
    }
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(run.world.ran.lock().unwrap().len(), 30);
    let judged = *run.world.judged.lock().unwrap();
    assert!(judged <= 30, "the rules were asked {judged} times for 30 answers");
}

#[tokio::test(start_paused = true)]
async fn with_nobody_to_ask_the_answer_is_a_recorded_no() {
    let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)]), Answer::Text("sorry")], false);
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert!(run.world.ran.lock().unwrap().is_empty());
    assert_eq!(run.errors(), [ToolErrorKind::NobodyToAsk]);
    let journal = run.world.journal.lock().unwrap();
    let by: Vec<_> = journal
        .iter()
        .filter_map(|record| match &record.fact {
            Fact::ApprovalAnswered(answered) => Some(answered.by.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(by, ["nobody"]);
}

#[tokio::test(start_paused = true)]
async fn a_denied_unknown_failing_or_panicking_call_still_gets_a_response() {
    let calls = vec![("write", 7), ("nonsense", 1), ("fail", 1), ("panic", 1), ("read", 99)];
    let mut run = Run::new(vec![Answer::Calls(calls), Answer::Text("ok")], true);
    run.mode(ApprovalMode::Yolo).await;
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(run.statuses(), [CallStatus::Error; 5]);
    let errors = run.errors();
    for kind in [
        ToolErrorKind::DeniedByRule,
        ToolErrorKind::UnknownTool,
        ToolErrorKind::ExitStatus,
        ToolErrorKind::Internal,
        ToolErrorKind::InvalidArgs,
    ] {
        assert!(errors.contains(&kind), "{kind} in {errors:?}");
    }
    let requests = run.world.requests.lock().unwrap();
    assert_paired(&requests[1]);
    let text: Vec<_> = requests[1].contents[2].function_responses().map(|r| r.to_text()).collect();
    assert!(text[0].contains("denied by policy"), "{text:?}");
    assert!(text[1].contains("Did you mean `read`?"), "{text:?}");
}

#[tokio::test(start_paused = true)]
async fn a_no_with_a_reason_goes_on_and_a_plain_no_ends_the_turn() {
    let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)]), Answer::Text("ok")], true);
    run.prompt("go").await;
    let approval = run.asked().await;
    let reason = Some("use another file".to_owned());
    run.session.answer(&approval, Outcome::Cancel { reason }, "me").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Finished);
    let told =
        run.world.requests.lock().unwrap()[1].contents[2].function_responses().next().unwrap().to_text();
    assert!(told.contains("use another file"));
    assert_eq!(run.errors(), [ToolErrorKind::RefusedByPerson]);
    run.world.replies.lock().unwrap().push(Answer::Calls(vec![("write", 1), ("read", 1)]));
    run.prompt("again").await;
    let approval = run.asked().await;
    run.session.answer(&approval, Outcome::Cancel { reason: None }, "me").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn always_answers_the_same_question_that_is_open_already() {
    let calls = vec![("write", 1), ("write", 1), ("write", 2)];
    let mut run = Run::new(vec![Answer::Calls(calls)], true);
    run.prompt("go").await;
    let first = run.asked().await;
    let (second, third) = (run.asked().await, run.asked().await);
    run.session.answer(&first, Outcome::ProceedAlways, "me").await.unwrap();
    let late = run.session.answer(&second, Outcome::Cancel { reason: None }, "me").await;
    assert!(matches!(late, Err(Refusal::Late { outcome: Outcome::ProceedOnce, .. })), "{late:?}");
    run.session.answer(&third, Outcome::ProceedOnce, "me").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(*run.world.ran.lock().unwrap(), ["write 1", "write 1", "write 2"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_its_question_is_refused_and_the_question_stays() {
    let calls = vec![("write", 9), ("question", 1)];
    let mut run = Run::new(vec![Answer::Calls(calls), Answer::Text("ok")], true);
    run.prompt("go").await;
    let (write, question) = (run.asked().await, run.asked().await);
    let answers = Outcome::Answers { answers: vec!["blue".to_owned()] };
    let edit = Outcome::ModifyWithEditor { new_content: "x".to_owned() };
    let misfits = [
        (&write, Outcome::ProceedAlways),
        (&write, Outcome::ProceedAlwaysAndSave),
        (&write, Outcome::ProceedAlwaysServer),
        (&write, edit),
        (&write, answers.clone()),
        (&question, Outcome::ProceedOnce),
        (&question, Outcome::ProceedAlwaysTool),
    ];
    for (approval, outcome) in misfits {
        let refused = run.session.answer(approval, outcome.clone(), "me").await;
        assert!(matches!(refused, Err(Refusal::DoesNotFit { .. })), "{outcome:?}: {refused:?}");
    }
    assert_eq!(run.session.answer(&write, Outcome::ProceedOnce, "me").await, Ok(()));
    assert_eq!(run.session.answer(&question, answers, "me").await, Ok(()));
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert!(run.world.saved.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn always_is_remembered_for_what_it_named() {
    let step = || Answer::Calls(vec![("write", 1)]);
    let mut run = Run::new(vec![step(), step(), Answer::Calls(vec![("write", 2)])], true);
    run.prompt("go").await;
    let approval = run.asked().await;
    run.session.answer(&approval, Outcome::ProceedAlways, "me").await.unwrap();
    // The second `write 1` runs unasked; `write 2` asks.
    let approval = run.asked().await;
    assert_eq!(*run.world.ran.lock().unwrap(), ["write 1", "write 1"]);
    run.session.answer(&approval, Outcome::Cancel { reason: None }, "me").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn an_always_that_is_taken_back_asks_again_also_in_the_next_process() {
    let step = || Answer::Calls(vec![("write", 1)]);
    let mut run = Run::new(vec![step(), step(), step(), step()], true);
    run.prompt("go").await;
    let first = run.asked().await;
    run.session.answer(&first, Outcome::ProceedAlways, "anna").await.unwrap();
    // The second and the third `write 1` run unasked, as does the fourth.
    assert_eq!(run.end().await, TurnEnd::Finished);
    let grants = run.session.snapshot().await.unwrap().0.choices.grants;
    let [granted] = grants.as_slice() else { panic!("{grants:?}") };
    assert_eq!((granted.approval.as_str(), granted.by.as_str()), (first.as_str(), "anna"));
    assert_eq!(granted.grant, Grant::Rules { rules: "write 1".to_owned() });

    let unknown = run.send(Command::Revoke { approval: "s:999".to_owned() }).await;
    assert!(matches!(unknown, Reply::Refused(Refusal::Unknown { .. })), "{unknown:?}");
    assert_eq!(run.send(Command::Revoke { approval: first.clone() }).await, Reply::Done);
    let revoked = run.until(|fact| matches!(fact, Fact::GrantRevoked(_))).await;
    let Fact::GrantRevoked(revoked) = revoked else { unreachable!() };
    assert_eq!((revoked.approval, revoked.grant), (first.clone(), granted.grant.clone()));

    run.world.replies.lock().unwrap().push(step());
    run.prompt("again").await;
    let again = run.asked().await;
    run.session.answer(&again, Outcome::Cancel { reason: None }, "me").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Cancelled);

    let mut next = Run::resume(run.world.clone(), true);
    assert!(next.session.snapshot().await.unwrap().0.choices.grants.is_empty());
    next.world.replies.lock().unwrap().push(step());
    next.prompt("and here").await;
    next.asked().await;
}

#[tokio::test(start_paused = true)]
async fn an_always_holds_in_its_session_and_in_no_fork_of_it() {
    let step = |n| Answer::Calls(vec![("write", n)]);
    let mut run = Run::new(vec![step(1), step(2), Answer::Text("done")], true);
    run.prompt("go").await;
    let revoked = run.asked().await;
    run.session.answer(&revoked, Outcome::ProceedAlways, "anna").await.unwrap();
    let kept = run.asked().await;
    run.session.answer(&kept, Outcome::ProceedAlways, "anna").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(run.send(Command::Revoke { approval: revoked.clone() }).await, Reply::Done);

    let journal = run.world.journal.lock().unwrap().clone();
    let Fact::SessionStarted(started) = first_record().fact else { unreachable!() };
    for at in journal.iter().map(|record| record.seq) {
        let started = SessionStarted { session: "fork".to_owned(), ..*started.clone() };
        let forked = fork::fork(&journal, Some(at), started, 0);
        assert_eq!(Conversation::of(&forked).grants, [], "{at}");
    }

    let ended = journal.iter().find(|record| matches!(record.fact, Fact::TurnEnded(_))).unwrap().seq;
    let started = SessionStarted { session: "fork".to_owned(), ..*started };
    let world = Arc::new(World::default());
    *world.journal.lock().unwrap() = fork::fork(&journal, Some(ended), started, 0);
    let mut fork = Run::resume(world, true);
    fork.world.replies.lock().unwrap().push(Answer::Calls(vec![("write", 2), ("write", 1)]));
    fork.prompt("go on here").await;
    fork.asked().await;
    assert!(fork.world.ran.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_a_grant_allowed_and_has_not_begun_is_asked_about_once_it_is_taken_back() {
    let replies = vec![Answer::Calls(vec![("write", 2)]), Answer::Calls(vec![("question", 1), ("write", 2)])];
    let mut run = Run::new(replies, true);
    run.prompt("go").await;
    let always = run.asked().await;
    run.session.answer(&always, Outcome::ProceedAlwaysTool, "me").await.unwrap();
    let question = run.asked().await;
    settle().await;
    assert_eq!(run.send(Command::Revoke { approval: always }).await, Reply::Done);
    let answers = Outcome::Answers { answers: vec!["blue".to_owned()] };
    run.session.answer(&question, answers, "me").await.unwrap();
    run.asked().await;
    assert_eq!(*run.world.ran.lock().unwrap(), ["write 2", "question 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_question_reaches_the_person_even_when_everything_is_allowed() {
    let replies = vec![Answer::Calls(vec![("question", 1)]), Answer::Text("thanks")];
    let mut run = Run::new(replies, true);
    run.mode(ApprovalMode::Yolo).await;
    run.prompt("go").await;
    let asked = match run.until(|fact| matches!(fact, Fact::CallAsked(_))).await {
        Fact::CallAsked(asked) => asked,
        _ => unreachable!(),
    };
    assert!(matches!(asked.confirmation.detail, ConfirmationDetail::AskUser { .. }));
    assert_eq!(asked.confirmation.always, None);
    let answers = Outcome::Answers { answers: vec!["blue".to_owned()] };
    assert_eq!(run.session.answer(&asked.approval, answers, "me").await, Ok(()));
    let ended = match run.until(|fact| matches!(fact, Fact::CallEnded(_))).await {
        Fact::CallEnded(ended) => ended,
        _ => unreachable!(),
    };
    assert_eq!(ended.response.response["output"], "said blue");
    assert_eq!(run.end().await, TurnEnd::Finished);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_not_offered_in_this_mode_does_not_run() {
    for mode in [ApprovalMode::Plan, ApprovalMode::Yolo] {
        let replies = vec![Answer::Calls(vec![("withheld", 1)]), Answer::Text("well then")];
        let mut run = Run::new(replies, true);
        run.mode(mode).await;
        run.prompt("go").await;
        let ended = match run.until(|fact| matches!(fact, Fact::CallEnded(_))).await {
            Fact::CallEnded(ended) => ended,
            _ => unreachable!(),
        };
        assert_eq!(ended.error, Some(ToolErrorKind::NotOffered));
        let told = ended.response.response["error"].to_string();
        assert!(told.contains(&format!("withheld is not available in {mode} mode")), "{told}");
        assert_eq!(run.end().await, TurnEnd::Finished);
        assert!(run.world.ran.lock().unwrap().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_is_refused_when_nobody_is_there() {
    let replies = vec![Answer::Calls(vec![("question", 1)]), Answer::Text("well then")];
    let mut run = Run::new(replies, false);
    run.mode(ApprovalMode::Yolo).await;
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(run.statuses(), [CallStatus::Error]);
    assert!(run.world.ran.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_no_longer_holds_when_its_call_begins_allows_nothing() {
    let mut run = Run::new(vec![Answer::Calls(vec![("question", 1), ("write", 2)])], true);
    run.prompt("go").await;
    run.mode(ApprovalMode::Yolo).await;
    let question = run.asked().await;
    settle().await;
    run.mode(ApprovalMode::Default).await;
    let answers = Outcome::Answers { answers: vec!["blue".to_owned()] };
    run.session.answer(&question, answers, "me").await.unwrap();
    let write = run.asked().await;
    settle().await;
    assert_eq!(*run.world.ran.lock().unwrap(), ["question 1"]);
    run.session.answer(&write, Outcome::ProceedOnce, "me").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(*run.world.ran.lock().unwrap(), ["question 1", "write 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_knows_whether_a_person_agreed_to_it_or_a_rule_allowed_it() {
    let calls = vec![("write", 1), ("write", 2), ("write", 1), ("read", 5)];
    let mut run = Run::new(vec![Answer::Calls(calls), Answer::Text("done")], true);
    run.prompt("go").await;
    let (first, second) = (run.asked().await, run.asked().await);
    run.session.answer(&second, Outcome::ProceedOnce, "anna").await.unwrap();
    // The third is the first again, which is answered by what was said of that.
    run.session.answer(&first, Outcome::ProceedAlways, "anna").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(run.world.ran.lock().unwrap().len(), 4);
    assert_eq!(run.world.agreed.lock().unwrap().len(), 2, "{:?}", run.world.agreed);
}
