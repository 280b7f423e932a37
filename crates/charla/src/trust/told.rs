//! `instructions.json`: which instructions of which folders their user was told of.
//!
//! A project's instruction files need no trust, but whoever begins to work under them should know. Once is enough, until they
//! say something else.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::environment::Environment;
use crate::private_file;

/// True when the user was not told of these instructions in this folder before; from now on they were.
pub(crate) fn is_new(environment: &Environment, folder: &Path, instructions: &str) -> bool {
    let Some(path) = environment.charla_home().map(|home| home.join("instructions.json")) else {
        return true;
    };
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    // One that cannot be read is begun anew: at worst something is told twice.
    let mut told: BTreeMap<String, String> = serde_json::from_str(&text).unwrap_or_default();
    let hash = format!("{:x}", Sha256::digest(instructions));
    if told.insert(folder.to_string_lossy().into_owned(), hash.clone()) == Some(hash) {
        return false;
    }
    if let Ok(text) = serde_json::to_string_pretty(&told) {
        let _ = private_file::write(&path, &format!("{text}\n"));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_told_once_until_they_change() {
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::of([("CHARLA_HOME", folder.path())]);
        let (here, there) = (Path::new("/here"), Path::new("/there"));
        let steps = [
            (here, "a", true),
            (here, "a", false),
            (there, "a", true),
            (here, "b", true),
            (here, "b", false),
        ];
        for (place, text, expected) in steps {
            assert_eq!(is_new(&environment, place, text), expected, "{place:?} {text}");
        }
        assert!(is_new(&Environment::default(), here, "a"), "nowhere to remember it");
    }
}
