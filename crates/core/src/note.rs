//! What the model is told with the next prompt of what people did beside the conversation.

use std::fmt::Write as _;

use charla_proto::{CallEnded, ClientCall, Conversation, NOTE};

use crate::undo;

/// How many characters are told of all calls that people made themselves; of more, the latest.
const MOST: usize = 100_000;

/// The note of a conversation; nothing when the model knows everything.
pub fn note_for_model(conversation: &Conversation) -> Option<String> {
    let mut note = undo::note(conversation);
    let calls = calls(&conversation.untold.client_calls);
    if !note.is_empty() && !calls.is_empty() {
        note.push('\n');
    }
    note.push_str(&calls);
    (!note.is_empty()).then(|| format!("{NOTE}{note}]\n\n"))
}

/// The calls that have ended, oldest first.
fn calls(calls: &[ClientCall]) -> String {
    let ended = calls.iter().filter_map(|call| Some((call, call.ended.as_deref()?)));
    let mut told: Vec<String> = Vec::new();
    let mut left = MOST;
    for text in ended.rev().map(|(call, ended)| about(call, ended)) {
        if text.len() > left {
            told.push("Of earlier calls that the user made themselves nothing is told.".to_owned());
            break;
        }
        left -= text.len();
        told.push(text);
    }
    told.reverse();
    told.join("\n")
}

fn about(call: &ClientCall, ended: &CallEnded) -> String {
    let args = serde_json::to_string(&call.call.args).unwrap_or_default();
    let mut text = format!("The user called {} themselves, with {args}. Its result:\n", call.call.name);
    let _ = write!(text, "<result>\n{}\n</result>", ended.response.to_text().trim_end());
    text
}
