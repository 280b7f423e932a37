//! Failures of the network, in words a person understands.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use charla_proto::{Hint, LlmError, LlmErrorKind};
use reqwest::Url;

use super::tls::NO_AUTHORITIES;
use super::{NetworkOptions, Proxy};

/// [`charla_proto::ErrorDetail::code`] of a server that could not be reached at all.
pub(crate) const UNREACHABLE: &str = "unreachable";
/// [`charla_proto::ErrorDetail::code`] of a server of this machine that does not run: nothing starts it while we wait.
pub(crate) const NOT_RUNNING: &str = "not_running";
/// [`charla_proto::ErrorDetail::code`] of a server that cannot prove who it is, because its certificate is
/// not trusted or because it does not speak TLS at all: trying again does not help.
pub(crate) const UNPROVEN: &str = "unproven";

/// `host:port`, all of an address that may be shown: the rest may hold a password.
pub(super) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port_or_known_default() {
        Some(443) | None => host.to_owned(),
        Some(port) => format!("{host}:{port}"),
    }
}

/// Nothing came for `limit`.
pub(super) fn went_silent(host: &str, limit: Duration, before_first_byte: bool) -> LlmError {
    let limit = seconds(limit);
    if before_first_byte {
        return LlmError::new(LlmErrorKind::Timeout, format!("{host} sent no answer within {limit}"))
            .with_hint(Hint::RaiseFirstByteTimeout);
    }
    let message = format!("{host} sent nothing for {limit} in the middle of the answer");
    let mut error = LlmError::new(LlmErrorKind::Timeout, message);
    error.detail.in_stream = true;
    error
}

/// The body ended before its end.
pub(super) fn broke_off(error: &reqwest::Error, host: &str) -> LlmError {
    let message =
        format!("the connection to {host} broke off in the middle of the answer: {}", flatten(error));
    let mut error = LlmError::new(LlmErrorKind::Network, message);
    error.detail.in_stream = true;
    error
}

/// The request could not be sent, or no head of a reply came.
pub(super) fn request_failed(error: &reqwest::Error, url: &Url, options: &NetworkOptions) -> LlmError {
    let host = host_of(url);
    let via = match &options.proxy {
        Proxy::Url(proxy) => match Url::parse(proxy) {
            Ok(proxy) => format!(" through the proxy {}", host_of(&proxy)),
            Err(_) => " through the proxy".to_owned(),
        },
        Proxy::System | Proxy::None => String::new(),
    };
    if error.is_timeout() {
        let limit = seconds(options.connect_timeout);
        let message = format!("no connection to {host}{via} within {limit}");
        return unreachable(LlmErrorKind::Timeout, message).with_hint(Hint::CheckNetwork);
    }
    if error.is_builder() {
        let message = format!("no request to {host} can be made of this address: {}", flatten(error));
        return LlmError::new(LlmErrorKind::Config, message)
            .with_hint("check the base URL and the model's name");
    }
    let causes = causes(error);
    if let Some(tls) = causes.iter().find_map(|cause| cause.downcast_ref::<rustls::Error>()) {
        return tls_failed(tls, &host);
    }
    if error.is_dns() {
        let message =
            format!("the name {} cannot be found: {}", url.host_str().unwrap_or(&host), root(&causes));
        return unreachable(LlmErrorKind::Network, message)
            .with_hint("check the base URL for a typing mistake, the network and proxy settings");
    }
    let refused = causes
        .iter()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    if refused {
        let message = format!("nothing answers at {host}{via}: connection refused");
        // Behind a proxy the refusal may be the proxy's own.
        if !is_loopback(url) || !via.is_empty() {
            return unreachable(LlmErrorKind::Network, message);
        }
        return with_code(LlmErrorKind::Network, message, NOT_RUNNING)
            .with_hint("is the local server running, and on this port?");
    }
    let message = format!("the request to {host}{via} failed: {}", flatten(error));
    if error.is_connect() {
        unreachable(LlmErrorKind::Network, message)
    } else {
        LlmError::new(LlmErrorKind::Network, message)
    }
}

