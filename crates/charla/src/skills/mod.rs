//! Skills: folders with a `SKILL.md` that says how something is done. A model is told of each in a line, and gets the whole
//! of one when it asks for it.

mod listing;
mod reading;
mod tool;

use std::path::{Path, PathBuf};

use charla_proto::text::{nearest, one_line, printable};

use crate::collection::{Collection, Item, LONGEST_NAME, Owner, is_name};
use crate::front_matter::FrontMatter;
use crate::trust::WorkspaceContent;
pub(crate) use listing::about_skills;
pub(crate) use tool::ActivateSkill;

/// What a skill's file is called.
pub(crate) const FILE: &str = "SKILL.md";
/// So much of a file is read to know what a skill is about.
const HEAD: u64 = 64 * 1024;

/// A skill that can be activated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// What it is asked for by.
    pub name: String,
    /// When to use it, in one line.
    pub description: String,
    /// Whose it is.
    pub owner: Owner,
    /// Its folder, with no link on the way.
    pub folder: PathBuf,
    /// What its file must still be, where somebody has agreed to exactly that.
    agreed: Option<String>,
}

/// The skills that hold in a workspace, by name.
pub type Skills = Collection<Skill>;

impl Skills {
    /// Folders that a model may read because skills lie in them.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        self.iter().map(|skill| skill.folder.clone()).collect()
    }

    /// Names that have something of these words in them or in their descriptions.
    fn like(&self, words: &str) -> Vec<&str> {
        let words = words.to_lowercase();
        let fits = |skill: &&Skill| {
            skill.name.to_lowercase().contains(&words) || skill.description.to_lowercase().contains(&words)
        };
        let mut names: Vec<&str> = self.iter().filter(fits).map(|skill| skill.name.as_str()).collect();
        if names.is_empty() {
            names.extend(nearest(&words, self.iter().map(|skill| skill.name.as_str())));
        }
        names
    }
}

impl Item for Skill {
    const WORD: &'static str = "skill";
    const FOLDER: &'static str = "skills";
    const OF_OTHERS: &'static [&'static str] = &[".agents", ".claude"];
    const MOST: usize = 1000;

    fn name(&self) -> &str {
        &self.name
    }

    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn in_workspace(content: &WorkspaceContent) -> impl Iterator<Item = (PathBuf, &[u8])> {
        content.skills()
    }

    fn of_workspace(file: &Path, bytes: &[u8]) -> Result<Self, String> {
        let agreed = Some(reading::digest(bytes));
        Ok(Self { agreed, ..Self::of(file, bytes, Owner::Workspace)? })
    }

    fn files_in(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path().join(FILE)).collect();
        files.retain(|file| file.is_file());
        files.sort();
        files
    }

    fn read(file: &Path, _folder: &Path, owner: &Owner) -> Result<Self, String> {
        let bytes = reading::beginning(&reading::within_its_folder(file)?, HEAD)?;
        Self::of(file, &bytes, owner.clone())
    }
}

impl Skill {
    /// A skill by the beginning of its file, or why it is none.
    fn of(file: &Path, bytes: &[u8], owner: Owner) -> Result<Self, String> {
        let folder = file.parent().unwrap_or(file);
        let text = String::from_utf8_lossy(bytes);
        let (fields, _) =
            FrontMatter::split(&text).ok_or("it has no front matter between two lines `---`")?;
        let name = fields.text("name").map(str::to_owned);
        let name = name.or_else(|| Some(folder.file_name()?.to_str()?.to_owned())).unwrap_or_default();
        if !is_name(&name) {
            let name = one_line(&name);
            return Err(format!("`{name}` is no name: {LONGEST_NAME} letters, digits, `-` and `_` at most"));
        }
        let description = fields.text("description").ok_or("its front matter has no `description`")?;
        let real = |path: &Path| path.canonicalize().map_err(|error| error.to_string());
        let holds = folder.parent().map(real).transpose()?;
        let folder = real(folder)?;
        if holds.is_some_and(|skills| skills.starts_with(&folder)) {
            return Err(format!(
                "its folder is a link to {}, which holds all skills here",
                printable(&folder)
            ));
        }
        Ok(Self { name, description: one_line(description), owner, folder, agreed: None })
    }
}

#[cfg(test)]
mod tests;
