//! Folders that a user of Gemini CLI trusts, in its own `trustedFolders.json`. They are asked about where its settings want that;
//! what a workspace may do here is judged by its content all the same.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::gemini::folder_trust;
use crate::bounded;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::private_file;

/// What a folder is called that is trusted with all below it.
const TRUSTED: &str = "TRUST_FOLDER";

/// The folders that Gemini CLI asks about, of a user who has `security.folderTrust.enabled`.
#[derive(Debug)]
pub struct TrustedFolders {
    path: PathBuf,
}

impl TrustedFolders {
    /// Nothing where the user's own settings of Gemini CLI do not want folders to be asked about.
    pub fn of(environment: &Environment) -> Option<Self> {
        let wanted = folder_trust(environment) == Some(true);
        Some(Self { path: environment.gemini_home().filter(|_| wanted)?.join("trustedFolders.json") })
    }

    /// True when the folder, with no link on the way, or one that it lies in, is trusted. The nearest one that is named counts.
    pub fn trusts(&self, folder: &Path) -> Result<bool, Failure> {
        let real = real(folder)?;
        let rules = self.read()?;
        let nearest = rules.iter().filter_map(|(path, level)| {
            let path = Path::new(path);
            let top = if level == "TRUST_PARENT" { path.parent()? } else { path };
            real.starts_with(top).then(|| (top.components().count(), level))
        });
        let nearest = nearest.max_by_key(|(depth, level)| (*depth, *level == "DO_NOT_TRUST"));
        Ok(nearest.is_some_and(|(_, level)| level == TRUSTED || level == "TRUST_PARENT"))
    }

    /// Writes down that the folder is trusted: by its real path, so that a link that leads elsewhere later is a stranger.
    pub fn trust(&self, folder: &Path) -> Result<(), Failure> {
        let cannot = |error| Failure::system(format!("cannot write {}: {error}", self.path.display()));
        let _turn = private_file::own_turn(&self.path).map_err(cannot)?;
        let mut rules = self.read()?;
        rules.insert(real(folder)?.to_string_lossy().into_owned(), TRUSTED.into());
        let text = format!("{:#}\n", Value::Object(rules));
        private_file::write(&self.path, &text).map_err(cannot)
    }

    fn read(&self) -> Result<Map<String, Value>, Failure> {
        let failed = |why: String| Failure::config(format!("cannot read {}: {why}", self.path.display()));
        if !self.path.exists() {
            return Ok(Map::new());
        }
        let text = bounded::text(&self.path).map_err(|error| failed(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| failed(error.to_string()))
    }
}

fn real(folder: &Path) -> Result<PathBuf, Failure> {
    folder.canonicalize().map_err(|error| Failure::input(format!("{}: {error}", folder.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_folder_that_is_named_counts_and_links_do_not() {
        let home = tempfile::tempdir().unwrap();
        let base = home.path().canonicalize().unwrap();
        let folder = |name: &str| {
            std::fs::create_dir_all(base.join(name)).unwrap();
            base.join(name)
        };
        let (inner, aside, other) = (folder("a/b/c"), folder("a/no"), folder("other"));
        std::fs::create_dir_all(base.join(".gemini")).unwrap();
        let settings = |enabled: &str| {
            let text = format!(r#"{{"security": {{"folderTrust": {{"enabled": {enabled}}}}}}}"#);
            std::fs::write(base.join(".gemini/settings.json"), text).unwrap();
        };
        let mut environment = Environment::of::<&str, &str>([]);
        environment.home = Some(base.clone());
        for off in ["false", "null"] {
            settings(off);
            assert!(TrustedFolders::of(&environment).is_none());
        }
        settings("true");
        let folders = TrustedFolders::of(&environment).unwrap();
        assert!(!folders.trusts(&inner).unwrap());
        let rules = [(base.join("a/b"), "TRUST_PARENT"), (aside.clone(), "DO_NOT_TRUST")];
        let rules = rules.map(|(path, level)| (path.display().to_string(), Value::from(level)));
        let rules = Value::Object(rules.into_iter().collect());
        std::fs::write(base.join(".gemini/trustedFolders.json"), rules.to_string()).unwrap();
        assert!(folders.trusts(&inner).unwrap() && !folders.trusts(&aside).unwrap());
        assert!(!folders.trusts(&other).unwrap());
        let link = base.join("link");
        std::os::unix::fs::symlink(&inner, &link).unwrap();
        assert!(folders.trusts(&link).unwrap());
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
        assert!(!folders.trusts(&link).unwrap());
        folders.trust(&link).unwrap();
        assert!(folders.trusts(&other).unwrap() && !folders.trusts(&aside).unwrap());
        std::fs::write(base.join(".gemini/trustedFolders.json"), "[").unwrap();
        assert!(folders.trusts(&other).is_err() && folders.trust(&other).is_err());
    }
}
