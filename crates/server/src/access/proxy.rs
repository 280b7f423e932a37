//! A proxy that has signed somebody in and says who it is.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName};

/// Which header of which proxy names the user. From any other address the header means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardedUser {
    header: HeaderName,
    from: IpAddr,
}

impl ForwardedUser {
    /// The header of this name, from the proxy at this address; nothing where it is no name of a header.
    pub fn new(header: &str, from: IpAddr) -> Option<Self> {
        Some(Self { header: header.parse().ok()?, from })
    }

    /// Whom the proxy names; nobody where the request comes from elsewhere, or where several are named.
    pub(super) fn user(&self, headers: &HeaderMap, peer: IpAddr) -> Option<String> {
        let mut values = headers.get_all(&self.header).into_iter();
        let (value, more) = (values.next()?, values.next());
        let name = value.to_str().ok().map(str::trim).filter(|name| !name.is_empty())?;
        (peer.to_canonical() == self.from.to_canonical() && more.is_none()).then(|| name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_the_named_proxy_is_believed_and_only_one_name() {
        let proxy = ForwardedUser::new("X-Forwarded-User", "10.0.0.1".parse().unwrap()).unwrap();
        assert_eq!(ForwardedUser::new("no header", "10.0.0.1".parse().unwrap()), None);
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
}
