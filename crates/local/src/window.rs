//! How large a window a local server really has.
//!
//! What a model was trained for says little: servers load it with less. Each kind of server tells the truth
//! in a place of its own.

use serde_json::{Value, json};

use crate::server::LocalServer;

/// What Ollama loads when neither the model nor the user says otherwise.
const OLLAMA_DEFAULT: u32 = 4096;

/// A kind of server, by how it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// Ollama: `/api/ps`, then `/api/show`.
    Ollama,
    /// llama.cpp's server: `/props`.
    LlamaCpp,
    /// vLLM: `/v1/models`.
    Vllm,
    /// LM Studio: `/api/v0/models`.
    LmStudio,
}

impl ServerKind {
    /// In the order of the kinds: the name of the provider, and the name for people.
    const NAMES: [(Self, &str, &str); 4] = [
        (Self::Ollama, "ollama", "Ollama"),
        (Self::LlamaCpp, "llamacpp", "llama.cpp"),
        (Self::Vllm, "vllm", "vLLM"),
        (Self::LmStudio, "lmstudio", "LM Studio"),
    ];

    /// The kind of a provider of this name.
    pub fn of(provider: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(_, name, _)| *name == provider).map(|(kind, ..)| kind)
    }

    /// The name of the provider that it is.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        Self::NAMES[self as usize].2
    }
}

/// A window and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Tokens, read and written together.
    pub tokens: u32,
    /// The model is in memory with it; else it is what the server will load it with.
    pub is_loaded: bool,
}

/// Asks a server for the window of one of its models. `None` when it does not answer or does not say.
pub(crate) async fn probe(server: &LocalServer<'_>, kind: ServerKind, model: &str) -> Option<Window> {
    match kind {
        ServerKind::LlamaCpp => match llama_cpp(&server.get("/props").await) {
            Some(window) => Some(window),
            // The list of models has the window, too; a proxy may let nothing else through.
            None => loaded(&row(&server.get("/v1/models").await, model)?["meta"], "n_ctx"),
        },
        ServerKind::Vllm => loaded(row(&server.get("/v1/models").await, model)?, "max_model_len"),
        ServerKind::LmStudio => {
            let answer = server.get("/api/v0/models").await;
            let row = row(&answer, model)?;
            let expected = || number(row, "max_context_length").map(expected);
            loaded(row, "loaded_context_length").or_else(expected)
        }
        ServerKind::Ollama => {
            let answer = server.get("/api/ps").await;
            match ollama_row(&answer, model).and_then(|row| loaded(row, "context_length")) {
                Some(window) => Some(window),
                None => ollama_shown(&server.post("/api/show", &json!({ "model": model })).await),
            }
        }
    }
}

pub(crate) fn llama_cpp(props: &Value) -> Option<Window> {
    loaded(&props["default_generation_settings"], "n_ctx").or_else(|| loaded(props, "n_ctx"))
}

/// The parameter the model was made with; else the default, unless it was trained for less.
fn ollama_shown(answer: &Value) -> Option<Window> {
    let parameters = text(answer, "parameters").unwrap_or_default();
    let asked = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok());
    if let Some(tokens) = asked.filter(|tokens| *tokens > 0) {
        return Some(expected(tokens));
    }
    let facts = &answer["model_info"];
    let (name, _) = facts.as_object()?.iter().find(|(name, _)| name.ends_with(".context_length"))?;
    Some(expected(number(facts, name)?.min(OLLAMA_DEFAULT)))
}

/// What Ollama tells of a model that it has loaded. Its names have a tag; without one `latest` is meant.
pub(crate) fn ollama_row<'a>(answer: &'a Value, model: &str) -> Option<&'a Value> {
    let tagged = |name: &str| if name.contains(':') { name.to_owned() } else { format!("{name}:latest") };
    let is_it = |row: &Value, field| text(row, field).is_some_and(|name| tagged(name) == tagged(model));
    rows(answer, "models").find(|row| is_it(row, "model") || is_it(row, "name"))
}

fn row<'a>(answer: &'a Value, model: &str) -> Option<&'a Value> {
    rows(answer, "data").find(|row| text(row, "id") == Some(model))
}

