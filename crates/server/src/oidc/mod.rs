//! OpenID Connect: the authorisation code with PKCE, and the identity token that it is exchanged for.

mod client;
mod token;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use charla::Failure;
use form_urlencoded::Serializer;
use http::StatusCode;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::access::{Secret, unauthorized};
use crate::accounts::now;
use crate::problem::Problem;
use client::Client;
use token::{Claims, Keys};

/// How long somebody may take at the provider.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// How many may be there at once.
const MOST: usize = 1000;

/// A provider of identities, and who this server is to it.
#[derive(Clone, Debug)]
pub struct OidcOptions {
    /// The provider's address, such as `https://login.example.org`.
    pub issuer: String,
    /// What this server is known by there.
    pub client_id: String,
    /// The file with what it shows that it is, where the provider wants that.
    pub secret_file: Option<PathBuf>,
}

/// What a provider says about itself.
#[derive(Clone, Debug, Deserialize)]
struct Discovery {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: String,
}

/// Somebody who is at the provider.
struct Pending {
    verifier: Secret,
    nonce: Secret,
    way_back: String,
    since: Instant,
}

/// Signing in at one provider.
pub(crate) struct Oidc {
    issuer: String,
    client_id: String,
    client_secret: Option<String>,
    client: Client,
    pending: Mutex<HashMap<String, Pending>>,
}

impl Oidc {
    /// The provider's address.
    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    pub(crate) fn new(options: OidcOptions) -> Result<Self, Failure> {
        let issuer = options.issuer.trim_end_matches('/').to_owned();
        if !client::is_safe(&issuer) {
            return Err(Failure::input(format!("`{issuer}` is no address of a provider of identities"))
                .with_hint("it begins with https://; http:// is for this machine alone"));
        }
        let client_secret = options.secret_file.as_deref().map(read_secret).transpose()?;
        let (client_id, client) = (options.client_id, Client::new()?);
        Ok(Self { issuer, client_id, client_secret, client, pending: Mutex::default() })
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<String, Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn discover(&self) -> Result<Discovery, Problem> {
        let issuer = &self.issuer;
        let found: Discovery = self.client.get(&format!("{issuer}/.well-known/openid-configuration")).await?;
        let addresses = [&found.authorization_endpoint, &found.token_endpoint, &found.jwks_uri];
        match found.issuer.trim_end_matches('/') == issuer
            && addresses.into_iter().all(|it| client::is_safe(it))
        {
            true => Ok(found),
            false => Err(failed("the provider of identities says that it is another")),
        }
    }

    /// Begins: what the attempt is known by, and where the browser goes.
    pub(crate) async fn begin(&self, way_back: String) -> Result<(String, String), Problem> {
        let discovery = self.discover().await?;
        let (state, verifier, nonce) = (Secret::new(), Secret::new(), Secret::new());
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.text()));
        let query = Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client_id)
            .append_pair("redirect_uri", &way_back)
            .append_pair("scope", "openid email")
            .append_pair("state", state.text())
            .append_pair("nonce", nonce.text())
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .finish();
        let mark = if discovery.authorization_endpoint.contains('?') { '&' } else { '?' };
        let address = format!("{}{mark}{query}", discovery.authorization_endpoint);
        let mut pending = self.pending();
        pending.retain(|_, pending| pending.since.elapsed() < PATIENCE);
        forget_oldest(&mut pending);
        let state = state.text().to_owned();
        pending.insert(state.clone(), Pending { verifier, nonce, way_back, since: Instant::now() });
        Ok((state, address))
    }

    /// Exchanges the code: what the provider knows this person by. An attempt counts once.
    pub(crate) async fn finish(&self, state: &str, code: &str) -> Result<Vec<String>, Problem> {
        let pending = self.pending().remove(state).filter(|pending| pending.since.elapsed() < PATIENCE);
        let pending = pending.ok_or_else(|| unauthorized("this attempt to sign in is over; begin again"))?;
        let discovery = self.discover().await?;
        let form = Serializer::new(String::new())
            .append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &pending.way_back)
            .append_pair("client_id", &self.client_id)
            .append_pair("code_verifier", pending.verifier.text())
            .finish();
        let secret = self.client_secret.as_deref();
        let basic = secret.map(|secret| (self.client_id.as_str(), secret));
        let answer: TokenAnswer = self.client.post(&discovery.token_endpoint, form, basic).await?;
        let keys: Keys = self.client.get(&discovery.jwks_uri).await?;
        let claims: Claims = token::verified(&answer.id_token, &keys)
            .ok_or_else(|| failed("the identity token is not signed by the provider"))?;
        let fits = claims.is_for(&discovery.issuer, &self.client_id, pending.nonce.text(), now());
        match fits {
            true => Ok(claims.identities()),
            false => Err(failed("the identity token is not for this server, or not of now")),
        }
    }
}

/// Makes room for one more: whoever began first has had the most time.
fn forget_oldest(pending: &mut HashMap<String, Pending>) {
    while pending.len() >= MOST {
        let oldest = pending.iter().min_by_key(|(_, pending)| pending.since).map(|(state, _)| state.clone());
        oldest.map(|state| pending.remove(&state));
    }
}

fn read_secret(file: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| Failure::input(format!("cannot read {}: {error}", file.display())))?;
    Ok(text.trim().to_owned())
}

fn failed(why: &str) -> Problem {
    Problem::new(StatusCode::BAD_GATEWAY, "identity", why)
}
