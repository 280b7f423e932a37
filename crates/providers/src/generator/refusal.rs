//! What a server says it does not take, in the words of many.

use charla_proto::{GenerateRequest, LlmError, LlmErrorKind, Part, Thinking};

use crate::endpoint::{Quirks, ThinkingStyle};

/// What media is called.
const MEDIA: &[&str] = &[
    "image",
    "multimodal",
    "multi-modal",
    "modality",
    "vision",
    "audio",
    "video",
    "content must be a string",
];

/// What a server says that takes none at all.
const REFUSALS: &[&str] = &[
    "not support",
    "n't support",
    "only supported by",
    "unsupported content",
    "at most 0",
    "not a multimodal",
    "not multimodal",
    "unknown variant",
    "not enabled",
    "no endpoints found that support",
    "must be a string",
    "invalid content type",
    "cannot process image",
    "cannot read image",
    "mmproj",
    "unable to process image input",
];

/// How thinking is asked for.
const THINKING: &[&str] = &["reasoning", "thinking", "chat_template_kwargs", "think value"];

/// How a form for the answer is asked for.
const SCHEMAS: &[&str] = &[
    "response_format",
    "response format",
    "json_schema",
    "json schema",
    "response_schema",
    "responseschema",
    "response_mime_type",
    "response mime type",
    "text.format",
    "output_format",
    "output_config",
    "structured output",
    "guided",
    "grammar",
    "schema",
];

/// What a server says about a field that it does not take.
const UNKNOWN: &[&str] = &[
    "not support",
    "n't support",
    "unsupported",
    "unrecognized",
    "unknown",
    "unexpected",
    "not permitted",
    "not allowed",
    "extra inputs",
    "extra fields",
    "no such",
    "not available",
    "unavailable",
    "invalid",
    "not enabled",
    "only supported",
    "failed to parse grammar",
    "cannot use",
];

/// What a server says about one picture that is wrong; others may be right.
const ABOUT_ONE: &[&str] = &[
    "image format",
    "image type",
    "media type",
    "media_type",
    "mime",
    "file format",
    "dimension",
    "pixel",
    "too large",
    "corrupt",
    "decode",
    "base64",
    "download",
    "image url is",
];

/// The quirks under which the server would have taken the request, when its error tells so.
pub(super) fn learn(quirks: &Quirks, error: &LlmError, request: &GenerateRequest) -> Option<Quirks> {
    if !quirks.no_media && has_media(request) && refuses_media(error) {
        return Some(Quirks { no_media: true, ..quirks.clone() });
    }
    let wish = request.thinking.as_ref().is_some_and(Thinking::is_wish);
    if quirks.thinking_style != ThinkingStyle::None && wish && refuses_field(error, THINKING) {
        return Some(Quirks { thinking_style: ThinkingStyle::None, ..quirks.clone() });
    }
    if !quirks.no_answer_schema && request.response_json_schema.is_some() && refuses_field(error, SCHEMAS) {
        return Some(Quirks { no_answer_schema: true, ..quirks.clone() });
    }
    None
}

/// True when a server says that it does not know, or does not take, one of these fields.
fn refuses_field(error: &LlmError, names: &[&str]) -> bool {
    let refusal = matches!(
        error.kind,
        LlmErrorKind::InvalidRequest
            | LlmErrorKind::NotSupported
            | LlmErrorKind::NotFound
            | LlmErrorKind::Server
    );
    let words = error.message.to_lowercase();
    let has = |needles: &[&str]| needles.iter().any(|needle| words.contains(needle));
    refusal && has(names) && has(UNKNOWN)
}

fn has_media(request: &GenerateRequest) -> bool {
    request.contents.iter().any(|content| content.parts.iter().any(Part::has_media))
}

