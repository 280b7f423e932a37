//! Logging a person in: the OAuth loopback flow with PKCE.
//!
//! The person opens an address in any browser on this machine; Google sends the browser back to a port
//! we listen on with a one-time code, which is exchanged for a standing permission (a refresh token).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use charla_proto::{LlmError, LlmErrorKind};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::adc::config;
use super::source::exchange;
use super::{CLOUD_SCOPE, Credentials, TOKEN_URI, form};
use crate::net::Client;

/// The OAuth client that asks for permission: the user's own, of the kind "desktop app".
#[derive(Clone, Debug)]
pub struct OAuthClient {
    /// Its id.
    pub id: String,
    /// Its secret (for a desktop app not truly one, but asked for).
    pub secret: SecretString,
}

/// Where the flow goes.
#[derive(Clone, Debug)]
pub struct LoginOptions {
    /// The page that asks the person.
    pub auth_uri: String,
    /// Where the code is exchanged.
    pub token_uri: String,
    /// What is asked for.
    pub scope: String,
}

impl Default for LoginOptions {
    fn default() -> Self {
        Self {
            auth_uri: "https://accounts.google.com/o/oauth2/v2/auth".to_owned(),
            token_uri: TOKEN_URI.to_owned(),
            scope: CLOUD_SCOPE.to_owned(),
        }
    }
}

/// A login under way: show [`Login::url`] to the person, then wait in [`Login::finish`].
pub struct Login {
    oauth: OAuthClient,
    options: LoginOptions,
    listener: TcpListener,
    redirect: String,
    state: String,
    verifier: String,
    url: String,
}

impl Login {
    /// Listens on a free loopback port and makes the address to open.
    pub async fn start(oauth: OAuthClient, options: LoginOptions) -> Result<Self, LlmError> {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .map_err(|error| config(format!("cannot listen for the browser's answer: {error}")))?;
        let port = listener.local_addr().map(|address| address.port()).unwrap_or_default();
        let redirect = format!("http://127.0.0.1:{port}");
        let (state, verifier) = (random()?, random()?);
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        let query = form(&[
            ("response_type", "code"),
            ("client_id", &oauth.id),
            ("redirect_uri", &redirect),
            ("scope", &options.scope),
            ("state", &state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("access_type", "offline"),
            ("prompt", "consent"),
        ]);
        let url = format!("{}?{query}", options.auth_uri);
        Ok(Self { oauth, options, listener, redirect, state, verifier, url })
    }

    /// The address the person opens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits for the browser and exchanges its code. Requests that are not the answer (a favicon, a
    /// stranger without our state) are turned away and waiting goes on. Dropping the future gives up.
    pub async fn finish(self, client: &Client) -> Result<Credentials, LlmError> {
        let code = loop {
            let Ok((stream, _)) = self.listener.accept().await else { continue };
            if let Some(answer) = self.answer(stream).await {
                break answer?;
            }
        };
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", &*code),
            ("client_id", &*self.oauth.id),
            ("client_secret", self.oauth.secret.expose_secret()),
            ("redirect_uri", &*self.redirect),
            ("code_verifier", &*self.verifier),
        ];
        let reply = exchange(client, &self.options.token_uri, &fields).await?;
        let Some(refresh_token) = reply.refresh_token else {
            return Err(config("Google gave no standing permission (refresh token)".to_owned()));
        };
        Ok(Credentials::AuthorizedUser {
            client_id: self.oauth.id,
            client_secret: self.oauth.secret,
            refresh_token: refresh_token.into(),
            token_uri: self.options.token_uri,
        })
    }

    /// One request of the browser: the code, a refusal, or `None` for something else.
    async fn answer(&self, mut stream: TcpStream) -> Option<Result<String, LlmError>> {
        let mut line = String::new();
        let mut reader = BufReader::new(&mut stream);
        tokio::io::AsyncReadExt::take(&mut reader, 8192).read_line(&mut line).await.ok()?;
        let query = line.split(' ').nth(1)?.split_once('?').map(|(_, query)| query.to_owned());
        let outcome = query.and_then(|query| self.read_query(&query));
        let page = match &outcome {
            Some(Ok(_)) => "You are logged in. You can close this page and go back to Charla.",
            Some(Err(_)) => "The login was refused. Go back to Charla.",
            None => "Nothing to see here.",
        };
        let response = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{page}",
            page.len()
        );
        let _ = stream.write_all(response.as_bytes()).await;
        let _ = stream.shutdown().await;
        outcome
    }

    fn read_query(&self, query: &str) -> Option<Result<String, LlmError>> {
        let field = |name: &str| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        if field("state")? != self.state {
            return None;
        }
        if let Some(error) = field("error") {
            return Some(Err(LlmError::new(LlmErrorKind::Auth, format!("the login was refused: {error}"))));
        }
        field("code").map(Ok)
    }
}

fn random() -> Result<String, LlmError> {
    let mut bytes = [0; 32];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| config("the system gives no random numbers".to_owned()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
