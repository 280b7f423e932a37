//! Requests to a provider of identities.

use std::sync::Arc;
use std::time::Duration;

use charla::Failure;
use rustls::{ClientConfig, RootCertStore};
use serde::de::DeserializeOwned;

use super::failed;
use crate::problem::Problem;

const PATIENCE: Duration = Duration::from_secs(15);
const LARGEST: usize = 1024 * 1024;

/// Encrypted, or on this machine.
pub(super) fn is_safe(address: &str) -> bool {
    let plain = |host: &str| {
        address.strip_prefix(host).is_some_and(|rest| rest.starts_with([':', '/']) || rest.is_empty())
    };
    address.starts_with("https://")
        || plain("http://127.0.0.1")
        || plain("http://localhost")
        || plain("http://[::1]")
}

/// Asks a provider; what it says is small, and redirects are no answers.
pub(super) struct Client {
    http: reqwest::Client,
}

impl Client {
    pub(super) fn new() -> Result<Self, Failure> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Failure::system(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(PATIENCE)
            .build()
            .map_err(|error| Failure::system(format!("no connections can be made: {error}")))?;
        Ok(Self { http })
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, address: &str) -> Result<T, Problem> {
        answer(self.http.get(address)).await
    }

    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        address: &str,
        form: String,
        basic: Option<(&str, &str)>,
    ) -> Result<T, Problem> {
        let request = self.http.post(address).body(form);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        answer(match basic {
            Some((name, secret)) => request.basic_auth(name, Some(secret)),
            None => request,
        })
        .await
    }
}

async fn answer<T: DeserializeOwned>(request: reqwest::RequestBuilder) -> Result<T, Problem> {
    let unreachable = |_| failed("the provider of identities cannot be reached");
    let mut response = request.send().await.map_err(unreachable)?;
    if !response.status().is_success() {
        return Err(failed("the provider of identities has said no"));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&chunk);
        if body.len() > LARGEST {
            return Err(failed("the provider of identities says too much"));
        }
    }
    serde_json::from_slice(&body)
        .map_err(|_| failed("what the provider of identities says is not understood"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_alone() {
        for safe in
            ["https://login.example.org", "http://127.0.0.1:8080/x", "http://localhost", "http://[::1]:1"]
        {
            assert!(is_safe(safe), "{safe}");
        }
        for not in [
            "http://login.example.org",
            "http://127.0.0.1.evil.example",
            "http://localhost.evil.example",
            "ftp://x",
            "",
        ] {
            assert!(!is_safe(not), "{not}");
        }
    }
}
