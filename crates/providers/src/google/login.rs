//! Logging a person in: the OAuth loopback flow with PKCE.
//!
//! The person opens an address in any browser on this machine; Google sends the browser back to a port
//! we listen on with a one-time code, which is exchanged for a standing permission (a refresh token).

use charla_proto::LlmError;
use secrecy::{ExposeSecret, SecretString};

use super::adc::config;
use super::source::exchange;
use super::{CLOUD_SCOPE, Credentials, TOKEN_URI, form};
use crate::loopback::Loopback;
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
    back: Loopback,
    url: String,
}

impl Login {
    /// Listens on a free loopback port and makes the address to open.
    pub async fn start(oauth: OAuthClient, options: LoginOptions) -> Result<Self, LlmError> {
        let back = Loopback::start().await?;
        let query = form(&[
            ("response_type", "code"),
            ("client_id", &oauth.id),
            ("redirect_uri", back.redirect()),
            ("scope", &options.scope),
            ("state", back.state()),
            ("code_challenge", &back.challenge()),
            ("code_challenge_method", "S256"),
            ("access_type", "offline"),
            ("prompt", "consent"),
        ]);
        let url = format!("{}?{query}", options.auth_uri);
        Ok(Self { oauth, options, back, url })
    }

    /// The address the person opens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits for the browser and exchanges its code. Requests that are not the answer (a favicon, a
    /// stranger without our state) are turned away and waiting goes on. Dropping the future gives up.
    pub async fn finish(self, client: &Client) -> Result<Credentials, LlmError> {
        let code = self.back.code().await?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", &*code),
            ("client_id", &*self.oauth.id),
            ("client_secret", self.oauth.secret.expose_secret()),
            ("redirect_uri", self.back.redirect()),
            ("code_verifier", self.back.verifier()),
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
}