fn loaded(row: &Value, field: &str) -> Option<Window> {
    number(row, field).map(|tokens| Window { tokens, is_loaded: true })
}

fn expected(tokens: u32) -> Window {
    Window { tokens, is_loaded: false }
}

pub(crate) fn rows<'a>(answer: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    answer[field].as_array().into_iter().flatten()
}

pub(crate) fn text<'a>(row: &'a Value, field: &str) -> Option<&'a str> {
    row[field].as_str()
}

pub(crate) fn number(row: &Value, field: &str) -> Option<u32> {
    u32::try_from(row[field].as_u64()?).ok().filter(|tokens| *tokens > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Answers;

    fn loaded(tokens: u32) -> Window {
        Window { tokens, is_loaded: true }
    }

    async fn window(kind: ServerKind, answers: &[(&str, &str)]) -> Option<Window> {
        probe(&Answers(answers).server(), kind, "m").await
    }

    #[tokio::test]
    async fn each_server_is_asked_in_its_own_way() {
        let props = r#"{"default_generation_settings": {"n_ctx": 8192}}"#;
        assert_eq!(window(ServerKind::LlamaCpp, &[("/props", props)]).await, Some(loaded(8192)));
        let models = r#"{"data": [{"id": "n", "max_model_len": 1}, {"id": "m", "max_model_len": 32768}]}"#;
        assert_eq!(window(ServerKind::Vllm, &[("/v1/models", models)]).await, Some(loaded(32768)));
        let models =
            r#"{"data": [{"id": "m", "max_context_length": 131072, "loaded_context_length": 4096}]}"#;
        assert_eq!(window(ServerKind::LmStudio, &[("/api/v0/models", models)]).await, Some(loaded(4096)));
        let models = r#"{"data": [{"id": "m", "max_context_length": 131072}]}"#;
        assert_eq!(window(ServerKind::LmStudio, &[("/api/v0/models", models)]).await, Some(expected(131072)));
    }

    #[tokio::test]
    async fn ollama_tells_what_is_loaded_before_what_would_be() {
        let shown =
            r#"{"parameters": "stop x\nnum_ctx    16384", "model_info": {"qwen.context_length": 40960}}"#;
        let loaded_models = r#"{"models": [{"name": "m:latest", "context_length": 8192}]}"#;
        let both = window(ServerKind::Ollama, &[("/api/ps", loaded_models), ("/api/show", shown)]).await;
        assert_eq!(both, Some(loaded(8192)));
        let none = r#"{"models": []}"#;
        let named = window(ServerKind::Ollama, &[("/api/ps", none), ("/api/show", shown)]).await;
        assert_eq!(named, Some(expected(16384)));
        let trained = r#"{"model_info": {"qwen.context_length": 40960}}"#;
        let unnamed = window(ServerKind::Ollama, &[("/api/ps", none), ("/api/show", trained)]).await;
        assert_eq!(unnamed, Some(expected(OLLAMA_DEFAULT)));
    }

    #[tokio::test]
    async fn a_window_of_nothing_is_no_window() {
        let shown = async |shown| window(ServerKind::Ollama, &[("/api/show", shown)]).await;
        let zero = r#"{"parameters": "num_ctx 0", "model_info": {"qwen.context_length": 2048}}"#;
        assert_eq!(shown(zero).await, Some(expected(2048)));
        assert_eq!(shown(r#"{"model_info": {"qwen.context_length": 0}}"#).await, None);
        let props = r#"{"default_generation_settings": {"n_ctx": 0}}"#;
        assert_eq!(window(ServerKind::LlamaCpp, &[("/props", props)]).await, None);
    }

    #[tokio::test]
    async fn a_server_that_does_not_say_has_no_known_window() {
        for kind in [ServerKind::Ollama, ServerKind::LlamaCpp, ServerKind::Vllm, ServerKind::LmStudio] {
            assert_eq!(window(kind, &[]).await, None);
            let odd = &[("/props", "[]"), ("/v1/models", "{\"data\": 1}"), ("/api/v0/models", "x")];
            assert_eq!(window(kind, odd).await, None);
        }
    }
}
