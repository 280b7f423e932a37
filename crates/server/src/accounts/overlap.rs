//! Workspaces of several users that are one, or lie in one another.

use super::Book;

impl Book {
    /// What those who look after the server should know: who can change whose files.
    pub(crate) fn overlaps(&self) -> Vec<String> {
        let mut told = Vec::new();
        let mut rest = self.accounts.iter();
        while let Some((name, account)) = rest.next() {
            for (other, theirs) in rest.clone() {
                let (mine, theirs) = (&account.workspace, &theirs.workspace);
                if mine.starts_with(theirs) || theirs.starts_with(mine) {
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
