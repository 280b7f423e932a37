//! What instructs a model by name, such as skills and agents: files that are looked for alike.
//!
//! A workspace's hold once it is trusted, the user's own lie in Charla's home and where other programs keep theirs, an
//! extension's come with it. Of those with the same name the first counts, in this order.

use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};

use charla_proto::{FileJudge, Withheld};

use crate::environment::Environment;
use crate::notices::{Notice, Notices};
use crate::trust::{LeftOut, WorkspaceContent, not_trusted};

/// So long a name may be.
pub(crate) const LONGEST_NAME: usize = 64;

/// One thing of a collection.
pub trait Item: Sized {
    /// What it is called in words.
    const WORD: &'static str;
    /// The folder that it lies in, in each place where such things are kept.
    const FOLDER: &'static str;
    /// Folders of a user's home in which other programs keep such things.
    const OF_OTHERS: &'static [&'static str];
    /// So many of them one folder may have.
    const MOST: usize;

    /// What it is asked for by.
    fn name(&self) -> &str;

    /// Whose it is.
    fn owner(&self) -> &Owner;

    /// The files of those that a workspace brings, and what stands in them.
    fn in_workspace(content: &WorkspaceContent) -> impl Iterator<Item = (PathBuf, &[u8])>;

    /// The one that a workspace whose user trusts it has in this file, or why it is none.
    fn of_workspace(file: &Path, bytes: &[u8]) -> Result<Self, String>;

    /// The files in a folder of them, in their order.
    fn files_in(folder: &Path) -> Vec<PathBuf>;

    /// The one in this file of such a folder, or why it is none.
    fn read(file: &Path, folder: &Path, owner: &Owner) -> Result<Self, String>;
}

/// Whose a thing is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The user's.
    User,
    /// The workspace's, whose user trusts it.
    Workspace,
    /// An extension's.
    Extension(String),
}

impl Display for Owner {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User => formatter.write_str("user"),
            Self::Workspace => formatter.write_str("workspace"),
            Self::Extension(name) => write!(formatter, "extension {name}"),
        }
    }
}

/// Where things come from.
#[derive(Clone, Debug)]
pub struct Sources<'a> {
    /// Says which folders are the user's.
    pub environment: &'a Environment,
    /// What the workspace brings.
    pub workspace: &'a WorkspaceContent,
    /// What the workspace brings counts: its user trusts it.
    pub trusted: bool,
    /// The names of extensions and their folders.
    pub extensions: Vec<(&'a str, &'a Path)>,
    /// Says which files rules close.
    pub files: FileJudge,
}

/// All things of one kind that hold in a workspace, by name.
#[derive(Clone, Debug)]
pub struct Collection<T> {
    items: Vec<T>,
    left_out: Vec<LeftOut>,
}

impl<T> Default for Collection<T> {
    fn default() -> Self {
        Self { items: Vec::new(), left_out: Vec::new() }
    }
}

impl<T: Item> Collection<T> {
    /// Looks for them. That a workspace's do not count is told, and which ones rules close.
    pub fn find(sources: &Sources<'_>, notices: &mut dyn Notices) -> Self {
        let mut found = Self::default();
        let number = T::in_workspace(sources.workspace).count();
        if number > 0 && !sources.trusted {
            notices.note(&not_trusted(number, T::WORD));
        } else {
            for (file, bytes) in T::in_workspace(sources.workspace) {
                if is_closed(&file, &sources.files, notices) {
                    continue;
                }
                found.take(&file, T::of_workspace(&file, bytes));
            }
        }
        for folder in sources.environment.folders_of_user(T::FOLDER, T::OF_OTHERS) {
            found.add_folder(&folder, &Owner::User, |file| !is_closed(file, &sources.files, notices));
        }
        for (name, folder) in &sources.extensions {
            let owner = Owner::Extension((*name).to_owned());
            let is_open = |file: &Path| !is_closed(file, &sources.files, notices);
            found.add_folder(&folder.join(T::FOLDER), &owner, is_open);
        }
        found.items.sort_by(|one, other| one.name().cmp(other.name()));
        found
    }

    /// Those in one folder.
    pub(crate) fn in_folder(folder: &Path, owner: &Owner) -> Self {
        let mut found = Self::default();
        found.add_folder(folder, owner, |_| true);
        found
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.items.iter().find(|item| item.name() == name)
    }

    /// What looks like one and is none, with the reason.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    fn add_folder(&mut self, folder: &Path, owner: &Owner, mut is_open: impl FnMut(&Path) -> bool) {
        let files = T::files_in(folder);
        if files.len() > T::MOST {
            let reason = format!("it has {} {}s, of which {} are taken", files.len(), T::WORD, T::MOST);
            self.left_out.push(LeftOut { path: folder.to_owned(), reason });
        }
        for file in files.iter().take(T::MOST).filter(|file| is_open(file)) {
            self.take(file, T::read(file, folder, owner));
        }
    }

    /// The first of a name counts.
    fn take(&mut self, file: &Path, item: Result<T, String>) {
        let reason = match item {
            Ok(item) => match self.get(item.name()) {
                None => return self.items.push(item),
                Some(first) => {
                    format!("another {} has the same name, {} ({})", T::WORD, first.name(), first.owner())
                }
            },
            Err(reason) => reason,
        };
        self.left_out.push(LeftOut { path: file.to_owned(), reason });
    }
}

/// True for a file that a rule closes, which is told: nothing of it is looked at.
fn is_closed(file: &Path, files: &FileJudge, notices: &mut dyn Notices) -> bool {
    let Some(reason) = why_closed(file, files) else { return false };
    notices.warning(&Notice::from(&LeftOut { path: file.to_owned(), reason }));
    true
}

/// The rule that denies a file or asks about it, by its path as it is written or by the one that links lead to.
pub(crate) fn why_closed(file: &Path, files: &FileJudge) -> Option<String> {
    let real = file.canonicalize().ok().filter(|real| real != file);
    std::iter::once(file).chain(real.as_deref()).find_map(|path| match files.withheld(path)? {
        Withheld::Rule { rule, denies: true } => Some(format!("the rule {rule} denies it")),
        Withheld::Rule { rule, .. } => Some(format!("the rule {rule} asks about it")),
        Withheld::Secret => None,
    })
}

/// True for what such things may be called.
pub(crate) fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_part)
}
