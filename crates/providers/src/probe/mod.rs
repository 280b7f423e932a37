//! Finds out how a model of which nothing is known calls tools: one short exchange, a second one only when the first
//! proves nothing, and a third before it is said to have no tools at all.
//!
//! The exchanges go the way that real requests go: streamed, the model free to call or not, thoughts filtered
//! out. A forced call would prove less, because some servers can force a call that their models never make by
//! themselves, and others refuse to force one although their models call well.

use std::sync::Arc;

use charla_proto::{
    Assembler, Content, ContentGenerator, FunctionCallingConfig, FunctionCallingMode, FunctionDeclaration,
    GenerateRequest, GenerateResponse, LlmError, LlmErrorKind, Part, StreamEvent, Tool, ToolConfig,
};
use futures_util::StreamExt;
use serde_json::json;

use crate::layers::{StackOptions, TextPiece, ToolMode, split_text, stack};

/// Enough for a model that thinks before it calls.
const MOST_TOKENS: u32 = 1024;
/// Words that come without a call: one that has said so much does not mean to call any more.
const MOST_WORDS: usize = 800;
/// Bytes of thoughts: several times what the tokens asked for can hold, for servers that heed no limit.
const MOST_THOUGHTS: usize = 32 * 1024;
const TOOL: &str = "look_up_word";
const PROMPT: &str = "What does the word \"harbour\" mean? Do not answer from memory: call the tool look_up_word with \
                      that word.";

/// What was found out about a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How it calls tools; never [`ToolMode::Auto`].
    pub tools: ToolMode,
    /// By what that was seen, in words.
    pub reason: String,
    /// It was seen thinking.
    pub thoughts: bool,
    /// How often it was asked.
    pub exchanges: u32,
}

/// What came of one exchange.
#[derive(Debug, Default)]
struct ProbeAnswer {
    /// It called something.
    call: bool,
    thoughts: bool,
    /// Its visible words.
    text: String,
}

/// Asks a model to call a tool and sees what it does.
///
/// `generator` is the model's own, without layers; `options` say how its thoughts are found and how it is spoken to about
/// tools; `template` has the model's name and sampling. Takes as long as the model needs for at most three
/// short answers, so callers set a limit of their own. An error means that nothing was found out: the server
/// cannot be reached, refuses the key, knows no such model, or breaks off.
pub async fn probe(
    generator: Arc<dyn ContentGenerator>,
    options: &StackOptions,
    template: &GenerateRequest,
    window: Option<u32>,
) -> Result<Finding, LlmError> {
    let with = |tools| StackOptions { tools, stable_prefix: false, ..options.clone() };
    let mut request = request(template, window);
    let native = listen(&stack(generator.clone(), with(ToolMode::Native)), &request).await;
    let refused = match &native {
        Err(error) if may_be_about_tools(error) => Some(error),
        Err(error) => return Err(error.clone()),
        Ok(_) => None,
    };
    let first = native.as_ref().ok();
    let found = |tools, reason: String, thoughts: bool, exchanges| {
        let thoughts = thoughts || first.is_some_and(|heard| heard.thoughts);
        Ok(Finding { tools, reason, thoughts, exchanges })
    };
    if first.is_some_and(|heard| heard.call) {
        return found(ToolMode::Native, "it made a function call".to_owned(), false, 1);
    }
    if let Some(error) = refused.filter(|error| speaks_of_tools(error)) {
        return found(ToolMode::Text, format!("the server refuses tools ({error})"), false, 1);
    }
    if first.is_some_and(|heard| calls_in(&heard.text)) {
        return found(ToolMode::Text, "it writes calls into its text".to_owned(), false, 1);
    }
    request.tool_config = Some(ToolConfig {
        function_calling_config: FunctionCallingConfig {
            mode: FunctionCallingMode::Any,
            ..FunctionCallingConfig::default()
        },
    });
    let told = stack(generator, with(ToolMode::Text));
    let mut in_text = listen(&told, &request).await?;
    let mut exchanges = 2;
    // One odd reply must not take a model's tools away.
    if !in_text.call {
        in_text = listen(&told, &request).await?;
        exchanges += 1;
    }
    let before = match refused {
        Some(error) => format!("the server fails when it is given tools ({error})"),
        None => "it made no function call".to_owned(),
    };
    match (in_text.call, in_text.text.trim().is_empty()) {
        (true, _) => found(
            ToolMode::Text,
            format!("{before}, and called when it was told in words how to"),
            in_text.thoughts,
            exchanges,
        ),
        (false, false) => {
            found(ToolMode::None, format!("{before}, nor a call in its text"), in_text.thoughts, exchanges)
        }
        (false, true) => Err(LlmError::new(
            LlmErrorKind::InvalidStream,
            "the model said nothing when it was asked to call a tool",
        )),
    }
}

