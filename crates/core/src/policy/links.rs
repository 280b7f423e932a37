//! Other names that paths have: what is known or said about a folder holds under each of its names.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use charla_proto::{is_secret_of_home, looks_secret};

use super::Scope;
use super::paths::{below, lies_in, secret};
use super::protected::protected;

/// A folder or file with a second name: a link, or a place that a variable moved elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The name that rules and people know it by; `~` stands for the home.
    pub name: PathBuf,
    /// Where it really is.
    pub real: PathBuf,
}

impl Link {
    fn name_of(&self, path: &Path) -> Option<PathBuf> {
        Some(under(&self.name, below(path, &self.real)?))
    }
}

/// What lies in a folder; the folder itself, not with a slash behind it, where nothing is named.
pub(super) fn under(folder: &Path, below: &Path) -> PathBuf {
    let itself = below.as_os_str().is_empty();
    if itself { folder.to_owned() } else { folder.join(below) }
}

impl Scope {
    /// The names of a path, its own first.
    pub(super) fn names<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = Cow<'a, Path>> {
        let others = self.links.iter().filter_map(|link| link.name_of(path)).map(Cow::Owned);
        std::iter::once(Cow::Borrowed(path)).chain(others)
    }

    /// The user's home, as it is written and as it is reached.
    pub(super) fn homes(&self) -> impl Iterator<Item = &Path> {
        let is_home = |link: &&Link| self.home.as_ref() == Some(&link.name);
        let reached = self.links.iter().filter(is_home).map(|link| link.real.as_path());
        self.home.as_deref().into_iter().chain(reached)
    }

    /// Why writing a path is more than an edit.
    pub(super) fn protected(&self, path: &Path) -> Option<&'static str> {
        self.names(path).find_map(|name| protected(&name))
    }

    /// Why a path is to be kept from eyes it was not meant for.
    pub(super) fn secret(&self, path: &Path) -> Option<&'static str> {
        let by_place = || self.is_secret_of_home(path).then_some("it may hold secrets");
        self.names(path).find_map(|name| secret(&name.to_string_lossy())).or_else(by_place)
    }

    /// True for a file that is likely to hold secrets.
    pub(super) fn looks_secret(&self, path: &Path) -> bool {
        self.names(path).any(|name| looks_secret(&name)) || self.is_secret_of_home(path)
    }

    /// True for what is secret because it lies where it lies below the home. What was opened to be read is not, nor is a workspace
    /// that was opened in such a place.
    pub(super) fn is_secret_of_home(&self, path: &Path) -> bool {
        let is_secret = |name: &Path| {
            let mut homes = self.homes().filter_map(|home| below(name, home));
            homes.any(is_secret_of_home)
        };
        let around = || self.roots.iter().filter(|root| below(path, root).is_some());
        let is_opened = || lies_in(&self.readable, path) || around().any(|root| is_secret(root));
        self.names(path).any(|name| is_secret(&name)) && !is_opened()
    }
}
