//! Tokens, asked for when needed and kept until they run out.

use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use charla_proto::{BoxFuture, Hint, LlmError, LlmErrorKind};
use http::{HeaderMap, HeaderValue, Method, header};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::adc::config;
use super::{CLOUD_SCOPE, Credentials, form, jwt};
use crate::generator::TokenSource;
use crate::net::Client;

/// A token is not used in its last minute: the request it goes with takes time.
const MARGIN: Duration = Duration::from_secs(60);

/// No token reply is larger.
const LIMIT: usize = 64 * 1024;

/// Access tokens for Google's APIs.
pub struct GoogleTokens {
    credentials: Credentials,
    client: Client,
    held: Mutex<Option<(SecretString, SystemTime)>>,
}

/// What a token endpoint answers.
#[derive(Deserialize)]
pub(super) struct TokenReply {
    access_token: String,
    expires_in: Option<u64>,
    pub(super) refresh_token: Option<String>,
}

impl GoogleTokens {
    /// Tokens for these credentials; nothing is asked for yet.
    pub fn new(credentials: Credentials, client: Client) -> Self {
        Self { credentials, client, held: Mutex::new(None) }
    }

    fn held(&self) -> Option<SecretString> {
        let held = self.held.lock().ok()?;
        let (token, until) = held.as_ref()?;
        (*until > SystemTime::now() + MARGIN).then(|| token.clone())
    }

    async fn fetch(&self) -> Result<TokenReply, LlmError> {
        match &self.credentials {
            Credentials::AuthorizedUser { client_id, client_secret, refresh_token, token_uri } => {
                let fields = [
                    ("grant_type", "refresh_token"),
                    ("client_id", client_id),
                    ("client_secret", client_secret.expose_secret()),
                    ("refresh_token", refresh_token.expose_secret()),
                ];
                exchange(&self.client, token_uri, &fields).await
            }
            Credentials::ServiceAccount { client_email, private_key, private_key_id, token_uri } => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
                let assertion = jwt::assertion(
                    client_email,
                    private_key.expose_secret(),
                    private_key_id.as_deref(),
                    token_uri,
                    CLOUD_SCOPE,
                    now,
                )?;
                let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
                let fields = [("grant_type", grant), ("assertion", &*assertion)];
                exchange(&self.client, token_uri, &fields).await
            }
            Credentials::MetadataServer { host } => {
                let url = format!("http://{host}/computeMetadata/v1/instance/service-accounts/default/token");
                let mut headers = HeaderMap::new();
                headers.insert("metadata-flavor", HeaderValue::from_static("Google"));
                send(&self.client, Method::GET, &url, headers, Bytes::new()).await
            }
        }
    }
}

impl TokenSource for GoogleTokens {
    fn token(&self) -> BoxFuture<'_, Result<SecretString, LlmError>> {
        Box::pin(async move {
            if let Some(token) = self.held() {
                return Ok(token);
            }
            let reply = self.fetch().await?;
            let token = SecretString::from(reply.access_token);
            let until = SystemTime::now() + Duration::from_secs(reply.expires_in.unwrap_or(300));
            if let Ok(mut held) = self.held.lock() {
                *held = Some((token.clone(), until));
            }
            Ok(token)
        })
    }

    fn invalidate(&self) {
        if let Ok(mut held) = self.held.lock() {
            *held = None;
        }
    }
}

/// Posts a form to a token endpoint.
pub(super) async fn exchange(
    client: &Client,
    url: &str,
    fields: &[(&str, &str)],
) -> Result<TokenReply, LlmError> {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    send(client, Method::POST, url, headers, form(fields).into()).await
}

async fn send(
    client: &Client,
    method: Method,
    url: &str,
    headers: HeaderMap,
    body: Bytes,
) -> Result<TokenReply, LlmError> {
    let address = url.parse().map_err(|_| config(format!("the token address `{url}` is not a URL")))?;
    let mut reply = client.send(method, address, headers, body).await?;
    let status = reply.status;
    let text = reply.body.read(LIMIT).await?;
    if status != 200 {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Refusal {
            error: String,
            error_description: String,
        }
        let refusal: Refusal = serde_json::from_slice(&text).unwrap_or_default();
        let mut error = LlmError::new(
            LlmErrorKind::Auth,
            format!("Google gave no access token: {} {}", refusal.error, refusal.error_description)
                .trim()
                .to_owned(),
        )
        .with_hint(Hint::SignInAgain);
        error.detail.status = Some(status);
        return Err(error);
    }
    serde_json::from_slice(&text).map_err(|error| config(format!("Google's token cannot be read: {error}")))
}
