//! Makes any conversation fit to be sent.
//!
//! A history may hold calls that were interrupted, results that came late or twice, words of several
//! models in a row, contents with nothing in them. Every wire refuses some of that. [`prepare`] is the
//! one place that puts it right, so that codecs may rely on it:
//!
//! - the first content is the user's, and roles alternate;
//! - every call has an id of its own and exactly one response, in call order, at the beginning of
//!   the user content right after it; there are no other responses;
//! - every content carries something that can be sent to the target;
//! - opaque data stands in a content of its own origin.

mod check;
mod pairing;
#[cfg(test)]
pub(crate) mod properties;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use charla_proto::{Content, FunctionResponse, Part, PartKind, Role, part_to_string};

use crate::endpoint::Target;
use pairing::{Pairing, PartIndex};

/// Put in front of a conversation that a model begins.
const OPENING: &str = "(The conversation begins here.)";

/// The result of a call that has none.
const INTERRUPTED: &str = "The call has no result: it was interrupted before it finished.";

/// The contents in a form that every wire accepts, see the module's rules.
///
/// Contents that need no change keep their `Arc`, so that what was encoded for them is used again; a
/// history that is fit already costs one pass and no copies. The user's words are never dropped: a result
/// that belongs to no call becomes text.
pub fn prepare<'a>(contents: &'a [Arc<Content>], target: &Target) -> Cow<'a, [Arc<Content>]> {
    if check::is_fit(contents, target) {
        return Cow::Borrowed(contents);
    }
    let sendable = |(_, content): &(usize, &Arc<Content>)| check::is_sendable(content, target);
    let contents: Vec<(usize, &Arc<Content>)> = contents.iter().enumerate().filter(sendable).collect();
    let pairing = Pairing::of(&contents);
    let mut drafts: Vec<Arc<Content>> = Vec::with_capacity(contents.len() + 2);
    // Where, among `contents`, the run of model contents began that the last draft was made of.
    let mut run = 0;
    for (at, (_, content)) in contents.iter().enumerate() {
        let follows_model = drafts.last().is_some_and(|last| last.role == Role::Model);
        let parts = match content.role {
            Role::Model => model_parts(at, content, &pairing),
            Role::User if follows_model && stays(at, content, &drafts, &pairing) => None,
            Role::User => user_parts(at, content, &pairing),
        };
        let content = match parts {
            None => Arc::clone(content),
            Some(parts) => Arc::new(with_parts(content, parts)),
        };
        // Results that went to their calls leave nothing behind, except between two model turns.
        let parts_turns = follows_model && pairing.answers(at, run..at);
        if check::is_sendable(&content, target) || parts_turns {
            if content.role == Role::Model && !follows_model {
                run = at;
            }
            push(&mut drafts, content, target);
        }
    }
    Cow::Owned(finish(drafts, &pairing))
}

/// True when a user content that follows a model's is right as it is.
fn stays(at: usize, content: &Content, drafts: &[Arc<Content>], pairing: &Pairing) -> bool {
    content.function_calls().next().is_none()
        && pairing.all_used(at)
        && drafts.last().is_some_and(|last| check::answers(content, last.function_calls()))
}

fn with_parts(content: &Content, parts: Vec<Part>) -> Content {
    Content { role: content.role, parts, origin: content.origin.clone(), extra: content.extra.clone() }
}

/// The parts of a model content with ids on its calls and without responses; `None` when they are
/// right as they are.
fn model_parts(at: usize, content: &Content, pairing: &Pairing) -> Option<Vec<Part>> {
    let ids: Vec<Option<String>> =
        (0..content.parts.len()).map(|part| pairing.new_id(PartIndex { content: at, part })).collect();
    let stray = content.function_responses().next().is_some();
    if !stray && ids.iter().all(Option::is_none) {
        return None;
    }
    let mut parts = Vec::with_capacity(content.parts.len());
    for (n, (part, id)) in content.parts.iter().zip(ids).enumerate() {
        match &part.kind {
            PartKind::FunctionResponse(response) => {
                push_unused(&mut parts, response, pairing.is_used(PartIndex { content: at, part: n }));
            }
            PartKind::FunctionCall(call) if id.is_some() => {
                let call = charla_proto::FunctionCall { id, given_id: None, ..(**call).clone() };
                parts.push(Part { kind: PartKind::FunctionCall(Box::new(call)), ..part.clone() });
            }
            _ => parts.push(part.clone()),
        }
    }
    Some(parts)
}

