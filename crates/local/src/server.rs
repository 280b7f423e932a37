//! Questions to a model server that somebody else runs: what it is, what it has loaded, and how long it keeps
//! it.

use std::time::Duration;

use charla_proto::{Fetch, FetchRequest};
use serde_json::{Value, json};

use crate::window::{self, ServerKind, Window, number, ollama_row, rows, text};

/// A server in the local network is there at once or not at all.
const LIMIT: Duration = Duration::from_secs(3);
/// Loading a model of many gigabytes from a slow disk.
const LOAD_LIMIT: Duration = Duration::from_secs(600);
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// A server and how to reach it.
#[derive(Clone, Copy)]
pub struct LocalServer<'a> {
    /// What asks it. Hand in one that uses no proxy.
    pub http: &'a dyn Fetch,
    /// Its address with or without `/v1`.
    pub base_url: &'a str,
    /// The key it takes.
    pub key: Option<&'a str>,
}

/// What a server tells of itself and of one of its models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// What kind of server it is, where that could be told.
    pub kind: Option<ServerKind>,
    /// The model's window.
    pub window: Option<Window>,
    /// Which file answers, where the server answers to every name with the same one.
    pub file: Option<String>,
}

impl LocalServer<'_> {
    /// Asks what it is and how large a window its model has. What it does not tell is `None`.
    ///
    /// `kind` is asked only where it is not known: then all kinds of question are put at the same time. Takes at most a
    /// few seconds.
    pub async fn facts(&self, kind: Option<ServerKind>, model: &str) -> ServerFacts {
        let kind = match kind {
            Some(kind) => Some(kind),
            None => self.kind().await,
        };
        let Some(known) = kind else { return ServerFacts::default() };
        let file = match known {
            ServerKind::LlamaCpp => text(&self.get("/props").await, "model_path").map(str::to_owned),
            _ => None,
        };
        ServerFacts { kind, window: window::probe(self, known, model).await, file }
    }

    /// Each kind has a path or a field that no other has.
    async fn kind(&self) -> Option<ServerKind> {
        let (props, version, studio, models) = tokio::join!(
            self.get("/props"),
            self.get("/api/version"),
            self.get("/api/v0/models"),
            self.get("/v1/models")
        );
        let is_llama = |row| text(row, "owned_by") == Some("llamacpp");
        if props.get("default_generation_settings").is_some() || rows(&models, "data").any(is_llama) {
            return Some(ServerKind::LlamaCpp);
        }
        if text(&version, "version").is_some() {
            return Some(ServerKind::Ollama);
        }
        if rows(&studio, "data").any(|row| number(row, "max_context_length").is_some()) {
            return Some(ServerKind::LmStudio);
        }
        let is_vllm = rows(&models, "data").any(|row| number(row, "max_model_len").is_some());
        is_vllm.then_some(ServerKind::Vllm)
    }

    /// The models that are in memory now, the latest used first where the server tells. Empty where it does not.
    pub async fn loaded_models(&self, kind: ServerKind) -> Vec<String> {
        let (path, list, name) = match kind {
            ServerKind::Ollama => ("/api/ps", "models", "name"),
            ServerKind::LmStudio => ("/api/v0/models", "data", "id"),
            ServerKind::LlamaCpp | ServerKind::Vllm => return Vec::new(),
        };
        let answer = self.get(path).await;
        let is_loaded = |row: &&Value| kind == ServerKind::Ollama || text(row, "state") == Some("loaded");
        rows(&answer, list).filter(is_loaded).filter_map(|row| Some(text(row, name)?.to_owned())).collect()
    }

    /// Until when Ollama keeps a model in memory, as it writes times; `None` when the model is not loaded.
    pub async fn kept_until(&self, model: &str) -> Option<String> {
        let answer = self.get("/api/ps").await;
        Some(text(ollama_row(&answer, model)?, "expires_at")?.to_owned())
    }

    /// Asks Ollama to keep a model in memory for so many minutes after each request; false when it does not. Its
    /// OpenAI wire has no field for that, but what its own wire was told holds for both.
    pub async fn keep(&self, model: &str, minutes: u32) -> bool {
        let question = json!({"model": model, "keep_alive": format!("{minutes}m"), "stream": false});
        self.ask("/api/generate", Some(&question), LOAD_LIMIT).await.is_some()
    }

    /// The answer, or null.
    pub(crate) async fn get(&self, path: &str) -> Value {
        json(self.ask(path, None, LIMIT).await)
    }

    /// The answer to a question, or null.
    pub(crate) async fn post(&self, path: &str, question: &Value) -> Value {
        json(self.ask(path, Some(question), LIMIT).await)
    }

    /// The answer, when the server agreed. Servers have their own paths beside the OpenAI wire's.
    async fn ask(&self, path: &str, body: Option<&Value>, limit: Duration) -> Option<Vec<u8>> {
        let root = self.base_url.trim_end_matches('/');
        let url = format!("{}{path}", root.strip_suffix("/v1").unwrap_or(root));
        let request = FetchRequest { url: &url, key: self.key, body, limit, most_bytes: MOST_BYTES };
        let answer = self.http.fetch(request).await.ok()?;
        (answer.status == 200).then_some(answer.body)
    }
}

