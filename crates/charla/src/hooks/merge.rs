//! Several answers become one.

use charla_core::hooks::HookAnswer;
use charla_proto::{FunctionCallingConfig, FunctionCallingMode, HookRan};

use super::output::{Answer, join};

/// Adds the answer of one more hook: the strictest decision holds, words are joined, and of two changes of the same the
/// later one counts.
pub(super) fn add(merged: &mut HookAnswer, ran: HookRan, answer: Answer) {
    merged.ran.push(ran);
    if answer.decision >= merged.decision {
        // The reason of a milder decision says nothing about a stricter one.
        let before = merged.reason.take().filter(|_| answer.decision == merged.decision);
        merged.reason = join(before, answer.reason);
        merged.decision = answer.decision;
    }
    merged.stop = join(merged.stop.take(), answer.stop);
    merged.context = join(merged.context.take(), answer.context);
    let changes = &mut merged.changes;
    changes.args = answer.changes.args.or(changes.args.take());
    changes.tail_call = answer.changes.tail_call.or(changes.tail_call.take());
    changes.messages = answer.changes.messages.or(changes.messages.take());
    changes.answer = answer.changes.answer.or(changes.answer.take());
    changes.tools = match (changes.tools.take(), answer.changes.tools) {
        (Some(before), Some(after)) => Some(both(before, after)),
        (before, after) => after.or(before),
    };
    changes.clear_context |= answer.changes.clear_context;
}

/// No tools where one says none, and otherwise all that any of them names.
fn both(before: FunctionCallingConfig, after: FunctionCallingConfig) -> FunctionCallingConfig {
    let has = |mode| before.mode == mode || after.mode == mode;
    let mode = match () {
        () if has(FunctionCallingMode::None) => FunctionCallingMode::None,
        () if has(FunctionCallingMode::Any) => FunctionCallingMode::Any,
        () => FunctionCallingMode::Auto,
    };
    let mut allowed_function_names = before.allowed_function_names;
    for name in after.allowed_function_names {
        if !allowed_function_names.contains(&name) {
            allowed_function_names.push(name);
        }
    }
    FunctionCallingConfig { mode, allowed_function_names }
}
