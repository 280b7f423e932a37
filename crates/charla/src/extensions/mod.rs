//! Extensions: folders that bring MCP servers, commands, instructions, hooks, skills and agents together.
//!
//! An extension is copied into Charla's home after its user has read and agreed to what it brings ([`Consent`]). What is used
//! later is what was agreed to: one whose content says something else is left out until it is agreed to again.

mod book;
mod consent;
mod copying;
mod fetching;
mod install;
mod manifest;

use std::path::PathBuf;

use charla_proto::text::one_line;
use serde_json::{Map, Value};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::notices::{Notice, Notices};
use book::{Book, Entry};
pub use book::{Origin, Source};
pub use consent::Consent;
pub use install::Candidate;
pub use manifest::Manifest;

/// An extension that is installed.
#[derive(Clone, Debug)]
pub struct Extension {
    /// What it says of itself.
    pub manifest: Manifest,
    /// Its folder in Charla's home.
    pub folder: PathBuf,
    /// Where it came from.
    pub source: Source,
    /// It is used.
    pub enabled: bool,
    agreed: String,
}

/// What an extension that is used brings, beside what lies in its folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Brings {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Its MCP servers, as settings. Places stand in them by variables.
    pub servers: Map<String, Value>,
    /// Its hooks by event, as settings. Places stand in them by variables.
    pub hooks: Map<String, Value>,
    /// Files that are read as instructions.
    pub context: Vec<PathBuf>,
    /// Tools that are not offered.
    pub excluded: Vec<String>,
}

/// The extensions of a user.
pub struct Extensions<'a> {
    environment: &'a Environment,
    /// The folder they lie in.
    folder: PathBuf,
}

impl<'a> Extensions<'a> {
    /// Those of these surroundings; nothing without a home.
    pub fn of(environment: &'a Environment) -> Option<Self> {
        Some(Self { folder: environment.charla_home()?.join("extensions"), environment })
    }

    /// All that are installed, by name, and what cannot be read as one.
    pub fn list(&self) -> Result<(Vec<Extension>, Vec<Notice>), Failure> {
        let (mut extensions, mut broken) = (Vec::new(), Vec::new());
        for (name, entry) in self.book().read()? {
            match self.extension(&name, entry) {
                Ok(extension) => extensions.push(extension),
                Err(why) => {
                    broken.push(format!("the extension {} is left out: {why}", one_line(&name)).into())
                }
            }
        }
        Ok((extensions, broken))
    }

    /// The installed one of this name.
    pub fn get(&self, name: &str) -> Result<Extension, Failure> {
        let entry = self.book().read()?.remove(name).ok_or_else(|| unknown(name))?;
        self.extension(name, entry)
            .map_err(|why| Failure::config(format!("the extension {} cannot be used: {why}", one_line(name))))
    }

    /// Uses one from now on, or no longer.
    pub fn enable(&self, name: &str, enabled: bool) -> Result<(), Failure> {
        let _turn = self.book().turn()?;
        let mut entries = self.book().read()?;
        entries.get_mut(name).ok_or_else(|| unknown(name))?.enabled = enabled;
        self.book().write(&entries)
    }

    /// Removes one with its folder.
    pub fn uninstall(&self, name: &str) -> Result<(), Failure> {
        let _turn = self.book().turn()?;
        let mut entries = self.book().read()?;
        entries.remove(name).ok_or_else(|| unknown(name))?;
        self.book().write(&entries)?;
        // What is no name leads out of the folder of extensions: there is nothing of an extension to remove.
        if !crate::collection::is_name(name) {
            return Ok(());
        }
        let folder = self.folder.join(name);
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Failure::system(format!("cannot remove {}: {error}", folder.display())))
            }
            _ => Ok(()),
        }
    }

    /// What those that are used bring: all that are enabled, or of these only those of `only`.
    pub fn used(&self, only: Option<&[String]>, notices: &mut dyn Notices) -> Result<Vec<Brings>, Failure> {
        let (extensions, broken) = self.list()?;
        broken.iter().for_each(|notice| notices.warning(notice));
        let mut used = Vec::new();
        for extension in extensions.into_iter().filter(|extension| extension.is_used(only)) {
            match extension.brings() {
                Ok(brings) => used.push(brings),
                Err(NotAgreed) => {
                    let name = &extension.manifest.name;
                    let text = "is left out: what it brings is not what was agreed to";
                    let text = format!("the extension {name} {text}");
                    notices.warning(&Notice::with_hint(text, Hint::AgreeAgain));
                }
            }
        }
        for name in only.unwrap_or_default().iter().filter(|name| *name != NONE) {
            if !used.iter().any(|brings| brings.name == *name) {
                notices
                    .warning(&format!("there is no extension {} that could be used", one_line(name)).into());
            }
        }
        Ok(used)
    }

    fn book(&self) -> Book {
        Book::new(self.folder.with_extension("json"))
    }

    fn extension(&self, name: &str, entry: Entry) -> Result<Extension, String> {
        if !crate::collection::is_name(name) {
            return Err("its name is none".to_owned());
        }
        let folder = self.folder.join(name);
        let manifest = Manifest::read(&folder)?;
        if manifest.name != name {
            return Err(format!("its folder says it is {}", manifest.name));
        }
        Ok(Extension { manifest, folder, source: entry.source, enabled: entry.enabled, agreed: entry.agreed })
    }
}

/// What stands for no extension at all.
pub const NONE: &str = "none";

/// What an extension brings is not what was agreed to.
struct NotAgreed;

impl Extension {
    fn is_used(&self, only: Option<&[String]>) -> bool {
        let named = |only: &[String]| only.iter().any(|name| name.eq_ignore_ascii_case(&self.manifest.name));
        self.enabled && only.is_none_or(named)
    }

    fn brings(&self) -> Result<Brings, NotAgreed> {
        if Consent::of(&self.manifest, &self.folder).hash() != self.agreed {
            return Err(NotAgreed);
        }
        let manifest = &self.manifest;
        Ok(Brings {
            name: manifest.name.clone(),
            context: manifest.context_files(&self.folder),
            servers: manifest.servers.clone(),
            hooks: manifest.hooks.clone(),
            excluded: manifest.excluded.clone(),
            folder: self.folder.clone(),
        })
    }
}

fn unknown(name: &str) -> Failure {
    Failure::input(format!("there is no extension `{}`", one_line(name))).with_hint(Hint::ListExtensions)
}

#[cfg(test)]
mod tests;
