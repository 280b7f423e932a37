//! A proxy in front: it says where a request comes from, and, where it has signed somebody in, who it is.

use std::net::{IpAddr, UdpSocket};
use std::path::Path;

use charla::Failure;
use http::{HeaderMap, HeaderName};

use super::Digest;
use crate::accounts::Book;

/// Where a proxy shows what it has in common with the server.
const SECRET: &str = "x-charla-proxy-secret";
/// How short that may be.
const SHORTEST_SECRET: usize = 16;

/// Where proxies write whom they take a request from, each behind those before.
const CAME_FROM: &str = "x-forwarded-for";

/// What to do about a proxy that others can speak for.
pub(crate) const HOW_TO_TELL_APART: &str =
    "whoever runs the server gives the proxy a secret to show, or has it on another machine";

/// A proxy that is believed. From any other address its headers mean nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    address: IpAddr,
    /// The header that names the user.
    user: Option<HeaderName>,
    /// What it shows with every request, where that was agreed on.
    secret: Option<Digest>,
    /// It is on this machine: other programs here have its address.
    is_here: bool,
}

impl Proxy {
    /// The proxy at this address.
    pub fn new(address: IpAddr) -> Self {
        let address = address.to_canonical();
        // Only addresses of this machine can be bound.
        let is_here = UdpSocket::bind((address, 0)).is_ok();
        Self { address, user: None, secret: None, is_here }
    }

    /// The same, which shows with every request what this file says, in the header `X-Charla-Proxy-Secret`.
    pub fn with_secret(self, file: &Path) -> Result<Self, Failure> {
        let secret = crate::oidc::read_secret(file)?;
        match secret.len() < SHORTEST_SECRET {
            true => Err(Failure::input(format!("the secret in {} is too short", file.display()))
                .with_hint("make one with `openssl rand -base64 32`")),
            false => Ok(Self { secret: Some(Digest::of(&secret)), ..self }),
        }
    }

    /// The same, which names users in this header; nothing where it is no name of a header.
    pub fn naming_users(self, header: &str) -> Option<Self> {
        Some(Self { user: Some(header.parse().ok()?), ..self })
    }

    pub(super) fn is(&self, address: IpAddr) -> bool {
        address.to_canonical() == self.address
    }

    /// True for what the proxy itself sent.
    fn sent(&self, headers: &HeaderMap, peer: IpAddr) -> bool {
        let shown = || headers.get(SECRET).and_then(|value| value.to_str().ok()).unwrap_or_default();
        self.is(peer) && self.secret.is_none_or(|secret| secret.is_of(shown()))
    }

    /// True where whoever runs commands with a network could name any user: they have the proxy's address.
    pub(crate) fn can_be_imitated(&self) -> bool {
        self.user.is_some() && self.secret.is_none() && self.is_here
    }

    /// True where somebody can, and has such commands.
    pub(crate) fn is_imitable(&self, book: &Book) -> bool {
        self.can_be_imitated() && book.accounts.values().any(|account| account.network)
    }

    /// Whom the proxy names; nobody where the request comes from elsewhere, or where several are named.
    pub(super) fn user(&self, headers: &HeaderMap, peer: IpAddr) -> Option<String> {
        let mut values = headers.get_all(self.user.as_ref()?).into_iter();
        let (value, more) = (values.next()?, values.next());
        let name = value.to_str().ok().map(str::trim).filter(|name| !name.is_empty())?;
        (self.sent(headers, peer) && more.is_none()).then(|| name.to_owned())
    }

    /// Where a request comes from that `peer` sends. What the proxy itself wrote is believed: the last address that is not its own. What stands
    /// before, anybody may have written.
    fn client(&self, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
        if !self.sent(headers, peer) {
            return peer;
        }
        let values = headers.get_all(CAME_FROM).into_iter().map(|value| value.to_str().unwrap_or_default());
        let hops: Vec<&str> = values.flat_map(|value| value.split(',')).map(str::trim).collect();
        for hop in hops.into_iter().rev() {
            match address(hop) {
                Some(hop) if self.is(hop) => {}
                Some(hop) => return hop,
                None => break,
            }
        }
        peer
    }
}

/// An address as proxies write it, perhaps with a port.
fn address(hop: &str) -> Option<IpAddr> {
    let parsed = hop.parse().ok().or_else(|| Some(hop.parse::<std::net::SocketAddr>().ok()?.ip()));
    parsed.or_else(|| hop.strip_prefix('[')?.strip_suffix(']')?.parse().ok())
}