fn request(template: &GenerateRequest, window: Option<u32>) -> GenerateRequest {
    let tool = FunctionDeclaration {
        name: TOOL.to_owned(),
        description: "Looks a word up in a dictionary.".to_owned(),
        parameters_json_schema: json!({
            "type": "object",
            "properties": {"word": {"type": "string", "description": "The word to look up."}},
            "required": ["word"],
        }),
        ..FunctionDeclaration::default()
    };
    let most = window.map_or(MOST_TOKENS, |window| (window / 2).clamp(1, MOST_TOKENS));
    GenerateRequest {
        contents: vec![Arc::new(Content::user(PROMPT))],
        system_instruction: None,
        tools: vec![Tool::functions(vec![Arc::new(tool)])],
        max_output_tokens: Some(most),
        ..template.clone()
    }
}

/// Listens until the model has called, has talked or thought enough, or is done. An answer that is none (only
/// thoughts, a call that cannot be read) counts by what came of it.
async fn listen(
    generator: &Arc<dyn ContentGenerator>,
    request: &GenerateRequest,
) -> Result<ProbeAnswer, LlmError> {
    let mut stream = generator.stream(request).await?;
    let mut whole = Assembler::new();
    let mut call = false;
    let (mut said, mut thought) = (0, 0);
    while let Some(event) = stream.next().await {
        match event {
            Ok(StreamEvent::Chunk(chunk)) => {
                call = call || has_call(&chunk);
                said += chunk.text().len();
                thought += thoughts_in(&chunk);
                whole.push(chunk);
            }
            Ok(_) => {}
            Err(error) if error.kind == LlmErrorKind::InvalidStream => break,
            Err(error) => return Err(error),
        }
        if call || said > MOST_WORDS || thought > MOST_THOUGHTS {
            break;
        }
    }
    let whole = whole.finish();
    let thoughts = whole.content().is_some_and(|content| content.parts.iter().any(|part| part.thought));
    let in_text = parts(&whole).find_map(written_in_text).map(str::to_owned);
    Ok(ProbeAnswer { call, thoughts, text: in_text.unwrap_or_else(|| whole.text()) })
}

fn parts(chunk: &GenerateResponse) -> impl Iterator<Item = &Part> {
    let contents = chunk.candidates.iter().filter_map(|candidate| candidate.content.as_ref());
    contents.flat_map(|content| &content.parts)
}

fn has_call(chunk: &GenerateResponse) -> bool {
    parts(chunk).any(|part| part.as_function_call().is_some() && written_in_text(part).is_none())
}

/// The text of an answer whose calls were found in it, see [`crate::layers::stack`].
fn written_in_text(part: &Part) -> Option<&str> {
    let invalid = part.as_function_call()?.invalid.as_ref()?;
    calls_in(&invalid.raw).then_some(&invalid.raw)
}

fn thoughts_in(chunk: &GenerateResponse) -> usize {
    let thoughts = parts(chunk).filter(|part| part.thought);
    thoughts.filter_map(|part| part.as_text()).map(str::len).sum()
}

/// Calls in the text of a model that was offered tools by its wire.
fn calls_in(text: &str) -> bool {
    let tool = FunctionDeclaration { name: TOOL.to_owned(), ..FunctionDeclaration::default() };
    split_text(&[Arc::new(tool)], [text]).iter().any(|piece| matches!(piece, TextPiece::Calls { .. }))
}

/// Errors that a server may answer with because it was given tools. All others would come without tools, too.
fn may_be_about_tools(error: &LlmError) -> bool {
    match error.kind {
        LlmErrorKind::InvalidRequest | LlmErrorKind::NotSupported | LlmErrorKind::Server => true,
        // Routers say that they have no such model with tools.
        LlmErrorKind::NotFound => speaks_of_tools(error),
        _ => false,
    }
}

/// True when the words are about tools, whatever they say of them.
pub(crate) fn speaks_of_tools(error: &LlmError) -> bool {
    let words = error.message.to_lowercase();
    words.contains("tool") || words.contains("function")
}

#[cfg(test)]
mod tests;
