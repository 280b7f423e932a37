//! What a model answers. A stream's chunk has the same form as a whole answer.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Content, Extra, FunctionCall};

/// One answer, or one chunk of a streamed one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerateResponse {
    /// Usually one; more only when asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
    /// Tokens used so far; in a stream the last one counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_metadata: Option<UsageMetadata>,
    /// The model that really answered, as the server names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_version: Option<String>,
    /// The server's id of this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// Set when the prompt itself was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_feedback: Option<PromptFeedback>,
    /// Fields this version does not know, kept as they came.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl GenerateResponse {
    /// The first candidate's visible text, without thoughts.
    pub fn text(&self) -> String {
        self.content().map(Content::text).unwrap_or_default()
    }

    /// The first candidate's content.
    pub fn content(&self) -> Option<&Content> {
        self.candidates.first()?.content.as_ref()
    }

    /// The first candidate's calls.
    pub fn function_calls(&self) -> impl Iterator<Item = &FunctionCall> {
        self.content().into_iter().flat_map(Content::function_calls)
    }

    /// The first candidate's finish reason.
    pub fn finish_reason(&self) -> Option<&FinishReason> {
        self.candidates.first()?.finish_reason.as_ref()
    }
}

/// One of the model's answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// Its place among several.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub index: u32,
    /// What was said, as far as this chunk has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Why it ended, in our words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// Why it ended, in the wire's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_finish_reason: Option<String>,
    /// The server's explanation of the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_message: Option<String>,
    /// Sources it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Citation>,
    /// Unknown fields (grounding, log probabilities, …).
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// A source the model names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Citation {
    /// Its title, or the cited text when it has no title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The source's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Fields this version does not know, kept as they came.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Why an answer ended. JSON as in the Gemini API (`STOP`, `MAX_TOKENS`, …).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// A natural end, or a call.
    Stop,
    /// The output limit.
    MaxTokens,
    /// Stopped by a safety filter, or refused by the model.
    Safety,
    /// Stopped for quoting too much.
    Recitation,
    /// The model wrote a call the server could not read.
    MalformedFunctionCall,
    /// The model called a tool it was not offered.
    UnexpectedToolCall,
    /// The provider paused a long turn: send the content back to continue.
    Pause,
    /// Any other reason, in the wire's word.
    Other(String),
}

impl FinishReason {
    /// The name in JSON.
    pub fn name(&self) -> &str {
        match self {
            FinishReason::Stop => "STOP",
            FinishReason::MaxTokens => "MAX_TOKENS",
            FinishReason::Safety => "SAFETY",
            FinishReason::Recitation => "RECITATION",
            FinishReason::MalformedFunctionCall => "MALFORMED_FUNCTION_CALL",
            FinishReason::UnexpectedToolCall => "UNEXPECTED_TOOL_CALL",
            FinishReason::Pause => "PAUSE",
            FinishReason::Other(name) => name,
        }
    }

    /// The reason of this JSON name; unknown names are kept.
    pub fn from_name(name: &str) -> Self {
        match name {
            "STOP" => FinishReason::Stop,
            "MAX_TOKENS" => FinishReason::MaxTokens,
            "SAFETY" => FinishReason::Safety,
            "RECITATION" => FinishReason::Recitation,
            "MALFORMED_FUNCTION_CALL" => FinishReason::MalformedFunctionCall,
            "UNEXPECTED_TOOL_CALL" => FinishReason::UnexpectedToolCall,
            "PAUSE" => FinishReason::Pause,
            other => FinishReason::Other(other.to_owned()),
        }
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for FinishReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for FinishReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_name(&String::deserialize(deserializer)?))
    }
}

/// Tokens used. The same meaning on every wire, whatever the wire counts:
/// the prompt includes what came from or went to a cache, the candidates exclude thoughts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageMetadata {
    /// All input tokens, cached ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_token_count: Option<u64>,
    /// Visible output tokens, thoughts excluded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates_token_count: Option<u64>,
    /// Tokens spent on thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thoughts_token_count: Option<u64>,
    /// Of the input: read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_content_token_count: Option<u64>,
    /// Of the input: written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_token_count: Option<u64>,
    /// Input that server-side tools added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_prompt_token_count: Option<u64>,
    /// The sum as the server gives it; absent where it gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_token_count: Option<u64>,
}

/// Sums stop at the largest number: figures are a server's word, and no word of a server may end a run.
impl UsageMetadata {
    /// Adds the tokens of another answer: every answer of a run is paid for.
    pub fn add(&mut self, more: &UsageMetadata) {
        let total = self.total().saturating_add(more.total());
        let pairs = [
            (&mut self.prompt_token_count, more.prompt_token_count),
            (&mut self.candidates_token_count, more.candidates_token_count),
            (&mut self.thoughts_token_count, more.thoughts_token_count),
            (&mut self.cached_content_token_count, more.cached_content_token_count),
            (&mut self.cache_write_token_count, more.cache_write_token_count),
            (&mut self.tool_use_prompt_token_count, more.tool_use_prompt_token_count),
        ];
        for (sum, more) in pairs {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        }
        self.total_token_count = Some(total);
    }

    /// All output tokens: visible and thoughts.
    pub fn output(&self) -> u64 {
        self.candidates_token_count.unwrap_or(0).saturating_add(self.thoughts_token_count.unwrap_or(0))
    }

    /// The total, summed up where the server gives none.
    pub fn total(&self) -> u64 {
        self.total_token_count.unwrap_or_else(|| {
            let prompt = self.prompt_token_count.unwrap_or(0);
            prompt.saturating_add(self.tool_use_prompt_token_count.unwrap_or(0)).saturating_add(self.output())
        })
    }
}

/// Why the prompt was refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptFeedback {
    /// The server's word for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_reason: Option<String>,
    /// The server's explanation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_reason_message: Option<String>,
    /// Fields this version does not know, kept as they came.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// How many tokens a request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenCount {
    /// Tokens of the whole request.
    pub total_tokens: u64,
    /// False when it is our own estimate rather than the provider's count.
    pub exact: bool,
}

/// Vectors, one for each text, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmbedResponse {
    /// One vector for each text, in their order.
    pub embeddings: Vec<Vec<f32>>,
    /// Tokens used, where the server tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_metadata: Option<UsageMetadata>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_figures_of_a_server_end_no_run() {
        let absurd = UsageMetadata {
            prompt_token_count: Some(u64::MAX),
            candidates_token_count: Some(u64::MAX),
            thoughts_token_count: Some(1),
            ..UsageMetadata::default()
        };
        let mut sum = absurd.clone();
        sum.add(&absurd);
        assert_eq!((sum.total(), sum.output(), sum.prompt_token_count), (u64::MAX, u64::MAX, Some(u64::MAX)));
    }
}
