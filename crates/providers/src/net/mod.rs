//! The one HTTP client: connections, timeouts, proxies, certificates.
//!
//! There is no limit on how long an answer may take, only on silence: before the connection stands,
//! before the first byte, and between two bytes. Any byte counts, so a server that sends comments while
//! it thinks is waited for.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use charla_proto::{Hint, LlmError, LlmErrorKind};
use futures_util::TryStreamExt;
use http::{HeaderMap, Method};
use reqwest::Url;
use tokio::time::{Instant, timeout_at};

mod body;
mod exchange;
mod failure;
mod fetch;
mod tls;

pub(crate) use body::Body;
#[cfg(test)]
pub(crate) use body::Bytestream;
pub use exchange::{ExchangeAnswer, ExchangeRequest, StreamedEvent};
pub(crate) use failure::{NOT_RUNNING, UNPROVEN, UNREACHABLE};
use failure::{host_of, is_loopback, request_failed, went_silent};

/// How to reach servers. Everything is handed in but what only the system knows: the authorities it trusts, and the
/// proxies of [`Proxy::System`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkOptions {
    /// Longest wait for a connection, name lookup and TLS included.
    pub connect_timeout: Duration,
    /// Longest wait from sending a request to the first byte of the answer's body. Long, because local
    /// servers read the whole prompt before they say anything. [`Duration::MAX`] waits for ever.
    pub first_byte_timeout: Duration,
    /// Longest silence between two bytes of an answer. [`Duration::MAX`] waits for ever.
    pub idle_timeout: Duration,
    /// Which proxy to use.
    pub proxy: Proxy,
    /// Hosts that are reached without the proxy of [`Proxy::Url`]: names, suffixes (`.example.com`),
    /// addresses and address ranges.
    pub no_proxy: Vec<String>,
    /// Certificates trusted beside the system's, each a PEM text of one or more.
    pub extra_certificates: Vec<Vec<u8>>,
    /// What we call ourselves.
    pub user_agent: String,
    /// The largest single event accepted, in bytes; a whole document may be four times as large.
    pub max_event: usize,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(20),
            first_byte_timeout: Duration::from_secs(300),
            idle_timeout: Duration::from_secs(120),
            proxy: Proxy::System,
            no_proxy: Vec::new(),
            extra_certificates: Vec::new(),
            user_agent: concat!("charla/", env!("CARGO_PKG_VERSION")).to_owned(),
            max_event: crate::sse::DEFAULT_MAX_EVENT,
        }
    }
}

/// Which proxy to use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Proxy {
    /// What the system or the environment says (`HTTPS_PROXY`, `NO_PROXY`, …), but never for this
    /// machine's own addresses.
    #[default]
    System,
    /// None, whatever the system says.
    None,
    /// This one for everything (`http://`, `https://`, `socks5://`).
    Url(String),
}

/// A pool of connections. Cloning is cheap and shares the pool.
#[derive(Clone, Debug)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Clone, Debug)]
struct Inner {
    options: NetworkOptions,
    http: reqwest::Client,
    /// For this machine's own servers, made when first needed.
    loopback: Arc<OnceLock<reqwest::Client>>,
}

impl Client {
    /// A client with these options. Opens nothing and loads no certificates: that happens with the
    /// first connection that needs them.
    pub fn new(options: NetworkOptions) -> Result<Self, LlmError> {
        let http = build(&options, &options.proxy, IDLE_CONNECTION)?;
        Ok(Self { inner: Arc::new(Inner { options, http, loopback: Arc::default() }) })
    }

    /// The pool for this address. The system's proxy is meant for the world outside: a local model
    /// server is not reached through it.
    fn pool(&self, url: &Url) -> Result<&reqwest::Client, LlmError> {
        let Inner { options, http, loopback } = &*self.inner;
        if matches!(options.proxy, Proxy::Url(_)) || !is_loopback(url) {
            return Ok(http);
        }
        match loopback.get() {
            Some(direct) => Ok(direct),
            None => {
                let direct = build(options, &Proxy::None, IDLE_LOOPBACK_CONNECTION)?;
                Ok(loopback.get_or_init(|| direct))
            }
        }
    }

