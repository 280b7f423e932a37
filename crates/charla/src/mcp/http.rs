//! Connections to servers at an address.

use std::sync::OnceLock;
use std::time::Duration;

use charla_mcp::{Http, HttpAnswer, HttpBody, HttpEvent, HttpMethod, HttpRequest};
use charla_proto::BoxFuture;
use charla_providers::Client;
use charla_providers::net::{ExchangeAnswer, ExchangeRequest};
use futures_util::{StreamExt, TryStreamExt};

use super::login::{self, Tokens};
use crate::environment::Environment;
use crate::network;
use crate::settings::Settings;

/// The largest answer that does not come as events.
const LARGEST: usize = 16 * 1024 * 1024;
/// The header that says who asks.
const AUTHORIZATION: &str = "authorization";
/// The server wants to know who asks, or does not believe it.
const UNAUTHORIZED: u16 = 401;

/// Reaches servers as the settings say, with connections made when first needed, and with the user's logins.
pub(super) struct Connections {
    settings: Settings,
    environment: Environment,
    tokens: Option<Tokens>,
    client: OnceLock<Client>,
}

impl Connections {
    pub(super) fn new(settings: &Settings, environment: &Environment) -> Self {
        let tokens = Tokens::of(environment);
        Self { settings: settings.clone(), environment: environment.clone(), tokens, client: OnceLock::new() }
    }

    fn client(&self) -> Result<&Client, String> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let options = network::network_options(&self.settings, &self.environment, true);
        let mut options = options.map_err(|failure| failure.message)?;
        // A server may say nothing for hours; every call has a limit of its own.
        (options.first_byte_timeout, options.idle_timeout) = (Duration::MAX, Duration::MAX);
        let client = Client::new(options).map_err(|error| error.to_string())?;
        Ok(self.client.get_or_init(|| client))
    }

    /// The token of a login to this server; none where its headers say who asks, or nobody has logged in.
    async fn token(&self, request: &HttpRequest<'_>, anew: bool) -> Result<Option<String>, String> {
        let says_it = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(AUTHORIZATION));
        match self.tokens.as_ref().filter(|_| !says_it) {
            Some(tokens) => tokens.token(request.server, anew, &login::web(self.client()?.clone())).await,
            None => Ok(None),
        }
    }

    async fn exchange(
        &self,
        request: &HttpRequest<'_>,
        token: Option<&str>,
    ) -> Result<ExchangeAnswer, String> {
        let (method, body, accepts) = match request.method {
            HttpMethod::Get => ("GET", String::new(), "text/event-stream"),
            HttpMethod::Post(message) => ("POST", message.to_string(), "application/json, text/event-stream"),
        };
        let mut headers = vec![("accept".to_owned(), accepts.to_owned())];
        if !body.is_empty() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        headers.extend(token.map(|token| (AUTHORIZATION.to_owned(), format!("Bearer {token}"))));
        headers.extend_from_slice(request.headers);
        let exchange = ExchangeRequest { method, url: request.url, headers: &headers, body };
        self.client()?.exchange(exchange).await.map_err(|error| error.to_string())
    }
}

impl Http for Connections {
    fn send<'a>(&'a self, request: HttpRequest<'a>) -> BoxFuture<'a, Result<HttpAnswer, String>> {
        Box::pin(async move {
            let token = self.token(&request, false).await?;
            let mut answer = self.exchange(&request, token.as_deref()).await?;
            if answer.status() == UNAUTHORIZED && token.is_some() {
                let renewed = self.token(&request, true).await?;
                answer = self.exchange(&request, renewed.as_deref()).await?;
            }
            let (status, session) = (answer.status(), answer.header("mcp-session-id").map(str::to_owned));
            let body = match answer.is_stream() {
                true => {
                    let events =
                        answer.events().map_ok(|event| HttpEvent { name: event.name, data: event.data });
                    HttpBody::Events(events.map_err(|error| error.to_string()).boxed())
                }
                false => {
                    let bytes = answer.whole(LARGEST).await.map_err(|error| error.to_string())?;
                    HttpBody::Whole(String::from_utf8_lossy(&bytes).into_owned())
                }
            };
            Ok(HttpAnswer { status, session, body })
        })
    }
}
