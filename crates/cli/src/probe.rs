//! Looks for model servers on this machine.

use std::time::Duration;

use charla_proto::{LlmError, LlmErrorKind};
use charla_providers::generator::list_models;
use charla_providers::{Client, NetworkOptions, Proxy};
use futures_util::future::join_all;

use crate::directory::{Directory, Entry};
use crate::keys::Keys;
use crate::local;

/// A local server is there at once or not at all.
const CONNECT_LIMIT: Duration = Duration::from_millis(300);
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// A server that was looked for.
pub struct Server {
    /// Which.
    pub entry: Entry,
    /// The models it has, or why it cannot be used, in words.
    pub state: Result<Vec<String>, String>,
}

/// Looks for all local servers at the same time.
pub async fn local_servers(directory: &Directory<'_>, keys: &Keys<'_>) -> Vec<Server> {
    let servers = |entry: &Entry| entry.row.is_some_and(|row| row.local) && entry.name != local::PROVIDER;
    let local = directory.entries().into_iter().filter(servers);
    join_all(local.map(|entry| async move {
        let state = look(&entry, keys).await;
        Server { entry, state }
    }))
    .await
}

async fn look(entry: &Entry, keys: &Keys<'_>) -> Result<Vec<String>, String> {
    let endpoint = entry.endpoint().map_err(|failure| failure.message)?;
    let source = entry.settings.api_key.as_ref();
    let key = keys.find(&entry.name, source, entry.key_variables()).map_err(|failure| failure.message)?;
    let options = NetworkOptions {
        connect_timeout: CONNECT_LIMIT,
        first_byte_timeout: ANSWER_LIMIT,
        proxy: Proxy::None,
        ..NetworkOptions::default()
    };
    let client = Client::new(options).map_err(|error| error.message)?;
    let listed = list_models(&client, &endpoint, key.as_ref().map(|found| &found.key)).await;
    listed.map_err(|error| in_short(&error))
}

fn in_short(error: &LlmError) -> String {
    match error.kind {
        LlmErrorKind::Network | LlmErrorKind::Timeout => "nothing answers there".to_owned(),
        _ => error.to_string(),
    }
}
