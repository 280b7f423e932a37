//! Addresses from the environment, in the form that endpoints want.

use std::net::IpAddr;

/// A base URL as people export it, made into one that a wire's paths can be added to.
///
/// Vendors' own tools add a version to the address themselves, each in its own way; `suffix` is what the
/// vendor of this variable adds. An address that already ends in a version is left alone. Without a
/// scheme a local server is reached by `http`, everything else by `https`.
pub fn base_url(address: &str, suffix: &str, local: bool) -> Result<String, String> {
    let address = address.trim().trim_end_matches('/');
    let mut url = match address.split_once("://") {
        Some(("http" | "https", rest)) if !rest.is_empty() => address.to_owned(),
        Some(_) => return Err(format!("\"{address}\" is no http or https address")),
        None if address.is_empty() || address.contains(char::is_whitespace) || address.ends_with(':') => {
            return Err(format!("\"{address}\" is no address"));
        }
        None if local => format!("http://{address}"),
        None => format!("https://{address}"),
    };
    // A server listens on this address, but nobody can connect to it everywhere.
    url = url.replacen("://0.0.0.0", "://127.0.0.1", 1);
    if !suffix.is_empty() && !ends_in_version(&url) {
        url.push_str(suffix);
    }
    Ok(url)
}

fn ends_in_version(url: &str) -> bool {
    let last = url.rsplit('/').next().unwrap_or_default();
    last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The address without user name, password and query, for showing it.
pub(crate) fn without_secrets(url: &str) -> String {
    let (before, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = match rest.split_once('/') {
        Some((authority, path)) => (authority, format!("/{path}")),
        None => (rest, String::new()),
    };
    let host = authority.rsplit('@').next().unwrap_or_default();
    let user = if authority.contains('@') { "…@" } else { "" };
    format!("{before}{user}{host}{path}")
}

/// True for an address on this machine or in its private network: there runs a server of one's own.
pub(crate) fn is_local_network(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    let bare = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    };
    match bare.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => {
            address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_unspecified()
        }
        Ok(IpAddr::V6(address)) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
        Err(_) => {
            let private = [".localhost", ".local", ".lan", ".internal", ".home.arpa"];
            !bare.is_empty() && (!bare.contains('.') || private.iter().any(|end| bare.ends_with(end)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendor_address_gets_the_version_its_own_tools_add() {
        let gemini = |address| base_url(address, "/v1beta", false);
        assert_eq!(gemini("https://proxy.example/"), Ok("https://proxy.example/v1beta".into()));
        assert_eq!(gemini("https://proxy.example/v1"), Ok("https://proxy.example/v1".into()));
        assert_eq!(gemini("http://127.0.0.1:9/v1beta/"), Ok("http://127.0.0.1:9/v1beta".into()));
        let anthropic = |address| base_url(address, "/v1", false);
        assert_eq!(anthropic("https://proxy.example/claude"), Ok("https://proxy.example/claude/v1".into()));
        assert_eq!(
            base_url("http://localhost:8000/v1", "", false),
            Ok("http://localhost:8000/v1".into()),
            "OPENAI_BASE_URL has its version already"
        );
    }

    #[test]
    fn a_host_as_ollama_writes_it_becomes_an_address() {
        let ollama = |address| base_url(address, "/v1", true);
        assert_eq!(ollama("0.0.0.0:11434"), Ok("http://127.0.0.1:11434/v1".into()));
        assert_eq!(ollama("gpu.lan:11434"), Ok("http://gpu.lan:11434/v1".into()));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        assert!(base_url("ftp://example", "", false).is_err());
        assert!(base_url("not an address", "", false).is_err());
        assert!(base_url("https://", "", false).is_err());
    }

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        assert_eq!(without_secrets("http://ada:pw@proxy:3128/x?key=1"), "http://…@proxy:3128/x");
        assert_eq!(without_secrets("https://api.example/v1"), "https://api.example/v1");
    }

    #[test]
    fn addresses_of_this_machine_and_its_network_are_local() {
        let local = [
            "http://127.0.0.1:8080/v1",
            "http://localhost/v1",
            "http://user:pw@10.0.0.7:1/v1",
            "http://192.168.1.2",
            "http://[::1]:8000/v1",
            "http://[fd00::1]/v1",
            "http://gpu:8000/v1",
            "http://gpu.lan/v1",
            "https://host.docker.internal:1/v1",
        ];
        local.into_iter().for_each(|url| assert!(is_local_network(url), "{url}"));
        let far =
            ["https://api.example.com/v1", "http://8.8.8.8/v1", "http://[2001:db8::1]/v1", "https:///v1"];
        far.into_iter().for_each(|url| assert!(!is_local_network(url), "{url}"));
    }
}
