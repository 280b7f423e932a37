//! What is said, changed and cancelled while a turn runs.

use charla_proto::Delivery;

use super::*;

fn texts(request: &GenerateRequest) -> Vec<String> {
    request.contents.iter().map(|content| content.text()).collect()
}

async fn prompt(run: &Run, text: &str, delivery: Delivery, by: &str) -> Reply {
    let command = Command::Prompt { content: Content::user(text), delivery };
    run.session.send(command, by).await
}

#[tokio::test(start_paused = true)]
async fn a_prompt_joins_the_running_turn_with_its_next_request() {
    let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)]), Answer::Text("ok")], true);
    run.prompt("go").await;
    let approval = run.asked().await;
    let reply = prompt(&run, "but quickly", Delivery::Join, "anna").await;
    assert!(matches!(reply, Reply::Prompted { waits: true, .. }), "{reply:?}");
    let (snapshot, _) = run.session.snapshot().await.unwrap();
    assert_eq!((snapshot.queue.len(), snapshot.queue[0].by.as_str()), (1, "anna"));
    run.session.answer(&approval, Outcome::ProceedOnce, "me").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Finished);
    let requests = run.world.requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    assert_paired(&requests[1]);
    assert_eq!(texts(&requests[1]), ["go", "", "but quickly"]);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_came_with_the_last_word_is_still_answered_in_its_turn() {
    let mut run = Run::new(vec![Answer::Hangs, Answer::Text("ok")], true);
    run.prompt("go").await;
    settle().await;
    prompt(&run, "more", Delivery::Join, "me").await;
    *run.world.finish.lock().unwrap() = true;
    run.world.wake.notify_waiters();
    assert_eq!(run.end().await, TurnEnd::Finished);
    let requests = run.world.requests.lock().unwrap();
    assert_eq!(texts(requests.last().unwrap()), ["go", "partial", "more"]);
    let turns = Conversation::of(&*run.world.journal.lock().unwrap()).past.count;
    assert_eq!(turns, 1);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_may_wait_for_a_turn_of_its_own_and_survives_a_crash() {
    let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)])], true);
    run.prompt("go").await;
    run.asked().await;
    prompt(&run, "later", Delivery::AfterTurn, "me").await;
    let mut again = Run::resume(run.world.clone(), false);
    again.send(Command::Continue).await;
    assert_eq!(again.end().await, TurnEnd::Finished);
    assert_eq!(again.end().await, TurnEnd::Finished);
    let conversation = Conversation::of(&*again.world.journal.lock().unwrap());
    assert_eq!((conversation.past.count, conversation.queue.len()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_drops_no_prompt_of_somebody_else() {
    let mut run = Run::new(vec![Answer::Hangs, Answer::Text("for anna")], true);
    run.prompt("go").await;
    settle().await;
    prompt(&run, "anna's", Delivery::AfterTurn, "anna").await;
    let mine = prompt(&run, "mine", Delivery::AfterTurn, "me").await;
    run.send(Command::Cancel { target: CancelTarget::Mine }).await;
    assert_eq!(run.end().await, TurnEnd::Cancelled);
    assert_eq!(run.end().await, TurnEnd::Finished);
    settle().await;
    let requests: Vec<_> = run.world.requests.lock().unwrap().clone();
    assert_eq!(requests.len(), 2);
    assert!(texts(&requests[1]).contains(&"anna's".to_owned()));
    let Reply::Prompted { prompt, .. } = mine else { panic!("{mine:?}") };
    let gone = run.send(Command::Cancel { target: CancelTarget::Prompt(prompt) }).await;
    assert!(matches!(gone, Reply::Refused(Refusal::Unknown { .. })), "{gone:?}");
}

#[tokio::test(start_paused = true)]
async fn a_prompt_cancelled_before_any_answer_is_not_glued_to_the_next() {
    let mut run = Run::new(vec![Answer::Silence, Answer::Text("ok")], true);
    run.prompt("rm everything").await;
    settle().await;
    run.cancel().await;
    assert_eq!(run.end().await, TurnEnd::Withdrawn);
    run.prompt("hello").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(texts(run.world.requests.lock().unwrap().last().unwrap()), ["hello"]);
}

#[tokio::test(start_paused = true)]
async fn another_model_answers_from_the_next_request_on_and_is_recorded() {
    let replies = vec![Answer::Calls(vec![("write", 1)]), Answer::Text("ok")];
    let mut run = Run::new(replies, true);
    *run.world.instruction.lock().unwrap() = Some(|situation| situation.model.clone());
    run.prompt("go").await;
    let approval = run.asked().await;
    let model = "fake/other".to_owned();
    assert_eq!(run.send(Command::SetModel { model }).await, Reply::Done);
    let model = "unknown/model".to_owned();
    let refused = run.send(Command::SetModel { model }).await;
    assert!(matches!(refused, Reply::Refused(Refusal::Failed { .. })), "{refused:?}");
    run.session.answer(&approval, Outcome::ProceedOnce, "me").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Finished);
    let requests = run.world.requests.lock().unwrap().clone();
    let instructed: Vec<_> =
        requests.iter().map(|request| request.system_instruction.as_ref().unwrap().text()).collect();
    assert_eq!(instructed, ["fake/m", "fake/other"]);
    assert_eq!(requests[1].model, "other");
    assert_eq!(Conversation::of(&*run.world.journal.lock().unwrap()).model, "fake/other");
}

#[tokio::test(start_paused = true)]
async fn what_the_model_is_told_follows_mode_and_presence() {
    let mut run = Run::new(vec![], true);
    *run.world.instruction.lock().unwrap() =
        Some(|situation| format!("{:?} {}", situation.mode, situation.somebody));
    run.prompt("one").await;
    run.end().await;
    run.mode(ApprovalMode::Plan).await;
    run.prompt("two").await;
    run.end().await;
    run._client = None;
    run.prompt("three").await;
    run.end().await;
    let requests = run.world.requests.lock().unwrap();
    let told: Vec<_> =
        requests.iter().map(|request| request.system_instruction.as_ref().unwrap().text()).collect();
    assert_eq!(told, ["Default true", "Plan true", "Plan false"]);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_refused_when_the_last_client_leaves() {
    let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)])], true);
    run.prompt("go").await;
    run.asked().await;
    run._client = None;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(run.errors(), [ToolErrorKind::NobodyToAsk]);
}

#[tokio::test(start_paused = true)]
async fn where_somebody_is_expected_a_question_waits_although_nobody_is_there() {
    let world = Arc::new(World::default());
    world.replies.lock().unwrap().push(Answer::Calls(vec![("write", 1)]));
    world.journal.lock().unwrap().push(first_record());
    let setup = SessionSetup { clients: Clients::expected(), ..setup(&world) };
    let conversation = Conversation::of(&*world.journal.lock().unwrap());
    let session = SessionHandle::start(setup, conversation);
    let mut events = session.subscribe();
    session.prompt(Content::user("go"), "me").await.unwrap();
    settle().await;
    let asked = Conversation::of(&*world.journal.lock().unwrap());
    let approval = asked.open_approvals().next().unwrap().asked.approval.clone();
    session.answer(&approval, Outcome::ProceedOnce, "a browser").await.unwrap();
    loop {
        if let Some(SessionEvent::Record(record)) = events.recv().await
            && let Fact::TurnEnded(ended) = &record.fact
        {
            break assert_eq!(ended.end, TurnEnd::Finished);
        }
    }
    assert_eq!(*world.ran.lock().unwrap(), ["write 1"]);
}
