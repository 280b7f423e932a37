//! Calls that people make themselves.

use charla_proto::{CallEnded, Confinement};

use super::*;

fn tool(name: &str, n: u32) -> Command {
    let args = Map::from_iter([("n".to_owned(), json!(n))]);
    Command::RunTool { name: name.to_owned(), args, for_prompt: false, if_allowed: false }
}

async fn called(run: &Run, name: &str, n: u32) -> String {
    match run.send(tool(name, n)).await {
        Reply::Called { call } => call,
        reply => panic!("{reply:?}"),
    }
}

async fn ended(run: &mut Run) -> CallEnded {
    match run.until(|fact| matches!(fact, Fact::ClientCallEnded(_))).await {
        Fact::ClientCallEnded(ended) => *ended,
        _ => unreachable!(),
    }
}

fn last_request(run: &Run) -> GenerateRequest {
    run.world.requests.lock().unwrap().last().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn whoever_makes_a_call_has_approved_it_and_the_model_hears_of_it_once() {
    let mut run = Run::new(vec![Answer::Text("one"), Answer::Text("two")], true);
    // It would ask; in plan mode it would not even be offered.
    run.mode(ApprovalMode::Plan).await;
    let call = called(&run, "write", 3).await;
    let record = ended(&mut run).await;
    assert_eq!((record.call, record.status), (call.clone(), CallStatus::Success));
    run.prompt("go").await;
    run.end().await;
    let request = last_request(&run);
    assert_paired(&request);
    let prompt = request.contents.last().unwrap().text();
    assert!(prompt.contains("The user called write themselves, with {\"n\":3}"), "{prompt}");
    assert!(prompt.contains("<result>\nresult 3\n</result>") && prompt.ends_with("go"), "{prompt}");
    run.prompt("again").await;
    run.end().await;
    assert_eq!(last_request(&run).contents.last().unwrap().text(), "again");
    let journal = run.world.journal.lock().unwrap().clone();
    let started = journal.iter().find_map(|record| match &record.fact {
        Fact::ClientCallStarted(started) => Some(started.clone()),
        _ => None,
    });
    let started = started.unwrap();
    assert_eq!((started.by.as_str(), started.call.id), ("me", Some(call)));
    assert_eq!(started.confinement, None::<Confinement>, "it starts no process");
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_result_stands_in_a_prompt_is_recorded_and_not_told_besides() {
    let mut run = Run::new(vec![Answer::Text("one")], true);
    let Command::RunTool { name, args, .. } = tool("write", 3) else { unreachable!() };
    run.send(Command::RunTool { name, args, for_prompt: true, if_allowed: false }).await;
    assert_eq!(ended(&mut run).await.status, CallStatus::Success);
    run.prompt("it says result 3").await;
    run.end().await;
    assert_eq!(last_request(&run).contents.last().unwrap().text(), "it says result 3");
}

#[tokio::test(start_paused = true)]
async fn what_is_denied_unknown_or_wrong_does_not_run_and_leaves_no_record() {
    let run = Run::new(vec![], true);
    for (name, n, why) in [
        ("write", 7, "denied by policy: seven"),
        ("nothing", 1, "there is no tool `nothing`; did you mean `read`?"),
        ("read", 99, "n is 99"),
        ("question", 1, "asks people"),
    ] {
        match run.send(tool(name, n)).await {
            Reply::Refused(refusal) => assert!(refusal.to_string().contains(why), "{refusal}"),
            reply => panic!("{reply:?}"),
        }
    }
    assert!(run.world.ran.lock().unwrap().is_empty());
    assert_eq!(run.world.journal.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_runs_beside_a_turn_and_joins_its_next_request() {
    let mut run = Run::new(vec![Answer::Calls(vec![("write", 1)]), Answer::Text("done")], true);
    run.prompt("go").await;
    let question = run.asked().await;
    called(&run, "read", 5).await;
    assert_eq!(ended(&mut run).await.status, CallStatus::Success);
    run.session.answer(&question, Outcome::ProceedOnce, "me").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Finished);
    let request = last_request(&run);
    assert_paired(&request);
    assert!(request.contents.last().unwrap().text().contains("result 5"), "{request:#?}");
    let records = run.world.journal.lock().unwrap().clone();
    assert_eq!(crate::replay::replay(&records).await.difference, None);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_stopped_alone_or_with_what_is_ones_own() {
    let mut run = Run::new(vec![Answer::Hangs], true);
    run.prompt("go").await;
    let call = called(&run, "hang", 1).await;
    assert_eq!(run.send(Command::Cancel { target: CancelTarget::Call(call.clone()) }).await, Reply::Done);
    assert_eq!(ended(&mut run).await.status, CallStatus::Cancelled);
    let late = run.send(Command::Cancel { target: CancelTarget::Call(call) }).await;
    assert!(matches!(late, Reply::Refused(Refusal::Unknown { .. })), "{late:?}");
    called(&run, "hang", 2).await;
    run.send(Command::Cancel { target: CancelTarget::Mine }).await;
    assert_eq!(run.end().await, TurnEnd::Cancelled);
    assert_eq!(ended(&mut run).await.status, CallStatus::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_panics_ends_its_call_alone() {
    let mut run = Run::new(vec![Answer::Text("still here")], true);
    called(&run, "panic", 1).await;
    assert_eq!(ended(&mut run).await.error, Some(ToolErrorKind::Internal));
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_stops_its_calls_and_says_so() {
    let run = Run::new(vec![], true);
    called(&run, "hang", 1).await;
    run.session.close().await;
    let last = run.world.journal.lock().unwrap().last().unwrap().fact.clone();
    match last {
        Fact::ClientCallEnded(ended) => assert_eq!(ended.status, CallStatus::Cancelled),
        fact => panic!("{fact:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_found_running_after_a_crash_is_interrupted_and_never_run_again() {
    let run = Run::new(vec![], true);
    called(&run, "hang", 1).await;
    // The process dies: nothing more is written.
    *run.world.room.lock().unwrap() = Some(0);
    let world = run.world.clone();
    drop(run);
    settle().await;
    let mut run = Run::resume(world, true);
    let (snapshot, _) = run.session.snapshot().await.unwrap();
    let ended = snapshot.client_calls[0].ended.clone().unwrap();
    assert_eq!(ended.error, Some(ToolErrorKind::Interrupted));
    assert_eq!(run.world.ran.lock().unwrap().len(), 1);
    run.prompt("go").await;
    run.end().await;
    assert!(last_request(&run).contents[0].text().contains("was running when the program ended"));
}
