//! Messages of a conversation as they are listed: each on one line.

use charla_proto::{Content, PartKind, Role, own_text, own_words};

/// One message of a conversation, briefly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number: the record it came with.
    pub seq: u64,
    /// Who speaks.
    pub role: Role,
    /// What is said, on one line, with calls and results by their tool.
    pub words: String,
    /// What a person typed, or what a model said besides its calls; nothing for what is neither.
    pub said: Option<String>,
    /// The message before it; 0 where it is the first.
    pub before: u64,
}

impl Message {
    pub(super) fn of(seq: u64, content: &Content, before: u64) -> Self {
        let calls = content.parts.iter().filter_map(|part| match &part.kind {
            PartKind::FunctionCall(call) => Some(format!("[{}]", call.name)),
            PartKind::FunctionResponse(response) => Some(format!("[result of {}]", response.name)),
            _ => None,
        });
        let words: Vec<String> = std::iter::once(own_text(content)).chain(calls).collect();
        let words = words.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        let said = match content.role {
            Role::User => own_words(content).map(str::to_owned),
            _ => Some(content.text()).filter(|text| !text.trim().is_empty()),
        };
        Self { seq, role: content.role, words, said, before }
    }
}
