use charla_proto::{FunctionCall, WireKind};
use serde_json::Map;

use super::*;
use crate::endpoint::{AuthStyle, Endpoint, ModelRow, Quirks};

/// The target every test here prepares for.
pub(crate) fn target() -> Target {
    let endpoint = Endpoint {
        name: "here".to_owned(),
        wire: WireKind::Anthropic,
        base_url: String::new(),
        auth: AuthStyle::None,
        headers: Vec::new(),
        quirks: Quirks::default(),
    };
    Target::new(Arc::new(endpoint), ModelRow { id: "model".to_owned(), ..ModelRow::default() })
}

fn call(id: Option<&str>, name: &str) -> Part {
    let call = FunctionCall { id: id.map(str::to_owned), name: name.to_owned(), ..FunctionCall::default() };
    Part::function_call(call)
}

fn response(id: Option<&str>, name: &str, output: &str) -> Part {
    let mut response = FunctionResponse::output("", name, output);
    response.id = id.map(str::to_owned);
    Part::function_response(response)
}

fn model(parts: Vec<Part>) -> Arc<Content> {
    Arc::new(Content::new(Role::Model, parts))
}

fn user(parts: Vec<Part>) -> Arc<Content> {
    Arc::new(Content::new(Role::User, parts))
}

/// Each content as one line: role, then calls, responses and words.
fn lines(contents: &[Arc<Content>]) -> Vec<String> {
    let part = |part: &Part| match &part.kind {
        PartKind::FunctionCall(call) => format!("{}?{}", call.name, call.id.as_deref().unwrap_or("-")),
        PartKind::FunctionResponse(response) => {
            let id = response.id.as_deref().unwrap_or("-");
            format!("{}!{id}={}", response.name, response.to_text())
        }
        PartKind::Text(text) => text.clone(),
        PartKind::Opaque(value) => format!("opaque {value}"),
        _ => "other".to_owned(),
    };
    let line = |content: &Arc<Content>| {
        let parts: Vec<String> = content.parts.iter().map(part).collect();
        format!("{}: {}", if content.role == Role::User { "user" } else { "model" }, parts.join(" | "))
    };
    contents.iter().map(line).collect()
}

#[test]
fn a_fit_history_keeps_every_arc() {
    let contents = [
        user(vec![Part::text("go")]),
        model(vec![Part::text("on it"), call(Some("a"), "ls"), call(Some("b"), "cat")]),
        user(vec![response(Some("a"), "ls", "x"), response(Some("b"), "cat", "y"), Part::text("and?")]),
        model(vec![Part::text("done")]),
    ];
    let prepared = prepare(&contents, &target());
    assert_eq!(prepared.len(), 4);
    assert!(prepared.iter().zip(&contents).all(|(new, old)| Arc::ptr_eq(new, old)));
}

#[test]
fn an_interrupted_call_gets_an_error_response_and_the_rest_keeps_its_arc() {
    let contents = [
        user(vec![Part::text("go")]),
        model(vec![call(Some("a"), "ls"), call(Some("b"), "cat")]),
        user(vec![response(Some("b"), "cat", "y")]),
        model(vec![Part::text("hm")]),
        user(vec![Part::text("again")]),
        model(vec![call(Some("c"), "rm")]),
    ];
    let prepared = prepare(&contents, &target());
    assert_eq!(
        lines(&prepared),
        [
            "user: go".to_owned(),
            "model: ls?a | cat?b".to_owned(),
            format!("user: ls!a={INTERRUPTED} | cat!b=y"),
            "model: hm".to_owned(),
            "user: again".to_owned(),
            "model: rm?c".to_owned(),
            format!("user: rm!c={INTERRUPTED}"),
        ]
    );
    for unchanged in [0, 1, 3, 4, 5] {
        assert!(Arc::ptr_eq(&prepared[unchanged], &contents[unchanged]), "content {unchanged}");
    }
    assert!(prepared[2].function_responses().next().unwrap().is_error());
}

#[test]
fn responses_without_ids_are_matched_by_name_and_order() {
    let contents = [
        user(vec![Part::text("go")]),
        model(vec![call(None, "ls"), call(None, "cat"), call(None, "ls")]),
        user(vec![response(None, "cat", "c"), response(None, "ls", "1"), response(None, "ls", "2")]),
    ];
    assert_eq!(
        lines(&prepare(&contents, &target())),
        [
            "user: go",
            "model: ls?charla_at_1_0 | cat?charla_at_1_1 | ls?charla_at_1_2",
            "user: ls!charla_at_1_0=1 | cat!charla_at_1_1=c | ls!charla_at_1_2=2",
        ]
    );
}

