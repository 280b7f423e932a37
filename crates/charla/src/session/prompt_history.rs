//! What a person sent before, kept for each folder: for front ends in which they can go back to it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::environment::Environment;

/// More are not read again.
const MOST: usize = 1000;
/// A prompt that is longer is not kept: it was hardly typed.
const LONGEST: usize = 64 * 1024;

/// The prompts that were sent in one folder. Blocks on the disk.
#[derive(Clone, Debug)]
pub struct PromptHistory {
    /// Nowhere without a home.
    path: Option<PathBuf>,
}

impl PromptHistory {
    /// Those of this workspace.
    pub fn of(environment: &Environment) -> Self {
        let name = |folder: &Path| {
            let hash = Sha256::digest(folder.as_os_str().as_encoded_bytes());
            hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let home = environment.charla_home();
        let path =
            home.map(|home| home.join("history").join(format!("{}.jsonl", name(&environment.directory))));
        Self { path }
    }

    /// The prompts, the latest last; none where they cannot be read. A line that is damaged is left out.
    pub fn read(&self) -> Vec<String> {
        let Some(file) = self.path.as_ref().and_then(|path| std::fs::File::open(path).ok()) else {
            return Vec::new();
        };
        let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
        let mut prompts: Vec<String> = lines.filter_map(|line| serde_json::from_slice(&line).ok()).collect();
        prompts.drain(..prompts.len().saturating_sub(MOST));
        prompts
    }

    /// Keeps one more. Where nothing can be kept nothing is.
    pub fn add(&self, prompt: &str) -> std::io::Result<()> {
        let Some(path) = self.path.as_ref().filter(|_| prompt.len() <= LONGEST) else { return Ok(()) };
        if let Some(folder) = path.parent() {
            crate::private_file::make_folder(folder)?;
        }
        let mut options = std::fs::OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let line = format!("{}\n", serde_json::Value::from(prompt));
        // In one write: another process may add at the same time.
        options.open(path)?.write_all(line.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_kept_for_their_folder() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::of([("CHARLA_HOME", home.path())]);
        let here = PromptHistory::of(&environment.in_workspace("/a"));
        here.add("one\ntwo").unwrap();
        here.add("three").unwrap();
        here.add(&"x".repeat(LONGEST + 1)).unwrap();
        let path = here.path.clone().unwrap();
        #[cfg(unix)]
        {
            let folder = path.parent().unwrap().metadata().unwrap();
            assert_eq!(std::os::unix::fs::PermissionsExt::mode(&folder.permissions()) & 0o777, 0o700);
        }
        let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(b"damaged\n").unwrap();
        assert_eq!(here.read(), ["one\ntwo", "three"]);
        assert!(PromptHistory::of(&environment.in_workspace("/b")).read().is_empty());
        assert!(PromptHistory::of(&Environment::default()).read().is_empty());
    }
}
