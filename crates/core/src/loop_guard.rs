//! Stops a model that goes in circles, and only that.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use charla_proto::{Content, FunctionCall, FunctionResponse, Role};

/// After this many equal results the model is told.
pub const TELL: u32 = 3;
/// From this many on the call is not run any more.
pub const REFUSE: u32 = 5;
/// At this many the turn ends.
pub const STOP: u32 = 7;

/// What the guard says to one more call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Run it.
    Run,
    /// Do not run it: answer with [`LoopGuard::refusal`].
    Refuse,
}

/// Counts calls that were made again and gave the same result again. A call whose results change,
/// such as polling, never trips it.
#[derive(Debug, Default)]
pub struct LoopGuard {
    seen: HashMap<u64, Seen>,
}

#[derive(Debug)]
struct Seen {
    result: u64,
    count: u32,
}

impl LoopGuard {
    /// A guard that has seen the calls and results of these contents.
    pub fn of<'a>(contents: impl IntoIterator<Item = &'a Content>) -> Self {
        let mut guard = Self::default();
        let mut calls: Vec<&FunctionCall> = Vec::new();
        for content in contents {
            for response in content.function_responses() {
                if let Some(call) = calls.iter().find(|call| call.id == response.id) {
                    let (id, name) = (call.id.clone().unwrap_or_default(), call.name.clone());
                    let text = response.to_text();
                    guard.count(call, &FunctionResponse::output(id, name, Self::without_note(&text)));
                }
            }
            if content.role == Role::Model {
                calls = content.function_calls().collect();
            }
        }
        guard
    }

    /// Whether this call may run.
    pub fn advise(&self, call: &FunctionCall) -> Advice {
        match self.seen.get(&call_hash(call)) {
            Some(seen) if seen.count + 1 >= REFUSE => Advice::Refuse,
            _ => Advice::Run,
        }
    }

    /// Counts a result and says how often it has now come. A refusal of this guard counts as the same again.
    pub fn count(&mut self, call: &FunctionCall, response: &FunctionResponse) -> u32 {
        let text = response.to_text();
        if text == Self::refusal(call)
            && let Some(seen) = self.seen.get_mut(&call_hash(call))
        {
            seen.count += 1;
            return seen.count;
        }
        let result = hash(&text);
        let seen = self.seen.entry(call_hash(call)).or_insert(Seen { result, count: 0 });
        if seen.result == result {
            seen.count += 1;
        } else {
            *seen = Seen { result, count: 1 };
        }
        seen.count
    }

    /// What the model is told with a result that came `count` times.
    pub fn note(count: u32) -> Option<String> {
        (count >= TELL).then(|| {
            format!("[Note: the same call gave the same result {count} times. Do something else, or stop and say what is in the way.]")
        })
    }

    /// A result without the note that this guard may have put at its end.
    pub fn without_note(text: &str) -> &str {
        let Some(start) = text.rfind("[Note: the same call gave the same result ") else { return text };
        let (before, end) = text.split_at_checked(start).unwrap_or((text, ""));
        let count = end.split(' ').find_map(|word| word.parse().ok()).unwrap_or(0);
        match Self::note(count).is_some_and(|note| note == end) {
            true => before.strip_suffix('\n').unwrap_or(before),
            false => text,
        }
    }

    /// What the model is told in place of a result.
    pub fn refusal(call: &FunctionCall) -> String {
        format!(
            "Not run: `{}` was called with the same arguments again and again and always gave the same result. \
             Use the result you have, do something else, or say what is in the way.",
            call.name
        )
    }
}

fn call_hash(call: &FunctionCall) -> u64 {
    hash(&(&call.name, serde_json::to_string(&call.args).unwrap_or_default()))
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn call(n: u32) -> FunctionCall {
        FunctionCall::new("id", "read_file", Map::from_iter([("n".to_owned(), json!(n))]))
    }

    #[test]
    fn equal_results_are_told_then_refused() {
        let mut guard = LoopGuard::default();
        let same = FunctionResponse::output("id", "read_file", "same");
        for count in 1..REFUSE {
            assert_eq!(guard.advise(&call(1)), Advice::Run);
            assert_eq!(guard.count(&call(1), &same), count);
            assert_eq!(LoopGuard::note(count).is_some(), count >= TELL);
        }
        assert_eq!(guard.advise(&call(1)), Advice::Refuse);
        let refusal = FunctionResponse::error("id", "read_file", LoopGuard::refusal(&call(1)));
        assert_eq!(guard.count(&call(1), &refusal), REFUSE);
        assert_eq!(guard.advise(&call(2)), Advice::Run);
    }

    #[test]
    fn changing_results_never_trip_it() {
        let mut guard = LoopGuard::default();
        for n in 0..50 {
            assert_eq!(guard.advise(&call(1)), Advice::Run);
            let result = FunctionResponse::output("id", "read_file", format!("state {n}"));
            assert_eq!(guard.count(&call(1), &result), 1);
        }
    }
}
