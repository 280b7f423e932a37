//! Stops a model that goes in circles, and only that.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use charla_proto::{Content, FunctionCall, FunctionResponse, Role, ToolErrorKind};
use serde_json::Value;

/// After this many equal results the model is told.
pub const TELL: u32 = 3;
/// From this many on the call is not run any more.
pub const REFUSE: u32 = 5;
/// At this many the turn ends.
pub const STOP: u32 = 7;

/// Arguments that only tell people what a call is for.
const FOR_PEOPLE: [&str; 4] = ["description", "explanation", "justification", "reason"];
/// What a note to the model begins with.
const NOTE: &str = "[Note: ";

/// What the guard says to one more call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Run it.
    Run,
    /// Do not run it: answer with [`LoopGuard::refusal`].
    Refuse,
}

/// What a loop guard makes of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// How often this call has given this result.
    pub same: u32,
    /// How many steps in a row have come to nothing but refusals and mistakes, this one included.
    pub futile: u32,
}

/// Counts calls that were made again and gave the same result again, and steps that come to nothing. A call whose
/// results change, such as polling, never trips it, and equal calls of one step count once.
#[derive(Debug, Default)]
pub struct LoopGuard {
    seen: HashMap<u64, Seen>,
    step: u32,
    /// Steps in a row in which every call so far was refused or mistaken, the one under way left out.
    futile: u32,
    /// A call of the step under way has come to something.
    useful: bool,
}

#[derive(Debug)]
struct Seen {
    result: u64,
    count: u32,
    /// The step in which it was counted last.
    step: u32,
}

