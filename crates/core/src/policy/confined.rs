//! What the rules mean for commands that run in the sandbox.

use std::path::Path;

use charla_proto::{ApprovalMode, Withheld, looks_secret};

use super::rules::{Decision, Subject};
use super::{RuleBook, files, matching, protected};

impl RuleBook {
    /// True for what a command that nobody was asked about must not read, though it lies in the workspace: secrets, and
    /// what a rule keeps.
    pub fn hides(&self, path: &Path) -> bool {
        let keeps = |subject: &Subject| matches!(subject, Subject::Path { .. });
        let kept = self.rules.iter().any(|rule| rule.decision != Decision::Allow && keeps(&rule.subject));
        if !kept && !looks_secret(path) {
            return false;
        }
        match files::withheld(self, matching::SHELL, path, ApprovalMode::Default) {
            Some(Withheld::Rule { .. }) => true,
            // Without a repository's own settings `git` does nothing.
            Some(Withheld::Secret) => !path.ends_with(".git/config"),
            None => false,
        }
    }

    /// True for what a command that edits unasked must not write, though it lies in the workspace.
    pub fn protects(&self, path: &Path) -> bool {
        protected::protected(path).is_some()
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::{RuleFile, Scope, Tier, Wall};

    use super::*;

    #[test]
    fn secrets_and_what_a_rule_keeps_are_hidden_unless_a_rule_gives_them() {
        let scope = || Scope { roots: vec!["/w".into()], wall: Wall::WHOLE, ..Scope::default() };
        let rules = r#"
            [[rule]]
            tool = "*"
            path = "private/**"
            decision = "deny"

            [[rule]]
            tool = "run_shell_command"
            path = "test/.env"
            decision = "allow"
        "#;
        let file = RuleFile { tier: Tier::User, name: "rules".into(), text: rules.into() };
        let book = RuleBook::new(scope(), &[file]).unwrap();
        for hidden in ["/w/.env", "/w/a/id_rsa", "/w/private/a", "/w/private/b/c"] {
            assert!(book.hides(Path::new(hidden)), "{hidden}");
        }
        for plain in ["/w/a", "/w/src/main.rs", "/w/test/.env", "/w/private.rs"] {
            assert!(!book.hides(Path::new(plain)), "{plain}");
        }
        let book = RuleBook::new(scope(), &[]).unwrap();
        assert!(book.hides(Path::new("/w/.env")) && !book.hides(Path::new("/w/private/a")));
        assert!(book.protects(Path::new("/w/.git")) && !book.protects(Path::new("/w/src")));
    }
}
