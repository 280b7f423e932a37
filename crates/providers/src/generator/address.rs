//! Where a request goes and what its headers say.

use charla_proto::{LlmError, LlmErrorKind};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};

use crate::endpoint::{AuthStyle, Endpoint};
use crate::wire::{Mode, WireRequest};

/// The address of `path` under `base`. A query of the base (Azure's `?api-version=…`) stays.
pub(super) fn url(base: &str, path: &str) -> Result<Url, LlmError> {
    let (base_path, base_query) = base.split_once('?').unwrap_or((base, ""));
    let mut whole = format!("{}{path}", base_path.trim_end_matches('/'));
    if !base_query.is_empty() {
        whole.push(if path.contains('?') { '&' } else { '?' });
        whole.push_str(base_query);
    }
    let wrong = |why: String| {
        let message = format!("the base URL {} cannot be used: {why}", shown(base));
        LlmError::new(LlmErrorKind::Config, message)
            .with_hint("it must look like https://host/v1 or http://localhost:8080/v1")
    };
    // An empty host would swallow the path.
    if base_path.trim_end_matches('/').ends_with(':') {
        return Err(wrong("it names no host".to_owned()));
    }
    let url = Url::parse(&whole).map_err(|error| wrong(error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        scheme => Err(wrong(format!("{scheme}: is no web address"))),
    }
}

/// A base URL as it may be shown: without password and query.
pub(super) fn shown(base: &str) -> String {
    let base = base.split('?').next().unwrap_or_default();
    match base.split_once("://") {
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((_, host)) => format!("{scheme}://{host}"),
            None => base.to_owned(),
        },
        None => base.to_owned(),
    }
}

/// All headers of a request. What may be secret is marked so that nothing down the line prints it.
pub(super) fn headers(
    endpoint: &Endpoint,
    request: &WireRequest,
    token: Option<&SecretString>,
    mode: Mode,
) -> Result<HeaderMap, LlmError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accept = match mode {
        Mode::Stream => "text/event-stream",
        Mode::Unary => "application/json",
    };
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    for (name, value) in &request.headers {
        insert(&mut headers, name, value)?;
    }
    if let Some(token) = token {
        let token = token.expose_secret();
        match endpoint.auth {
            AuthStyle::Bearer => insert_key(&mut headers, AUTHORIZATION, &format!("Bearer {token}"))?,
            AuthStyle::GoogApiKey => insert_key(&mut headers, named("x-goog-api-key"), token)?,
            AuthStyle::XApiKey => insert_key(&mut headers, named("x-api-key"), token)?,
            AuthStyle::ApiKey => insert_key(&mut headers, named("api-key"), token)?,
            AuthStyle::None => {}
        }
    }
    // Last, so that settings can replace what we would send.
    for (name, value) in &endpoint.headers {
        insert(&mut headers, name, value)?;
    }
    Ok(headers)
}

fn named(name: &'static str) -> HeaderName {
    HeaderName::from_static(name)
}

fn insert_key(headers: &mut HeaderMap, name: HeaderName, value: &str) -> Result<(), LlmError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        LlmError::new(LlmErrorKind::Auth, "the API key holds characters that no key has")
            .with_hint("look for a line break, quotes or blanks that were copied along with the key")
    })?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}

fn insert(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), LlmError> {
    let wrong = || LlmError::new(LlmErrorKind::Config, format!("the header `{name}` cannot be sent"));
    let header = HeaderName::try_from(name).map_err(|_| wrong())?;
    let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
    // A header of the settings may well be a key.
    value.set_sensitive(true);
    headers.insert(header, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_added_and_queries_are_joined() {
        let of = |base, path| url(base, path).unwrap().to_string();
        assert_eq!(of("http://h/v1", "/chat"), "http://h/v1/chat");
        assert_eq!(of("http://h/v1/", "/chat?alt=sse"), "http://h/v1/chat?alt=sse");
        assert_eq!(of("http://h/v1?api-version=1", "/chat"), "http://h/v1/chat?api-version=1");
        assert_eq!(of("http://h/v1?a=1", "/chat?b=2"), "http://h/v1/chat?b=2&a=1");
    }

    #[test]
    fn a_wrong_base_url_is_a_mistake_in_the_settings() {
        for base in ["", "localhost:8080/v1", "api.example.com", "file:///tmp", "http://"] {
            let error = url(base, "/chat").unwrap_err();
            assert_eq!(error.kind, LlmErrorKind::Config, "{base}");
        }
        let error = url("ftp://me:secret@host/v1?key=secret", "/chat").unwrap_err();
        assert!(!error.message.contains("secret"), "{error}");
    }

    #[test]
    fn a_key_with_a_line_break_is_refused_and_not_repeated() {
        let mut map = HeaderMap::new();
        let error = insert_key(&mut map, AUTHORIZATION, "Bearer sk-1\n").unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Auth);
        assert!(!error.to_string().contains("sk-1"));
    }
}
