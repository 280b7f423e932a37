//! What the model is told of calls that did not run, or not as it had asked.

use charla_proto::{OpenCall, Plan, ToolError, ToolErrorKind};

/// How much of the arguments a person gave is told to the model.
const CHANGED: usize = 2000;

/// What a call is told that was running when its process ended.
pub(super) const INTERRUPTED: &str = "This call was running when the program ended. It may or may not have taken effect; check before repeating it.";
pub(super) const NEVER_APPROVED: &str = "Not run: the turn was cancelled before anybody had approved it.";
pub(super) const NOT_BEGUN: &str = "Not run: it was approved, but the turn was cancelled before it began.";
pub(super) const CANCELLED: &str = "Cancelled by the user.";
pub(super) const STOPPED: &str = "Not run: a hook ended the turn.";
pub(super) const INSTEAD: &str = "Do without it, or say what you would do with it.";

/// What a call is told that a person did not allow.
pub(super) fn refusal(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("The user did not allow this call: {reason}"),
        None => "The user did not allow this call.".to_owned(),
    }
}

/// What a call is told that needs a yes which nobody can give.
pub(super) fn nobody_to_ask(plan: &Plan) -> ToolError {
    let message = format!(
        "Not run: it needs approval ({}) and nobody is there to give it. Do without it, or say what should be allowed.",
        plan.title
    );
    ToolError::new(ToolErrorKind::NobodyToAsk, message)
}

/// The model must know that what ran is not what it had asked for.
pub(crate) fn about_change(open: &OpenCall) -> String {
    let text = serde_json::to_string(&open.call.args).unwrap_or_default();
    let cut = text.char_indices().nth(CHANGED).and_then(|(end, _)| text.get(..end));
    let (text, rest) = cut.map_or((text.as_str(), ""), |cut| (cut, " … (cut)"));
    if open.hooks.called.is_some() {
        let name = &open.call.name;
        return format!(
            "[Note: after this call, a hook called {name}. This is its result; its arguments: {text}{rest}]"
        );
    }
    let who = if open.hooks.changed { "a hook" } else { "the user" };
    format!("[Note: {who} changed this call before it ran. It ran with these arguments: {text}{rest}]")
}
