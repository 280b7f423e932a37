//! Whether the files that a call comes across may be read, while it is prepared and while it runs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{ApprovalMode, Policy, looks_secret};

/// Why a file that a call comes across is not read. A plan names a folder; what is in it is judged file by
/// file, when it is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Withheld {
    /// A rule about its path asks or denies.
    Rule {
        /// The rule's name.
        rule: String,
        /// True when nobody can be asked about it.
        denies: bool,
    },
    /// It is likely to hold secrets.
    Secret,
}

/// Tells of a file that has several names (hard links) the one that says what it is, if that is another than the given one: what
/// it holds is the same under each.
pub type FirstName = Arc<dyn Fn(&Path) -> Option<PathBuf> + Send + Sync>;

/// Judges the files that one call comes across, by the rules that hold for it.
#[derive(Clone, Default)]
pub struct FileJudge {
    rules: Option<Rules>,
    names: Option<FirstName>,
}

#[derive(Clone)]
struct Rules {
    policy: Arc<dyn Policy>,
    tool: String,
    mode: ApprovalMode,
}

impl FileJudge {
    /// Judges for a call of this tool. Without a policy ([`FileJudge::default`]) only secrets are withheld.
    pub fn new(policy: Arc<dyn Policy>, tool: &str, mode: ApprovalMode) -> Self {
        Self { rules: Some(Rules { policy, tool: tool.to_owned(), mode }), names: None }
    }

    /// The same where it is known of files which other names they have.
    pub fn knowing(self, names: FirstName) -> Self {
        Self { names: Some(names), ..self }
    }

    /// What this one knows of files, with the rules that hold for a call of this tool.
    pub fn under(&self, policy: Arc<dyn Policy>, tool: &str, mode: ApprovalMode) -> Self {
        Self { names: self.names.clone(), ..Self::new(policy, tool, mode) }
    }

    /// The name of a file that says more of it than this one, see [`FirstName`].
    pub fn first_name(&self, path: &Path) -> Option<PathBuf> {
        self.names.as_ref().and_then(|names| names(path))
    }

    /// The same for a call of another tool.
    pub fn of_tool(&self, tool: &str) -> Self {
        let rules = self.rules.as_ref().map(|rules| Rules { tool: tool.to_owned(), ..rules.clone() });
        Self { rules, names: self.names.clone() }
    }

    /// True when a rule denies a file: whatever is to become of the call, nothing of it is looked at.
    pub fn denies(&self, path: &Path) -> bool {
        matches!(self.withheld(path), Some(Withheld::Rule { denies: true, .. }))
    }

    /// Why a file must not be read, if so. The path is absolute, and no link is in it.
    pub fn withheld(&self, path: &Path) -> Option<Withheld> {
        self.by_name(path).or_else(|| self.by_name(&self.first_name(path)?))
    }

    fn by_name(&self, path: &Path) -> Option<Withheld> {
        match &self.rules {
            Some(rules) => rules.policy.withheld(&rules.tool, path, rules.mode),
            None => looks_secret(path).then_some(Withheld::Secret),
        }
    }

    /// True when a file must be kept from commands that run unasked: what would be asked about or denied if
    /// the call named it. Not so a repository's own settings, without which `git` does nothing.
    pub fn hidden(&self, path: &Path) -> bool {
        match self.withheld(path) {
            Some(Withheld::Rule { .. }) => true,
            Some(Withheld::Secret) => !path.ends_with(".git/config"),
            None => false,
        }
    }
}

impl fmt::Debug for FileJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.rules.as_ref().map(|rules| (&rules.tool, rules.mode));
        f.debug_tuple("FileJudge").field(&rules).finish()
    }
}
