//! Trust: what a workspace brings acts only after its user has agreed to exactly this content.
//!
//! Trust is bound to the bytes: a workspace that changes its settings or rules is a stranger again. What a
//! trusted setting names, such as a script, is not part of them.

mod book;
mod folders;
mod gemini;
mod instructing;
mod told;

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

pub use book::TrustBook;
use charla_tools::owner::{Owners, belongs_to_another};
pub use folders::TrustedFolders;
pub(crate) use gemini::{GeminiFile, gemini_standing};
use sha2::{Digest, Sha256};
pub(crate) use told::is_new;

use crate::bounded;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::notices::Notice;

/// The folder of commands that users write.
pub(crate) const COMMANDS: &str = "commands";
/// So many folders of commands may lie in each other, and so many commands there may be.
const DEEPEST: usize = 4;
const MOST_COMMANDS: usize = 200;

/// What in a workspace's `.charla` and `.gemini` may act, and which skills and agents it brings, read once: what is judged is
/// what is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkspaceContent {
    workspace: PathBuf,
    folder: PathBuf,
    /// By name: in `.charla`, or in the workspace where it begins with a dot.
    files: Vec<(String, Vec<u8>)>,
    left_out: Vec<LeftOut>,
}

/// A file of a workspace that is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The file.
    pub path: PathBuf,
    /// Why, in words.
    pub reason: String,
}

impl From<&LeftOut> for Notice {
    fn from(left_out: &LeftOut) -> Self {
        Notice::from(format!("{} is left out: {}", left_out.path.display(), left_out.reason))
    }
}

/// What a run says about trust.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustDemand {
    /// Trust this content, for this run.
    pub exactly: Option<String>,
    /// Do not go on in a workspace that is not trusted.
    pub required: bool,
}

/// How a workspace stands with its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It brings nothing that could be trusted.
    Nothing,
    /// Its user has agreed to this content.
    Trusted,
    /// Its user has agreed to another content.
    Changed,
    /// Its user was not asked yet.
    Unknown,
}

impl Standing {
    /// All its settings hold.
    pub fn is_trusted(self) -> bool {
        self == Standing::Trusted
    }

    /// In words, of the workspace.
    pub fn in_words(self) -> &'static str {
        match self {
            Standing::Nothing => "has nothing to trust",
            Standing::Trusted => "is trusted",
            Standing::Changed => "has changed since it was trusted",
            Standing::Unknown => "is not trusted",
        }
    }
}

impl WorkspaceContent {
    /// Reads the settings, the rules and the commands of the workspace. In the home directory they are the user's own and
    /// need no trust: then there is nothing here.
    pub fn read(environment: &Environment) -> Self {
        let folder = environment.directory.join(".charla");
        let mut content = Self { workspace: environment.directory.clone(), folder, ..Self::default() };
        if is_same(environment.charla_home(), &content.folder) {
            return content;
        }
        let names = std::iter::once("settings.json".to_owned()).chain(rule_files(&content.folder));
        let instructing = instructing::skill_files(&content.workspace).into_iter();
        let instructing = instructing.chain(instructing::agent_files(&content.workspace));
        let gemini = gemini::files(environment);
        for name in names.chain(command_files(&content.folder)).chain(gemini).chain(instructing) {
            let path = content.place(&name);
            if is_same(environment.user_settings(), &path) {
                continue;
            }
            match read_brought(&path, &environment.real_directory(), owners(environment)) {
                Ok(bytes) => content.files.extend(bytes.map(|bytes| (name, bytes))),
                Err(Unread::LeftOut(reason)) => content.left_out.push(LeftOut { path, reason }),
                Err(Unread::Failed(error)) => {
                    let reason = format!("it cannot be read: {error}");
                    content.left_out.push(LeftOut { path, reason });
                }
            }
        }
        content
    }

    fn place(&self, name: &str) -> PathBuf {
        match name.strip_prefix("../") {
            Some(beside) => self.workspace.join(beside),
            None if name.starts_with('.') => self.workspace.join(name),
            None => self.folder.join(name),
        }
    }

    /// The files of its skills, and what stands in them.
    pub fn skills(&self) -> impl Iterator<Item = (PathBuf, &[u8])> {
        self.named(instructing::is_skill)
    }

    /// The files of its agents, and what stands in them.
    pub fn agents(&self) -> impl Iterator<Item = (PathBuf, &[u8])> {
        self.named(instructing::is_agent)
    }

    fn named(&self, is_one: fn(&str) -> bool) -> impl Iterator<Item = (PathBuf, &[u8])> {
        let files = self.files.iter().filter(move |(name, _)| is_one(name));
        files.map(|(name, bytes)| (self.place(name), bytes.as_slice()))
    }

    /// True when there is nothing that could act.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// What is there and not read.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The settings file, if there is one.
    pub fn settings(&self) -> Option<(PathBuf, &[u8])> {
        let (name, bytes) = self.files.iter().find(|(name, _)| name == "settings.json")?;
        Some((self.folder.join(name), bytes))
    }

    /// The commands that it brings: the path of each in the folder of commands, and what stands in it.
    pub fn commands(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().filter_map(|(name, bytes)| {
            let path = name.strip_prefix(COMMANDS)?.strip_prefix('/')?;
            Some((path, bytes.as_slice()))
        })
    }

