use super::*;
use crate::{Confirmation, FunctionResponse, GrantRevoked, PromptWithdrawn, Restored, Rewound};

fn conversation(facts: Vec<Fact>) -> Conversation {
    let records: Vec<Record> =
        facts.into_iter().zip(1..).map(|(fact, seq)| Record::new(seq, 0, fact)).collect();
    Conversation::of(&records)
}

fn started(turn: u64, id: &str, text: &str) -> Fact {
    let prompt = Arc::new(Content::user(text));
    Fact::TurnStarted(TurnStarted { turn, prompt, id: id.to_owned(), by: "me".to_owned() })
}

fn queued(id: &str) -> Fact {
    let content = Arc::new(Content::user(id));
    let delivery = Delivery::Join;
    Fact::PromptQueued(PromptQueued { prompt: id.to_owned(), content, delivery, by: "me".to_owned() })
}

fn ended(turn: u64, end: TurnEnd) -> Fact {
    Fact::TurnEnded(Box::new(TurnEnded { turn, end, detail: None, error: None, by: None }))
}

#[test]
fn a_prompt_taken_back_before_any_answer_is_kept_and_not_sent() {
    let facts = vec![started(1, "p1", "wrong"), ended(1, TurnEnd::Withdrawn), started(2, "p3", "right")];
    let conversation = conversation(facts);
    assert_eq!(conversation.contents.len(), 2);
    let sent: Vec<String> = conversation.sent().iter().map(|(_, content)| content.text()).collect();
    assert_eq!(sent, ["right"]);
}

fn refused(turn: u64) -> Fact {
    let error = Some(LlmErrorKind::InvalidRequest);
    Fact::TurnEnded(Box::new(TurnEnded { turn, end: TurnEnd::Error, detail: None, error, by: None }))
}

fn looking(turn: u64, text: &str) -> Fact {
    let parts = vec![Part::text(text), Part::inline_data("image/png", "AAAA")];
    let prompt = Arc::new(Content::new(Role::User, parts));
    Fact::TurnStarted(TurnStarted { turn, prompt, id: String::new(), by: "me".to_owned() })
}

fn said(content: Content) -> Fact {
    let said = serde_json::json!({"turn": 1, "content": content});
    Fact::ModelContent(serde_json::from_value(said).unwrap())
}

fn media_sent(conversation: &Conversation) -> Vec<bool> {
    let has_media = |content: &Content| content.parts.iter().any(Part::has_media);
    conversation.sent().iter().map(|(_, content)| has_media(content)).collect()
}

#[test]
fn media_of_a_refused_request_is_kept_and_not_sent_again() {
    let answered = [looking(1, "this was taken"), said(Content::model("a cat")), ended(1, TurnEnd::Finished)];
    let later = [
        looking(2, "this was not"),
        refused(2),
        started(3, "p", "so?"),
        Fact::Restored(Restored { by: None }),
    ];
    let whole = conversation(answered.into_iter().chain(later).collect());
    assert_eq!(media_sent(&whole), [true, false, false, false]);
    let sent = whole.sent()[2].1.text();
    assert!(sent.starts_with("this was not\n[image/png was left out"), "{sent}");
    assert!(whole.contents[2].1.parts[1].has_media(), "nothing is lost");
}

#[test]
fn media_that_a_tool_returned_is_left_out_like_a_prompts_and_its_answer_stays() {
    let call = FunctionCall::new("c", "read_file", Args::default());
    let mut response = FunctionResponse::output("c", "read_file", "an image");
    response.parts.push(Part::inline_data("image/png", "AAAA"));
    let ended = serde_json::json!({"turn": 1, "call": "c", "status": "success", "response": response});
    let ended: CallEnded = serde_json::from_value(ended).unwrap();
    let calls = said(Content::new(Role::Model, vec![Part::function_call(call)]));
    let facts = vec![started(1, "p", "look"), calls, Fact::CallEnded(Box::new(ended))];
    assert_eq!(media_sent(&conversation(facts.clone())), [false, false, true]);
    let after = conversation(facts.into_iter().chain([refused(1)]).collect());
    assert_eq!(media_sent(&after), [false, false, false]);
    let (_, sent) = &after.sent()[2];
    assert_eq!(sent.function_responses().next().unwrap().to_text(), "an image");
    assert!(sent.text().contains("media of read_file was left out"), "{sent:?}");
}

