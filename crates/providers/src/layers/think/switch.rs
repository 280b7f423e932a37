//! Asks a model in words not to think.

use std::sync::Arc;

use charla_proto::{Content, GenerateRequest, Part, PartKind, Role, Thinking};
use serde::{Deserialize, Serialize};

use super::super::remembered::Remembered;

/// How a model is told not to think, when a request wants no thinking (budget 0, level minimal). A setting: names of models tell nothing
/// about the template a server runs them with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThinkSwitch {
    /// By a field of the request, see [`crate::endpoint::ThinkingStyle`], or not at all.
    #[default]
    Wire,
    /// `/no_think` behind the user's words (Qwen 3).
    SlashSuffix,
    /// `/no_think` in front of them.
    SlashPrefix,
    /// `<no_think>` in front of them.
    TagPrefix,
}

impl ThinkSwitch {
    /// The request with the mark; `None` when it goes out as it is.
    ///
    /// Every user text is marked, not only the last: a mark that moved on with each turn would change the prompt's
    /// beginning, and a local server would read it all again. The last one is what counts for the model.
    pub(super) fn apply(self, request: &GenerateRequest, marked: &mut Remembered) -> Option<GenerateRequest> {
        let off = request.thinking.as_ref().is_some_and(Thinking::is_off);
        if self == ThinkSwitch::Wire || !off {
            return None;
        }
        let contents = request.contents.iter();
        let contents = contents.map(|content| match is_said_by_user(content) {
            true => marked.get(content, |content| self.mark(content)),
            false => Arc::clone(content),
        });
        Some(GenerateRequest { contents: contents.collect(), ..request.clone() })
    }

    fn mark(self, content: &Content) -> Content {
        let mut content = content.clone();
        let texts = content.parts.iter_mut().filter_map(|part| match &mut part.kind {
            PartKind::Text(text) => Some(text),
            _ => None,
        });
        let mut texts: Vec<&mut String> = texts.collect();
        match self {
            ThinkSwitch::Wire => {}
            ThinkSwitch::SlashSuffix => {
                if let Some(last) = texts.last_mut() {
                    last.push_str(" /no_think");
                }
            }
            ThinkSwitch::SlashPrefix => {
                if let Some(first) = texts.first_mut() {
                    first.insert_str(0, "/no_think ");
                }
            }
            ThinkSwitch::TagPrefix => {
                if let Some(first) = texts.first_mut() {
                    first.insert_str(0, "<no_think>\n\n");
                }
            }
        }
        content
    }
}

/// Words of the user, rather than results of tools.
fn is_said_by_user(content: &Content) -> bool {
    let is_result = |part: &Part| part.as_function_response().is_some();
    content.role == Role::User
        && !content.parts.iter().any(is_result)
        && content.parts.iter().any(|part| part.as_text().is_some())
}
