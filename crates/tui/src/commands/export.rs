//! `/export`: the conversation into a file, and never over one that somebody else wrote.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use charla::Failure;
use charla::models::Prices;
use charla::session::ExportForm;
use charla_proto::text::one_line;

use super::work::{Errand, Finding, Found, plain};

/// Begins the words behind `/export` where a file is to be overwritten.
const OVER: char = '!';

/// The files that were written here, each with a sum of what was written.
#[derive(Clone, Debug, Default)]
pub struct Exports(Arc<Mutex<BTreeMap<PathBuf, u64>>>);

impl Exports {
    /// Writes a file. One that is there is replaced where it is as it was written here, or with `over`.
    fn write(&self, path: &Path, text: &str, over: bool) -> Result<(), Failure> {
        let refused = |error: std::io::Error| {
            Failure::input(format!("{} cannot be written: {error}", one_line(&path.to_string_lossy())))
        };
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match std::fs::OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(mut file) => file.write_all(text.as_bytes()).map_err(refused)?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if !over && !is_as_written(path, written.get(path)) {
                    return Err(is_there(path));
                }
                std::fs::write(path, text).map_err(refused)?;
            }
            Err(error) => return Err(refused(error)),
        }
        written.insert(path.to_owned(), sum(text.as_bytes()));
        Ok(())
    }
}

fn is_as_written(path: &Path, written: Option<&u64>) -> bool {
    written.is_some_and(|written| std::fs::read(path).is_ok_and(|held| sum(&held) == *written))
}

fn sum(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

fn is_there(path: &Path) -> Failure {
    let shown = one_line(&path.to_string_lossy());
    let name = one_line(&path.file_name().unwrap_or_default().to_string_lossy());
    Failure::input(format!(
        "{shown} is there already, and was not written by /export here: nothing was written. Take another name, or \
         `/export! {name}` to overwrite it"
    ))
}

impl Errand {
    /// The conversation into a file; its form is that of the name's ending.
    pub async fn export(self, words: String) -> Finding {
        let (session, id) = self.session.ok_or_else(|| Failure::input("there is no session yet"))?;
        let (file, over) = match words.strip_prefix(OVER) {
            Some(file) => (file.trim(), true),
            None => (words.as_str(), false),
        };
        let usual = || format!("charla-{}.md", id.chars().take(8).collect::<String>());
        let name = if file.is_empty() { usual() } else { file.to_owned() };
        let environment = self.charla.environment();
        let path = environment.expand(&name, &environment.directory);
        let form = ExportForm::of_file(&path).ok_or_else(|| {
            Failure::input(format!("{} names no form: .md, .json or .html does", one_line(&name)))
        })?;
        if let Some((now, _)) = session.snapshot().await
            && now.contents.is_empty()
            && now.client_calls.is_empty()
        {
            return Err(Failure::input("nothing was said yet: there is nothing to export"));
        }
        let text = self.charla.sessions()?.export(&id, form, &Prices::new(&self.settings)).await?;
        let (exports, place) = (self.exports, path.clone());
        let writing = tokio::task::spawn_blocking(move || exports.write(&place, &text, over));
        writing.await.unwrap_or_else(|_| Err(Failure::system("writing broke off")))?;
        Ok(Found::Lines(plain(&format!("written to {}", path.display()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_only_as_it_was_written_here_or_by_force() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("talk.md");
        let (exports, held) = (Exports::default(), || std::fs::read_to_string(&path).unwrap());
        std::fs::write(&path, "mine").unwrap();
        let refused = exports.write(&path, "one", false).unwrap_err().to_string();
        assert!(refused.contains("/export! talk.md") && held() == "mine", "{refused}");
        exports.write(&path, "one", true).unwrap();
        exports.write(&path, "two", false).unwrap();
        assert_eq!(held(), "two");
        std::fs::write(&path, "two, corrected").unwrap();
        assert!(exports.write(&path, "three", false).is_err());
        assert_eq!(held(), "two, corrected");
    }
}
