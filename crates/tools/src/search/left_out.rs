//! Files that a walk comes across and leaves out.

use std::collections::BTreeMap;
use std::path::Path;

use charla_proto::{FileJudge, Withheld};

/// How many files were left out, and why.
#[derive(Default)]
pub(crate) struct LeftOut {
    pub(crate) secrets: usize,
    rules: BTreeMap<String, usize>,
}

impl LeftOut {
    /// Judges a file that would be read; a file that must not be is counted. Nothing in its path is a link.
    pub(crate) fn takes(&mut self, files: &FileJudge, path: &Path) -> Option<Withheld> {
        let why = files.withheld(path);
        match &why {
            Some(Withheld::Secret) => self.secrets += 1,
            Some(Withheld::Rule { rule, .. }) => *self.rules.entry(rule.clone()).or_default() += 1,
            None => {}
        }
        why
    }

    /// Judges a file of which only the name would be told, which is no secret.
    pub(crate) fn takes_name(&mut self, files: &FileJudge, path: &Path) -> bool {
        match files.withheld(path) {
            Some(Withheld::Rule { rule, .. }) => *self.rules.entry(rule).or_default() += 1,
            Some(Withheld::Secret) | None => return false,
        }
        true
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
