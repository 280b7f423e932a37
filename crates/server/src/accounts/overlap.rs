//! Workspaces of several users that are one, or lie in one another.

use std::path::Path;

use super::Book;

impl Book {
    /// Whose workspace is that of `name`, or lies in it, or holds it.
    pub(crate) fn reached_from(&self, name: &str) -> Vec<String> {
        let Some(account) = self.accounts.get(name) else { return Vec::new() };
        let others = self.accounts.iter().filter(|(other, _)| *other != name);
        let reached = others.filter(|(_, theirs)| overlap(&account.workspace, &theirs.workspace));
        reached.map(|(other, _)| other.clone()).collect()
    }

    /// What those who look after the server should know of this user: whose files they can change, and who theirs.
    pub fn overlaps_of(&self, name: &str) -> Vec<String> {
        self.reached_from(name).into_iter().map(|other| self.told(name, &other)).collect()
    }

    /// The same of all users, each pair once.
    pub(crate) fn overlaps(&self) -> Vec<String> {
        let mut told = Vec::new();
        for name in self.accounts.keys() {
            let after = self.reached_from(name).into_iter().filter(|other| other > name);
            told.extend(after.map(|other| self.told(name, &other)));
        }
        told
    }

    fn told(&self, name: &str, other: &str) -> String {
        let of = |name: &str| {
            self.accounts.get(name).map(|account| account.workspace.display().to_string()).unwrap_or_default()
        };
        let (mine, theirs) = (of(name), of(other));
        format!("{name} and {other} reach each other's files: their workspaces are {mine} and {theirs}")
    }
}

fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