impl LoopGuard {
    /// A guard that has seen the calls and results of these contents; `errors` says why calls failed, by their ids.
    pub fn of<'a>(
        contents: impl IntoIterator<Item = &'a Content>,
        errors: &BTreeMap<String, ToolErrorKind>,
    ) -> Self {
        let mut guard = Self::default();
        let mut calls: Vec<&FunctionCall> = Vec::new();
        for content in contents {
            for response in content.function_responses() {
                if let Some(call) = calls.iter().find(|call| call.id == response.id) {
                    let (id, name) = (call.id.clone().unwrap_or_default(), call.name.clone());
                    let error = errors.get(&id).copied();
                    let text = response.to_text();
                    let text = Self::without_note(&text);
                    let told = match response.is_error() {
                        true => FunctionResponse::error(id, name, text),
                        false => FunctionResponse::output(id, name, text),
                    };
                    guard.count(call, &told, error);
                }
            }
            if content.role == Role::Model {
                guard.begin_step();
                calls = content.function_calls().collect();
            }
        }
        guard
    }

    /// The model has made its next calls.
    pub fn begin_step(&mut self) {
        self.futile = if self.useful || self.step == 0 { 0 } else { self.futile + 1 };
        self.step += 1;
        self.useful = false;
    }

    /// Whether this call may run.
    pub fn advise(&self, call: &FunctionCall) -> Advice {
        match self.seen.get(&call_hash(call)) {
            Some(seen) if seen.step < self.step && seen.count + 1 >= REFUSE => Advice::Refuse,
            _ => Advice::Run,
        }
    }

    /// Counts a result; `error` is why there is none. A refusal of this guard counts as the same again.
    pub fn count(
        &mut self,
        call: &FunctionCall,
        response: &FunctionResponse,
        error: Option<ToolErrorKind>,
    ) -> Repeats {
        let came_to_nothing = error.map_or(response.is_error(), is_futile);
        self.useful |= !came_to_nothing;
        let futile = if self.useful { 0 } else { self.futile + 1 };
        let text = response.to_text();
        let by_call = call_hash(call);
        if text == Self::refusal(call) && self.seen.contains_key(&by_call) {
            return Repeats { same: self.again(by_call, None), futile };
        }
        let mut same = self.again(by_call, Some(hash(&text)));
        // The same mistake with other arguments is the same mistake.
        if error.is_some_and(is_futile) {
            same = same.max(self.again(hash(&(&call.name, &text)), Some(0)));
        }
        Repeats { same, futile }
    }

    fn again(&mut self, key: u64, result: Option<u64>) -> u32 {
        let step = self.step;
        let first = Seen { result: result.unwrap_or_default(), count: 0, step: u32::MAX };
        let seen = self.seen.entry(key).or_insert(first);
        if result.is_some_and(|result| result != seen.result) {
            *seen = Seen { result: result.unwrap_or_default(), count: 1, step };
        } else if seen.step != step {
            seen.count += 1;
            seen.step = step;
        }
        seen.count
    }

    /// What the model is told with a result that came so often.
    pub fn note(repeats: Repeats) -> Option<String> {
        if repeats.same >= TELL {
            let count = repeats.same;
            return Some(format!(
                "{NOTE}the same call gave the same result {count} times. Do something else, or stop and say what is in the way.]"
            ));
        }
        (repeats.futile >= TELL).then(|| {
            let count = repeats.futile;
            format!("{NOTE}none of the calls of the last {count} steps could be made. Use only the tools you have and what is allowed, or stop and say what is in the way.]")
        })
    }

    /// Why the turn ends, if it does.
    pub fn ending(call: &FunctionCall, repeats: Repeats) -> Option<String> {
        if repeats.same >= STOP {
            return Some(format!("`{}` was called {} times with the same result", call.name, repeats.same));
        }
        (repeats.futile >= STOP)
            .then(|| format!("no call of the last {} steps could be made", repeats.futile))
    }

    /// A result without the note that this guard may have put at its end.
    pub fn without_note(text: &str) -> &str {
        let Some(start) = text.rfind(NOTE) else { return text };
        let (before, end) = text.split_at_checked(start).unwrap_or((text, ""));
        let count = end.split(' ').find_map(|word| word.parse().ok()).unwrap_or(0);
        let notes = [Repeats { same: count, futile: 0 }, Repeats { same: 0, futile: count }].map(Self::note);
        match notes.iter().flatten().any(|note| note == end) {
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

/// A call as it is compared: what is said to people in it does not count, nor how much blank there is.
fn call_hash(call: &FunctionCall) -> u64 {
    let args = call.args.iter().filter(|(name, _)| !FOR_PEOPLE.contains(&name.as_str()));
    let args = args.map(|(name, value)| match value {
        Value::String(text) => (name, text.split_whitespace().collect::<Vec<_>>().join(" ")),
        other => (name, other.to_string()),
    });
    hash(&(&call.name, args.collect::<BTreeMap<_, _>>()))
}

/// The call was not made, and making another of its kind will not help, either.
fn is_futile(kind: ToolErrorKind) -> bool {
    use ToolErrorKind::{DeniedByRule, InvalidArgs, Loop, NobodyToAsk, UnknownTool};
    matches!(kind, DeniedByRule | InvalidArgs | Loop | NobodyToAsk | UnknownTool)
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use charla_proto::Part;
    use serde_json::{Map, json};

    use super::*;

    fn call(n: u32) -> FunctionCall {
        FunctionCall::new("id", "read_file", Map::from_iter([("n".to_owned(), json!(n))]))
    }

    fn step(guard: &mut LoopGuard, call: &FunctionCall, response: &FunctionResponse) -> Repeats {
        guard.begin_step();
        guard.count(call, response, None)
    }

    fn shell(command: &str, description: &str) -> FunctionCall {
        let args = json!({"command": command, "description": description});
        FunctionCall::new("id", "run_shell_command", args.as_object().cloned().unwrap())
    }

    #[test]
    fn equal_results_are_told_then_refused() {
        let mut guard = LoopGuard::default();
        let same = FunctionResponse::output("id", "read_file", "same");
        for count in 1..REFUSE {
            assert_eq!(guard.advise(&call(1)), Advice::Run);
            let repeats = step(&mut guard, &call(1), &same);
            assert_eq!(repeats, Repeats { same: count, futile: 0 });
            assert_eq!(LoopGuard::note(repeats).is_some(), count >= TELL);
        }
        guard.begin_step();
        assert_eq!(guard.advise(&call(1)), Advice::Refuse);
        let refusal = FunctionResponse::error("id", "read_file", LoopGuard::refusal(&call(1)));
        assert_eq!(guard.count(&call(1), &refusal, Some(ToolErrorKind::Loop)).same, REFUSE);
        assert_eq!(guard.advise(&call(2)), Advice::Run);
    }

    #[test]
    fn a_guard_made_of_contents_counts_as_one_that_was_there() {
        for (kind, futile) in [(ToolErrorKind::ExitStatus, 0), (ToolErrorKind::UnknownTool, 4)] {
            let (mut there, mut contents, mut errors) = (LoopGuard::default(), Vec::new(), BTreeMap::new());
            for n in 0..4 {
                let call = FunctionCall { id: Some(format!("c{n}")), ..call(n) };
                let result = FunctionResponse::error("", "", format!("failure {n}")).answering(&call);
                there.begin_step();
                assert_eq!(there.count(&call, &result, Some(kind)).futile, futile.min(n + 1));
                errors.insert(format!("c{n}"), kind);
                contents.push(Content::new(Role::Model, vec![Part::function_call(call)]));
                contents.push(Content::new(Role::User, vec![Part::function_response(result)]));
            }
            let later = LoopGuard::of(&contents, &errors);
            assert_eq!((later.futile, later.useful), (there.futile, there.useful), "{kind:?}");
        }
    }

    #[test]
    fn changing_results_never_trip_it() {
        let mut guard = LoopGuard::default();
        for n in 0..50 {
            assert_eq!(guard.advise(&call(1)), Advice::Run);
            let result = FunctionResponse::output("id", "read_file", format!("state {n}"));
            assert_eq!(step(&mut guard, &call(1), &result), Repeats { same: 1, futile: 0 });
        }
    }

    #[test]
    fn words_for_people_and_blanks_make_no_other_call() {
        let mut guard = LoopGuard::default();
        let same = FunctionResponse::output("id", "run_shell_command", "Output: a");
        for (n, command) in ["ls", "ls ", " ls", "ls\n"].into_iter().enumerate() {
            let repeats = step(&mut guard, &shell(command, &format!("look for the {n}. time")), &same);
            assert_eq!(repeats.same, n as u32 + 1);
        }
        assert_eq!(step(&mut guard, &shell("ls -l", ""), &same).same, 1);
    }

    #[test]
    fn the_same_mistake_with_other_arguments_is_the_same_mistake() {
        let mut guard = LoopGuard::default();
        let wrong = FunctionResponse::error("id", "read_file", "`file_path` is missing");
        for n in 1..=STOP {
            guard.begin_step();
            let repeats = guard.count(&call(n), &wrong, Some(ToolErrorKind::InvalidArgs));
            assert_eq!(repeats.same, n);
            assert_eq!(LoopGuard::ending(&call(n), repeats).is_some(), n == STOP);
        }
    }

    #[test]
    fn steps_that_come_to_nothing_are_counted_and_one_that_helps_ends_the_count() {
        let mut guard = LoopGuard::default();
        let refused = |n: u32| FunctionResponse::error("id", "read_file", format!("denied {n}"));
        let futile = |guard: &mut LoopGuard, n| {
            guard.begin_step();
            guard.count(&call(n), &refused(n), Some(ToolErrorKind::DeniedByRule));
            guard.count(&call(n + 100), &refused(n + 100), Some(ToolErrorKind::NobodyToAsk)).futile
        };
        for n in 1..TELL {
            assert_eq!(futile(&mut guard, n), n);
        }
        guard.begin_step();
        guard.count(&call(50), &refused(50), Some(ToolErrorKind::DeniedByRule));
        let found = FunctionResponse::output("id", "read_file", "found");
        assert_eq!(guard.count(&call(51), &found, None).futile, 0);
        for n in 1..=STOP {
            let count = futile(&mut guard, 60 + n);
            assert_eq!(count, n);
            let repeats = Repeats { same: 1, futile: count };
            assert_eq!(LoopGuard::note(repeats).is_some(), n >= TELL);
            assert_eq!(LoopGuard::ending(&call(n), repeats).is_some(), n == STOP);
        }
    }

    #[test]
    fn equal_calls_of_one_step_count_once() {
        let mut guard = LoopGuard::default();
        guard.begin_step();
        let same = FunctionResponse::output("id", "read_file", "same");
        for _ in 0..100 {
            assert_eq!(guard.advise(&call(1)), Advice::Run);
            assert_eq!(guard.count(&call(1), &same, None).same, 1);
        }
    }

    #[test]
    fn notes_come_off_again() {
        for repeats in [Repeats { same: 4, futile: 0 }, Repeats { same: 1, futile: 5 }] {
            let note = LoopGuard::note(repeats).unwrap();
            assert_eq!(LoopGuard::without_note(&format!("result\n{note}")), "result");
        }
        assert_eq!(LoopGuard::without_note("a\n[Note: mine]"), "a\n[Note: mine]");
    }
}
