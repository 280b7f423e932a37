//! Files that are likely to hold secrets, told by their names.

use std::path::Path;

/// Names of files that hold keys, passwords or tokens.
const NAMES: &[&str] = &[
    ".envrc",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".vault-token",
    "application_default_credentials.json",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "client_secret.json",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "master.key",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "shadow",
    "terraform.tfstate",
];

/// What the names of key files end in.
const ENDINGS: &[&str] =
    &[".jks", ".kdbx", ".key", ".keystore", ".p12", ".p8", ".pem", ".pfx", ".ppk", ".tfvars"];

/// Folders in a home that hold nothing but secrets, and the files in them that are none.
const FOLDERS: &[(&str, &[&str])] = &[
    (".ssh", &["config", "known_hosts", "authorized_keys"]),
    (".gnupg", &[]),
    (".aws", &["config"]),
    (".password-store", &[]),
];

/// Files that are secret only in their folder.
const IN_FOLDER: &[(&str, &str)] =
    &[(".docker", "config.json"), (".kube", "config"), ("gcloud", "access_tokens.db")];

/// True when a file of this name is likely to hold secrets. Only the name is looked at, so it can be asked
/// about paths that do not exist; a caller resolves links first.
pub fn looks_secret(path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    let name = name.to_string_lossy().to_lowercase();
    let folders: Vec<String> = path
        .parent()
        .iter()
        .flat_map(|parent| parent.components())
        .map(|part| part.as_os_str().to_string_lossy().to_lowercase())
        .collect();
    is_environment(&name)
        || NAMES.contains(&&*name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || is_service_account(&name)
        || FOLDERS.iter().any(|(folder, harmless)| {
            folders.iter().any(|part| part == folder)
                && !harmless.contains(&&*name)
                && !name.ends_with(".pub")
        })
        || IN_FOLDER
            .iter()
            .any(|(folder, file)| *file == name && folders.last().is_some_and(|last| last == folder))
}

/// `.env` and `.env.production`, but not `.env.example`; `staging.env` too.
fn is_environment(name: &str) -> bool {
    const TEMPLATES: &[&str] = &["example", "sample", "template", "dist", "defaults"];
    match name.strip_prefix(".env") {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix(['.', '-', '_'])
            .is_some_and(|kind| !kind.split('.').any(|word| TEMPLATES.contains(&word))),
        None => name.ends_with(".env"),
    }
}

fn is_service_account(name: &str) -> bool {
    name.ends_with(".json") && (name.contains("service-account") || name.contains("service_account"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets_from_templates_and_public_halves() {
        let secret = [
            ".env",
            "a/.env.production",
            "a/.ENV",
            "prod.env",
            "/h/.ssh/id_ed25519",
            "/h/.ssh/deploy",
            "tls/server.KEY",
            "cert.pem",
            "/h/.aws/credentials",
            "/h/.kube/config",
            "my-service-account-1.json",
            "/etc/shadow",
        ];
        for path in secret {
            assert!(looks_secret(Path::new(path)), "{path}");
        }
        let plain = [
            ".env.example",
            ".env.sample",
            "environment.rs",
            "/h/.ssh/id_rsa.pub",
            "/h/.ssh/known_hosts",
            "key.rs",
            "config",
            "keys.md",
            "/",
            "",
        ];
        for path in plain {
            assert!(!looks_secret(Path::new(path)), "{path}");
        }
    }
}
