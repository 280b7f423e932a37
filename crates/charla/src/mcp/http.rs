//! Connections to servers at an address.

use std::sync::OnceLock;
use std::time::Duration;

use charla_mcp::{Http, HttpAnswer, HttpBody, HttpEvent, HttpMethod, HttpRequest};
use charla_proto::BoxFuture;
use charla_providers::Client;
use charla_providers::net::ExchangeRequest;
use futures_util::{StreamExt, TryStreamExt};

use crate::environment::Environment;
use crate::network;
use crate::settings::Settings;

/// The largest answer that does not come as events.
const LARGEST: usize = 16 * 1024 * 1024;

/// Reaches servers as the settings say, with connections made when first needed.
pub(super) struct Connections {
    settings: Settings,
    environment: Environment,
    client: OnceLock<Client>,
}

impl Connections {
    pub(super) fn new(settings: &Settings, environment: &Environment) -> Self {
        Self { settings: settings.clone(), environment: environment.clone(), client: OnceLock::new() }
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
}

impl Http for Connections {
    fn send<'a>(&'a self, request: HttpRequest<'a>) -> BoxFuture<'a, Result<HttpAnswer, String>> {
        Box::pin(async move {
            let (method, body, accepts) = match request.method {
                HttpMethod::Get => ("GET", String::new(), "text/event-stream"),
                HttpMethod::Post(message) => {
                    ("POST", message.to_string(), "application/json, text/event-stream")
                }
                HttpMethod::Delete => ("DELETE", String::new(), "*/*"),
            };
            let mut headers = vec![("accept".to_owned(), accepts.to_owned())];
            if !body.is_empty() {
                headers.push(("content-type".to_owned(), "application/json".to_owned()));
            }
            headers.extend_from_slice(request.headers);
            let exchange = ExchangeRequest { method, url: request.url, headers: &headers, body };
            let answer = self.client()?.exchange(exchange).await.map_err(|error| error.to_string())?;
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
