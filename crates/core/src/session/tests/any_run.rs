//! Whatever models, tools, people and crashes do.

use charla_proto::{Delivery, FunctionCallingConfig, FunctionCallingMode, Grant, HookEffect, OpenCall};
use proptest::sample::Index;

use super::*;
use crate::hooks::{HookAnswer, HookChanges, HookDecision};

#[derive(Clone, Debug)]
enum Step {
    Prompt(Delivery),
    Cancel(CancelTarget),
    /// One of the open questions is answered.
    Answer(Index, Outcome),
    /// Three clients answer one question at once, each in their own way.
    Race(Index, [Outcome; 3]),
    /// The journal takes a few more records and then nothing: as if the process died there. The next process has
    /// somebody to ask, or nobody.
    Crash(usize, bool),
    Continue,
    Mode(ApprovalMode),
    Model(&'static str),
    Rewind(Index, bool),
    /// One of the grants is taken back.
    Revoke(Index),
    Fork(Index),
    Leave,
}

fn any_reply() -> impl Strategy<Value = Answer> {
    let names = vec!["read", "write", "fail", "panic", "nonsense", "question", "serve"];
    let odd = vec!["", "multi_tool_use.parallel", "read<|channel|>commentary", "write file\u{1b}[2J"];
    let name = prop_oneof![9 => prop::sample::select(names), 1 => prop::sample::select(odd)];
    let calls = prop::collection::vec((name, prop::sample::select(vec![1u32, 2, 7, 99])), 1..4);
    prop_oneof![
        2 => Just(Answer::Text("words")),
        4 => calls.prop_map(Answer::Calls),
        1 => Just(Answer::Fails),
        1 => prop::sample::select(vec![Answer::Refuses, Answer::TooLong, Answer::Limited]),
        1 => Just(Answer::Hangs),
    ]
}

fn any_ids() -> impl Strategy<Value = ServerIds> {
    use ServerIds::*;
    prop::sample::select(vec![Counted, Same, Empty, Ours, Endless])
}

/// Summaries, most of them of no use.
fn any_summariser() -> impl Strategy<Value = fn(&GenerateRequest) -> Result<GenerateResponse, LlmError>> {
    let call = |_: &GenerateRequest| {
        let call = FunctionCall::new("call", "write", Map::from_iter([("n".to_owned(), json!(1))]));
        Ok(ended_with(vec![Part::function_call(call)], FinishReason::Stop))
    };
    prop::sample::select(vec![
        (|_| Err(LlmError::new(LlmErrorKind::Server, "fake"))) as fn(&GenerateRequest) -> _,
        |_| Ok(ended_with(Vec::new(), FinishReason::Stop)),
        |_| Ok(ended_with(vec![Part::text(" \n")], FinishReason::MaxTokens)),
        |_| Ok(ended_with(vec![Part::text("no ".repeat(9_000))], FinishReason::Stop)),
        call,
        |_| Ok(ended_with(vec![Part::text(super::room::SNAPSHOT)], FinishReason::Stop)),
    ])
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let args = Map::from_iter([("n".to_owned(), json!(2))]);
    prop::sample::select(vec![
        Outcome::ProceedOnce,
        Outcome::ProceedOnce,
        Outcome::ProceedAlways,
        Outcome::ProceedAlwaysTool,
        Outcome::ProceedAlwaysServer,
        Outcome::ProceedAlwaysAndSave,
        Outcome::Modify { args },
        Outcome::Answers { answers: vec!["blue".to_owned()] },
        Outcome::Answers { answers: vec!["yes".to_owned()] },
        Outcome::Cancel { reason: None },
        Outcome::Cancel { reason: Some("no".to_owned()) },
    ])
}

fn any_step() -> impl Strategy<Value = Step> {
    let delivery = prop::sample::select(vec![Delivery::Join, Delivery::AfterTurn]);
    let target = prop::sample::select(vec![CancelTarget::Turn, CancelTarget::Mine]);
    let mode = prop::sample::select(vec![ApprovalMode::Default, ApprovalMode::Yolo, ApprovalMode::Plan]);
    let model = prop::sample::select(vec!["fake/m", "fake/other", "nobody/has"]);
    prop_oneof![
        6 => delivery.prop_map(Step::Prompt),
        1 => target.prop_map(Step::Cancel),
        6 => (any::<Index>(), any_outcome()).prop_map(|(which, outcome)| Step::Answer(which, outcome)),
        2 => (any::<Index>(), prop::array::uniform3(any_outcome())).prop_map(|(which, said)| Step::Race(which, said)),
        2 => (0usize..12, any::<bool>()).prop_map(|(after, somebody)| Step::Crash(after, somebody)),
        2 => Just(Step::Continue),
        1 => mode.prop_map(Step::Mode),
        1 => model.prop_map(Step::Model),
        1 => (any::<Index>(), any::<bool>()).prop_map(|(to, files)| Step::Rewind(to, files)),
        2 => any::<Index>().prop_map(Step::Revoke),
        1 => any::<Index>().prop_map(Step::Fork),
        1 => Just(Step::Leave),
    ]
}

fn folded(run: &Run) -> Conversation {
    Conversation::of(&*run.world.journal.lock().unwrap())
}

/// An open question, if there is one.
fn question(run: &Run, which: &Index) -> Option<String> {
    let conversation = folded(run);
    let open: Vec<String> = conversation.open_approvals().map(|open| open.asked.approval.clone()).collect();
    (!open.is_empty()).then(|| which.get(&open).clone())
}

async fn take(run: &mut Run, step: Step) {
    match step {
        Step::Prompt(delivery) => {
            run.send(Command::Prompt { content: Content::user("words"), delivery }).await;
        }
        Step::Cancel(target) => drop(run.send(Command::Cancel { target }).await),
        Step::Answer(which, outcome) => {
            if let Some(approval) = question(run, &which) {
                let _ = run.session.answer(&approval, outcome, "me").await;
            }
        }
        Step::Race(which, said) => race(run, &which, said).await,
        Step::Crash(after, somebody) => {
            *run.world.room.lock().unwrap() = Some(after);
            let _ = run.session.prompt(Content::user("words"), "me").await;
            settle().await;
            *run = Run::resume(run.world.clone(), somebody);
        }
        Step::Continue => drop(run.send(Command::Continue).await),
        Step::Mode(mode) => run.mode(mode).await,
        Step::Model(model) => {
            let reply = run.send(Command::SetModel { model: model.to_owned() }).await;
            assert_eq!(reply == Reply::Done, model.starts_with("fake/"));
        }
        Step::Rewind(to, files) => {
            let contents = folded(run).contents;
            if !contents.is_empty() && folded(run).turn.is_none() {
                let to = to.get(&contents).0;
                let reply = run.send(Command::Rewind { to, files }).await;
                assert!(matches!(reply, Reply::Reverted { .. }), "{reply:?}");
                assert!(folded(run).contents.iter().any(|(seq, _)| *seq == to));
            }
        }
        Step::Revoke(which) => revoke(run, &which).await,
        Step::Fork(at) => {
            let journal = run.world.journal.lock().unwrap().clone();
            let at = at.get(&journal).seq;
            check_fork(&journal, at).await;
        }
        Step::Leave => run._client = None,
    }
}

/// What is taken back is gone, and is gone once.
async fn revoke(run: &Run, which: &Index) {
    let grants = folded(run).grants;
    if grants.is_empty() {
        return;
    }
    let approval = which.get(&grants).approval.clone();
    let again = Command::Revoke { approval: approval.clone() };
    // A session whose journal takes nothing more has ended, and takes nothing back.
    if run.send(Command::Revoke { approval: approval.clone() }).await == Reply::Done {
        assert!(folded(run).grants.iter().all(|granted| granted.approval != approval));
        assert!(matches!(run.send(again).await, Reply::Refused(Refusal::Unknown { .. } | Refusal::Ended)));
    }
}

/// Of three answers at once one wins at most, and the others are told who and what. Those that are none to the question never win.
async fn race(run: &Run, which: &Index, said: [Outcome; 3]) {
    let Some(approval) = question(run, which) else { return };
    let [anna, bob, carl] = &said;
    let results = tokio::join!(
        run.session.answer(&approval, anna.clone(), "anna"),
        run.session.answer(&approval, bob.clone(), "bob"),
        run.session.answer(&approval, carl.clone(), "carl"),
    );
    let results = [("anna", anna, results.0), ("bob", bob, results.1), ("carl", carl, results.2)];
    let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(|(_, _, result)| result.is_ok());
    let [(winner, outcome, _)] = won.as_slice() else { return assert!(won.is_empty(), "{won:?}") };
    let late = Refusal::Late { outcome: (*outcome).clone(), by: (*winner).to_owned() };
    for (name, _, result) in lost {
        let refusal = result.expect_err("it lost");
        assert!(refusal == late || matches!(refusal, Refusal::DoesNotFit { .. }), "{name}: {refusal:?}");
    }
}

/// A fork goes on by itself, and runs nothing of the session it was forked from.
async fn check_fork(journal: &[Record], at: u64) {
    let Fact::SessionStarted(started) = first_record().fact else { unreachable!() };
    let forked = fork::fork(journal, Some(at), SessionStarted { session: "fork".to_owned(), ..*started }, 0);
    let world = Arc::new(World::default());
    *world.journal.lock().unwrap() = forked;
    let mut fork = Run::resume(world, true);
    assert!(folded(&fork).turn.is_none() && folded(&fork).queue.is_empty());
    fork.prompt("go on here").await;
    assert_eq!(fork.end().await, TurnEnd::Finished);
    assert!(fork.world.ran.lock().unwrap().is_empty(), "calls of the other session do not run here");
    fork.world.requests.lock().unwrap().iter().for_each(assert_paired);
}

/// What answers.
struct Server {
    replies: Vec<Answer>,
    ids: ServerIds,
    summariser: fn(&GenerateRequest) -> Result<GenerateResponse, LlmError>,
}

/// Invariant 11: what the session lives by is what its records add up to.
async fn check_live(run: &Run) {
    let Some((live, _)) = run.session.snapshot().await else { return };
    let mut fold = folded(run);
    // What a summary stands for is let go of.
    fold.forget_replaced();
    assert_eq!(live.seq, fold.seq);
    let said: Vec<_> = live.contents.iter().map(|said| (said.seq, said.content.clone())).collect();
    assert_eq!(said, fold.contents);
    assert_eq!((&live.choices.model, live.choices.mode), (&fold.model, fold.mode));
    assert_eq!(live.choices.grants, fold.grants);
    assert_eq!(live.queue, fold.queue);
    assert_eq!(live.turn, fold.turn.as_ref().map(|turn| turn.turn));
    let calls: Vec<OpenCall> = fold.turn.iter().flat_map(|turn| turn.calls.clone()).collect();
    assert_eq!(live.calls, calls);
    // Where the scheduler has a call is where the records have it, as far as they tell.
    let told = |status: CallStatus| match status {
        CallStatus::Validating | CallStatus::Scheduled => CallStatus::Scheduled,
        status => status,
    };
    for call in calls.iter().filter(|_| live.phase == Phase::Calling) {
        let id = call.call.id.clone().unwrap_or_default();
        if let Some(status) = live.running.statuses.get(&id) {
            assert_eq!(told(*status), told(call.status), "{id}");
        }
    }
}

/// Answers that hooks may give anywhere, sensible there or not.
fn any_hook() -> impl Strategy<Value = HookAnswer> {
    let args = Map::from_iter([("n".to_owned(), json!(2))]);
    let answer = || Some((Content::model("a hook's"), FinishReason::Stop));
    let tools = |mode, names: &[&str]| {
        let allowed_function_names = names.iter().map(|name| (*name).to_owned()).collect();
        Some(FunctionCallingConfig { mode, allowed_function_names })
    };
    let changes = prop::sample::select(vec![
        HookChanges { args: Some(args.clone()), ..HookChanges::default() },
        HookChanges { tail_call: Some(("read".to_owned(), args.clone())), ..HookChanges::default() },
        HookChanges { tail_call: Some(("write".to_owned(), args)), ..HookChanges::default() },
        HookChanges { tail_call: Some(("nobody".to_owned(), Map::new())), ..HookChanges::default() },
        HookChanges { messages: Some(vec![Content::user("other words")]), ..HookChanges::default() },
        HookChanges { answer: answer(), ..HookChanges::default() },
        HookChanges { clear_context: true, ..HookChanges::default() },
        HookChanges { tools: tools(FunctionCallingMode::None, &[]), ..HookChanges::default() },
        HookChanges { tools: tools(FunctionCallingMode::Any, &["read"]), ..HookChanges::default() },
    ]);
    let changes = prop_oneof![3 => Just(HookChanges::default()), 2 => changes];
    use HookDecision::{Ask, Deny, Pass};
    let decision = prop::sample::select(vec![Pass, Pass, Pass, Ask, Deny]);
    let stop = prop::option::weighted(0.05, Just("enough".to_owned()));
    let context = prop::option::weighted(0.2, Just("by the way".to_owned()));
    (changes, decision, stop, context).prop_map(|(changes, decision, stop, context)| HookAnswer {
        changes,
        decision,
        stop,
        context,
        ..HookAnswer::default()
    })
}

async fn play(server: Server, hooks: Option<Vec<HookAnswer>>, steps: Vec<Step>) {
    let world = Arc::new(World::default());
    world.journal.lock().unwrap().push(first_record());
    *world.replies.lock().unwrap() = server.replies;
    *world.hooks.lock().unwrap() = hooks;
    let mut run = Run::resume(world, true);
    *run.world.ids.lock().unwrap() = server.ids;
    *run.world.summariser.lock().unwrap() = Some(Arc::new(server.summariser));
    for step in steps {
        take(&mut run, step).await;
        settle().await;
        check_live(&run).await;
    }
    // Invariant 6: one more message can always be sent.
    run.send(Command::Cancel { target: CancelTarget::Mine }).await;
    settle().await;
    run.world.replies.lock().unwrap().clear();
    run.world.hooks.lock().unwrap().iter_mut().for_each(Vec::clear);
    let before = run.world.requests.lock().unwrap().len();
    run.prompt("one more").await;
    settle().await;
    let requests = run.world.requests.lock().unwrap().clone();
    assert!(requests.len() > before, "the session is bricked");
    requests.iter().for_each(assert_paired);
    check_live(&run).await;
    let journal = run.world.journal.lock().unwrap().clone();
    check_journal(&journal);
    let replayed = crate::replay::replay(&journal).await;
    assert_eq!(replayed.difference, None, "the session replays");
    let ran = run.world.ran.lock().unwrap().len();
    let marked = journal.iter().filter(|record| matches!(record.fact, Fact::CallStarted(_))).count();
    // A crash may come between the mark and the run, never the other way round.
    assert!(ran <= marked, "no tool runs unmarked");
}

fn check_journal(journal: &[Record]) {
    let mut started = HashSet::new();
    let mut ended = HashSet::new();
    let mut answered = HashSet::new();
    let mut conversation = Conversation::new();
    for (n, record) in journal.iter().enumerate() {
        assert_eq!(record.seq, n as u64 + 1, "records have no gaps");
        let line = serde_json::to_string(record).unwrap();
        assert_eq!(&Record::from_json(&line).unwrap(), record, "records survive a round trip");
        match &record.fact {
            Fact::CallStarted(call) => {
                assert!(started.insert(call.call.clone()), "no call starts twice");
                check_allowed(&conversation, call);
            }
            // Another call stands in its place.
            Fact::HookActed(acted) => {
                if let HookEffect::TailCall { call, .. } = &acted.effect {
                    assert!(started.remove(call), "what did not run has no tail call");
                }
            }
            Fact::CallEnded(call) => assert!(ended.insert(call.call.clone()), "no call ends twice"),
            Fact::ApprovalAnswered(answer) => {
                assert!(answered.insert(answer.approval.clone()), "no approval is answered twice");
            }
            _ => {}
        }
        conversation.apply(record);
    }
    let open: Vec<_> = conversation.unanswered().collect();
    assert!(open.is_empty(), "every call has its response: {open:?}");
}

/// Nothing runs unasked: a rule allowed it, or a person did, this call or for good what this call is.
fn check_allowed(before: &Conversation, started: &charla_proto::CallStarted) {
    let mut calls = before.unanswered();
    let open = calls.find(|open| open.call.id.as_deref() == Some(&started.call)).expect("a known call");
    let answer = open.approval.as_ref().and_then(|approval| approval.answer.as_ref());
    let by_person = answer.is_some_and(|(outcome, by)| outcome.allows() && by != NOBODY);
    let name = &open.call.name;
    let granted = before.grants.iter().any(|granted| is_named(&open.call, &granted.grant, before.mode));
    let by_rule = started.rule.is_some() && (name == "read" || before.mode == ApprovalMode::Yolo || granted);
    assert!(by_person || by_rule, "{open:?} with {:?}", before.grants);
    assert!(name != "question" || by_person, "a question is for people");
}

/// True when a grant names this call: exactly it, its tool or its server.
fn is_named(call: &FunctionCall, grant: &Grant, mode: ApprovalMode) -> bool {
    let n = call.args.get("n").and_then(serde_json::Value::as_u64).unwrap_or_default();
    match grant {
        Grant::Rules { rules } => rules.lines().any(|title| title == format!("{} {n}", call.name)),
        Grant::Tool { tool } => *tool == call.name && mode != ApprovalMode::Plan,
        Grant::Server { server } => call.name == "serve" && *server == format!("server {n}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_the_conversation_stays_whole(
        replies in prop::collection::vec(any_reply(), 0..12),
        ids in any_ids(),
        summariser in any_summariser(),
        steps in prop::collection::vec(any_step(), 1..16),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(Server { replies, ids, summariser }, None, steps));
    }

    #[test]
    fn whatever_hooks_answer_the_conversation_stays_whole(
        replies in prop::collection::vec(any_reply(), 0..12),
        ids in any_ids(),
        summariser in any_summariser(),
        hooks in prop::collection::vec(any_hook(), 0..40),
        steps in prop::collection::vec(any_step(), 1..16),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(Server { replies, ids, summariser }, Some(hooks), steps));
    }
}
