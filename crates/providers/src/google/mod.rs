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
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

#[cfg(test)]
mod tests;