/// Where a request comes from, as far as a proxy is believed.
pub(super) fn came_from(proxy: Option<&Proxy>, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
    proxy.map_or(peer, |proxy| proxy.client(headers, peer)).to_canonical()
}

/// Whose an address is, for limits. Who has one address of IPv6 has its whole network.
pub(crate) fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("{:?}", &address.segments()[..4]),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn proxy() -> Proxy {
        Proxy::new("10.0.0.1".parse().unwrap())
    }

    #[test]
    fn only_the_named_proxy_is_believed_and_only_one_name() {
        let proxy = proxy().naming_users("X-Forwarded-User").unwrap();
        assert_eq!(proxy.clone().naming_users("no header"), None);
        let mut headers = HeaderMap::new();
        let from = |headers: &HeaderMap, peer: &str| proxy.user(headers, peer.parse().unwrap());
        assert_eq!(from(&headers, "10.0.0.1"), None);
        headers.append("x-forwarded-user", HeaderValue::from_static("anna"));
        assert_eq!(from(&headers, "10.0.0.1").as_deref(), Some("anna"));
        assert_eq!(from(&headers, "::ffff:10.0.0.1").as_deref(), Some("anna"));
        assert_eq!(from(&headers, "10.0.0.2"), None);
        assert_eq!(from(&headers, "127.0.0.1"), None);
        headers.append("x-forwarded-user", HeaderValue::from_static("ben"));
        assert_eq!(from(&headers, "10.0.0.1"), None);
    }

    #[test]
    fn a_proxy_with_a_secret_is_believed_with_it_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        std::fs::write(&file, "short\n").unwrap();
        let new = || Proxy::new("127.0.0.1".parse().unwrap()).naming_users("x-user").unwrap();
        assert!(new().with_secret(&file).is_err());
        std::fs::write(&file, "0123456789abcdef\n").unwrap();
        let proxy = new().with_secret(&file).unwrap();
        let told = |secret: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert("x-user", HeaderValue::from_static("anna"));
            headers.insert(CAME_FROM, HeaderValue::from_static("1.1.1.1"));
            secret.map(|secret| headers.insert(SECRET, HeaderValue::from_static(secret)));
            let peer = "127.0.0.1".parse().unwrap();
            (proxy.user(&headers, peer), proxy.client(&headers, peer).to_string())
        };
        assert_eq!(told(Some("0123456789abcdef")), (Some("anna".to_owned()), "1.1.1.1".to_owned()));
        for wrong in [None, Some(""), Some("0123456789abcdeg")] {
            assert_eq!(told(wrong), (None, "127.0.0.1".to_owned()));
        }
        assert!(new().can_be_imitated() && !proxy.can_be_imitated());
        let elsewhere = Proxy::new("192.0.2.1".parse().unwrap()).naming_users("x-user").unwrap();
        assert!(!elsewhere.can_be_imitated(), "nobody here has its address");
        assert!(!Proxy::new("127.0.0.1".parse().unwrap()).can_be_imitated(), "it names nobody");
    }

    #[test]
    fn a_request_comes_from_the_last_address_that_is_not_the_proxys_own() {
        let from = |peer: &str, hops: &[&str]| {
            let mut headers = HeaderMap::new();
            for hop in hops {
                headers.append(CAME_FROM, HeaderValue::from_str(hop).unwrap());
            }
            came_from(Some(&proxy()), &headers, peer.parse().unwrap()).to_string()
        };
        assert_eq!(from("10.0.0.1", &["1.1.1.1, 2.2.2.2"]), "2.2.2.2", "what a client wrote is before it");
        assert_eq!(from("10.0.0.1", &["1.1.1.1", "2.2.2.2:99, 10.0.0.1"]), "2.2.2.2");
        assert_eq!(from("::ffff:10.0.0.1", &["[2001:db8::1]"]), "2001:db8::1");
        assert_eq!(from("10.0.0.1", &["1.1.1.1, nonsense"]), "10.0.0.1");
        assert_eq!(from("10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(from("10.0.0.2", &["1.1.1.1"]), "10.0.0.2", "nobody else is believed");
        assert_eq!(came_from(None, &HeaderMap::new(), "::1".parse().unwrap()).to_string(), "::1");
        assert_eq!(network("2001:db8::1".parse().unwrap()), network("2001:db8::2".parse().unwrap()));
        assert_eq!(network("::ffff:1.2.3.4".parse().unwrap()), "1.2.3.4");
    }
}
