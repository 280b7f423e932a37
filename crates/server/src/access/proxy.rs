//! A proxy in front: it says where a request comes from, and, where it has signed somebody in, who it is.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName};

/// Where proxies write whom they take a request from, each behind those before.
const CAME_FROM: &str = "x-forwarded-for";

/// A proxy that is believed. From any other address its headers mean nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    address: IpAddr,
    /// The header that names the user.
    user: Option<HeaderName>,
}

impl Proxy {
    /// The proxy at this address.
    pub fn new(address: IpAddr) -> Self {
        Self { address: address.to_canonical(), user: None }
    }

    /// The same, which names users in this header; nothing where it is no name of a header.
    pub fn naming_users(self, header: &str) -> Option<Self> {
        Some(Self { user: Some(header.parse().ok()?), ..self })
    }

    fn is(&self, address: IpAddr) -> bool {
        address.to_canonical() == self.address
    }

    /// Whom the proxy names; nobody where the request comes from elsewhere, or where several are named.
    pub(super) fn user(&self, headers: &HeaderMap, peer: IpAddr) -> Option<String> {
        let mut values = headers.get_all(self.user.as_ref()?).into_iter();
        let (value, more) = (values.next()?, values.next());
        let name = value.to_str().ok().map(str::trim).filter(|name| !name.is_empty())?;
        (self.is(peer) && more.is_none()).then(|| name.to_owned())
    }

    /// Where a request comes from that `peer` sends. What the proxy itself wrote is believed: the last address that is not its own. What stands
    /// before, anybody may have written.
    fn client(&self, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
        if !self.is(peer) {
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
