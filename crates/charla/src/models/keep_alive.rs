//! Keeps a model in Ollama's memory between two questions: loading it again takes longer than answering.

use std::time::Duration;

use charla_local::{LocalServer, ServerKind};
use secrecy::{ExposeSecret, SecretString};

use super::choice::Choice;
use crate::network;

/// How long, when nobody says. Ollama's own five minutes are over before a person has read an answer and
/// tried it out.
const MINUTES: u32 = 30;
/// The first request loads the model; nothing can be asked for one that is not loaded without loading it.
const LOOK_AGAIN: Duration = Duration::from_secs(3);
const LOOKS: u32 = 200;

/// Asks for it beside the run, when the model is one of Ollama's. Nothing waits for it and nothing fails by it.
pub fn begin(choice: &Choice) {
    let minutes = choice.entry.settings.keep_alive_minutes.unwrap_or(MINUTES);
    let Ok(endpoint) = choice.entry.endpoint() else { return };
    if choice.server.kind != Some(ServerKind::Ollama) || minutes == 0 {
        return;
    }
    let (model, key) = (choice.model.clone(), choice.access.key().cloned());
    tokio::spawn(async move { ensure(&endpoint.base_url, &model, minutes, key).await });
}

/// Waits until the model is loaded and asks for more time when it would be gone earlier.
async fn ensure(base_url: &str, model: &str, minutes: u32, key: Option<SecretString>) {
    let Ok(http) = network::direct() else { return };
    let key = key.as_ref().map(|key| key.expose_secret());
    let server = LocalServer { http: &http, base_url, key };
    for _ in 0..LOOKS {
        if let Some(until) = server.kept_until(model).await {
            if ends_within(&until, minutes) {
                let kept = server.keep(model, minutes).await;
                tracing::debug!(model, minutes, kept, "asked for the model to be kept loaded");
            }
            return;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

fn ends_within(until: &str, minutes: u32) -> bool {
    let Ok(until) = until.parse::<jiff::Timestamp>() else { return false };
    let left = until.duration_since(jiff::Timestamp::now());
    left < jiff::SignedDuration::from_mins(i64::from(minutes))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[test]
    fn a_model_that_is_kept_longer_or_for_ever_is_left_alone() {
        let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(5);
        let late = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(45);
        assert!(ends_within(&soon.to_string(), 30));
        assert!(!ends_within(&late.to_string(), 30));
        assert!(!ends_within("2318-02-09T20:31:35.123456789-08:00", 30));
        assert!(!ends_within("soon", 30));
    }

    /// An Ollama with one loaded model that says what it was asked to keep.
    async fn ollama(expires_at: String) -> (String, tokio::task::JoinHandle<Option<String>>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let loaded = format!(r#"{{"models": [{{"name": "m:latest", "expires_at": "{expires_at}"}}]}}"#);
        let asked = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.ok()?;
                let mut request = vec![0; 4096];
                let read = stream.read(&mut request).await.ok()?;
                let request = String::from_utf8_lossy(&request[..read]).into_owned();
                let body = if request.starts_with("GET /api/ps ") { loaded.as_str() } else { "{}" };
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                stream.write_all(answer.as_bytes()).await.ok()?;
                if request.starts_with("POST /api/generate ") {
                    return request.split("\r\n\r\n").nth(1).map(str::to_owned);
                }
            }
        });
        (address, asked)
    }

    #[tokio::test]
    async fn a_loaded_model_that_would_be_gone_soon_is_asked_for_longer() {
        let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(4);
        let (address, asked) = ollama(soon.to_string()).await;
        ensure(&address, "m", 30, None).await;
        let body: serde_json::Value = serde_json::from_str(&asked.await.unwrap().unwrap()).unwrap();
        assert_eq!(body, serde_json::json!({"model": "m", "keep_alive": "30m", "stream": false}));

        let late = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(90);
        let (address, asked) = ollama(late.to_string()).await;
        ensure(&address, "m", 30, None).await;
        assert!(!asked.is_finished(), "it was asked for less than it gives");
        asked.abort();
    }
}
