//! What servers do differently from their wires. Each quirk is declared once, in the table below.

use serde::{Deserialize, Serialize};

/// The words a value has in settings; none for true and false.
trait Words {
    const WORDS: &'static [&'static str];
}

impl Words for bool {
    const WORDS: &'static [&'static str] = &[];
}

/// A choice, each with its word in settings.
macro_rules! choice {
    ($(#[$about:meta])* $name:ident { $($(#[$meta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$meta])* #[serde(rename = $word)] $variant,)+
        }

        impl Words for $name {
            const WORDS: &'static [&'static str] = &[$($word),+];
        }
    };
}

/// The quirks, each with its meaning, its name in settings and its type.
macro_rules! quirks {
    ($(#[doc = $doc:literal] $field:ident $name:literal: $type:ty,)+) => {
        /// What a server does differently from its wire. Every field's default is the wire's own behaviour.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Quirks {
            $(#[doc = $doc] #[serde(rename = $name)] pub $field: $type,)+
        }

        /// Some quirks of a server, to be laid over those that are known of it.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct QuirkOverlay {
            $(#[doc = $doc] #[serde(rename = $name, skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)+
        }

        impl Quirks {
            /// These quirks with what the overlay says; what it leaves out stays.
            pub fn overlaid_by(&self, overlay: &QuirkOverlay) -> Self {
                Self { $($field: overlay.$field.unwrap_or(self.$field),)+ }
            }

            /// Every quirk as settings know it, in the order of the fields.
            pub const TABLE: &'static [QuirkRow] =
                &[$(QuirkRow { name: $name, about: $doc.trim_ascii_start(), words: <$type as Words>::WORDS },)+];
        }
    };
}

/// A quirk as settings know it: for their schema and their documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuirkRow {
    /// Its name.
    pub name: &'static str,
    /// Its meaning.
    pub about: &'static str,
    /// The words it may be set to; none for true and false.
    pub words: &'static [&'static str],
}

quirks! {
    /// The field for the output limit (OpenAI Chat).
    max_tokens_field "maxTokensField": MaxTokensField,
    /// When thoughts go back in `reasoning_content` (OpenAI Chat).
    reasoning_replay "reasoningReplay": ReasoningReplay,
    /// How thinking is asked for (OpenAI Chat).
    thinking_style "thinkingStyle": ThinkingStyle,
    /// Tool-call ids it accepts.
    tool_ids "toolIds": ToolIds,
    /// It refuses `stream_options.include_usage` (OpenAI Chat).
    no_stream_usage "noStreamUsage": bool,
    /// How documents and videos are sent (OpenAI Chat).
    documents "documents": DocumentStyle,
    /// It refuses media: images become a note in words.
    no_media "noMedia": bool,
    /// It refuses a system message: instructions go in front of the first user message.
    no_system "noSystem": bool,
    /// It refuses the `tools` field.
    no_tools "noTools": bool,
    /// It takes no schema for its answer: the instruction alone asks for the form.
    no_answer_schema "noAnswerSchema": bool,
    /// It answers client mistakes with status 500 (llama.cpp): such an answer is not tried again.
    client_errors_as_500 "clientErrorsAs500": bool,
    /// It cannot count tokens although its wire can.
    no_count_tokens "noCountTokens": bool,
    /// It takes no cache breakpoints (Anthropic).
    no_cache_control "noCacheControl": bool,
}

choice! {
    /// See [`Quirks::max_tokens_field`].
    MaxTokensField {
        /// What nearly every compatible server takes.
        #[default]
        MaxTokens = "max_tokens",
        /// What OpenAI's own newer models want.
        MaxCompletionTokens = "max_completion_tokens",
    }
}

choice! {
    /// See [`Quirks::reasoning_replay`].
    ReasoningReplay {
        /// Never: the server refuses or ignores it.
        #[default]
        Never = "never",
        /// On contents of the current tool loop (after the last user message that is not a tool result).
        ToolLoop = "tool_loop",
        /// On every message that calls tools: the server refuses such a message without thoughts (DeepSeek, Kimi).
        /// Where there are none, because another model made the call, words that say so stand in for them.
        ToolCalls = "tool_calls",
        /// Always.
        Always = "always",
    }
}

choice! {
    /// See [`Quirks::thinking_style`].
    ThinkingStyle {
        /// Nothing is sent.
        #[default]
        None = "none",
        /// `reasoning_effort: low|medium|high` (OpenAI and many others).
        ReasoningEffort = "reasoning_effort",
        /// `reasoning: {effort|max_tokens|enabled}` (OpenRouter).
        ReasoningObject = "reasoning_object",
        /// `enable_thinking: bool` and `thinking_budget` (Qwen/DashScope).
        EnableThinking = "enable_thinking",
        /// `chat_template_kwargs: {enable_thinking: bool}` (vLLM, llama.cpp).
        ChatTemplateKwargs = "chat_template_kwargs",
        /// `thinking: {type: enabled|disabled}` (DeepSeek, Z.ai).
        ThinkingType = "thinking_type",
    }
}

choice! {
    /// See [`Quirks::tool_ids`].
    ToolIds {
        /// Any text.
        #[default]
        Any = "any",
        /// Exactly nine letters or digits (Mistral).
        Alnum9 = "alnum9",
    }
}

choice! {
    /// See [`Quirks::documents`].
    DocumentStyle {
        /// Carried documents as `file`; documents and audio by address, and videos, become a note in words
        /// (OpenAI).
        #[default]
        File = "file",
        /// `file` by address too, `video_url` and `audio_url` (OpenRouter, vLLM, Qwen).
        FileUrl = "file_url",
        /// `document_url` (Mistral).
        DocumentUrl = "document_url",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_overlay_changes_what_it_names_and_nothing_else() {
        let known = Quirks { no_tools: true, tool_ids: ToolIds::Alnum9, ..Quirks::default() };
        assert_eq!(known.overlaid_by(&QuirkOverlay::default()), known);
        let overlay = json!({"noTools": false, "reasoningReplay": "always", "clientErrorsAs500": true});
        let overlay: QuirkOverlay = serde_json::from_value(overlay).unwrap();
        let expected = Quirks {
            reasoning_replay: ReasoningReplay::Always,
            tool_ids: ToolIds::Alnum9,
            client_errors_as_500: true,
            ..Quirks::default()
        };
        assert_eq!(known.overlaid_by(&overlay), expected);
    }

    #[test]
    fn a_quirk_that_nobody_knows_is_an_error_and_names_the_known_ones() {
        let error = serde_json::from_value::<QuirkOverlay>(json!({"noTool": true})).unwrap_err().to_string();
        assert!(error.starts_with("unknown field `noTool`, expected one of `maxTokensField`"), "{error}");
    }

    #[test]
    fn every_word_of_the_table_is_taken() {
        for row in Quirks::TABLE {
            let values = match row.words {
                [] => vec![json!(true)],
                words => words.iter().map(|word| json!(word)).collect(),
            };
            for value in values {
                let object = json!({ row.name: value });
                let overlay: QuirkOverlay = serde_json::from_value(object.clone()).unwrap();
                assert_eq!(serde_json::to_value(&overlay).unwrap(), object);
                let whole = serde_json::to_value(Quirks::default().overlaid_by(&overlay)).unwrap();
                assert_eq!(whole[row.name], object[row.name]);
            }
        }
    }
}
