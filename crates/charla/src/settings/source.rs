//! A settings file as text: places in it, and paths of keys.

use std::fmt;
use std::path::{Path, PathBuf};

/// A file's text, for turning byte offsets into places.
pub struct SourceText<'a> {
    /// The file.
    pub file: &'a Path,
    /// Its text.
    pub text: &'a str,
}

impl SourceText<'_> {
    /// The place of a byte offset.
    pub fn place(&self, offset: usize) -> SourceLocation {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let in_line = before.get(line_start..).unwrap_or_default();
        SourceLocation {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: in_line.chars().count() + 1,
        }
    }
}

/// A place in a file, counted from 1; columns are characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// The file.
    pub file: PathBuf,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

/// The way from the root to a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyPath(Vec<String>);

impl KeyPath {
    /// This path and one key more.
    pub fn key(&self, name: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(name.to_owned());
        Self(steps)
    }

    /// This path and an array index.
    pub fn index(&self, index: usize) -> Self {
        self.key(&format!("[{index}]"))
    }

    /// True for the whole document.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys.
    pub fn steps(&self) -> &[String] {
        &self.0
    }
}

impl<'a> FromIterator<&'a str> for KeyPath {
    fn from_iter<T: IntoIterator<Item = &'a str>>(steps: T) -> Self {
        Self(steps.into_iter().map(str::to_owned).collect())
    }
}

impl fmt::Display for KeyPath {
    /// Dotted; a key that has a dot itself (`gpt-4.1`) stands in quotes.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.is_root() {
            return f.write_str("settings");
        }
        for (position, step) in self.0.iter().enumerate() {
            if position > 0 && !step.starts_with('[') {
                f.write_str(".")?;
            }
            if step.contains('.') { write!(f, "\"{step}\"")? } else { f.write_str(step)? }
        }
        Ok(())
    }
}