fn tls_failed(error: &rustls::Error, host: &str) -> LlmError {
    use rustls::CertificateError as Certificate;
    let (why, hint) = match error {
        rustls::Error::InvalidCertificate(Certificate::UnknownIssuer) => {
            ("it is signed by an authority this machine does not trust".to_owned(), Hint::TrustAuthority)
        }
        rustls::Error::InvalidCertificate(
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
        ) => ("it is made out to another name".to_owned(), "check the host in the base URL".into()),
        rustls::Error::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. }) => {
            ("it has expired".to_owned(), "check this machine's clock, or tell the server's owner".into())
        }
        rustls::Error::InvalidCertificate(other) => {
            (other.to_string(), "check the base URL, or tell the server's owner".into())
        }
        rustls::Error::General(message) if message.starts_with(NO_AUTHORITIES) => {
            (message.clone(), Hint::InstallAuthorities)
        }
        rustls::Error::InvalidMessage(_) => {
            let message = format!("{host} does not answer in TLS: {error}");
            return unproven(message)
                .with_hint("check the base URL: a server without TLS needs http:// instead of https://");
        }
        other => {
            let message = format!("no TLS connection to {host}: {other}");
            return unreachable(LlmErrorKind::Network, message);
        }
    };
    unproven(format!("the certificate of {host} cannot be trusted: {why}")).with_hint(hint)
}

fn unproven(message: String) -> LlmError {
    with_code(LlmErrorKind::Network, message, UNPROVEN)
}

fn unreachable(kind: LlmErrorKind, message: String) -> LlmError {
    with_code(kind, message, UNREACHABLE)
}

fn with_code(kind: LlmErrorKind, message: String, code: &str) -> LlmError {
    let mut error = LlmError::new(kind, message);
    error.detail.code = Some(code.to_owned());
    error
}

/// This machine's own address.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn seconds(limit: Duration) -> String {
    if limit < Duration::from_secs(1) {
        format!("{} ms", limit.as_millis())
    } else {
        format!("{} s", limit.as_secs_f64())
    }
}

/// An error and everything under it, what `io::Error` wraps included (its `source` skips that).
fn causes<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut all: Vec<&'a (dyn Error + 'static)> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        all.push(error);
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    all
}

/// The innermost cause's words.
fn root(causes: &[&(dyn Error + 'static)]) -> String {
    causes.last().map(ToString::to_string).unwrap_or_default()
}

/// What went wrong, from the outside in, each thing once. The outermost words, which hold the whole
/// address, and the layers' own names are left out.
pub(super) fn flatten(error: &reqwest::Error) -> String {
    let causes = causes(error);
    let mut words: Vec<String> = Vec::new();
    for cause in causes.iter().skip(1) {
        let text = cause.to_string();
        let known = words.iter().any(|earlier| earlier.contains(&text));
        if !known && !text.starts_with("client error (") {
            words.retain(|earlier| !text.contains(earlier.as_str()));
            words.push(text);
        }
    }
    if words.is_empty() { "no further explanation".to_owned() } else { words.join(": ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_path_and_password() {
        let host = |url: &str| host_of(&Url::parse(url).unwrap());
        assert_eq!(host("https://user:secret@api.example.com/v1?key=secret"), "api.example.com");
        assert_eq!(host("http://localhost:11434/v1"), "localhost:11434");
        assert_eq!(host("http://[::1]/"), "[::1]:80");
    }

    #[test]
    fn loopback_is_recognised_by_name_and_address() {
        let loopback = |url: &str| is_loopback(&Url::parse(url).unwrap());
        assert!(
            loopback("http://localhost:1/") && loopback("http://127.0.0.9/") && loopback("http://[::1]/")
        );
        assert!(!loopback("http://10.0.0.1/") && !loopback("http://localhost.example.com/"));
    }
}
