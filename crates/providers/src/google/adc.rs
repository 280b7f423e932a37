//! The credentials file.

use charla_proto::{LlmError, LlmErrorKind};
use secrecy::SecretString;
use serde::Deserialize;

use super::TOKEN_URI;

/// Who we are to Google.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A person who logged in: a refresh token of an OAuth client.
    AuthorizedUser {
        /// The OAuth client.
        client_id: String,
        /// Its secret.
        client_secret: SecretString,
        /// The person's standing permission.
        refresh_token: SecretString,
        /// Where it is exchanged.
        token_uri: String,
    },
    /// A service account with its private key.
    ServiceAccount {
        /// The account.
        client_email: String,
        /// Its key, PKCS#8 PEM.
        private_key: SecretString,
        /// The key's id.
        private_key_id: Option<String>,
        /// Where assertions are exchanged.
        token_uri: String,
    },
    /// The account of the Google machine we run on.
    MetadataServer {
        /// Host and port, normally `metadata.google.internal`.
        host: String,
    },
}

#[derive(Deserialize)]
struct File {
    #[serde(rename = "type")]
    kind: String,
    client_id: Option<String>,
    client_secret: Option<String>,
    refresh_token: Option<String>,
    client_email: Option<String>,
    private_key: Option<String>,
    private_key_id: Option<String>,
    token_uri: Option<String>,
}

impl Credentials {
    /// Reads a credentials file's text.
    pub fn from_json(text: &str) -> Result<Self, LlmError> {
        let file: File = serde_json::from_str(text)
            .map_err(|error| config(format!("the Google credentials file cannot be read: {error}")))?;
        let need = |field: Option<String>, name: &str| {
            field
                .filter(|text| !text.is_empty())
                .ok_or_else(|| config(format!("the Google credentials file ({}) has no `{name}`", file.kind)))
        };
        let token_uri = file.token_uri.clone().unwrap_or_else(|| TOKEN_URI.to_owned());
        match file.kind.as_str() {
            "authorized_user" => Ok(Self::AuthorizedUser {
                client_id: need(file.client_id.clone(), "client_id")?,
                client_secret: need(file.client_secret.clone(), "client_secret")?.into(),
                refresh_token: need(file.refresh_token.clone(), "refresh_token")?.into(),
                token_uri,
            }),
            "service_account" => Ok(Self::ServiceAccount {
                client_email: need(file.client_email.clone(), "client_email")?,
                private_key: need(file.private_key.clone(), "private_key")?.into(),
                private_key_id: file.private_key_id.clone(),
                token_uri,
            }),
            other => Err(config(format!("Google credentials of type `{other}` are not supported"))
                .with_hint(
                    "use `gcloud auth application-default login`, a service account key, or a token command",
                )),
        }
    }
}

pub(super) fn config(message: String) -> LlmError {
    LlmError::new(LlmErrorKind::Auth, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_file_are_read_and_mistakes_are_named() {
        let user = r#"{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"}"#;
        assert!(matches!(Credentials::from_json(user), Ok(Credentials::AuthorizedUser { .. })));
        let account =
            r#"{"type":"service_account","client_email":"a@b","private_key":"PEM","token_uri":"http://x"}"#;
        let Ok(Credentials::ServiceAccount { token_uri, .. }) = Credentials::from_json(account) else {
            panic!("not a service account");
        };
        assert_eq!(token_uri, "http://x");
        let message = |text: &str| Credentials::from_json(text).unwrap_err().message;
        assert!(message(r#"{"type":"authorized_user","client_id":"c"}"#).contains("`client_secret`"));
        assert!(message(r#"{"type":"external_account"}"#).contains("external_account"));
        assert!(message("nonsense").contains("cannot be read"));
    }

    #[test]
    fn secrets_do_not_show_in_debug_output() {
        let user =
            r#"{"type":"authorized_user","client_id":"c","client_secret":"hush1","refresh_token":"hush2"}"#;
        assert!(!format!("{:?}", Credentials::from_json(user)).contains("hush"));
    }
}
