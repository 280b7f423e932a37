//! Turns a request with tools into one without: guidance, calls and results become text.

use std::sync::{Arc, Mutex, PoisonError};

use charla_proto::{
    Content, FunctionCallingConfig, FunctionCallingMode, FunctionDeclaration, FunctionResponse,
    GenerateRequest, Part, PartKind, Role,
};
use serde_json::Value;

use super::super::remembered::Remembered;
use super::guidance;
use super::{GuidancePlace, TextToolsOptions};

/// What was turned into text once and need not be again.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    contents: Remembered,
    guided: Option<Guided>,
}

/// The content the guidance was last put into, and what came of it.
#[derive(Debug)]
struct Guided {
    original: Option<Arc<Content>>,
    guidance: String,
    content: Arc<Content>,
}

impl Outgoing {
    /// The request as a model without tools can take it.
    pub(super) fn convert(&self, request: &GenerateRequest, options: &TextToolsOptions) -> GenerateRequest {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = GenerateRequest {
            contents: request.contents.iter().map(|content| known.textual(content)).collect(),
            tools: Vec::new(),
            tool_config: None,
            ..request.clone()
        };
        let config = request.tool_config.as_ref().map(|config| config.function_calling_config.clone());
        let config = config.unwrap_or_default();
        let offered: Vec<_> = offered(request, &config).map(|tool| &**tool).collect();
        if offered.is_empty() {
            return out;
        }
        let guidance = guidance::render(offered, &config, options.style);
        match options.place {
            GuidancePlace::System => {
                let system = out.system_instruction.take();
                out.system_instruction = Some(known.guided(system, guidance, |system, guidance| Content {
                    parts: [system.parts, vec![Part::text(guidance)]].concat(),
                    ..system
                }));
            }
            GuidancePlace::FirstUser => {
                let at = out.contents.iter().position(|content| content.role == Role::User).unwrap_or(0);
                let first = (at < out.contents.len()).then(|| out.contents.remove(at));
                let first = known.guided(first, guidance, |first, guidance| Content {
                    parts: [vec![Part::text(guidance)], first.parts].concat(),
                    ..first
                });
                out.contents.insert(at, first);
            }
        }
        out
    }
}

/// The tools that may be called.
pub(super) fn offered<'a>(
    request: &'a GenerateRequest,
    config: &FunctionCallingConfig,
) -> impl Iterator<Item = &'a Arc<FunctionDeclaration>> {
    let none = config.mode == FunctionCallingMode::None;
    let allowed = config.allowed_function_names.clone();
    let is_allowed = move |name: &String| !none && (allowed.is_empty() || allowed.contains(name));
    request.function_declarations().filter(move |tool| is_allowed(&tool.name))
}

impl Known {
    /// The content with calls and results as text; itself when it has none.
    fn textual(&mut self, content: &Arc<Content>) -> Arc<Content> {
        let odd =
            |part: &Part| matches!(part.kind, PartKind::FunctionCall(_) | PartKind::FunctionResponse(_));
        if !content.parts.iter().any(odd) {
            return content.clone();
        }
        self.contents.get(content, in_words)
    }

    /// The content with the guidance in it, the same as last time if both are.
    fn guided(
        &mut self,
        original: Option<Arc<Content>>,
        guidance: String,
        join: impl FnOnce(Content, String) -> Content,
    ) -> Arc<Content> {
        let same = |guided: &&Guided| {
            guided.guidance == guidance
                && match (&guided.original, &original) {
                    (None, None) => true,
                    (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one == other,
                    _ => false,
                }
        };
        if let Some(guided) = self.guided.as_ref().filter(same) {
            return guided.content.clone();
        }
        let content = Arc::new(join(original.as_deref().cloned().unwrap_or_default(), guidance.clone()));
        self.guided = Some(Guided { original, guidance, content: content.clone() });
        content
    }
}

/// A content whose calls and results are words. Nothing of it is bound to its origin any more: proofs of thinking
/// belong to calls that are no longer there.
fn in_words(content: &Content) -> Content {
    let mut parts: Vec<Part> = Vec::with_capacity(content.parts.len());
    let mut text = String::new();
    for part in &content.parts {
        match &part.kind {
            PartKind::Text(words) if !part.thought => add(&mut text, words),
            PartKind::FunctionCall(call) => {
                let arguments = match &call.invalid {
                    None => Value::Object(call.args.clone()),
                    Some(invalid) => Value::String(invalid.raw.clone()),
                };
                add(&mut text, &guidance::call_text(&call.name, &arguments));
            }
            PartKind::FunctionResponse(response) => {
                add(&mut text, &result_text(response));
                parts.extend(
                    response.parts.iter().filter(|part| part.as_function_response().is_none()).cloned(),
                );
            }
            PartKind::InlineData(_) | PartKind::FileData(_) => parts.push(part.clone()),
            PartKind::Text(_) | PartKind::Opaque(_) | PartKind::Other => {}
        }
    }
    parts.insert(0, Part::text(text));
    Content::new(content.role, parts)
}

fn add(text: &mut String, words: &str) {
    let words = words.trim_end();
    if !text.is_empty() && !words.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(words);
}

fn result_text(response: &FunctionResponse) -> String {
    let (name, words) = (&response.name, response.to_text());
    if response.is_error() {
        return format!("Result of tool {name}: it failed.\n{words}");
    }
    if words.trim().is_empty() {
        return format!("Result of tool {name}: done, nothing was returned.");
    }
    format!("Result of tool {name}:\n{words}")
}
