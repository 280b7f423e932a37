//! Token figures.

use charla_proto::UsageMetadata;
use serde_json::Value;

/// The wire's figures. A stream's last ones replace its first ones, field by field.
#[derive(Default)]
pub(super) struct Usage {
    input: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
}

impl Usage {
    pub(super) fn update(&mut self, usage: &Value) {
        let set = |field: &mut Option<u64>, value: &Value| {
            if let Some(number) = value.as_u64() {
                *field = Some(number);
            }
        };
        set(&mut self.input, &usage["input_tokens"]);
        set(&mut self.output, &usage["output_tokens"]);
        set(&mut self.thinking, &usage["output_tokens_details"]["thinking_tokens"]);
        set(&mut self.cache_read, &usage["cache_read_input_tokens"]);
        set(&mut self.cache_write, &usage["cache_creation_input_tokens"]);
    }

    /// In our meaning: the prompt includes the cache, the candidates exclude thoughts.
    pub(super) fn metadata(&self) -> Option<UsageMetadata> {
        if self.input.is_none() && self.output.is_none() {
            return None;
        }
        let cached = self.cache_read.unwrap_or(0).saturating_add(self.cache_write.unwrap_or(0));
        Some(UsageMetadata {
            prompt_token_count: self.input.map(|input| input.saturating_add(cached)),
            candidates_token_count: self
                .output
                .map(|output| output.saturating_sub(self.thinking.unwrap_or(0))),
            thoughts_token_count: self.thinking,
            cached_content_token_count: self.cache_read,
            cache_write_token_count: self.cache_write,
            ..UsageMetadata::default()
        })
    }
}
