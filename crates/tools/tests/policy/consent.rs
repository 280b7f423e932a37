//! Whether somebody has thought of what a line does, or nothing but a broad rule lets it run.

use charla_core::policy::{RuleBook, RuleFile, Tier};
use charla_proto::{ApprovalMode, Consent, Policy};
use charla_tools::shell;

use crate::{place, scope};

const RULES: &str = "[[rule]]\ntool = \"run_shell_command\"\ndecision = \"allow\"\n\
    [[rule]]\ncommandPrefix = \"npm test\"\ndecision = \"allow\"\npriority = 200\n\
    [[rule]]\nenv = \"NODE_OPTIONS\"\ndecision = \"allow\"\npriority = 200\n";

fn consent(line: &str, mode: ApprovalMode) -> Consent {
    let file = RuleFile { tier: Tier::User, name: "own".to_owned(), text: RULES.to_owned() };
    RuleBook::new(scope(), &[file]).unwrap().consent(&shell::plan(line, &place()), mode)
}

#[test]
fn what_a_rule_names_was_thought_of_and_git_is_known() {
    for line in [
        "npm test",
        "cd src && npm test -- --watch",
        "npm test 2>&1 | tail -20",
        "NODE_OPTIONS=x npm test",
        "git commit -m x && git push",
        "git checkout main; ls",
        "git stash && git pull && git stash pop",
        "git submodule update --init",
        "npm test && git add -A",
    ] {
        for mode in [ApprovalMode::Default, ApprovalMode::Yolo] {
            assert_eq!(consent(line, mode), Consent::Named, "{line}");
        }
    }
}

#[test]
fn what_nothing_but_a_broad_rule_allows_was_not() {
    for line in [
        "tar cf - .",
        "npm test && tar cf - .",
        "python3 x.py",
        "npm install",
        "git checkout main && python3 x.py",
        "git worktree add ../x",
        "git clone . x",
        "git checkout-index -a --prefix=x/",
        "git -c core.editor=x commit",
        "git rebase -x make main",
        "git submodule foreach ls",
        "git $x",
        "git st",
        "GIT_EDITOR=x git commit",
        "PS4='$(cat a)'; set -x; true",
        "PATH=. npm test",
        "./git commit",
        "cat README.md",
        "$x",
    ] {
        for mode in [ApprovalMode::Default, ApprovalMode::Yolo] {
            assert_eq!(consent(line, mode), Consent::Broad, "{line}");
        }
    }
}
