//! The table of models: limits, abilities and list prices as their makers publish them.

use super::*;
use ModelThinking::{Adaptive, Budget, Levels};

/// Beginnings of names that tell the maker.
pub(super) const MAKERS: &[(&str, &str)] = &[
    ("models/gemini", "gemini"),
    ("gemini", "gemini"),
    ("gemma", "gemini"),
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("codex-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("claude", "anthropic"),
    ("deepseek-", "deepseek"),
    ("qwen3-max", "qwen"),
    ("qwen-", "qwen"),
    ("mistral-", "mistral"),
    ("magistral-", "mistral"),
    ("ministral-", "mistral"),
    ("codestral-", "mistral"),
    ("devstral-", "mistral"),
];

const BASE: ModelFacts = ModelFacts {
    provider: "",
    name: "",
    window: 128_000,
    max_output: 8_192,
    thinking: ModelThinking::None,
    images: true,
    no_sampling: false,
    media_in_function_response: false,
    price: None,
    offered: false,
};

const GEMINI: ModelFacts = ModelFacts { provider: "gemini", window: 1_048_576, max_output: 65_536, ..BASE };
const GEMINI_3: ModelFacts = ModelFacts { thinking: Levels, media_in_function_response: true, ..GEMINI };
const CLAUDE: ModelFacts =
    ModelFacts { provider: "anthropic", window: 200_000, max_output: 64_000, thinking: Budget, ..BASE };
/// Claude models that decide themselves how much to think; they refuse sampling fields.
const CLAUDE_5: ModelFacts =
    ModelFacts { window: 1_000_000, max_output: 128_000, thinking: Adaptive, no_sampling: true, ..CLAUDE };
const GPT: ModelFacts = ModelFacts { provider: "openai", max_output: 16_384, ..BASE };
/// OpenAI's reasoning models refuse sampling fields.
const GPT_5: ModelFacts =
    ModelFacts { window: 400_000, max_output: 128_000, thinking: Levels, no_sampling: true, ..GPT };
const O_SERIES: ModelFacts =
    ModelFacts { window: 200_000, max_output: 100_000, thinking: Levels, no_sampling: true, ..GPT };
const DEEPSEEK: ModelFacts = ModelFacts { provider: "deepseek", images: false, thinking: Levels, ..BASE };
const QWEN: ModelFacts = ModelFacts { provider: "qwen", images: false, ..BASE };
const MISTRAL: ModelFacts = ModelFacts { provider: "mistral", max_output: 32_768, ..BASE };

#[rustfmt::skip]
pub(super) static MODELS: &[ModelFacts] = &[
    ModelFacts { name: "gemini-3.6-flash", price: Some([1.5, 7.5, 0.15]), offered: true, ..GEMINI_3 },
    ModelFacts { name: "gemini-3.5-flash", price: Some([1.5, 9.0, 0.15]), offered: true, ..GEMINI_3 },
    ModelFacts { name: "gemini-3.5-flash-lite", price: Some([0.3, 2.5, 0.03]), offered: true, ..GEMINI_3 },
    ModelFacts { name: "gemini-3.1-pro", price: Some([2.0, 12.0, 0.2]), offered: true, ..GEMINI_3 },
    ModelFacts { name: "gemini-3-pro", price: Some([2.0, 12.0, 0.2]), ..GEMINI_3 },
    ModelFacts { name: "gemini-3-flash", price: Some([0.5, 3.0, 0.05]), ..GEMINI_3 },
    ModelFacts { name: "gemini-3", ..GEMINI_3 },
    ModelFacts { name: "gemini-2.5-pro", thinking: Budget, price: Some([1.25, 10.0, 0.125]), offered: true, ..GEMINI },
    ModelFacts { name: "gemini-2.5-flash", thinking: Budget, price: Some([0.3, 2.5, 0.03]), offered: true, ..GEMINI },
    ModelFacts { name: "gemini-2.5-flash-lite", thinking: Budget, price: Some([0.1, 0.4, 0.01]), ..GEMINI },
    ModelFacts { name: "gemini-2.0-flash", max_output: 8_192, price: Some([0.1, 0.4, 0.025]), ..GEMINI },
    ModelFacts { name: "gemini-1.5", max_output: 8_192, ..GEMINI },
    ModelFacts { name: "gemma-4", window: 256_000, max_output: 8_192, ..GEMINI },
    ModelFacts { name: "gemma-3", window: 131_072, max_output: 8_192, ..GEMINI },

    ModelFacts { name: "claude-fable-5", price: Some([10.0, 50.0, 1.0]), offered: true, ..CLAUDE_5 },
    ModelFacts { name: "claude-opus-5", price: Some([5.0, 25.0, 0.5]), ..CLAUDE_5 },
    ModelFacts { name: "claude-opus-5-5", price: Some([4.0, 20.0, 0.4]), offered: true, ..CLAUDE_5 },
    ModelFacts { name: "claude-sonnet-5", price: Some([2.0, 10.0, 0.2]), offered: true, ..CLAUDE_5 },
    ModelFacts { name: "claude-haiku-5", ..CLAUDE_5 },
    ModelFacts { name: "claude-opus-4-8", price: Some([5.0, 25.0, 0.5]), ..CLAUDE_5 },
    ModelFacts { name: "claude-opus-4-7", price: Some([5.0, 25.0, 0.5]), ..CLAUDE_5 },
    ModelFacts { name: "claude-opus-4-6", thinking: Adaptive, max_output: 128_000, price: Some([5.0, 25.0, 0.5]), ..CLAUDE },
    ModelFacts { name: "claude-sonnet-4-6", thinking: Adaptive, price: Some([3.0, 15.0, 0.3]), ..CLAUDE },
    ModelFacts { name: "claude-opus-4-5", price: Some([5.0, 25.0, 0.5]), ..CLAUDE },
    ModelFacts { name: "claude-sonnet-4", price: Some([3.0, 15.0, 0.3]), ..CLAUDE },
    ModelFacts { name: "claude-haiku-4-5", price: Some([1.0, 5.0, 0.1]), offered: true, ..CLAUDE },
    ModelFacts { name: "claude-opus-4", max_output: 32_000, price: Some([15.0, 75.0, 1.5]), ..CLAUDE },
    ModelFacts { name: "claude-3-7-sonnet", price: Some([3.0, 15.0, 0.3]), ..CLAUDE },
    ModelFacts { name: "claude-3-5", max_output: 8_192, thinking: ModelThinking::None, ..CLAUDE },
    ModelFacts { name: "claude-3", max_output: 4_096, thinking: ModelThinking::None, ..CLAUDE },

    ModelFacts { name: "gpt-5.6", ..GPT_5 },
    ModelFacts { name: "gpt-5.5", window: 1_050_000, price: Some([5.0, 30.0, 0.5]), offered: true, ..GPT_5 },
    ModelFacts { name: "gpt-5.4", window: 1_050_000, price: Some([2.5, 15.0, 0.25]), offered: true, ..GPT_5 },
    ModelFacts { name: "gpt-5.2", price: Some([1.75, 14.0, 0.175]), ..GPT_5 },
    ModelFacts { name: "gpt-5.1", price: Some([1.25, 10.0, 0.125]), ..GPT_5 },
    ModelFacts { name: "gpt-5-mini", price: Some([0.25, 2.0, 0.025]), offered: true, ..GPT_5 },
    ModelFacts { name: "gpt-5-nano", price: Some([0.05, 0.4, 0.005]), ..GPT_5 },
    ModelFacts { name: "gpt-5", price: Some([1.25, 10.0, 0.125]), ..GPT_5 },
    ModelFacts { name: "gpt-4.1", window: 1_047_576, max_output: 32_768, price: Some([2.0, 8.0, 0.5]), offered: true, ..GPT },
    ModelFacts { name: "gpt-4.1-mini", window: 1_047_576, max_output: 32_768, price: Some([0.4, 1.6, 0.1]), ..GPT },
    ModelFacts { name: "gpt-4.1-nano", window: 1_047_576, max_output: 32_768, price: Some([0.1, 0.4, 0.025]), ..GPT },
    ModelFacts { name: "gpt-4o", price: Some([2.5, 10.0, 1.25]), ..GPT },
    ModelFacts { name: "gpt-4o-mini", price: Some([0.15, 0.6, 0.075]), ..GPT },
    ModelFacts { name: "gpt-4-turbo", max_output: 4_096, price: Some([10.0, 30.0, 10.0]), ..GPT },
    ModelFacts { name: "gpt-3.5-turbo", window: 16_385, max_output: 4_096, images: false, price: Some([0.5, 1.5, 0.5]), ..GPT },
    ModelFacts { name: "o4-mini", price: Some([1.1, 4.4, 0.275]), offered: true, ..O_SERIES },
    ModelFacts { name: "o3", price: Some([2.0, 8.0, 0.5]), ..O_SERIES },
    ModelFacts { name: "o3-mini", images: false, price: Some([1.1, 4.4, 0.55]), ..O_SERIES },
    ModelFacts { name: "o1", price: Some([15.0, 60.0, 7.5]), ..O_SERIES },

    ModelFacts { name: "deepseek-v4", offered: true, max_output: 65_536, ..DEEPSEEK },
    ModelFacts { name: "deepseek-chat", price: Some([0.28, 0.42, 0.028]), offered: true, thinking: ModelThinking::None, ..DEEPSEEK },
    ModelFacts { name: "deepseek-reasoner", max_output: 65_536, price: Some([0.28, 0.42, 0.028]), offered: true, ..DEEPSEEK },
    ModelFacts { name: "qwen3-max", window: 262_144, max_output: 65_536, offered: true, ..QWEN },
    ModelFacts { name: "qwen3-coder", window: 262_144, max_output: 65_536, offered: true, ..QWEN },
    ModelFacts { name: "qwen-plus", window: 131_072, thinking: Budget, offered: true, ..QWEN },
    ModelFacts { name: "mistral-medium", offered: true, ..MISTRAL },
    ModelFacts { name: "mistral-large", offered: true, ..MISTRAL },
    ModelFacts { name: "mistral-small", offered: true, ..MISTRAL },
    ModelFacts { name: "magistral", thinking: ModelThinking::None, ..MISTRAL },
    ModelFacts { name: "gpt-oss", window: 131_072, max_output: 65_536, thinking: Levels, images: false, ..BASE },
];