#[test]
fn a_late_response_moves_to_its_call() {
    let contents = [
        user(vec![Part::text("go")]),
        model(vec![call(Some("a"), "ls")]),
        user(vec![Part::text("wait")]),
        model(vec![Part::text("waiting")]),
        user(vec![response(Some("a"), "ls", "x")]),
        model(vec![Part::text("there")]),
    ];
    assert_eq!(
        lines(&prepare(&contents, &target())),
        ["user: go", "model: ls?a", "user: ls!a=x | wait", "model: waiting | there"]
    );
}

#[test]
fn duplicate_and_orphan_responses_become_words() {
    let contents = [
        user(vec![Part::text("go"), response(Some("z"), "old", "lost")]),
        model(vec![call(Some("a"), "ls")]),
        user(vec![response(Some("a"), "ls", "x"), response(Some("a"), "ls", "twice")]),
    ];
    assert_eq!(
        lines(&prepare(&contents, &target())),
        [
            "user: go | [A result of old that belongs to no call] lost",
            "model: ls?a",
            "user: ls!a=x | [A result of ls that belongs to no call] twice",
        ]
    );
}

#[test]
fn an_id_used_again_in_a_later_turn_is_made_unique() {
    let turn = |output: &str| {
        [model(vec![call(Some("call_0"), "ls")]), user(vec![response(Some("call_0"), "ls", output)])]
    };
    let mut contents = vec![user(vec![Part::text("go")])];
    contents.extend(turn("first"));
    contents.extend(turn("second"));
    assert_eq!(
        lines(&prepare(&contents, &target())),
        [
            "user: go",
            "model: ls?call_0",
            "user: ls!call_0=first",
            "model: ls?call_0_2",
            "user: ls!call_0_2=second",
        ]
    );
}

#[test]
fn contents_with_nothing_to_send_are_left_out_and_neighbours_merged() {
    let contents = [
        model(vec![Part::text("hello, I begin")]),
        user(vec![Part::text("one")]),
        model(vec![Part::thought("foreign thought")]),
        user(vec![Part::text("two")]),
        model(vec![]),
        user(vec![Part::text(" ")]),
        model(vec![Part::opaque(serde_json::json!({"type": "x"}))]),
    ];
    assert_eq!(
        lines(&prepare(&contents, &target())),
        [format!("user: {OPENING}"), "model: hello, I begin".to_owned(), "user: one | two".to_owned()]
    );
}

#[test]
fn merged_model_contents_keep_only_the_opaque_data_of_the_target() {
    let target = target();
    let foreign = Arc::new(charla_proto::Origin {
        provider: "elsewhere".to_owned(),
        wire: WireKind::Gemini,
        model: "other".to_owned(),
    });
    let block = |n: i32| Part::opaque(serde_json::json!(n));
    let with = |origin: &Arc<_>, parts| {
        Arc::new(Content { origin: Some(Arc::clone(origin)), ..Content::new(Role::Model, parts) })
    };
    let contents = [
        user(vec![Part::text("go")]),
        with(&target.origin, vec![block(1), Part::text("a")]),
        with(&foreign, vec![block(2), Part::thought("t"), Part::text("b").with_signature("s")]),
    ];
    let prepared = prepare(&contents, &target);
    assert_eq!(lines(&prepared)[1], "model: opaque 1 | a | b");
    assert!(target.made(&prepared[1]));
    assert!(prepared[1].parts.iter().all(|part| part.thought_signature.is_none()));
    let alone = prepare(&contents[..2], &target);
    assert!(Arc::ptr_eq(&alone[1], &contents[1]));
}

#[test]
fn parallel_calls_split_over_two_contents_are_answered_together() {
    let contents = [
        user(vec![Part::text("go")]),
        model(vec![call(Some("a"), "ls")]),
        model(vec![call(Some("b"), "cat")]),
        user(vec![response(Some("b"), "cat", "y"), response(Some("a"), "ls", "x"), Part::text("so?")]),
    ];
    assert_eq!(
        lines(&prepare(&contents, &target())),
        ["user: go", "model: ls?a | cat?b", "user: ls!a=x | cat!b=y | so?"]
    );
}

#[test]
fn a_call_keeps_its_arguments_and_signature_when_it_gets_an_id() {
    let args = Map::from_iter([("path".to_owned(), serde_json::json!("."))]);
    let call = FunctionCall { name: "ls".to_owned(), args: args.clone(), ..FunctionCall::default() };
    let contents =
        [user(vec![Part::text("go")]), model(vec![Part::function_call(call).with_signature("sig")])];
    let prepared = prepare(&contents, &target());
    assert_eq!(prepared[1].function_calls().next().unwrap().args, args);
    assert_eq!(prepared[1].parts[0].thought_signature.as_deref(), Some("sig"));
}
