//! Telling a conversation that is too long from every other limit a server may speak of.

/// Words that mean it, whoever says them; in lower case.
const PLAIN: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "model_max_prompt_tokens_exceeded",
    "context window exceeds",
    "maximum context length",
    "maximum prompt length",
    "maximum input length",
    "context window",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "prompt 超长",
    "输入超长",
    "exceeds the maximum number of tokens",
    "exceeds the available context",
    "exceeds the context length",
    "exceeds the model's context",
    "exceeded model token limit",
    "longer than the model's context length",
    "longer than the context length",
    "greater than the context length",
    "range of input length should be",
    "context shift is disabled",
    "context length of only",
    "context overflow",
    "reached context length",
    "too big compared to kv",
    "too many tokens",
    "reduce the length of the messages",
    "reduce the length of the input",
];

/// Words of a limit in time: waiting helps, a shorter conversation does not.
const RATES: &[&str] =
    &["per minute", "per min", "per second", "per day", "tpm", "rate limit", "rate_limit", "quota"];

/// Words of the limit of an answer.
const ANSWERS: &[&str] = &["max_tokens", "max_completion_tokens", "max_new_tokens", "max_output_tokens"];

/// What a conversation is called where its size is told beside a limit.
const CONVERSATION: &[&str] = &["input", "prompt", "context", "message", "request contains"];
const COMPARISON: &[&str] = &[
    "exceed",
    "too long",
    "too large",
    "longer than",
    "greater than",
    "larger than",
    "must be <=",
    "less than",
];

/// True when a server's words, in lower case, say that the conversation is too long for the model.
pub(super) fn is_told(status: u16, words: &str) -> bool {
    let has = |needles: &[&str]| needles.iter().any(|needle| words.contains(needle));
    if status == 429 || has(RATES) || words.contains("deadline") {
        return false;
    }
    if has(ANSWERS) && !counts_the_conversation(words) {
        return false;
    }
    has(PLAIN)
        || (words.contains("context") && has(&["exceed", "too long", "too large"]) && status / 100 != 5)
        || (has(CONVERSATION) && has(COMPARISON) && words.contains("token") && sizes(words).len() > 1)
}

/// Words about the limit of an answer can still be about the conversation: it leaves no room for one. Then its
/// size is told, and it takes a good part of what there is.
fn counts_the_conversation(words: &str) -> bool {
    let marks = [" input tokens", " `inputs` tokens", " in the messages", " prompt tokens"];
    let before = marks.iter().flat_map(|mark| words.match_indices(mark)).map(|(at, _)| words.get(..at));
    let conversation = before.flatten().find_map(|before| {
        let number = before.rsplit(|c: char| !c.is_ascii_digit() && c != ',').next()?;
        number.replace(',', "").parse::<u64>().ok()
    });
    let largest = sizes(words).into_iter().max().unwrap_or_default();
    match conversation {
        Some(size) => size.saturating_mul(2) > largest,
        // "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"
        None => words.contains("input length and") && words.contains("context limit"),
    }
}

/// The numbers in a text that may be counts of tokens, `131,072` among them.
fn sizes(words: &str) -> Vec<u64> {
    let digits = words.split(|c: char| !c.is_ascii_digit() && c != ',');
    let numbers = digits.filter_map(|text| text.replace(',', "").parse::<u64>().ok());
    numbers.filter(|number| *number >= 256).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vendors_words_for_a_conversation_that_is_too_long() {
        let rows = [
            (
                "OpenAI",
                400,
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9500 tokens. Please reduce the length of the messages.",
            ),
            (
                "OpenAI Responses",
                400,
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
            ),
            ("Anthropic", 400, "prompt is too long: 210000 tokens > 200000 maximum"),
            (
                "Anthropic",
                400,
                "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease input length or `max_tokens` and try again",
            ),
            (
                "Gemini",
                400,
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            ),
            ("Bedrock", 400, "Input is too long for requested model."),
            (
                "Mistral",
                400,
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            ),
            ("Groq", 400, "Please reduce the length of the messages or completion. context_length_exceeded"),
            (
                "Cohere",
                400,
                "too many tokens: size limit exceeded by 1000 tokens. Try using shorter or fewer inputs.",
            ),
            (
                "OpenRouter",
                400,
                "This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens (9000 of text input).",
            ),
            (
                "LM Studio",
                400,
                "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
            ),
            (
                "LM Studio",
                400,
                "The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input",
            ),
            (
                "TGI",
                422,
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`",
            ),
            (
                "Together",
                422,
                "Input validation error: `inputs` must have less than 4096 tokens. Given: 5123",
            ),
            (
                "xAI",
                400,
                "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            ),
            (
                "DashScope",
                400,
                "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
            ),
            ("Moonshot", 400, "Invalid request: Your request exceeded model token limit: 8192"),
            ("Zhipu", 400, "Prompt 超长 1261"),
            (
                "SGLang",
                400,
                "The input (12345 tokens) is longer than the model's context length (8192 tokens).",
            ),
            (
                "Copilot",
                400,
                "prompt token count of 130000 exceeds the limit of 128000 model_max_prompt_tokens_exceeded",
            ),
            ("llama.cpp", 500, "context shift is disabled"),
            ("llama.cpp", 400, "the request exceeds the available context size, try increasing it"),
            ("llama.cpp", 500, "Input prompt is too big compared to KV size. Please try increasing KV size."),
            ("Ollama", 400, "the input length exceeds the context length"),
            (
                "vLLM",
                400,
                "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages, 500 in the completion).",
            ),
            (
                "vLLM",
                400,
                "'max_tokens' or 'max_completion_tokens' is too large: 500. This model's maximum context length is 4096 tokens and your request has 3900 input tokens (500 > 4096 - 3900).",
            ),
            ("MiniMax", 0, "invalid params, context window exceeds limit (2013)"),
            ("a server of one's own", 400, "the prompt has 9,000 tokens, which is larger than 8,192"),
        ];
        for (vendor, status, words) in rows {
            assert!(is_told(status, &words.to_lowercase()), "{vendor}: {words}");
        }
    }

    #[test]
    fn words_about_other_limits_are_not_taken_for_it() {
        let rows = [
            (
                "OpenAI",
                400,
                "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
            ),
            (
                "OpenAI",
                429,
                "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 4000.",
            ),
            (
                "OpenAI",
                429,
                "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced.",
            ),
            (
                "Anthropic",
                400,
                "max_tokens: 300000 > 128000, which is the maximum allowed number of output tokens for claude-opus-5",
            ),
            (
                "Anthropic",
                429,
                "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
            ),
            ("Anthropic", 400, "`max_tokens` must be greater than `thinking.budget_tokens`."),
            (
                "Gemini",
                429,
                "Quota exceeded for metric: generate_content_paid_tier_input_token_count, limit: 250000",
            ),
            ("TGI", 422, "Input validation error: `max_new_tokens` must be <= 512. Given: 1024"),
            (
                "vLLM",
                400,
                "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 50 input tokens (5000 > 4096 - 50).",
            ),
            ("a gateway", 400, "context deadline exceeded"),
            ("a gateway", 504, "context canceled: exceeded the time of 3000 ms"),
            ("any", 400, "temperature must be below 2"),
            ("any", 400, "Invalid 'tools': array too long. Expected an array with maximum length 128"),
        ];
        for (vendor, status, words) in rows {
            assert!(!is_told(status, &words.to_lowercase()), "{vendor}: {words}");
        }
    }
}
