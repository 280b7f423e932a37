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
    /// Where that was read.
    pub source: WindowSource,
}

/// Where a window was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSource {
    /// The model is loaded with it.
    Loaded,
    /// The model is not loaded yet; this is what the server will load it with.
    Expected,
}

/// Asks a server for the window of one of its models. `None` when it does not answer or does not say.
pub(crate) async fn probe(server: &LocalServer<'_>, kind: ServerKind, model: &str) -> Option<Window> {
    match kind {
        ServerKind::LlamaCpp => match server.get("/props").await.and_then(|props| llama_cpp(&props)) {
            Some(window) => Some(window),
            None => llama_cpp_listed(&server.get("/v1/models").await?, model),
        },
        ServerKind::Vllm => vllm(&server.get("/v1/models").await?, model),
        ServerKind::LmStudio => lm_studio(&server.get("/api/v0/models").await?, model),
        ServerKind::Ollama => {
            if let Some(window) = server.get("/api/ps").await.and_then(|answer| ollama_loaded(&answer, model))
            {
                return Some(window);
            }
            ollama_shown(&server.post("/api/show", &json!({ "model": model })).await?)
        }
    }
}

pub(crate) fn llama_cpp(answer: &Value) -> Option<Window> {
    let settings = answer.get("default_generation_settings");
    let tokens =
        settings.and_then(|settings| number(settings, "n_ctx")).or_else(|| number(answer, "n_ctx"))?;
    Some(loaded(tokens))
}

/// The list of models has the window, too; a proxy may let nothing else through.
fn llama_cpp_listed(answer: &Value, model: &str) -> Option<Window> {
    let row = rows(answer, "data").find(|row| text(row, "id") == Some(model))?;
    number(row.get("meta")?, "n_ctx").map(loaded)
}

fn vllm(answer: &Value, model: &str) -> Option<Window> {
    let row = rows(answer, "data").find(|row| text(row, "id") == Some(model))?;
    number(row, "max_model_len").map(loaded)
}

fn lm_studio(answer: &Value, model: &str) -> Option<Window> {
    let row = rows(answer, "data").find(|row| text(row, "id") == Some(model))?;
    let expected = || number(row, "max_context_length").map(expected);
    number(row, "loaded_context_length").map(loaded).or_else(expected)
}

fn ollama_loaded(answer: &Value, model: &str) -> Option<Window> {
    let same = |name: Option<&str>| name.is_some_and(|name| tagged(name) == tagged(model));
    let row = rows(answer, "models").find(|row| same(text(row, "model")) || same(text(row, "name")))?;
    number(row, "context_length").map(loaded)
}

/// The parameter the model was made with; else the default, unless it was trained for less.
fn ollama_shown(answer: &Value) -> Option<Window> {
    let parameters = text(answer, "parameters").unwrap_or_default();
    let asked = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok());
    if let Some(tokens) = asked.filter(|tokens| *tokens > 0) {
        return Some(expected(tokens));
    }
    let facts = answer.get("model_info")?.as_object()?;
    let (name, _) = facts.iter().find(|(name, _)| name.ends_with(".context_length"))?;
    Some(expected(number(answer.get("model_info")?, name)?.min(OLLAMA_DEFAULT)))
}

/// Ollama's names have a tag; without one `latest` is meant.
pub(crate) fn tagged(name: &str) -> String {
    if name.contains(':') { name.to_owned() } else { format!("{name}:latest") }
}

fn loaded(tokens: u32) -> Window {
    Window { tokens, source: WindowSource::Loaded }
}

fn expected(tokens: u32) -> Window {
    Window { tokens, source: WindowSource::Expected }
}

pub(crate) fn rows<'a>(answer: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    answer.get(field).and_then(Value::as_array).into_iter().flatten()
}

pub(crate) fn text<'a>(row: &'a Value, field: &str) -> Option<&'a str> {
    row.get(field)?.as_str()
}

pub(crate) fn number(row: &Value, field: &str) -> Option<u32> {
    u32::try_from(row.get(field)?.as_u64()?).ok().filter(|tokens| *tokens > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Answers;

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
