//! Logging in to MCP servers at an address: OAuth with discovery, registration and PKCE.
//!
//! What is kept is bound to the address, not to a server's name: another entry of the same name gets nothing.

mod discovery;
mod tokens;
mod web;

use std::path::PathBuf;
use std::time::Duration;

use charla_providers::Client;
use charla_providers::loopback::Loopback;
use serde_json::{Value, json};

pub(super) use tokens::Tokens;

use super::config::config;
use super::ground::Ground;
use crate::credentials::Keys;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::network;
use crate::settings::Settings;
use charla_mcp::Reach;
use discovery::Authority;
use tokens::Permission;
use web::{Web, form};

/// How long a person may take in the browser.
const PATIENCE: Duration = Duration::from_secs(300);

/// A login to a server that waits for a person in a browser.
pub struct ServerLogin {
    web: Web,
    tokens: Tokens,
    server: String,
    authority: Authority,
    client: Registered,
    back: Loopback,
    url: String,
}

/// What the authority knows us as.
struct Registered {
    id: String,
    secret: Option<String>,
}

impl ServerLogin {
    /// Finds out who gives permission for this server, and asks to be known there.
    pub async fn start(name: &str, settings: &Settings, environment: &Environment) -> Result<Self, Failure> {
        let server = address(name, settings, environment)?;
        let tokens = Tokens::of(environment).ok_or_else(|| {
            Failure::config("there is no home directory to keep the login in").with_hint("set CHARLA_HOME")
        })?;
        let web = Web::new(network::client(settings, environment, true)?);
        let failed = |why: String| Failure::auth(format!("no login to the MCP server {name}: {why}"));
        let authority = Authority::of(&server, &web).await.map_err(failed)?;
        let back = Loopback::start().await.map_err(|error| Failure::from(&error))?;
        let client = register(&authority, &back, &web).await.map_err(failed)?;
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", client.id.as_str()),
            ("redirect_uri", back.redirect()),
            ("state", back.state()),
            ("code_challenge_method", "S256"),
            ("resource", server.as_str()),
        ];
        let (challenge, scope) = (back.challenge(), authority.scopes.join(" "));
        fields.push(("code_challenge", &challenge));
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        let joint = if authority.authorize.contains('?') { '&' } else { '?' };
        let url = format!("{}{joint}{}", authority.authorize, form(&fields));
        Ok(Self { web, tokens, server, authority, client, back, url })
    }

    /// What the person opens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits for the person and keeps the permission; says where.
    pub async fn finish(self) -> Result<PathBuf, Failure> {
        let code = match tokio::time::timeout(PATIENCE, self.back.code()).await {
            Ok(code) => code.map_err(|error| Failure::from(&error))?,
            Err(_) => return Err(Failure::auth("nobody logged in within five minutes")),
        };
        let asked = Permission {
            token: self.authority.token.clone(),
            client: self.client.id.clone(),
            secret: self.client.secret.clone(),
            resource: self.server.clone(),
            access: String::new(),
            refresh: None,
            until: None,
        };
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", self.back.redirect()),
            ("code_verifier", self.back.verifier()),
        ];
        let permission = asked.exchange(&fields, &self.web).await.map_err(Failure::auth)?;
        self.tokens.keep(&self.server, &permission)
    }
}

/// Forgets the login to a server; false when there was none.
pub fn log_out(name: &str, settings: &Settings, environment: &Environment) -> Result<bool, Failure> {
    let server = address(name, settings, environment)?;
    Tokens::of(environment).map_or(Ok(false), |tokens| tokens.forget(&server))
}

/// The address of a server of the settings.
fn address(name: &str, settings: &Settings, environment: &Environment) -> Result<String, Failure> {
    let refused = |why: String| Failure::input(format!("no login to the MCP server `{name}`: {why}"));
    let entry =
        settings.mcp_servers.get(name).ok_or_else(|| refused("it is not in the settings".to_owned()))?;
    match config(name, entry, &Ground::of(name, settings), environment)
        .map_err(|flaw| refused(flaw.to_string()))?
        .reach
    {
        Reach::Http(endpoint) => Ok(endpoint.url),
        Reach::Process(_) => Err(refused("it is a program".to_owned())),
    }
}

/// Makes us known, as a program that keeps no secrets.
async fn register(authority: &Authority, back: &Loopback, web: &Web) -> Result<Registered, String> {
    let Some(place) = &authority.register else {
        return Err("its authority takes no new clients; put a token into `headers`".to_owned());
    };
    let body = json!({
        "client_name": "Charla",
        "redirect_uris": [back.redirect()],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    let answer = web.post_json(place, &body).await?;
    let text = |key: &str| answer.get(key).and_then(Value::as_str).map(str::to_owned);
    let id = text("client_id").ok_or("its authority gave no client id")?;
    Ok(Registered { id, secret: text("client_secret") })
}

/// Connections for what is asked about permissions.
pub(super) fn web(client: Client) -> Web {
    Web::new(client)
}
