//! What holds for every history, however odd.

use charla_proto::{FunctionCall, Origin, WireKind};
use proptest::prelude::*;

pub(crate) use super::tests::target;
use super::*;

/// Nobody's, one of two other models', or the test target's own.
fn origin(n: u8) -> Option<Arc<Origin>> {
    let origin = |model: &str| Origin {
        provider: "elsewhere".to_owned(),
        wire: WireKind::Gemini,
        model: model.to_owned(),
    };
    match n {
        0 => None,
        1 => Some(Arc::new(origin("one"))),
        2 => Some(Arc::new(origin("two"))),
        _ => Some(target().origin),
    }
}

/// Few ids and names, so that they repeat, miss and collide.
fn id() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        Just(None),
        Just(Some(String::new())),
        (0..4u8).prop_map(|n| Some(format!("c{n}"))),
        (0..4u8).prop_map(|n| Some(format!("c{n}_2"))),
        (0..4u8).prop_map(|n| Some(format!("charla_{n}_0"))),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("ls".to_owned()), Just("cat".to_owned()), Just(String::new())]
}

fn part(model: bool) -> BoxedStrategy<Part> {
    let text = prop_oneof![Just(String::new()), Just("  ".to_owned()), "[a-z]{1,6}"].prop_map(Part::text);
    let call = (id(), name())
        .prop_map(|(id, name)| Part::function_call(FunctionCall { id, name, ..FunctionCall::default() }));
    let response = (id(), name(), "[a-z]{1,6}").prop_map(|(id, name, output)| {
        let mut response = FunctionResponse::output("", name, output);
        response.id = id;
        Part::function_response(response)
    });
    if model {
        let thought = "[a-z]{0,3}".prop_map(Part::thought);
        let signed = "[a-z]{0,3}".prop_map(|text| Part::thought(text).with_signature("sig"));
        let opaque = (0..9).prop_map(|n| Part::opaque(serde_json::json!({"n": n})));
        prop_oneof![3 => text, 4 => call, 1 => response, 1 => thought, 1 => signed, 1 => opaque].boxed()
    } else {
        let media = Just(Part::inline_data("image/png", "AAAA"));
        prop_oneof![3 => text, 4 => response, 1 => call, 1 => media, 1 => Just(Part::default())].boxed()
    }
}

/// A content with anything in it.
pub(crate) fn content() -> impl Strategy<Value = Arc<Content>> {
    any::<bool>().prop_flat_map(|model| {
        (prop::collection::vec(part(model), 0..4), 0..4u8).prop_map(move |(parts, from)| {
            let role = if model { Role::Model } else { Role::User };
            let origin = if model { origin(from) } else { None };
            Arc::new(Content { origin, ..Content::new(role, parts) })
        })
    })
}

fn user_words(contents: &[Arc<Content>]) -> Vec<String> {
    let user = contents.iter().filter(|content| content.role == Role::User);
    let texts = user.flat_map(|content| &content.parts).filter_map(|part| part.as_text());
    texts.map(str::to_owned).filter(|text| !text.trim().is_empty()).collect()
}

/// How often each text that a tool said occurs, as a response or as words.
fn outputs(contents: &[Arc<Content>]) -> Vec<String> {
    let responses = contents.iter().flat_map(|content| content.function_responses());
    let mut outputs: Vec<String> = responses.map(FunctionResponse::to_text).collect();
    outputs.retain(|output| output != INTERRUPTED);
    outputs.sort();
    outputs
}

fn pairs_are_whole(contents: &[Arc<Content>]) -> Result<(), TestCaseError> {
    let mut seen = std::collections::HashSet::new();
    for (n, content) in contents.iter().enumerate() {
        if content.role == Role::User {
            prop_assert!(content.function_calls().next().is_none());
            if n == 0 {
                prop_assert!(content.function_responses().next().is_none());
            }
            continue;
        }
        prop_assert!(content.function_responses().next().is_none());
        let ids: Vec<_> = content.function_calls().map(|call| call.id.clone().unwrap_or_default()).collect();
        for id in &ids {
            prop_assert!(!id.is_empty() && seen.insert(id.clone()), "the id {id:?} is used twice");
        }
        let next = contents.get(n + 1).map(|next| &next.parts[..]).unwrap_or_default();
        let leading = next.iter().map_while(|part| part.as_function_response());
        let answered: Vec<_> = leading.map(|response| response.id.clone().unwrap_or_default()).collect();
        prop_assert_eq!(&ids, &answered);
        prop_assert!(next.iter().skip(ids.len()).all(|part| part.as_function_response().is_none()));
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_history_becomes_fit(contents in prop::collection::vec(content(), 0..9)) {
        let target = target();
        let prepared = prepare(&contents, &target);

        for (n, content) in prepared.iter().enumerate() {
            let expected = if n % 2 == 0 { Role::User } else { Role::Model };
            prop_assert_eq!(content.role, expected, "roles alternate and the user begins");
            prop_assert!(check::is_sendable(content, &target));
        }
        pairs_are_whole(&prepared)?;

        let words = user_words(&prepared);
        for text in user_words(&contents) {
            prop_assert!(words.contains(&text), "the words {text:?} are lost");
        }
        let said = prepared.iter().flat_map(|content| &content.parts).filter_map(|part| part.as_text());
        let said: String = said.collect();
        let kept = outputs(&prepared);
        for output in outputs(&contents) {
            prop_assert!(kept.contains(&output) || said.contains(&output), "the result {output:?} is lost");
        }

        let again = prepare(&prepared, &target);
        prop_assert_eq!(again.len(), prepared.len());
        prop_assert!(again.iter().zip(prepared.iter()).all(|(new, old)| Arc::ptr_eq(new, old)), "it is idempotent");
    }

    #[test]
    fn opaque_data_never_changes_its_origin(contents in prop::collection::vec(content(), 0..9)) {
        let target = target();
        let signed = |part: &Part| {
            matches!(part.kind, PartKind::Opaque(_)) || part.thought_signature.is_some()
        };
        let own = |contents: &[Arc<Content>], bound: &dyn Fn(&Part) -> bool| {
            let own = contents.iter().filter(|content| target.made(content));
            let parts = own.flat_map(|content| &content.parts).filter(|part| bound(part));
            let mut parts: Vec<String> = parts.map(|part| format!("{part:?}")).collect();
            parts.sort();
            parts
        };
        let prepared = prepare(&contents, &target);
        // What passes for the target's own was the target's own before.
        let known = own(&contents, &|part| part.thought || signed(part));
        for part in own(&prepared, &|part| part.thought || signed(part)) {
            prop_assert!(known.contains(&part), "{part} became the target's own");
        }
        // And nothing that only the target understands is lost on the way to it.
        prop_assert_eq!(own(&prepared, &signed), own(&contents, &signed));
    }

    #[test]
    fn what_was_sent_stays_the_same_when_the_conversation_goes_on(
        contents in prop::collection::vec(content(), 1..9),
    ) {
        // A later user message changes nothing before the content it follows: caches stay valid.
        let target = target();
        let before = prepare(&contents, &target);
        let mut longer = contents.clone();
        longer.push(Arc::new(Content::user("next")));
        let after = prepare(&longer, &target);
        for (old, new) in before.iter().zip(after.iter()).take(before.len().saturating_sub(1)) {
            prop_assert_eq!(old, new);
        }
    }
}
