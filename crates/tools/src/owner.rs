//! Whose files are taken as settings, rules and instructions: those of other users are not, wherever they lie.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// The users whose files speak for this one: they themselves and the administrator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    /// Who became the administrator for this run (`sudo`).
    pub behind: Option<u32>,
}

impl Owners {
    /// The owner's number when a file belongs to somebody else.
    pub fn stranger(self, file: &Metadata) -> Option<u32> {
        self.stranger_to(rustix::process::geteuid().as_raw(), file.uid())
    }

    fn stranger_to(self, me: u32, owner: u32) -> Option<u32> {
        let known = owner == me || owner == 0 || (me == 0 && self.behind == Some(owner));
        (!known).then_some(owner)
    }
}

/// Why such a file is left out.
pub fn belongs_to_another(owner: u32) -> String {
    format!("it belongs to another user (number {owner})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ones_own_files_and_the_administrators_count() {
        let plain = Owners::default();
        assert_eq!(plain.stranger_to(1000, 1000), None);
        assert_eq!(plain.stranger_to(1000, 0), None);
        assert_eq!(plain.stranger_to(1000, 1001), Some(1001));
        assert_eq!(plain.stranger_to(0, 1000), Some(1000));
        let sudo = Owners { behind: Some(1000) };
        assert_eq!(sudo.stranger_to(0, 1000), None);
        assert_eq!(sudo.stranger_to(0, 1001), Some(1001));
        assert_eq!(sudo.stranger_to(1001, 1000), Some(1000), "only for the administrator");
    }
}