    /// The same connections with another limit on the wait for the first byte.
    pub fn with_first_byte_timeout(&self, limit: Duration) -> Self {
        let mut inner = (*self.inner).clone();
        inner.options.first_byte_timeout = limit;
        Self { inner: Arc::new(inner) }
    }

    /// The options it was made with.
    pub fn options(&self) -> &NetworkOptions {
        &self.inner.options
    }

    /// Sends a request and waits for the head of the reply, whatever its status.
    pub(crate) async fn send(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Reply, LlmError> {
        let options = self.options();
        let host: Arc<str> = host_of(&url).into();
        let deadline = body::deadline(Instant::now(), options.first_byte_timeout);
        let request = self.pool(&url)?.request(method, url.clone()).headers(headers).body(body);
        let response = match timeout_at(deadline, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(request_failed(&error, &url, options)),
            Err(_) => return Err(went_silent(&host, options.first_byte_timeout, true)),
        };
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let bytes = response.bytes_stream().map_err({
            let host = host.clone();
            move |error| failure::broke_off(&error, &host)
        });
        let body = Body::new(Box::pin(bytes), host, deadline, options);
        Ok(Reply { status, headers, body })
    }
}

/// The head of a reply, and its body still to come.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

/// How long an unused connection is kept. A request sent on a connection that the server is just closing
/// fails, so ours must be shorter than the servers' own limits: commonly a minute or more for providers
/// and their load balancers, five seconds for the usual local servers.
const IDLE_CONNECTION: Duration = Duration::from_secs(50);
const IDLE_LOOPBACK_CONNECTION: Duration = Duration::from_secs(4);

/// How often the system asks over a silent connection whether the other side is still there. A server that
/// reads a long prompt says nothing for minutes, and routers forget connections that carry nothing.
const PROBES: Duration = Duration::from_secs(30);

/// The beginning of a client for other uses than asking models: the same trust and the same name. Where it
/// goes, and through what, is the caller's to say.
pub fn client_builder(options: &NetworkOptions) -> Result<reqwest::ClientBuilder, LlmError> {
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls::config(&options.extra_certificates)?)
        .connect_timeout(options.connect_timeout)
        .user_agent(&options.user_agent)
        .gzip(true))
}

fn build(options: &NetworkOptions, proxy: &Proxy, idle: Duration) -> Result<reqwest::Client, LlmError> {
    let builder = client_builder(options)?
        .pool_idle_timeout(idle)
        .tcp_keepalive(PROBES)
        .redirect(reqwest::redirect::Policy::none());
    let builder = match proxy {
        Proxy::System => builder,
        Proxy::None => builder.no_proxy(),
        Proxy::Url(url) => builder.proxy(explicit_proxy(url, &options.no_proxy)?),
    };
    builder.build().map_err(|error| {
        config_error(format!("the HTTP client cannot be set up: {}", failure::flatten(&error)))
    })
}

fn explicit_proxy(url: &str, no_proxy: &[String]) -> Result<reqwest::Proxy, LlmError> {
    let proxy = reqwest::Proxy::all(url).map_err(|error| {
        // The address may hold a password: it is not repeated.
        config_error(format!("the proxy's address cannot be used: {}", failure::flatten(&error)))
            .with_hint(Hint::FixProxyAddress)
    })?;
    Ok(proxy.no_proxy(reqwest::NoProxy::from_string(&no_proxy.join(","))))
}

fn config_error(message: impl Into<String>) -> LlmError {
    LlmError::new(LlmErrorKind::Config, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_proxy_is_not_asked_for_this_machines_own_servers() {
        let url = |address: &str| Url::parse(address).unwrap();
        let client = Client::new(NetworkOptions::default()).unwrap();
        let pool = |address: &str| std::ptr::from_ref(client.pool(&url(address)).unwrap());
        assert_eq!(pool("https://api.example.com"), std::ptr::from_ref(&client.inner.http));
        assert_ne!(pool("http://localhost:8080"), std::ptr::from_ref(&client.inner.http));
        assert_eq!(pool("http://localhost:8080"), pool("http://127.0.0.1:9"));

        let explicit = NetworkOptions { proxy: Proxy::Url("http://p:1".into()), ..NetworkOptions::default() };
        let client = Client::new(explicit).unwrap();
        assert!(std::ptr::eq(client.pool(&url("http://localhost:1")).unwrap(), &client.inner.http));
    }
}