fn json(body: Option<Vec<u8>>) -> Value {
    serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Answers;

    const PROPS: (&str, &str) =
        ("/props", r#"{"default_generation_settings": {"n_ctx": 4096}, "model_path": "/models/a.gguf"}"#);

    async fn facts(answers: &[(&str, &str)]) -> ServerFacts {
        Answers(answers).server().facts(None, "m").await
    }

    #[tokio::test]
    async fn every_kind_of_server_is_told_by_what_only_it_says() {
        let found = facts(&[PROPS]).await;
        assert_eq!(found.kind, Some(ServerKind::LlamaCpp));
        assert_eq!(found.window.map(|window| window.tokens), Some(4096));
        assert_eq!(found.file.as_deref(), Some("/models/a.gguf"));
        let models = r#"{"data": [{"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx": 2048}}]}"#;
        let found = facts(&[("/v1/models", models)]).await;
        assert_eq!(
            (found.kind, found.window.map(|window| window.tokens)),
            (Some(ServerKind::LlamaCpp), Some(2048))
        );
        let loaded = r#"{"models": [{"name": "m:latest", "context_length": 8192}]}"#;
        let found = facts(&[("/api/version", r#"{"version": "0.12.0"}"#), ("/api/ps", loaded)]).await;
        assert_eq!(
            (found.kind, found.window.map(|window| window.tokens)),
            (Some(ServerKind::Ollama), Some(8192))
        );
        let studio =
            r#"{"data": [{"id": "m", "max_context_length": 131072, "loaded_context_length": 4096}]}"#;
        let found = facts(&[("/api/v0/models", studio)]).await;
        assert_eq!(
            (found.kind, found.window.map(|window| window.tokens)),
            (Some(ServerKind::LmStudio), Some(4096))
        );
        let models = r#"{"data": [{"id": "m", "max_model_len": 32768}]}"#;
        let found = facts(&[("/v1/models", models)]).await;
        assert_eq!(
            (found.kind, found.window.map(|window| window.tokens)),
            (Some(ServerKind::Vllm), Some(32768))
        );
    }

    #[tokio::test]
    async fn a_server_that_says_nothing_of_itself_stays_unknown() {
        assert_eq!(facts(&[]).await, ServerFacts::default());
        let plain = r#"{"data": [{"id": "m", "owned_by": "me"}]}"#;
        let odd =
            &[("/v1/models", plain), ("/props", "[]"), ("/api/version", "\"1\""), ("/api/v0/models", "{}")];
        assert_eq!(facts(odd).await, ServerFacts::default());
    }

    #[tokio::test]
    async fn loaded_models_are_told_by_those_that_load_several() {
        let ps = r#"{"models": [{"name": "qwen3:4b"}, {"name": "nomic-embed-text:latest"}]}"#;
        let ollama = Answers(&[("/api/ps", ps)]);
        let loaded = ollama.server().loaded_models(ServerKind::Ollama).await;
        assert_eq!(loaded, ["qwen3:4b", "nomic-embed-text:latest"]);
        let studio = r#"{"data": [{"id": "a", "state": "not-loaded"}, {"id": "b", "state": "loaded"}]}"#;
        let studio = Answers(&[("/api/v0/models", studio)]);
        assert_eq!(studio.server().loaded_models(ServerKind::LmStudio).await, ["b"]);
    }

    #[tokio::test]
    async fn ollama_tells_until_when_a_model_is_kept_and_takes_a_longer_time() {
        let ps = r#"{"models": [{"name": "m:latest", "expires_at": "2026-01-02T03:04:05Z"}]}"#;
        let ollama = Answers(&[("/api/ps", ps), ("/api/generate", "{}")]);
        assert_eq!(ollama.server().kept_until("m").await.as_deref(), Some("2026-01-02T03:04:05Z"));
        assert_eq!(ollama.server().kept_until("n").await, None);
        assert!(ollama.server().keep("m", 30).await);
        assert!(!Answers(&[]).server().keep("m", 30).await);
    }
}
