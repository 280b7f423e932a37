//! The one HTTP client: connections, timeouts, proxies, certificates.
//!
//! There is no limit on how long an answer may take, only on silence: before the connection stands,
//! before the first byte, and between two bytes. Any byte counts, so a server that sends comments while
//! it thinks is waited for.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use charla_proto::{LlmError, LlmErrorKind};
use futures_util::TryStreamExt;
use http::{HeaderMap, Method};
use reqwest::Url;
use tokio::time::{Instant, timeout_at};

mod body;
mod failure;
mod tls;

pub(crate) use body::Body;
pub(crate) use failure::{CERTIFICATE, UNREACHABLE};
use failure::{host_of, request_failed, went_silent};

/// How to reach servers. Everything is handed in: nothing here reads settings.
#[derive(Clone, Debug)]
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
    /// What the system or the environment says (`HTTPS_PROXY`, `NO_PROXY`, …).
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
    http: reqwest::Client,
    options: Arc<NetworkOptions>,
}

impl Client {
    /// A client with these options. Opens nothing and loads no certificates: that happens with the
    /// first connection that needs them.
    pub fn new(options: NetworkOptions) -> Result<Self, LlmError> {
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::config(&options.extra_certificates)?)
            .connect_timeout(options.connect_timeout)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(&options.user_agent)
            .gzip(true);
        builder = match &options.proxy {
            Proxy::System => builder,
            Proxy::None => builder.no_proxy(),
            Proxy::Url(url) => builder.proxy(explicit_proxy(url, &options.no_proxy)?),
        };
        let http = builder.build().map_err(|error| {
            config_error(format!("the HTTP client cannot be set up: {}", failure::flatten(&error)))
        })?;
        Ok(Self { http, options: Arc::new(options) })
    }

    /// The options it was made with.
    pub fn options(&self) -> &NetworkOptions {
        &self.options
    }

    /// Posts a JSON body and waits for the head of the reply, whatever its status.
    pub(crate) async fn post(&self, url: Url, headers: HeaderMap, body: Bytes) -> Result<Reply, LlmError> {
        let request = self.http.request(Method::POST, url.clone()).headers(headers).body(body);
        self.send(url, request).await
    }

    /// Gets a document: the head of the reply, whatever its status.
    pub(crate) async fn get(&self, url: Url, headers: HeaderMap) -> Result<Reply, LlmError> {
        let request = self.http.request(Method::GET, url.clone()).headers(headers);
        self.send(url, request).await
    }

    async fn send(&self, url: Url, request: reqwest::RequestBuilder) -> Result<Reply, LlmError> {
        let host: Arc<str> = host_of(&url).into();
        let deadline = body::deadline(Instant::now(), self.options.first_byte_timeout);
        let response = match timeout_at(deadline, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(request_failed(&error, &url, &self.options)),
            Err(_) => return Err(went_silent(&host, self.options.first_byte_timeout, true)),
        };
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let bytes = response.bytes_stream().map_err({
            let host = host.clone();
            move |error| failure::broke_off(&error, &host)
        });
        let body = Body::new(Box::pin(bytes), host, deadline, &self.options);
        Ok(Reply { status, headers, body })
    }
}

/// The head of a reply, and its body still to come.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

fn explicit_proxy(url: &str, no_proxy: &[String]) -> Result<reqwest::Proxy, LlmError> {
    let proxy = reqwest::Proxy::all(url).map_err(|error| {
        // The address may hold a password: it is not repeated.
        config_error(format!("the proxy's address cannot be used: {}", failure::flatten(&error)))
            .with_hint("write it as http://host:port in the setting `network.proxy`")
    })?;
    Ok(proxy.no_proxy(reqwest::NoProxy::from_string(&no_proxy.join(","))))
}

fn config_error(message: impl Into<String>) -> LlmError {
    LlmError::new(LlmErrorKind::Config, message)
}
