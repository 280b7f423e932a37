//! Files that a walk comes across and leaves out.

use std::collections::BTreeMap;
use std::path::Path;

use charla_proto::{FileJudge, Withheld};

use crate::paths::ResolvedPath;

/// How many files were left out, and why.
#[derive(Default)]
pub(crate) struct LeftOut {
    pub(crate) secrets: usize,
    rules: BTreeMap<String, usize>,
    /// Folders that were named by way of a link.
    linked: Vec<ResolvedPath>,
}

impl LeftOut {
    /// For what is found in these folders. In one that was named by way of a link, each file has a second name, by which it
    /// is judged, too.
    pub(crate) fn below<'a>(folders: impl IntoIterator<Item = &'a ResolvedPath>) -> Self {
        let linked = folders.into_iter().filter(|folder| folder.path != folder.real).cloned().collect();
        Self { linked, ..Self::default() }
    }

    /// Judges a file that would be read; a file that must not be is counted. Nothing in its path is a link.
    pub(crate) fn takes(&mut self, files: &FileJudge, path: &Path) -> Option<Withheld> {
        let why = self.withheld(files, path);
        match &why {
            Some(Withheld::Secret) => self.secrets += 1,
            Some(Withheld::Rule { rule, .. }) => *self.rules.entry(rule.clone()).or_default() += 1,
            None => {}
        }
        why
    }

    /// Judges a file of which only the name would be told, which is no secret.
    pub(crate) fn takes_name(&mut self, files: &FileJudge, path: &Path) -> bool {
        match self.withheld(files, path) {
            Some(Withheld::Rule { rule, .. }) => *self.rules.entry(rule).or_default() += 1,
            Some(Withheld::Secret) | None => return false,
        }
        true
    }

    /// Why a file must not be read by one of its names; what a rule says counts before what a name looks like.
    fn withheld(&self, files: &FileJudge, path: &Path) -> Option<Withheld> {
        let second = |folder: &ResolvedPath| Some(folder.path.join(path.strip_prefix(&folder.real).ok()?));
        let by_second = self.linked.iter().filter_map(second).filter_map(|name| files.withheld(&name));
        let all: Vec<Withheld> = files.withheld(path).into_iter().chain(by_second).collect();
        let by_rule = all.iter().position(|why| matches!(why, Withheld::Rule { .. }));
        all.into_iter().nth(by_rule.unwrap_or_default())
    }

    /// What rules left out, in words.
    pub(crate) fn by_rules(&self) -> impl Iterator<Item = String> {
        self.rules.iter().map(|(rule, count)| {
            format!("{count} file(s) were left out by the rule {rule}; only the user can change that.")
        })
    }

    /// How many rules left out.
    pub(crate) fn count_by_rules(&self) -> usize {
        self.rules.values().sum()
    }
}
