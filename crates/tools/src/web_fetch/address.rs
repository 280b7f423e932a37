//! Which addresses may be fetched: those of the public internet.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Why an address is not fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("only http and https addresses can be fetched")]
    Scheme,
    #[error("an address with a user name or password in it is not fetched")]
    Credentials,
    #[error("the address has no host")]
    NoHost,
    #[error("{0} is not on the public internet; private, local and reserved addresses are not fetched")]
    NotPublic(String),
}

/// Lets addresses of the public internet pass, and in tests one port of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gate {
    pub(super) loopback_port: Option<u16>,
}

impl Gate {
    /// Checks what can be checked before the name is looked up. Numbers in any notation (`0x7f.1`,
    /// `2130706433`) have become plain ones when the address was read.
    pub(super) fn check(&self, url: &Url) -> Result<(), Refusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refusal::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::Credentials);
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(Refusal::NoHost)?;
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match literal {
            Err(_) => Ok(()),
            Ok(address) if is_public(address) => Ok(()),
            Ok(address) if address.is_loopback() && self.loopback_port == url.port_or_known_default() => {
                Ok(())
            }
            Ok(_) => Err(Refusal::NotPublic(host.to_owned())),
        }
    }
}

/// True for an address of the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Ranges that are not the public internet, as first address and prefix length.
const RESERVED_V4: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Link-local; the metadata services of most clouds live here.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
    // Looks public, but is a cloud's own service for its machines.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    !RESERVED_V4.iter().any(|(network, length)| {
        let shift = 32 - length;
        address.to_bits() >> shift == network.to_bits() >> shift
    })
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let low = || Ipv4Addr::from_bits((u32::from(segments[6]) << 16) | u32::from(segments[7]));
    let second = || Ipv4Addr::from_bits((u32::from(segments[1]) << 16) | u32::from(segments[2]));
    match segments {
        // IPv4 addresses in IPv6 clothes: mapped, translated (two forms), and 6to4.
        [0, 0, 0, 0, 0, 0xffff, _, _] | [0, 0, 0, 0, 0xffff, 0, _, _] => is_public_v4(low()),
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => is_public_v4(low()),
        [0x2002, ..] => is_public_v4(second()),
        // Teredo, documentation, benchmarking and other special ranges in the public block.
        [0x2001, second, ..] if second < 0x200 => false,
        [0x2001, 0xdb8, ..] | [0x3fff, ..] => false,
        // Only 2000::/3 is given out to the public internet: this leaves out ::, ::1, private, link-local
        // and site-local addresses, local translation prefixes and multicast.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Looks names up and hands out only addresses that may be fetched. The connection goes to what is handed
/// out: a name that has another address the next time gains nothing.
#[derive(Clone)]
pub(super) struct PublicResolver {
    lookup: Arc<dyn Fn(String) -> Lookup + Send + Sync>,
}

impl PublicResolver {
    /// Asks the system.
    pub(super) fn system() -> Self {
        Self::new(|name| {
            Box::pin(async move {
                let found = tokio::net::lookup_host((name, 0)).await?;
                Ok(found.map(|address| address.ip()).collect())
            })
        })
    }

    pub(super) fn new(lookup: impl Fn(String) -> Lookup + Send + Sync + 'static) -> Self {
        Self { lookup: Arc::new(lookup) }
    }
}

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = (self.lookup)(name.as_str().to_owned());
        Box::pin(async move {
            let addresses = found.await?;
            // One private address is enough to refuse: such a name is a trick, or an inside name.
            if let Some(private) = addresses.iter().find(|address| !is_public(**address)) {
                let what = format!("{} ({private})", name.as_str());
                return Err(Box::new(Refusal::NotPublic(what)).into());
            }
            let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str) -> Result<(), Refusal> {
        Gate::default().check(&Url::parse(url).unwrap())
    }

    #[test]
    fn addresses_that_are_not_public_are_refused_in_every_notation() {
        let refused = [
            "127.0.0.1",
            "127.1",
            "0x7f.1",
            "0177.0.0.1",
            "2130706433",
            "0x7f000001",
            "127.255.255.254",
            "0.0.0.0",
            "0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "0xa9fea9fe",
            "100.64.0.1",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[::127.0.0.1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::ffff:10.0.0.1]",
            "[::ffff:169.254.169.254]",
            "[::ffff:0:127.0.0.1]",
            "[64:ff9b::127.0.0.1]",
            "[64:ff9b::a9fe:a9fe]",
            "[64:ff9b:1::1]",
            "[2002:7f00:1::]",
            "[2002:a9fe:a9fe::1]",
            "[2001::1]",
            "[2001:db8::1]",
            "[fc00::1]",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "[fec0::1]",
            "[ff02::1]",
            "[100::1]",
            "[5f00::1]",
            "１２７.0.0.1",
            "127。0。0。1",
            "①②⑦.⓪.⓪.①",
        ];
        for host in refused {
            let refusal = check(&format!("http://{host}/latest")).unwrap_err();
            assert!(matches!(refusal, Refusal::NotPublic(_)), "{host}: {refusal}");
        }
    }

    #[test]
    fn public_addresses_and_names_pass() {
        for host in
            ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "[2606:4700::1111]", "[::ffff:8.8.8.8]"]
        {
            assert_eq!(check(&format!("https://{host}/")), Ok(()), "{host}");
        }
        assert_eq!(check("https://example.com:8443/x"), Ok(()));
    }

    #[test]
    fn other_schemes_and_credentials_are_refused() {
        assert_eq!(check("ftp://example.com/"), Err(Refusal::Scheme));
        assert_eq!(check("file:///etc/passwd"), Err(Refusal::Scheme));
        assert_eq!(check("http://user:secret@example.com/"), Err(Refusal::Credentials));
        assert_eq!(check("http://user@example.com/"), Err(Refusal::Credentials));
    }

    #[test]
    fn the_switch_opens_one_port_of_this_machine_and_nothing_else() {
        let gate = Gate { loopback_port: Some(4000) };
        let check = |url: &str| gate.check(&Url::parse(url).unwrap()).is_ok();
        assert!(check("http://127.0.0.1:4000/") && check("http://[::1]:4000/"));
        assert!(!check("http://127.0.0.1:4001/") && !check("http://127.0.0.1/"));
        assert!(!check("http://10.0.0.1:4000/") && !check("http://[::ffff:10.0.0.1]:4000/"));
    }

    #[tokio::test]
    async fn a_name_with_any_private_address_is_refused_when_it_is_looked_up() {
        let cases = [
            (vec!["8.8.8.8"], true),
            (vec!["127.0.0.1"], false),
            (vec!["8.8.8.8", "10.0.0.1"], false),
            (vec!["::ffff:192.168.0.1"], false),
        ];
        for (addresses, passes) in cases {
            let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
            let resolver = PublicResolver::new(move |_| {
                let addresses = addresses.clone();
                Box::pin(async move { Ok(addresses) })
            });
            let found = resolver.resolve("trick.example".parse().unwrap()).await;
            assert_eq!(found.is_ok(), passes);
        }
        let local = PublicResolver::system().resolve("localhost".parse().unwrap()).await;
        assert!(local.err().unwrap().to_string().contains("not on the public internet"));
    }
}
