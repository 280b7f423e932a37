//! The table of providers.

use super::*;
use crate::endpoint::{DocumentStyle, MaxTokensField, ReasoningReplay, ThinkingStyle, ToolIds};

const CHAT: WireKind = WireKind::OpenaiChat;

/// A provider that speaks OpenAI Chat with a bearer key and nothing peculiar: what the rows below vary.
const PLAIN: Provider = Provider {
    name: "",
    title: "",
    wire: CHAT,
    wire_elsewhere: CHAT,
    base_url: "",
    auth: AuthStyle::Bearer,
    key_env: &[],
    base_url_env: &[],
    base_url_suffix: "",
    local: false,
    key_page: "",
    default_model: "",
    quirks: Quirks::default,
};

pub(super) static PROVIDERS: &[Provider] = &[
    Provider {
        name: "gemini",
        title: "Google Gemini API",
        wire: WireKind::Gemini,
        wire_elsewhere: WireKind::Gemini,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        auth: AuthStyle::GoogApiKey,
        key_env: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        base_url_env: &["GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"],
        base_url_suffix: "/v1beta",
        key_page: "https://aistudio.google.com/apikey",
        default_model: "gemini-3.6-flash",
        ..PLAIN
    },
    Provider {
        name: "anthropic",
        title: "Anthropic",
        wire: WireKind::Anthropic,
        wire_elsewhere: WireKind::Anthropic,
        base_url: "https://api.anthropic.com/v1",
        auth: AuthStyle::XApiKey,
        key_env: &["ANTHROPIC_API_KEY"],
        base_url_env: &["ANTHROPIC_BASE_URL"],
        base_url_suffix: "/v1",
        key_page: "https://console.anthropic.com/settings/keys",
        default_model: "claude-sonnet-5",
        ..PLAIN
    },
    Provider {
        name: "openai",
        title: "OpenAI",
        wire: WireKind::OpenaiResponses,
        base_url: "https://api.openai.com/v1",
        key_env: &["OPENAI_API_KEY"],
        base_url_env: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
        key_page: "https://platform.openai.com/api-keys",
        default_model: "gpt-5.5",
        quirks: || Quirks {
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            thinking_style: ThinkingStyle::ReasoningEffort,
            ..Quirks::default()
        },
        ..PLAIN
    },
    Provider {
        name: "vertex",
        title: "Google Vertex AI",
        wire: WireKind::Gemini,
        wire_elsewhere: WireKind::Gemini,
        key_env: &["GOOGLE_VERTEX_ACCESS_TOKEN"],
        base_url_env: &["GOOGLE_VERTEX_BASE_URL"],
        key_page: "https://cloud.google.com/docs/authentication/provide-credentials-adc",
        default_model: "gemini-3.6-flash",
        ..PLAIN
    },
    Provider {
        name: "openrouter",
        title: "OpenRouter",
        base_url: "https://openrouter.ai/api/v1",
        key_env: &["OPENROUTER_API_KEY"],
        base_url_env: &["OPENROUTER_BASE_URL"],
        key_page: "https://openrouter.ai/settings/keys",
        default_model: "anthropic/claude-sonnet-5",
        quirks: || Quirks {
            thinking_style: ThinkingStyle::ReasoningObject,
            documents: DocumentStyle::FileUrl,
            ..Quirks::default()
        },
        ..PLAIN
    },
    Provider {
        name: "deepseek",
        title: "DeepSeek",
        base_url: "https://api.deepseek.com/v1",
        key_env: &["DEEPSEEK_API_KEY"],
        base_url_env: &["DEEPSEEK_BASE_URL"],
        key_page: "https://platform.deepseek.com/api_keys",
        default_model: "deepseek-v4-flash",
        quirks: || Quirks {
            reasoning_replay: ReasoningReplay::ToolCalls,
            thinking_style: ThinkingStyle::ThinkingType,
            no_media: true,
            ..Quirks::default()
        },
        ..PLAIN
    },
    Provider {
        name: "qwen",
        title: "Qwen (DashScope)",
        base_url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key_env: &["DASHSCOPE_API_KEY", "QWEN_API_KEY"],
        base_url_env: &["DASHSCOPE_BASE_URL"],
        key_page: "https://modelstudio.console.alibabacloud.com",
        default_model: "qwen3-max",
        quirks: || Quirks {
            thinking_style: ThinkingStyle::EnableThinking,
            documents: DocumentStyle::FileUrl,
            ..Quirks::default()
        },
        ..PLAIN
    },
    Provider {
        name: "groq",
        title: "Groq",
        base_url: "https://api.groq.com/openai/v1",
        key_env: &["GROQ_API_KEY"],
        base_url_env: &["GROQ_BASE_URL"],
        key_page: "https://console.groq.com/keys",
        default_model: "openai/gpt-oss-120b",
        quirks: || Quirks { thinking_style: ThinkingStyle::ReasoningEffort, ..Quirks::default() },
        ..PLAIN
    },
    Provider {
        name: "mistral",
        title: "Mistral",
        base_url: "https://api.mistral.ai/v1",
        key_env: &["MISTRAL_API_KEY"],
        base_url_env: &["MISTRAL_BASE_URL"],
        key_page: "https://console.mistral.ai/api-keys",
        default_model: "mistral-medium-latest",
        quirks: || Quirks {
            tool_ids: ToolIds::Alnum9,
            documents: DocumentStyle::DocumentUrl,
            no_stream_usage: true,
            ..Quirks::default()
        },
        ..PLAIN
    },
    Provider {
        name: "ollama",
        title: "Ollama",
        base_url: "http://127.0.0.1:11434/v1",
        key_env: &["OLLAMA_API_KEY"],
        base_url_env: &["OLLAMA_BASE_URL", "OLLAMA_HOST"],
        base_url_suffix: "/v1",
        local: true,
        key_page: "https://ollama.com/download",
        quirks: || Quirks { thinking_style: ThinkingStyle::ReasoningEffort, ..Quirks::default() },
        ..PLAIN
    },
    Provider {
        name: "lmstudio",
        title: "LM Studio",
        base_url: "http://127.0.0.1:1234/v1",
        key_env: &["LMSTUDIO_API_KEY"],
        base_url_env: &["LMSTUDIO_BASE_URL"],
        local: true,
        key_page: "https://lmstudio.ai",
        ..PLAIN
    },
    Provider {
        name: "llamacpp",
        title: "llama.cpp server",
        base_url: "http://127.0.0.1:8080/v1",
        key_env: &["LLAMA_API_KEY"],
        base_url_env: &["LLAMACPP_BASE_URL"],
        local: true,
        key_page: "https://github.com/ggml-org/llama.cpp",
        quirks: || Quirks {
            thinking_style: ThinkingStyle::ChatTemplateKwargs,
            client_errors_as_500: true,
            ..Quirks::default()
        },
        ..PLAIN
    },
    Provider {
        name: "vllm",
        title: "vLLM",
        base_url: "http://127.0.0.1:8000/v1",
        key_env: &["VLLM_API_KEY"],
        base_url_env: &["VLLM_BASE_URL"],
        local: true,
        key_page: "https://docs.vllm.ai",
        quirks: || Quirks {
            thinking_style: ThinkingStyle::ChatTemplateKwargs,
            documents: DocumentStyle::FileUrl,
            ..Quirks::default()
        },
        ..PLAIN
    },
    Provider {
        name: "local",
        title: "Built-in engine (llama.cpp)",
        // The port is known when the engine runs.
        base_url: "http://127.0.0.1/v1",
        local: true,
        key_page: "https://github.com/ggml-org/llama.cpp",
        quirks: || Quirks { no_media: true, client_errors_as_500: true, ..Quirks::default() },
        ..PLAIN
    },
];
