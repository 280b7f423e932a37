//! Google's application default credentials, for Vertex AI.

use std::path::PathBuf;

use charla_providers::google::Credentials;

use crate::environment::Environment;
use crate::exit::Failure;

const VARIABLE: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// The credentials and where they were found; `None` when there are none. A file that is named but
/// cannot be used is a failure.
pub fn default_credentials(environment: &Environment) -> Result<Option<(Credentials, PathBuf)>, Failure> {
    let named = environment.variable(VARIABLE).map(PathBuf::from);
    let path = match named.clone().or_else(|| gcloud_file(environment)) {
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
            Err(failure.with_hint("make a new one: gcloud auth application-default login"))
        }
    }
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
        assert!(default_credentials(&Environment::of([])).unwrap().is_none());
        let environment = Environment::of([(VARIABLE, "/nowhere/credentials.json")]);
        let failure = default_credentials(&environment).unwrap_err();
        assert_eq!(failure.code, charla_proto::exit::AUTH);
        assert!(failure.message.starts_with("$GOOGLE_APPLICATION_CREDENTIALS: cannot read"), "{failure}");
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
