//! Skills: folders with a `SKILL.md` that says how something is done. A model is told of each in a line, and gets the whole
//! of one when it asks for it.
//!
//! The user's own lie in Charla's home and where other agents keep theirs, a workspace's hold once it is trusted, an
//! extension's come with it. Of skills with the same name the first counts: workspace, user, extension.

mod listing;
mod reading;
mod tool;

use std::path::{Path, PathBuf};

use charla_proto::text::{nearest, one_line, printable};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::front_matter::FrontMatter;
use crate::notices::Notices;
use crate::trust::{LeftOut, WorkspaceContent, not_trusted};
pub(crate) use listing::about_skills;
pub(crate) use tool::ActivateSkill;

/// What a skill's file is called.
pub(crate) const FILE: &str = "SKILL.md";
/// Folders of a user's home in which other programs keep skills.
const OF_OTHERS: [&str; 2] = [".agents", ".claude"];
/// So much of a file is read to know what a skill is about.
const HEAD: u64 = 64 * 1024;
/// So many skills one folder may have.
const MOST: usize = 1000;
/// So long a skill's name may be.
const LONGEST_NAME: usize = 64;

/// A skill that can be activated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// What it is asked for by.
    pub name: String,
    /// When to use it, in one line.
    pub description: String,
    /// Whose it is.
    pub owner: SkillOwner,
    /// Its folder, with no link on the way.
    pub folder: PathBuf,
    /// What its file must still be, where somebody has agreed to exactly that.
    agreed: Option<String>,
}

/// Whose a skill is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillOwner {
    /// The user's.
    User,
    /// The workspace's, whose user trusts it.
    Workspace,
    /// An extension's.
    Extension(String),
}

impl std::fmt::Display for SkillOwner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User => formatter.write_str("user"),
            Self::Workspace => formatter.write_str("workspace"),
            Self::Extension(name) => write!(formatter, "extension {name}"),
        }
    }
}

/// The skills that hold in a workspace, by name.
#[derive(Clone, Debug, Default)]
pub struct Skills {
    skills: Vec<Skill>,
    left_out: Vec<LeftOut>,
}

impl Skills {
    /// Looks for skills. `trusted` says that the workspace's count; `extensions` are folders of skills with the names of the
    /// extensions they come with.
    pub fn find(
        environment: &Environment,
        trusted: bool,
        extensions: &[(String, PathBuf)],
        notices: &mut dyn Notices,
    ) -> Result<Self, Failure> {
        let mut found = Self::default();
        found.of_workspace(&WorkspaceContent::read(environment)?, trusted, notices);
        for folder in environment.folders_of_user("skills", &OF_OTHERS) {
            found.of_folder(&folder, &SkillOwner::User);
        }
        for (name, folder) in extensions {
            found.of_folder(folder, &SkillOwner::Extension(name.clone()));
        }
        found.skills.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// Those in one folder of skills.
    pub(crate) fn in_folder(folder: &Path, owner: &SkillOwner) -> Self {
        let mut found = Self::default();
        found.of_folder(folder, owner);
        found
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// The skills, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter()
    }

    /// What looks like a skill and is none, with the reason.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Folders that a model may read because skills lie in them.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        self.skills.iter().map(|skill| skill.folder.clone()).collect()
    }

    fn get(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// Names that have something of these words in them or in their descriptions.
    fn like(&self, words: &str) -> Vec<&str> {
        let words = words.to_lowercase();
        let fits = |skill: &&Skill| {
            skill.name.to_lowercase().contains(&words) || skill.description.to_lowercase().contains(&words)
        };
        let mut names: Vec<&str> = self.skills.iter().filter(fits).map(|skill| skill.name.as_str()).collect();
        if names.is_empty() {
            names.extend(nearest(&words, self.skills.iter().map(|skill| skill.name.as_str())));
        }
        names
    }

    fn of_workspace(&mut self, content: &WorkspaceContent, trusted: bool, notices: &mut dyn Notices) {
        let number = content.skills().count();
        if number > 0 && !trusted {
            notices.note(&not_trusted(number, "skill"));
            return;
        }
        for (file, bytes) in content.skills() {
            let skill = Skill::of(&file, bytes, SkillOwner::Workspace);
            self.take(&file, skill.map(|skill| Skill { agreed: Some(reading::digest(bytes)), ..skill }));
        }
    }

    fn of_folder(&mut self, folder: &Path, owner: &SkillOwner) {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path().join(FILE)).collect();
        files.retain(|file| file.is_file());
        files.sort();
        if files.len() > MOST {
            let reason = format!("it has {} skills, of which {MOST} are taken", files.len());
            self.left_out.push(LeftOut { path: folder.to_owned(), reason });
        }
        for file in files.into_iter().take(MOST) {
            let skill = reading::within_its_folder(&file)
                .and_then(|file| reading::beginning(&file, HEAD))
                .and_then(|bytes| Skill::of(&file, &bytes, owner.clone()));
            self.take(&file, skill);
        }
    }

    /// The first of a name counts.
    fn take(&mut self, file: &Path, skill: Result<Skill, String>) {
        let reason = match skill {
            Ok(skill) => match self.get(&skill.name) {
                None => return self.skills.push(skill),
                Some(first) => format!("{} has the same name, {}", first.folder.display(), skill.name),
            },
            Err(reason) => reason,
        };
        self.left_out.push(LeftOut { path: file.to_owned(), reason });
    }
}

impl Skill {
    /// A skill by the beginning of its file, or why it is none.
    fn of(file: &Path, bytes: &[u8], owner: SkillOwner) -> Result<Self, String> {
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

/// True for what skills and agents may be called.
pub(crate) fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_part)
}

#[cfg(test)]
mod tests;
