//! Finds out which response belongs to which call.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use charla_proto::{Content, FunctionCall, FunctionResponse, OWN_CALL_ID, Part, PartKind, Role};

use super::INTERRUPTED;
use super::check::named;

/// Where a part stands: its content among the contents to send, and its place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PartIndex {
    pub content: usize,
    pub part: usize,
}

/// A call that has no response yet.
struct Waiting<'a> {
    place: PartIndex,
    call: &'a FunctionCall,
    /// What it is called from now on when it is sent.
    id: String,
}

/// A response: its place in its content, and the content of the call it answers, if it does.
struct Found {
    part: usize,
    call: Option<usize>,
}

/// Calls and their responses.
pub(super) struct Pairing<'a> {
    /// Ids of calls that had none, or one that an earlier call is sent with as well.
    new_ids: HashMap<PartIndex, String>,
    /// The response's part, by what its call is called from now on.
    responses: HashMap<String, &'a Part>,
    /// The responses of each content.
    found: Vec<Vec<Found>>,
}

impl<'a> Pairing<'a> {
    /// Pairs up what these contents hold. Each comes with its index in the whole history, which ids are
    /// made from: it does not change when the conversation goes on.
    pub(super) fn of(contents: &[(usize, &'a Arc<Content>)]) -> Self {
        let mut pairing = Self {
            new_ids: HashMap::new(),
            responses: HashMap::new(),
            found: Vec::with_capacity(contents.len()),
        };
        let mut seen = HashSet::new();
        let mut waiting: Vec<Waiting> = Vec::new();
        for (at, (index, content)) in contents.iter().enumerate() {
            let mut found = Vec::new();
            for (n, part) in content.parts.iter().enumerate() {
                let place = PartIndex { content: at, part: n };
                match &part.kind {
                    PartKind::FunctionCall(call) if content.role == Role::Model => {
                        let id = pairing.settle_id(call, place, (*index, n), &mut seen);
                        waiting.push(Waiting { place, call, id });
                    }
                    PartKind::FunctionResponse(response) => {
                        let call = find(&waiting, response).map(|found| waiting.remove(found));
                        found.push(Found { part: n, call: call.as_ref().map(|call| call.place.content) });
                        if let Some(call) = call {
                            pairing.responses.insert(call.id, part);
                        }
                    }
                    _ => {}
                }
            }
            pairing.found.push(found);
        }
        pairing
    }

    /// What a call is called from now on: as the server called it, else by its own id, unless an earlier call has
    /// taken that.
    fn settle_id(
        &mut self,
        call: &FunctionCall,
        place: PartIndex,
        (index, part): (usize, usize),
        seen: &mut HashSet<String>,
    ) -> String {
        if let Some(id) = named(call).filter(|id| !seen.contains(*id)) {
            seen.insert(id.to_owned());
            return id.to_owned();
        }
        let own = call.id.as_deref().filter(|id| !id.is_empty());
        let base = own.map_or_else(|| format!("{OWN_CALL_ID}at_{index}_{part}"), str::to_owned);
        let mut id = base.clone();
        let mut n = 1;
        while seen.contains(&id) {
            n += 1;
            id = format!("{base}_{n}");
        }
        seen.insert(id.clone());
        self.new_ids.insert(place, id.clone());
        id
    }

    /// The id that a call must be given, if its own will not do.
    pub(super) fn new_id(&self, place: PartIndex) -> Option<String> {
        self.new_ids.get(&place).cloned()
    }

    fn found(&self, content: usize) -> impl Iterator<Item = &Found> {
        self.found.get(content).into_iter().flatten()
    }

    /// True when the response at `place` answers a call.
    pub(super) fn is_used(&self, place: PartIndex) -> bool {
        self.found(place.content).any(|found| found.part == place.part && found.call.is_some())
    }

    /// True when every response of the content answers a call.
    pub(super) fn all_used(&self, content: usize) -> bool {
        self.found(content).all(|found| found.call.is_some())
    }

    /// True when a response in the content answers a call of one of these contents.
    pub(super) fn answers(&self, content: usize, calls: Range<usize>) -> bool {
        self.found(content).any(|found| found.call.is_some_and(|call| calls.contains(&call)))
    }

    /// The response to a call, which has its final id: the one found, or one that says there is none.
    pub(super) fn response(&self, call: &FunctionCall) -> Part {
        let Some(part) = named(call).and_then(|id| self.responses.get(id)) else {
            return Part::function_response(FunctionResponse::error("", "", INTERRUPTED).answering(call));
        };
        let mut part = Part::clone(part);
        if let PartKind::FunctionResponse(response) = &mut part.kind {
            **response = std::mem::take(&mut **response).answering(call);
        }
        part
    }
}

/// The waiting call that a response answers.
///
/// By id the newest, since servers that count from zero in every turn repeat ids. A response without
/// a known id goes by name: to the newest content that waits, in call order.
fn find(waiting: &[Waiting], response: &FunctionResponse) -> Option<usize> {
    let id = response.id.as_deref().filter(|id| !id.is_empty());
    if let Some(id) = id {
        let same = |one: &Waiting| one.id == id || one.call.id.as_deref() == Some(id);
        if let Some(found) = waiting.iter().rposition(same) {
            return Some(found);
        }
    }
    let fits = |one: &Waiting| {
        (response.name.is_empty() || one.call.name == response.name)
            // A response to another id never goes to a call that has one.
            && (id.is_none() || named(one.call).is_none())
    };
    let newest = waiting.iter().rfind(|one| fits(one))?.place.content;
    waiting.iter().position(|one| one.place.content == newest && fits(one))
}
