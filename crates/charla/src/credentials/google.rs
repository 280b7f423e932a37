//! Google's application default credentials, for Vertex AI, and logging in for them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use charla_providers::Client;
use charla_providers::google::{Credentials, Login, LoginOptions, OAuthClient};
use secrecy::ExposeSecret;
use serde_json::json;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::settings::Settings;
use crate::{network, private_file};

const VARIABLE: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// Where a login of ours is kept, in Charla's own folder.
const KEPT: &str = "google-credentials.json";

/// How long a person may take in the browser.
const PATIENCE: Duration = Duration::from_secs(300);

/// A login that waits for a person in a browser.
pub struct PendingLogin {
    login: Login,
    client: Client,
    folder: PathBuf,
}

impl PendingLogin {
    /// Begins one, with the user's own OAuth client.
    pub async fn start(settings: &Settings, environment: &Environment) -> Result<Self, Failure> {
        let variable = |name: &str| {
            environment.variable(name).map(str::to_owned).ok_or_else(|| {
                Failure::auth(format!("${name} is not set")).with_hint(
                    "make an OAuth client of the kind \"desktop app\" in the Google Cloud console and export its id and secret",
                )
            })
        };
        let oauth = OAuthClient {
            id: variable("GOOGLE_OAUTH_CLIENT_ID")?,
            secret: variable("GOOGLE_OAUTH_CLIENT_SECRET")?.into(),
        };
        let folder = environment.charla_home().ok_or_else(|| {
            Failure::config("there is no home directory to keep the login in").with_hint("set CHARLA_HOME")
        })?;
        let client = network::client(settings, environment, true)?;
        let login = Login::start(oauth, LoginOptions::default()).await;
        let login = login.map_err(|error| Failure::from(&error))?;
        Ok(Self { login, client, folder })
    }

    /// What the person opens.
    pub fn url(&self) -> &str {
        self.login.url()
    }

    /// Waits for the person and keeps the permission; says where.
    pub async fn finish(self) -> Result<PathBuf, Failure> {
        match tokio::time::timeout(PATIENCE, self.login.finish(&self.client)).await {
            Ok(credentials) => keep(&credentials.map_err(|error| Failure::from(&error))?, &self.folder),
            Err(_) => Err(Failure::auth("nobody logged in within five minutes")),
        }
    }
}

/// Writes a login to a file only its owner can read.
fn keep(credentials: &Credentials, folder: &Path) -> Result<PathBuf, Failure> {
    let Credentials::AuthorizedUser { client_id, client_secret, refresh_token, token_uri } = credentials
    else {
        return Err(Failure::system("only a person's login is kept"));
    };
    let text = json!({
        "type": "authorized_user",
        "client_id": client_id,
        "client_secret": client_secret.expose_secret(),
        "refresh_token": refresh_token.expose_secret(),
        "token_uri": token_uri,
    });
    let path = folder.join(KEPT);
    private_file::write(&path, &text.to_string())
        .map_err(|error| Failure::system(format!("cannot write {}: {error}", path.display())))?;
    Ok(path)
}

/// The credentials and where they were found; `None` when there are none. A file that is named but
/// cannot be used is a failure.
pub(crate) fn default_credentials(
    environment: &Environment,
) -> Result<Option<(Credentials, PathBuf)>, Failure> {
    let named = environment.variable(VARIABLE).map(PathBuf::from);
    let path = match named.clone().or_else(|| kept_file(environment)).or_else(|| gcloud_file(environment)) {
        Some(path) => path,
        None => return Ok(None),
    };
    let text = std::fs::read_to_string(&path).map_err(|error| {
        let source = if named.is_some() { format!("${VARIABLE}: ") } else { String::new() };
        Failure::auth(format!("{source}cannot read {}: {error}", path.display()))
    })?;
    match Credentials::from_json(&text) {
        Ok(credentials) => Ok(Some((credentials, path))),
        Err(error) => {
            let failure = Failure::auth(format!("{}: {}", path.display(), error.message));
            Err(failure.with_hint(Hint::LogInToGoogle))
        }
    }
}

/// What [`PendingLogin::finish`] keeps.
fn kept_file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.charla_home()?.join(KEPT)).filter(|path| path.exists())
}

/// What `gcloud auth application-default login` writes.
fn gcloud_file(environment: &Environment) -> Option<PathBuf> {
    let folder = match environment.variable("CLOUDSDK_CONFIG") {
        Some(folder) => PathBuf::from(folder),
        None => environment.home.as_ref()?.join(".config").join("gcloud"),
    };
    Some(folder.join("application_default_credentials.json")).filter(|path| path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_file_that_is_missing_is_an_auth_failure_and_none_at_all_is_not() {
        assert!(default_credentials(&Environment::default()).unwrap().is_none());
        let environment = Environment::of([(VARIABLE, "/nowhere/credentials.json")]);
        let failure = default_credentials(&environment).unwrap_err();
        assert_eq!(failure.kind, crate::failure::FailureKind::Auth);
        assert!(failure.message.starts_with("$GOOGLE_APPLICATION_CREDENTIALS: cannot read"), "{failure}");
    }

    #[test]
    fn a_login_is_kept_privately_and_found_before_gclouds() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let text = r#"{"type":"authorized_user","client_id":"i","client_secret":"s","refresh_token":"r"}"#;
        let path = keep(&Credentials::from_json(text).unwrap(), &home).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let environment = Environment::of([("CHARLA_HOME", home.to_str().unwrap())]);
        let (credentials, found) = default_credentials(&environment).unwrap().unwrap();
        let Credentials::AuthorizedUser { refresh_token, .. } = credentials else { panic!("no user") };
        assert_eq!((refresh_token.expose_secret(), found), ("r", path));
    }

    #[test]
    fn the_file_of_gcloud_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("application_default_credentials.json");
        let text = r#"{"type":"authorized_user","client_id":"i","client_secret":"s","refresh_token":"r"}"#;
        std::fs::write(&file, text).unwrap();
        let environment = Environment::of([("CLOUDSDK_CONFIG", folder.path().to_str().unwrap())]);
        let (credentials, path) = default_credentials(&environment).unwrap().unwrap();
        assert!(matches!(credentials, Credentials::AuthorizedUser { .. }));
        assert_eq!(path, file);
    }
}
