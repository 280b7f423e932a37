//! OpenID Connect: the authorisation code with PKCE, and the identity token that it is exchanged for.

mod client;
mod token;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use charla::Failure;
use form_urlencoded::Serializer;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::access::{Secret, unauthorized};
use crate::accounts::now;
use crate::problem::Problem;
use crate::shelf::Seal;
use client::Client;
use token::{Claims, Keys};

/// How long somebody may take at the provider, in seconds.
pub(crate) const PATIENCE: u64 = 10 * 60;
/// What is sealed.
const ATTEMPT: &str = "an attempt to sign in";

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

/// Somebody who is at the provider. Their browser keeps it, sealed: they may come back to any node, and nobody fills a server's memory.
#[derive(Serialize, Deserialize)]
struct Attempt {
    state: String,
    verifier: String,
    nonce: String,
    way_back: String,
    /// In seconds since 1970.
    until: u64,
}

/// An attempt that begins.
pub(crate) struct Begun {
    /// What the browser brings back.
    pub(crate) sealed: String,
    /// Where it goes.
    pub(crate) address: String,
}

/// Signing in at one provider.
pub(crate) struct Oidc {
    issuer: String,
    client_id: String,
    client_secret: Option<String>,
    client: Client,
    /// The key of all nodes; where there is one server, of this process.
    seal: Arc<Seal>,
    /// Attempts that somebody came back from, and until when they would count.
    over: Mutex<HashMap<String, u64>>,
}

impl Oidc {
    /// The provider's address.
    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    pub(crate) fn new(options: OidcOptions, seal: Option<Arc<Seal>>) -> Result<Self, Failure> {
        let issuer = options.issuer.trim_end_matches('/').to_owned();
        if !client::is_safe(&issuer) {
            return Err(Failure::input(format!("`{issuer}` is no address of a provider of identities"))
                .with_hint("it begins with https://; http:// is for this machine alone"));
        }
        let client_secret = options.secret_file.as_deref().map(read_secret).transpose()?;
        let (client_id, client) = (options.client_id, Client::new()?);
        let seal = match seal {
            Some(seal) => seal,
            None => Arc::new(Seal::passing().map_err(|error| Failure::system(error.to_string()))?),
        };
        Ok(Self { issuer, client_id, client_secret, client, seal, over: Mutex::default() })
    }

    /// The attempt that a browser brings back, if it began as this one. It counts once here; elsewhere the provider sees to that, which
    /// takes a code once.
    fn attempt(&self, sealed: &str, state: &str) -> Option<Attempt> {
        let text = self.seal.open(ATTEMPT, URL_SAFE_NO_PAD.decode(sealed).ok()?)?;
        let attempt: Attempt = serde_json::from_str(&text).ok()?;
        let second = now();
        if attempt.state != state || attempt.until <= second {
            return None;
        }
        let mut over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        over.retain(|_, until| *until > second);
        over.insert(attempt.state.clone(), attempt.until).is_none().then_some(attempt)
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

    /// Begins.
    pub(crate) async fn begin(&self, way_back: String) -> Result<Begun, Problem> {
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
        let [state, verifier, nonce] = [state, verifier, nonce].map(|secret| secret.text().to_owned());
        let attempt = Attempt { state, verifier, nonce, way_back, until: now() + PATIENCE };
        let sealed = serde_json::to_string(&attempt).map_err(std::io::Error::from);
        let sealed = sealed.and_then(|text| self.seal.close(ATTEMPT, &text));
        let sealed = sealed.map_err(|error| Problem::internal(error.to_string()))?;
        Ok(Begun { sealed: URL_SAFE_NO_PAD.encode(sealed), address })
    }

    /// Exchanges the code: what the provider knows this person by, whose browser brings this back.
    pub(crate) async fn finish(&self, sealed: &str, state: &str, code: &str) -> Result<Vec<String>, Problem> {
        let attempt = self.attempt(sealed, state).ok_or_else(|| {
            unauthorized(
                "this browser did not begin to sign in, began again since, or was too slow; begin again",
            )
        })?;
        let discovery = self.discover().await?;
        let form = Serializer::new(String::new())
            .append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &attempt.way_back)
            .append_pair("client_id", &self.client_id)
            .append_pair("code_verifier", &attempt.verifier)
            .finish();
        let secret = self.client_secret.as_deref();
        let basic = secret.map(|secret| (self.client_id.as_str(), secret));
        let answer: TokenAnswer = self.client.post(&discovery.token_endpoint, form, basic).await?;
        let keys: Keys = self.client.get(&discovery.jwks_uri).await?;
        let claims: Claims = token::verified(&answer.id_token, &keys)
            .ok_or_else(|| failed("the identity token is not signed by the provider"))?;
        let fits = claims.is_for(&discovery.issuer, &self.client_id, &attempt.nonce, now());
        match fits {
            true => Ok(claims.identities()),
            false => Err(failed("the identity token is not for this server, or not of now")),
        }
    }
}

/// What a file says, without the end of its line.
pub(crate) fn read_secret(file: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| Failure::input(format!("cannot read {}: {error}", file.display())))?;
    Ok(text.trim().to_owned())
}

fn failed(why: &str) -> Problem {
    Problem::new(StatusCode::BAD_GATEWAY, "identity", why)
}
