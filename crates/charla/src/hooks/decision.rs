//! What a hook decides. A word that means nothing here was meant as something: where a no is possible, it is not taken for a yes.

use charla_core::hooks::HookDecision;
use charla_proto::HookEvent;
use charla_proto::text::{middle, one_line};
use serde_json::Value;

use super::Hook;

/// How much of a word or a name is told.
const TOLD: usize = 200;

/// The decision of an answer, and what the person is told where its word is none that is known.
pub(super) fn of(said: Option<&Value>, hook: &Hook) -> (HookDecision, Option<String>) {
    if let Some(decision) = known(said) {
        return (decision, None);
    }
    let decision = of_an_unknown_word(hook.event);
    let word = said.map(Value::to_string).unwrap_or_default();
    let warning = format!(
        "Warning: the hook `{}` decided {}, which is none of allow, deny, block and ask: {}",
        short(&hook.name),
        short(&word),
        match decision {
            HookDecision::Deny => "it is taken as a no",
            HookDecision::Ask => "it is taken as ask",
            HookDecision::Pass => "it means nothing here",
        }
    );
    (decision, Some(warning))
}

fn known(said: Option<&Value>) -> Option<HookDecision> {
    let Some(word) = said.filter(|said| !said.is_null()) else { return Some(HookDecision::Pass) };
    match word.as_str()?.trim().to_ascii_lowercase().as_str() {
        "" | "allow" | "approve" => Some(HookDecision::Pass),
        "ask" => Some(HookDecision::Ask),
        "deny" | "block" => Some(HookDecision::Deny),
        _ => None,
    }
}

/// A person is asked where that is possible, and else nothing goes on that could be stopped. After the agent a no would have the
/// turn go on, and elsewhere it stops nothing.
fn of_an_unknown_word(event: HookEvent) -> HookDecision {
    match event {
        HookEvent::BeforeTool => HookDecision::Ask,
        HookEvent::BeforeAgent | HookEvent::BeforeModel | HookEvent::AfterModel | HookEvent::AfterTool => {
            HookDecision::Deny
        }
        HookEvent::SessionStart
        | HookEvent::SessionEnd
        | HookEvent::AfterAgent
        | HookEvent::BeforeToolSelection
        | HookEvent::PreCompress
        | HookEvent::Notification => HookDecision::Pass,
    }
}

fn short(text: &str) -> String {
    let text = one_line(text);
    middle(&text, TOLD).map_or(text, |cut| one_line(&cut))
}