#[test]
fn a_waiting_prompt_leaves_the_queue_by_joining_starting_or_being_withdrawn() {
    let join = Fact::PromptJoined(PromptJoined {
        turn: 1,
        prompt: "p2".to_owned(),
        content: Arc::new(Content::user("p2")),
        by: "me".to_owned(),
    });
    let withdraw = Fact::PromptWithdrawn(PromptWithdrawn { prompt: "p3".to_owned(), by: "me".to_owned() });
    let facts = vec![started(1, "p1", "go"), queued("p2"), queued("p3"), queued("p4"), queued("p5")];
    let before = conversation(facts.clone());
    assert_eq!(before.queue.len(), 4);
    let ends = [join, withdraw, ended(1, TurnEnd::Finished), started(2, "p4", "p4")];
    let after = conversation(facts.into_iter().chain(ends).collect());
    let waiting: Vec<&str> = after.queue.iter().map(|queued| queued.id.as_str()).collect();
    assert_eq!(waiting, ["p5"]);
    assert_eq!(after.contents.len(), 3);
}

#[test]
fn a_rewind_gives_the_turns_their_numbers_back() {
    let facts = vec![
        started(1, "p1", "one"),
        ended(1, TurnEnd::Finished),
        started(2, "p3", "two"),
        ended(2, TurnEnd::Finished),
        Fact::Rewound(Rewound { to: 1, files: Vec::new(), by: None }),
    ];
    let conversation = conversation(facts);
    assert_eq!((conversation.past.count, conversation.contents.len()), (1, 1));
}

fn always(call: &str, approval: &str) -> [Fact; 2] {
    let confirmation: Confirmation = serde_json::from_value(serde_json::json!({
        "tool": "write", "title": "", "detail": {"type": "info", "text": "", "urls": []}, "rule": "", "isolation": "",
    }))
    .unwrap();
    let (call, approval) = (call.to_owned(), approval.to_owned());
    let asked = CallAsked { turn: 1, call, approval: approval.clone(), confirmation, stands_for: None };
    let (outcome, by) = (Outcome::ProceedAlwaysTool, "anna".to_owned());
    let answered = ApprovalAnswered { approval, outcome, by, args: None };
    [Fact::CallAsked(Box::new(asked)), Fact::ApprovalAnswered(Box::new(answered))]
}

#[test]
fn a_grant_is_held_once_until_it_is_taken_back_whatever_is_rewound() {
    let call = |id: &str| Part::function_call(FunctionCall::new(id, "write", Args::new()));
    let content = Arc::new(Content::new(Role::Model, vec![call("a"), call("b")]));
    let said =
        ModelContent { turn: 1, content, finish: None, usage: None, citations: Vec::new(), hook: None };
    let mut facts = vec![started(1, "p1", "go"), Fact::ModelContent(Box::new(said))];
    facts.extend(always("a", "s:3"));
    facts.extend(always("b", "s:5"));
    facts.push(ended(1, TurnEnd::Finished));
    facts.push(Fact::Rewound(Rewound { to: 1, files: Vec::new(), by: None }));
    let held = conversation(facts.clone()).grants;
    let grant = Grant::Tool { tool: "write".to_owned() };
    let granted =
        Granted { approval: "s:3".to_owned(), by: "anna".to_owned(), grant: grant.clone(), saved: false };
    assert_eq!(held, [granted]);
    assert_eq!(held[0].number(), Some(3));
    let (approval, by) = ("s:3".to_owned(), "me".to_owned());
    facts.push(Fact::GrantRevoked(Box::new(GrantRevoked { approval, grant, by, saved: false })));
    assert!(conversation(facts).grants.is_empty());
}
