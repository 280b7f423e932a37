//! Google credentials: what Vertex AI accepts in place of a key.
//!
//! The credentials file (application default credentials) is handed in as text; this module only talks
//! to the token endpoint that the file names, or to the metadata server of a Google machine.

mod adc;
mod jwt;
mod login;
mod source;

pub use adc::Credentials;
pub use login::{Login, LoginOptions, OAuthClient};
pub use source::GoogleTokens;

/// The scope that Vertex AI wants.
pub const CLOUD_SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// Google's token endpoint.
pub const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";

/// Writes `fields` as an HTML form body.
fn form(fields: &[(&str, &str)]) -> String {
    let mut body = String::new();
    for (name, value) in fields {
        if !body.is_empty() {
            body.push('&');
        }
        body.push_str(name);
        body.push('=');
        percent_encode(value, &mut body);
    }
    body
}

/// Appends `text` with everything but unreserved characters escaped.
fn percent_encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte as char),
            _ => {
                out.push('%');
                for nibble in [byte >> 4, byte & 15] {
                    out.extend(char::from_digit(u32::from(nibble), 16).map(|c| c.to_ascii_uppercase()));
                }
            }
        }
    }
}

/// Undoes form encoding: `+` is a blank, `%41` a byte.
fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let hex = |byte: Option<u8>| byte.and_then(|b| (b as char).to_digit(16));
                if let (Some(high), Some(low)) = (hex(rest.next()), hex(rest.next())) {
                    bytes.push((high * 16 + low) as u8);
                }
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
