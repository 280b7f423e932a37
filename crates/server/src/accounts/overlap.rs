//! Workspaces of several users that are one, or lie in one another.

use std::path::Path;

use super::Book;

impl Book {
    /// Whose workspace is that of `name`, or lies in it, or holds it.
    pub fn reached_from(&self, name: &str) -> Vec<String> {
        let Some(account) = self.accounts.get(name) else { return Vec::new() };
        let others = self.accounts.iter().filter(|(other, _)| *other != name);
        let reached = others.filter(|(_, theirs)| overlap(&account.workspace, &theirs.workspace));
        reached.map(|(other, _)| other.clone()).collect()
    }

    /// What those who look after the server should know: who can change whose files.
    pub(crate) fn overlaps(&self) -> Vec<String> {
        let mut told = Vec::new();
        let mut rest = self.accounts.iter();
        while let Some((name, account)) = rest.next() {
            for (other, theirs) in rest.clone() {
                let (mine, theirs) = (&account.workspace, &theirs.workspace);
                if overlap(mine, theirs) {
                    let (mine, theirs) = (mine.display(), theirs.display());
                    told.push(format!(
                        "{name} and {other} reach each other's files: their workspaces are {mine} and {theirs}"
                    ));
                }
            }
        }
        told
    }
}

fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