    /// The names of the files: in `.charla`, or in the workspace where a name begins with a dot.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(name, _)| name.as_str())
    }

    /// The SHA-256 of all names and contents, in lower-case hex.
    pub fn hash(&self) -> String {
        let mut digest = Sha256::new();
        for (name, bytes) in &self.files {
            // With its length before it, nothing of one part can pass for another.
            for part in [name.as_bytes(), bytes] {
                digest.update((part.len() as u64).to_le_bytes());
                digest.update(part);
            }
        }
        digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// How the workspace stands for this run. Fails when the run demands more than is given.
    pub fn standing(&self, environment: &Environment, demand: &TrustDemand) -> Result<Standing, Failure> {
        if let Some(wanted) = &demand.exactly {
            return self.exactly(wanted);
        }
        let standing = self.known(environment)?;
        if demand.required && !matches!(standing, Standing::Trusted | Standing::Nothing) {
            return Err(Failure::untrusted(format!("this workspace {}", standing.in_words()))
                .with_hint(Hint::TrustWorkspace));
        }
        Ok(standing)
    }

    /// How the workspace stands by what the user agreed to before.
    pub fn known(&self, environment: &Environment) -> Result<Standing, Failure> {
        if self.is_empty() {
            return Ok(Standing::Nothing);
        }
        let trusted = match TrustBook::of(environment) {
            Some(book) => book.hash(&environment.directory)?,
            None => None,
        };
        Ok(match trusted {
            Some(hash) if hash == self.hash() => Standing::Trusted,
            Some(_) => Standing::Changed,
            None => Standing::Unknown,
        })
    }

    fn exactly(&self, wanted: &str) -> Result<Standing, Failure> {
        let wanted = wanted.trim().to_ascii_lowercase();
        if wanted.len() != 64 || !wanted.chars().all(|c| c.is_ascii_hexdigit()) {
            return Err(Failure::input("trusted content is named by a SHA-256 of 64 hexadecimal digits")
                .with_hint(Hint::ShowWorkspaceContent));
        }
        let hash = self.hash();
        if self.is_empty() || hash != wanted {
            return Err(Failure::untrusted(format!("the workspace's content is not {wanted}"))
                .with_hint(Hint::ShowWorkspaceContent));
        }
        Ok(Standing::Trusted)
    }
}

/// The users whose files speak for this one.
pub(crate) fn owners(environment: &Environment) -> Owners {
    Owners { behind: environment.variable("SUDO_UID").and_then(|number| number.parse().ok()) }
}

/// Why a file of a workspace tells nothing.
pub(crate) enum Unread {
    /// It belongs to another user, lies elsewhere and is only linked to, or is very large.
    LeftOut(String),
    /// It cannot be read.
    Failed(io::Error),
}

/// Reads a file of a workspace, by the workspace's real path; nothing where there is none.
///
/// What is looked at is what is read: the file is opened where it was found to lie, and a link that came on the way is not followed.
pub(crate) fn read_brought(path: &Path, workspace: &Path, owners: Owners) -> Result<Option<Vec<u8>>, Unread> {
    let Ok(real) = path.canonicalize() else { return Ok(None) };
    if !real.starts_with(workspace) {
        let reason = format!("it is a link out of the workspace, to {}", real.display());
        return Err(Unread::LeftOut(reason));
    }
    let file = match bounded::open_real(&real) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(Unread::Failed(error)),
    };
    let facts = file.metadata().map_err(Unread::Failed)?;
    if facts.len() > bounded::MOST_BYTES {
        let (bytes, most) = (facts.len(), bounded::MOST_BYTES);
        let reason = format!("it has {bytes} bytes, and more than {most} are not read");
        return Err(Unread::LeftOut(reason));
    }
    match owners.stranger(&facts) {
        Some(owner) => Err(Unread::LeftOut(belongs_to_another(owner))),
        None => bounded::read_from(file, bounded::MOST_BYTES).map(Some).map_err(Unread::Failed),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// That so many things of a workspace are left out because nobody trusts it.
pub(crate) fn not_trusted(number: usize, what: &str) -> Notice {
    let (ending, verb) = if number == 1 { ("", "is") } else { ("s", "are") };
    let text = format!("{number} {what}{ending} of this workspace {verb} left out: it is not trusted");
    Notice::with_hint(text, Hint::TrustWorkspace)
}

/// True for the user's own file or folder, whatever link leads there.
fn is_same(own: Option<PathBuf>, path: &Path) -> bool {
    let own = own.and_then(|own| own.canonicalize().ok());
    own.is_some() && own == path.canonicalize().ok()
}

/// Rule files by name. A folder that cannot be read is told by who reads the rules.
fn rule_files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder.join("policies")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter(|name| name.ends_with(".toml")).map(|name| format!("policies/{name}")).collect();
    names.sort();
    names
}

/// The files of commands by name, those in folders of folders, too. Links are not followed.
pub(crate) fn command_files(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut open = vec![(COMMANDS.to_owned(), 0)];
    while let Some((within, depth)) = open.pop() {
        for entry in std::fs::read_dir(folder.join(&within)).into_iter().flatten().flatten() {
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
            let name = format!("{within}/{name}");
            if kind.is_dir() && depth < DEEPEST {
                open.push((name, depth + 1));
            } else if kind.is_file() && name.ends_with(".toml") {
                names.push(name);
            }
        }
    }
    names.sort();
    names.truncate(MOST_COMMANDS);
    names
}

#[cfg(test)]
mod tests;
