//! Themes by name: the built-in ones, and those in a user's folder.

use std::path::PathBuf;

use super::{Background, Theme, ThemeError};

/// What a theme's file is called.
const ENDING: &str = "toml";

/// The themes that can be named.
#[derive(Clone, Debug, Default)]
pub struct Themes {
    folder: Option<PathBuf>,
}

impl Themes {
    /// The built-in themes and those in a folder, if there is one.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// Every name, the built-in ones first. A file of a built-in theme's name is not used.
    pub fn names(&self) -> Vec<String> {
        let entries = self.folder.iter().flat_map(std::fs::read_dir).flatten().flatten();
        let files = entries.map(|entry| entry.path());
        let files = files.filter(|path| path.extension().is_some_and(|ending| ending == ENDING));
        let names = files.filter_map(|path| path.file_stem()?.to_str().map(str::to_owned));
        let mut names: Vec<String> = names.filter(|name| !Theme::BUILT_IN.contains(&name.as_str())).collect();
        names.sort();
        Theme::BUILT_IN.iter().map(|name| (*name).to_owned()).chain(names).collect()
    }

    /// The theme of a name.
    pub fn get(&self, name: &str, background: Background) -> Result<Theme, ThemeError> {
        if let Some(theme) = Theme::built_in(name, background) {
            return Ok(theme);
        }
        let is_name = !name.is_empty() && !name.contains(['/', '\\']) && !name.starts_with('.');
        let file =
            self.folder.as_ref().filter(|_| is_name).map(|folder| folder.join(format!("{name}.{ENDING}")));
        let Some(file) = file.filter(|file| file.is_file()) else { return Err(self.unknown(name)) };
        let text = std::fs::read_to_string(&file).map_err(|error| ThemeError::Unreadable {
            theme: name.to_owned(),
            reason: format!("{}: {error}", file.display()),
        })?;
        Theme::parse(name, &text, background)
    }

    fn unknown(&self, name: &str) -> ThemeError {
        ThemeError::Unknown { theme: name.to_owned(), names: self.names().join(", ") }
    }
}
