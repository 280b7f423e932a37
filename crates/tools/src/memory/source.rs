//! Where a memory file may lie, and the reading of it: a link that is put on the way meanwhile is not followed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use charla_proto::{FileJudge, Withheld};

use crate::owner::{Owners, belongs_to_another};
use crate::paths::folder::open_regular;

/// No single file is read further than this.
const FILE_BYTES: u64 = 1024 * 1024;

/// The folders that a memory file and what it imports come from.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Real paths.
    pub(super) roots: Vec<PathBuf>,
    /// A folder whose files are brought in by an import that stands alone on its line: a person wrote that one. A fact
    /// that a model has kept is part of a list.
    pub(super) home: Option<PathBuf>,
    /// What is not for these files although it lies there, and why.
    pub(super) except: Option<(PathBuf, &'static str)>,
    /// What the roots are called.
    pub(super) name: &'static str,
    pub(super) owners: Owners,
    /// Says what must not be read although it lies there.
    pub(super) files: FileJudge,
}

impl Source {
    /// The text of a file, by its real path; else why it is left out. `alone`: nothing else stands on the line that names it.
    pub(super) fn read(&self, real: &Path, alone: bool) -> Result<String, String> {
        if let Some((folder, why)) = &self.except
            && real.starts_with(folder)
        {
            return Err((*why).to_owned());
        }
        let in_home = self.home.as_ref().is_some_and(|home| real.starts_with(home));
        let may_be_named = self.roots.iter().any(|root| real.starts_with(root)) || (in_home && alone);
        if !may_be_named {
            let remedy = if in_home { "; name it on a line of its own" } else { "" };
            return Err(format!("{} is outside {}{remedy}", real.display(), self.name));
        }
        match self.files.withheld(real) {
            Some(Withheld::Secret) => return Err("it looks like a secret".to_owned()),
            Some(Withheld::Rule { rule, denies: true }) => return Err(format!("the rule {rule} denies it")),
            Some(Withheld::Rule { rule, .. }) => return Err(format!("the rule {rule} asks about it")),
            None => {}
        }
        let file = open_regular(real).map_err(|error| error.to_string())?;
        let facts = file.metadata().map_err(|error| error.to_string())?;
        if let Some(owner) = self.owners.stranger(&facts) {
            return Err(belongs_to_another(owner));
        }
        text_of(file).map_err(|error| error.to_string())
    }
}

/// The text of a file, as far as [`FILE_BYTES`].
fn text_of(file: File) -> io::Result<String> {
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(FILE_BYTES).read_to_end(&mut bytes)?;
    if bytes.contains(&0) {
        return Err(io::Error::other("not a text file"));
    }
    let mut text = String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned();
    if length > FILE_BYTES {
        text.push_str(&format!("\n[… cut: only the first {FILE_BYTES} bytes of this file were read …]"));
    }
    Ok(text)
}
