//! The shell reader and the rule book together.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod always;
mod bash;
mod beside_git;
mod broad;
mod consent;
mod corpus;
mod denied_commands;
mod denied_paths;
mod hostile;
mod on_disk;
mod prefixes;
mod random;
mod reading;

use std::path::PathBuf;

use charla_core::policy::{RuleBook, RuleFile, Scope, Tier, Wall};
use charla_tools::shell::ShellContext;

/// The workspace of these tests.
const PROJECT: &str = "/home/user/project";

fn place() -> ShellContext {
    ShellContext { cwd: PathBuf::from(PROJECT), home: Some(PathBuf::from("/home/user")) }
}

fn scope() -> Scope {
    Scope {
        roots: vec![PathBuf::from(PROJECT)],
        home: Some(PathBuf::from("/home/user")),
        wall: Wall::WHOLE,
        ..Scope::default()
    }
}

fn user_rules(text: &str) -> RuleBook {
    let file = RuleFile { tier: Tier::User, name: "rules.toml".into(), text: text.into() };
    RuleBook::new(scope(), &[file]).unwrap()
}
