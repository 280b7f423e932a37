//! Looks for model servers on this machine and in its network.

use std::time::Duration;

use charla_local::{LocalServer, ServerKind};
use charla_proto::{LlmError, LlmErrorKind};
use charla_providers::generator::list_models;
use charla_providers::{Client, NetworkOptions, Proxy};
use futures_util::future::join_all;
use secrecy::{ExposeSecret, SecretString};

use super::directory::{Directory, Entry};
use crate::credentials::Keys;
use crate::engine;
use crate::network;

/// A local server is there at once or not at all.
const CONNECT_LIMIT: Duration = Duration::from_millis(300);
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
const SILENT: &str = "nothing answers there";
/// What models that do not chat have in their names; servers list them among the others.
const NO_CHAT: [&str; 9] =
    ["embed", "rerank", "bge-", "minilm", "gte-", "e5-", "whisper", "stable-diffusion", "clip-"];

/// A server that was looked for.
pub struct Server {
    /// Which.
    pub entry: Entry,
    /// The models it has, or why it cannot be used, in words.
    pub state: Result<Vec<String>, String>,
}

/// Looks for all servers of the catalog that run locally, at the same time.
pub async fn local_servers(directory: &Directory<'_>, keys: &Keys<'_>) -> Vec<Server> {
    let known = |entry: &Entry| entry.row.is_some_and(|row| row.local) && entry.name != engine::PROVIDER;
    look_for(directory.entries().into_iter().filter(known), keys).await
}

/// The same with the user's own entries in the local network, and those first.
pub async fn local_network_servers(directory: &Directory<'_>, keys: &Keys<'_>) -> Vec<Server> {
    let local = |entry: &Entry| entry.is_local() && entry.name != engine::PROVIDER;
    let mut entries: Vec<Entry> = directory.entries().into_iter().filter(local).collect();
    entries.sort_by_key(|entry| entry.row.is_some());
    look_for(entries.into_iter(), keys).await
}

async fn look_for(entries: impl Iterator<Item = Entry>, keys: &Keys<'_>) -> Vec<Server> {
    join_all(entries.map(|entry| async move {
        let state = look(&entry, keys, ANSWER_LIMIT).await;
        Server { entry, state }
    }))
    .await
}

/// The models of a server whose whole list comes within `limit`: one that stalls in the middle must not hold up a run
/// that may not even need it.
async fn look(entry: &Entry, keys: &Keys<'_>, limit: Duration) -> Result<Vec<String>, String> {
    let endpoint = entry.endpoint().map_err(|failure| failure.message)?;
    let source = entry.settings.api_key.as_ref();
    let key = keys.find(&entry.name, source, entry.key_variables()).map_err(|failure| failure.message)?;
    let options = NetworkOptions {
        connect_timeout: CONNECT_LIMIT,
        first_byte_timeout: limit,
        proxy: Proxy::None,
        ..NetworkOptions::default()
    };
    let client = Client::new(options).map_err(|error| error.message)?;
    let listed = list_models(&client, &endpoint, key.as_ref().map(|found| &found.key));
    match tokio::time::timeout(CONNECT_LIMIT + limit, listed).await {
        Ok(listed) => listed.map_err(|error| in_short(&error)),
        Err(_) => Err(SILENT.to_owned()),
    }
}

fn in_short(error: &LlmError) -> String {
    match error.kind {
        LlmErrorKind::Network | LlmErrorKind::Timeout => SILENT.to_owned(),
        _ => error.to_string(),
    }
}

/// The model to use of those that a server has: one that is in memory already, else its first that chats.
pub async fn preferred_model(entry: &Entry, models: &[String], key: Option<&SecretString>) -> Option<String> {
    let chats: Vec<&String> = models.iter().filter(|name| chats(name)).collect();
    if let (Some(kind), Ok(endpoint), Ok(http)) =
        (ServerKind::of(&entry.name), entry.endpoint(), network::direct())
        && chats.len() > 1
    {
        let key = key.map(|key| key.expose_secret());
        let server = LocalServer { http: &http, base_url: &endpoint.base_url, key };
        let loaded = server.loaded_models(kind).await;
        if let Some(name) = loaded.iter().find(|name| chats.contains(name)) {
            return Some(name.clone());
        }
    }
    chats.first().map(|name| (*name).clone())
}

fn chats(name: &str) -> bool {
    let name = name.to_lowercase();
    !NO_CHAT.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::environment::Environment;

    #[tokio::test]
    async fn a_server_that_stalls_in_its_list_is_not_waited_for() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert_ne!(stream.read(&mut [0; 4096]).await.unwrap(), 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"data\": [").await.unwrap();
            std::future::pending::<()>().await;
        });
        let settings = serde_json::json!({"providers": {"own": {"baseUrl": address}}});
        let settings = serde_json::from_value(settings).unwrap();
        let entry = Directory::new(&settings).find("own").unwrap();
        let environment = Environment::default();
        let listed = look(&entry, &Keys::new(&environment), Duration::from_millis(50)).await;
        assert_eq!(listed, Err(SILENT.to_owned()));
    }

    #[test]
    fn models_that_only_embed_are_not_taken_for_a_chat() {
        for name in
            ["nomic-embed-text:latest", "text-embedding-bge-m3", "all-minilm:33m", "Qwen3-Reranker-4B"]
        {
            assert!(!chats(name), "{name}");
        }
        for name in ["qwen3:4b", "llama3.2", "gemma-3-27b-it", "gpt-oss:20b"] {
            assert!(chats(name), "{name}");
        }
    }
}