/// True when the words say that the model takes no media at all, whatever status they come with.
fn refuses_media(error: &LlmError) -> bool {
    let refusal = matches!(
        error.kind,
        LlmErrorKind::InvalidRequest
            | LlmErrorKind::NotSupported
            | LlmErrorKind::NotFound
            | LlmErrorKind::Permission
            | LlmErrorKind::Server
            | LlmErrorKind::Protocol
    );
    let words = error.message.to_lowercase();
    let has = |needles: &[&str]| needles.iter().any(|needle| words.contains(needle));
    refusal && has(MEDIA) && has(REFUSALS) && !has(ABOUT_ONE)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use charla_proto::{Content, Role};

    use super::*;

    fn learned(kind: LlmErrorKind, words: &str, parts: Vec<Part>) -> bool {
        let request = GenerateRequest::new("m", vec![Arc::new(Content::new(Role::User, parts))]);
        learn(&Quirks::default(), &LlmError::new(kind, words), &request).is_some_and(|quirks| quirks.no_media)
    }

    #[test]
    fn every_vendors_words_for_media_it_does_not_take() {
        use LlmErrorKind::*;
        let rows = [
            (
                "OpenAI",
                InvalidRequest,
                "Invalid content type. image_url is only supported by certain models.",
            ),
            ("vLLM", InvalidRequest, "At most 0 image(s) may be provided in one request."),
            ("vLLM", InvalidRequest, "meta-llama/Llama-3.1-8B is not a multimodal model"),
            (
                "llama.cpp",
                Server,
                "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
            ),
            (
                "DeepSeek",
                InvalidRequest,
                "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text` at line 1 column 120",
            ),
            ("OpenRouter", NotFound, "No endpoints found that support image input"),
            ("Ollama", Server, "this model does not support images"),
            (
                "Ollama",
                InvalidRequest,
                "Multimodal data provided, but model does not support multimodal requests.",
            ),
            (
                "Groq",
                InvalidRequest,
                "'messages.0' : for 'role:user' the following must be satisfied[('messages.0.content' : content must be a string)]",
            ),
            ("Mistral", InvalidRequest, "Image input is not enabled for this model"),
            ("Gemini", InvalidRequest, "Image input modality is not enabled for models/gemma-3-1b-it"),
            ("LM Studio", InvalidRequest, "Model does not support images. Please use a model that does."),
        ];
        for (vendor, kind, words) in rows {
            let image = || vec![Part::text("look"), Part::inline_data("image/png", "AA==")];
            assert!(learned(kind, words, image()), "{vendor}: {words}");
            assert!(!learned(kind, words, vec![Part::text("an image")]), "{vendor}: nothing was sent");
        }
    }

    #[test]
    fn words_about_one_picture_teach_nothing() {
        for words in [
            "Unsupported image format: image/tiff is not supported",
            "image dimensions 9000x9000 are not supported",
            "Could not process image",
            "temperature is not supported with this model",
            "The image is corrupt or its type is not supported",
        ] {
            let image = vec![Part::inline_data("image/png", "AA==")];
            assert!(!learned(LlmErrorKind::InvalidRequest, words, image), "{words}");
        }
    }

    #[test]
    fn a_field_that_a_server_does_not_take_is_left_out_from_then_on() {
        let thinking = Some(Thinking { thinking_budget: Some(0), ..Thinking::default() });
        let response_json_schema = Some(Arc::new(serde_json::json!({"type": "object"})));
        let request =
            GenerateRequest { thinking, response_json_schema, ..GenerateRequest::new("m", Vec::new()) };
        let quirks = Quirks { thinking_style: ThinkingStyle::ReasoningEffort, ..Quirks::default() };
        let learned = |words: &str| {
            let error = LlmError::new(LlmErrorKind::InvalidRequest, words);
            learn(&quirks, &error, &request)
                .map(|learned| (learned.thinking_style == ThinkingStyle::None, learned.no_answer_schema))
        };
        for words in [
            "Unrecognized request argument supplied: reasoning_effort",
            "reasoning_effort is not supported with this model",
            "\"llama3.2\" does not support thinking",
        ] {
            assert_eq!(learned(words), Some((true, false)), "{words}");
        }
        for words in [
            "This response_format type is unavailable now",
            "Function calling with a response mime type: 'application/json' is unsupported",
            "output_config: Extra inputs are not permitted",
            "Cannot use custom grammar constraints with tools.",
        ] {
            assert_eq!(learned(words), Some((false, true)), "{words}");
        }
        assert_eq!(learned("temperature is not supported with this model"), None);
    }
}