/// The parts of a user content without the responses that stand elsewhere from now on; `None` when it
/// has none. A call has no business there and becomes a note.
fn user_parts(at: usize, content: &Content, pairing: &Pairing) -> Option<Vec<Part>> {
    let odd = |part: &Part| matches!(part.kind, PartKind::FunctionResponse(_) | PartKind::FunctionCall(_));
    if !content.parts.iter().any(odd) {
        return None;
    }
    let mut parts = Vec::with_capacity(content.parts.len());
    for (n, part) in content.parts.iter().enumerate() {
        match &part.kind {
            PartKind::FunctionResponse(response) => {
                push_unused(&mut parts, response, pairing.is_used(PartIndex { content: at, part: n }));
            }
            PartKind::FunctionCall(_) => parts.push(Part::text(part_to_string(part, true))),
            _ => parts.push(part.clone()),
        }
    }
    Some(parts)
}

/// A response that answers no call is kept as words, with its media beside.
fn push_unused(parts: &mut Vec<Part>, response: &FunctionResponse, used: bool) {
    if used {
        return;
    }
    let (name, words) = (&response.name, response.to_text());
    parts.push(Part::text(format!("[A result of {name} that belongs to no call] {words}")));
    parts.extend(response.parts.iter().filter(|part| part.as_function_response().is_none()).cloned());
}

/// Adds a content to the last draft of the same role, or as a new draft.
fn push(drafts: &mut Vec<Arc<Content>>, content: Arc<Content>, target: &Target) {
    match drafts.last_mut() {
        Some(last) if last.role == content.role => {
            merge(Arc::make_mut(last), Arc::unwrap_or_clone(content), target);
        }
        _ => drafts.push(content),
    }
}

/// Joins two contents of one role. One content has one origin, so where the two differ only the
/// target's own opaque data stays.
fn merge(into: &mut Content, mut from: Content, target: &Target) {
    if into.origin != from.origin {
        for content in [&mut *into, &mut from] {
            if !target.made(content) {
                strip_opaque(content);
            }
        }
        let own = target.made(into) || target.made(&from);
        into.origin = own.then(|| target.origin.clone());
    }
    into.parts.append(&mut from.parts);
}

/// Takes out everything that only the content's own model understands.
fn strip_opaque(content: &mut Content) {
    content.parts.retain(|part| !part.thought && !matches!(part.kind, PartKind::Opaque(_)));
    for part in &mut content.parts {
        part.thought_signature = None;
        part.extra = Default::default();
        if let PartKind::FunctionCall(call) = &mut part.kind {
            call.extra = Default::default();
        }
    }
    // Some wires sign an empty text: without its signature it is nothing.
    content.parts.retain(|part| part.as_text() != Some("") && part.kind != PartKind::Other);
}

/// Puts every call's response behind it, and the user in front.
fn finish(drafts: Vec<Arc<Content>>, pairing: &Pairing) -> Vec<Arc<Content>> {
    let mut out: Vec<Arc<Content>> = Vec::with_capacity(drafts.len() + 2);
    if drafts.first().is_some_and(|first| first.role == Role::Model) {
        out.push(Arc::new(Content::user(OPENING)));
    }
    let mut drafts = drafts.into_iter().peekable();
    while let Some(content) = drafts.next() {
        out.push(Arc::clone(&content));
        if content.role == Role::User || content.function_calls().next().is_none() {
            continue;
        }
        let mut user = drafts.next_if(|next| next.role == Role::User).unwrap_or_default();
        if !check::answers(&user, content.function_calls()) {
            let responses = content.function_calls().map(|call| pairing.response(call));
            Arc::make_mut(&mut user).parts.splice(0..0, responses);
        }
        out.push(user);
    }
    out
}
