//! Lines that run git, and what else reads files in them.

use charla_core::policy::RuleBook;
use charla_proto::{ApprovalMode, Policy, Verdict};
use charla_tools::shell;

use crate::{place, scope};

/// Whether a line runs unasked, and whether what git keeps is open to it.
fn judged(line: &str) -> (bool, bool) {
    let plan = shell::plan(line, &place());
    let book = RuleBook::new(scope(), &[]).unwrap();
    let runs = matches!(book.judge(&plan, ApprovalMode::Default), Verdict::Allow { .. });
    (runs, book.only_git_reads(&plan))
}

#[test]
fn what_git_keeps_is_open_where_nothing_else_can_read_it() {
    for line in [
        "git log",
        "git log --oneline | head -5",
        "git status && ls -la src",
        "git status; cat README.md src/*.rs",
        "git log | grep -c fix | sort -n",
        "git diff --stat; wc -l $(git ls-files)",
        "git log -1; grep -rn TODO src",
        "git log | sed 's/.git//' | awk '{print $1}'",
        "diff <(git show HEAD:a.txt) a.txt",
        "timeout 5 git log | tail -3",
        "bash -c 'git log' | cat",
        "git show HEAD:a.json | jq .name",
        "git diff | rg '^[+]'",
    ] {
        assert_eq!(judged(line), (true, true), "{line}");
    }
}

#[test]
fn a_line_asks_in_which_another_may_read_what_git_needs() {
    for line in [
        "git log; cat .git/objects/ab/cdef",
        "git log; cat .GIT/x",
        "git log; grep -rn x .",
        "git log; grep -rn x",
        "git log; grep -rn x ..",
        "git log; rg x",
        "git log; diff -r . other",
        "git log; diff -r src other",
        "cd .git && cat objects/ab/cdef; cd .. && git log",
        "git log; cp -r . copy",
        "git log; cat \"$f\"",
        "git log; cat $(ls)",
        "git log; cat .*/x",
        "git log; cat .g*/HEAD",
        "git log; cat */../.git/x",
        "git log; head -1 < .git/config",
        "git diff --name-only | xargs cat",
        "git log; find . -exec cat {} +",
        "git log; find . -name x -exec grep y {} ';'",
        "git log | grep \"$x\"",
        "git log; python3 x.py",
        "git log; ./git status",
    ] {
        assert_eq!(judged(line), (false, false), "{line}");
    }
}

#[test]
fn git_that_only_lists_needs_nothing_of_what_it_keeps() {
    for line in [
        "git ls-files | xargs grep -n x",
        "git rev-parse --show-toplevel; grep -rn x .",
        "git branch --show-current && cat \"$f\"",
        "git ls-files; find src -exec cat {} +",
    ] {
        assert_eq!(judged(line), (true, false), "{line}");
    }
    assert_eq!(judged("git rev-parse --short HEAD; grep -rn x ."), (false, false));
    assert_eq!(judged("git ls-files"), (true, true));
    assert_eq!(judged("ls; cat a.txt"), (true, false));
}

#[test]
fn git_that_may_do_more_than_read_does_not_open_it() {
    for line in
        ["git -c alias.x='!cat .git/x' x", "git commit -m x", "git $x", "git archive HEAD", "git show --text"]
    {
        assert_eq!(judged(line), (false, false), "{line}");
    }
}
