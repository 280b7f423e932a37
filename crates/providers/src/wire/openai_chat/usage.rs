//! Token counts.

use charla_proto::UsageMetadata;
use serde::Deserialize;

use super::lenient::{Maybe, Number};

/// The `usage` object with what different servers put into it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Usage {
    prompt_tokens: Number,
    completion_tokens: Number,
    total_tokens: Number,
    prompt_tokens_details: Maybe<PromptDetails>,
    completion_tokens_details: Maybe<CompletionDetails>,
    /// GitHub Copilot.
    reasoning_tokens: Number,
    /// Together.
    cached_tokens: Number,
    /// DeepSeek.
    prompt_cache_hit_tokens: Number,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Number,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Number,
}

impl Usage {
    /// The same counts in our meaning; `None` when there are none (`usage: {}`).
    pub fn into_metadata(self) -> Option<UsageMetadata> {
        let prompt = self.prompt_tokens.0;
        let completion = self.completion_tokens.0;
        let total = self.total_tokens.0;
        if prompt.is_none() && completion.is_none() && total.is_none() {
            return None;
        }
        let detailed = self.completion_tokens_details.0.and_then(|details| details.reasoning_tokens.0);
        let thoughts = detailed.or(self.reasoning_tokens.0);
        let cached = self.prompt_tokens_details.0.and_then(|details| details.cached_tokens.0);
        Some(UsageMetadata {
            prompt_token_count: prompt,
            candidates_token_count: completion
                .map(|completion| visible(prompt.unwrap_or(0), completion, thoughts.unwrap_or(0), total)),
            thoughts_token_count: thoughts,
            cached_content_token_count: cached.or(self.cached_tokens.0).or(self.prompt_cache_hit_tokens.0),
            total_token_count: total,
            ..UsageMetadata::default()
        })
    }
}

/// The completion without thoughts. The wire counts thoughts within the completion; a server that
/// counts them beside it gives itself away by the total.
fn visible(prompt: u64, completion: u64, thoughts: u64, total: Option<u64>) -> u64 {
    let beside = prompt.saturating_add(completion).saturating_add(thoughts);
    if thoughts > 0 && total == Some(beside) { completion } else { completion.saturating_sub(thoughts) }
}
