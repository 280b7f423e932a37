//! Where a server is, and what opens it.

use std::net::IpAddr;

use charla::credentials::Keys;
use charla::{Environment, Failure};
use reqwest::Url;
use secrecy::SecretString;

/// The variable that holds a server's token.
const VARIABLE: &str = "CHARLA_TOKEN";

/// A server's address: scheme, host and port, such as `https://charla.example.org`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    text: String,
    is_here: bool,
}

impl ServerAddress {
    /// Reads an address. Beyond this machine it must be `https`: a token and a conversation go there.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let unusable = |why: &str| {
            Failure::input(format!("`{text}` cannot be used as a server's address: {why}"))
                .with_hint("write it as https://charla.example.org or http://127.0.0.1:4096")
        };
        let url = Url::parse(text).map_err(|error| unusable(&error.to_string()))?;
        let is_plain = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        if !is_plain || !url.username().is_empty() || url.password().is_some() {
            return Err(unusable("it is a scheme, a host and perhaps a port, and nothing more"));
        }
        let is_here = is_loopback(url.host_str().unwrap_or_default());
        match url.scheme() {
            "https" => {}
            "http" if is_here => {}
            "http" => return Err(unusable("what is sent to another machine must be encrypted")),
            _ => return Err(unusable("it is neither https nor http")),
        }
        Ok(Self { text: url.as_str().trim_end_matches('/').to_owned(), is_here })
    }

    /// The address as a text, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True when the server is on this machine.
    pub fn is_here(&self) -> bool {
        self.is_here
    }

    /// True when what is sent there is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.text.starts_with("https:")
    }

    /// What its token is kept under: `charla auth set` takes this.
    pub fn key_name(&self) -> String {
        format!("server:{}", self.text)
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The token for a server: of the variable `CHARLA_TOKEN`, or kept by `charla auth set server:URL`.
pub fn token(address: &ServerAddress, environment: &Environment) -> Result<SecretString, Failure> {
    let name = address.key_name();
    match Keys::new(environment).find(&name, None, &[VARIABLE])? {
        Some(found) => Ok(found.key),
        None => Err(Failure::auth(format!("there is no token for {}", address.as_str()))
            .with_hint(format!("export {VARIABLE}=…, or keep it: charla auth set {name} < token"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_encrypted_unless_it_is_of_this_machine() {
        for (text, read) in [
            ("http://127.0.0.1:4096/", "http://127.0.0.1:4096"),
            ("http://[::1]:4096", "http://[::1]:4096"),
            ("http://LOCALHOST:1", "http://localhost:1"),
            ("https://Charla.example.org", "https://charla.example.org"),
        ] {
            let address = ServerAddress::parse(text).unwrap_or_else(|failure| panic!("{text}: {failure}"));
            assert_eq!(address.as_str(), read);
            assert_eq!(address.key_name(), format!("server:{read}"));
        }
        for text in [
            "",
            "charla.example.org",
            "http://charla.example.org",
            "http://127.0.0.1.evil.example",
            "https://user:secret@charla.example.org",
            "https://charla.example.org/path",
            "file:///etc/passwd",
        ] {
            assert!(ServerAddress::parse(text).is_err(), "{text}");
        }
    }
}
