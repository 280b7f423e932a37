//! What every request is held to before anybody looks at it, and what every answer says to a browser.

use std::net::SocketAddr;

use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};

use crate::problem::Problem;

/// The page loads what this server sends and nothing else; what a model writes cannot become script, whatever it is.
const CONTENT_SECURITY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// What answers say beside their content.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Which names this server answers to, and which pages may send it requests.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// Such as `http://127.0.0.1:4096`.
    origins: Vec<String>,
}

impl Names {
    /// The names of a server that listens there and is also known by these origins.
    pub(crate) fn new(address: SocketAddr, encrypted: bool, origins: &[String]) -> Self {
        let (port, scheme) = (address.port(), if encrypted { "https" } else { "http" });
        let mut all: Vec<String> = origins.iter().map(|origin| normal(origin)).collect();
        if address.ip().is_loopback() {
            all.extend(["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{scheme}://{host}:{port}")));
        } else if !address.ip().is_unspecified() {
            all.push(format!("{scheme}://{address}"));
        }
        Self { origins: all }
    }

    /// True when browsers reach this server over TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.origins.iter().any(|origin| origin.starts_with("https://"))
    }

    /// The origin that a request was sent to, by its `Host`.
    pub(crate) fn origin(&self, headers: &HeaderMap) -> Option<&str> {
        let host = normal(headers.get(header::HOST)?.to_str().ok()?);
        let is_it = |origin: &&String| origin.split_once("://").is_some_and(|(_, name)| name == host);
        self.origins.iter().find(is_it).map(String::as_str)
    }

    /// Refuses names that are not ours: a page of another name that points here must not be believed. A target that names a server names
    /// this one, too.
    pub(crate) fn check_host(&self, target: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let mut hosts = headers.get_all(header::HOST).into_iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
        let is_one = hosts.next().is_none();
        let named = target.authority().map(Authority::as_str);
        let unknown = [Some(host), named].into_iter().flatten().map(normal).find(|name| !self.has(name));
        let host = match unknown {
            None if is_one => return Ok(()),
            None => normal(host),
            Some(unknown) => unknown,
        };
        let detail = format!("this server is not called `{host}`");
        Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "unknown_host", detail)
            .with_hint("whoever runs the server names each address that it is reached at as an origin of it"))
    }

    /// Whether this is a name of ours.
    fn has(&self, host: &str) -> bool {
        self.origins.iter().filter_map(|origin| origin.split_once("://")).any(|(_, name)| name == host)
    }

    /// Refuses what a page of another origin sends. A browser that signs in by itself must say where it comes from.
    pub(crate) fn check_origin(
        &self,
        method: &Method,
        headers: &HeaderMap,
        by_cookie: bool,
    ) -> Result<(), Problem> {
        let mut origins = headers.get_all(header::ORIGIN).into_iter();
        match (origins.next(), origins.next()) {
            (Some(origin), None) => {
                let origin = normal(origin.to_str().unwrap_or_default());
                match self.origins.contains(&origin) {
                    true => Ok(()),
                    false => Err(Problem::forbidden(format!("requests from `{origin}` are not taken"))),
                }
            }
            (Some(_), Some(_)) => Err(Problem::forbidden("the request names several origins")),
            (None, _) => {
                let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
                let foreign = matches!(site, Some(site) if site != b"same-origin" && site != b"none");
                let changes = !matches!(*method, Method::GET | Method::HEAD);
                match foreign || (by_cookie && changes && site.is_none()) {
                    true => Err(Problem::forbidden("the request does not come from this server's own page")
                        .with_hint("programs send a token, `Authorization: Bearer …`, in place of a browser's cookie")),
                    false => Ok(()),
                }
            }
        }
    }
}

/// Names do not depend on case, and a URL may end with a slash.
fn normal(origin: &str) -> String {
    origin.trim().trim_end_matches('/').to_ascii_lowercase()
}

/// Puts what holds for every answer on this one.
pub(crate) fn secure(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    fn names() -> Names {
        Names::new(([127, 0, 0, 1], 4096).into(), false, &["https://Charla.example.org/".to_owned()])
    }

    #[test]
    fn only_its_own_names_are_answered_to() {
        let check = |headers: &HeaderMap| names().check_host(&Uri::from_static("/api/v1/me"), headers);
        for host in ["127.0.0.1:4096", "localhost:4096", "[::1]:4096", "CHARLA.example.org"] {
            assert!(check(&headers(&[("host", host)])).is_ok(), "{host}");
        }
        for host in ["", "evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:4096.evil.example"] {
            assert!(check(&headers(&[("host", host)])).is_err(), "{host}");
        }
        assert!(check(&headers(&[])).is_err());
        let two = headers(&[("host", "localhost:4096"), ("host", "evil.example")]);
        assert!(check(&two).is_err());
        let ours = headers(&[("host", "localhost:4096")]);
        let at = |target: &'static str| names().check_host(&Uri::from_static(target), &ours).is_ok();
        assert!(at("http://localhost:4096/api/v1/me") && at("http://127.0.0.1:4096/"));
        for target in ["http://evil.example/", "http://localhost:4097/", "http://a@localhost:4096/"] {
            assert!(!at(target), "{target}");
        }
    }

    #[test]
    fn a_page_of_another_origin_sends_nothing() {
        let (post, get) = (Method::POST, Method::GET);
        let check = |method, pairs: &[(&'static str, &'static str)], by_cookie| {
            names().check_origin(method, &headers(pairs), by_cookie).is_ok()
        };
        assert!(check(&post, &[("origin", "http://localhost:4096")], true));
        assert!(check(&post, &[("origin", "https://charla.example.org")], true));
        assert!(!check(&post, &[("origin", "http://localhost:4097")], true));
        assert!(!check(&post, &[("origin", "null")], true));
        assert!(!check(&get, &[("origin", "http://evil.example")], false));
        assert!(!check(&post, &[], true), "a browser must say where it comes from");
        assert!(check(&post, &[], false), "a program need not");
        assert!(!check(&get, &[("sec-fetch-site", "cross-site")], true));
        assert!(!check(&post, &[("sec-fetch-site", "same-site")], true));
        assert!(check(&post, &[("sec-fetch-site", "same-origin")], true));
        assert!(check(&get, &[("sec-fetch-site", "none")], true));
    }
}
