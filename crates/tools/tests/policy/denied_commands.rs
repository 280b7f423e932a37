//! A denied command is denied by every spelling that is understood, and what may run it unseen asks: in `yolo`, too.

use charla_core::policy::{Decision, RuleBook};
use charla_proto::ApprovalMode;
use charla_tools::shell;

use super::{place, user_rules};

fn book() -> RuleBook {
    user_rules("[[rule]]\ncommandPrefix = \"git push\"\ndecision = \"deny\"\n")
}

fn expect(lines: &[&str], expected: Decision) {
    let book = book();
    let decide = |line: &str, mode| Decision::from(&book.explain(&shell::plan(line, &place()), mode).verdict);
    for line in lines {
        assert_eq!(decide(line, ApprovalMode::Yolo), expected, "{line}");
        let careful = decide(line, ApprovalMode::Default);
        assert!(careful >= expected, "{line}: {careful}");
    }
}

#[test]
fn a_denied_command_is_denied_however_it_is_written() {
    expect(
        &[
            "git push",
            "git --no-pager push",
            "git -C . push",
            "\"git\" push",
            "\\git push",
            "command git push",
            "builtin command git push",
            "env git push",
            "env -i git push",
            "env -S 'git push'",
            "env --split-string='git push'",
            "xargs git push",
            "find . -exec git push \\;",
            "bash -c 'git push'",
            "bash -c \"git pu\"\"sh\"",
            "bash -lc 'git push'",
            "eval 'git push'",
            "eval \"git\" \"push\"",
            "eval git\\ push",
            "git pu{s,}h",
            "git {push,x}",
            "p() { git push; }; p",
            "function p { git push; }; p",
            "trap 'git push' EXIT",
            "trap 'git push' DEBUG",
            "coproc git push",
            "time git push",
            "! git push",
            "(git push)",
            "{ git push; }",
            "if git push; then :; fi",
            "while git push; do :; done",
            "case x in x) git push;; esac",
            "cat <(git push)",
            "cat > >(git push)",
            "echo `git push`",
            "echo $(git push)",
            "cat <<EOF\n$(git push)\nEOF",
            "busybox sh -c 'git push'",
            "busybox git push",
            "nohup git push",
            "setsid git push",
            "timeout 5 git push",
            "nice git push",
            "ionice git push",
            "stdbuf -o0 git push",
            "taskset 1 git push",
            "watch git push",
            "sudo git push",
            "doas git push",
            "/usr/bin/git push",
            "./git push",
            "GIT push",
            "Git push",
            "find . -ok git push \\;",
            "exec git push",
            "exec -a x git push",
            "git push --help",
            "g''it pu''sh",
            "$'git' $'push'",
            "IFS=x; git push",
            "git -p push",
            "git --git-dir=.git push",
            "git --exec-path push",
            "git --exec-path=/x push",
        ],
        Decision::Deny,
    );
}

#[test]
fn what_may_run_a_denied_command_asks() {
    expect(
        &[
            "git -c alias.p=push p",
            "git -calias.p=push p",
            "git p",
            "echo push | xargs git",
            "echo push | xargs -I{} git {}",
            "sh -c \"$(echo git push)\"",
            "g=git; $g push",
            "git $(echo push)",
            "{git,push}",
            "alias p='git push'; p",
            "bash <<EOF\ngit push\nEOF",
            "bash <<< 'git push'",
            "echo 'git push' | bash",
            "python3 -c 'import os; os.system(\"git push\")'",
            "perl -e 'system \"git push\"'",
            "chroot / git push",
            "unshare -r git push",
            "script -c 'git push' /dev/null",
            "strace git push",
            "flock x git push",
            "parallel git ::: push",
            "ssh localhost git push",
            "su -c 'git push'",
            "PATH=. ls",
            "PS4='$(git push)' bash -xc ls",
            "PS4='$(git push)'; set -x; ls",
            "PROMPT_COMMAND='git push' bash -ic ls",
            "GIT_EDITOR='git push' git commit",
            "EDITOR='git push #' git commit",
            "VISUAL=x git commit",
            "GIT_SEQUENCE_EDITOR=x git rebase -i",
            "GIT_PAGER='git push' git -p log",
            "PAGER=./x git -p log",
            "LESSOPEN='|git push' less x",
            "MANPAGER=x man ls",
            "GIT_EXTERNAL_DIFF=./x git diff",
            "GIT_SSH=./x git fetch",
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=push git p",
            "GIT_CONFIG_PARAMETERS=\"'alias.p'='push'\" git p",
            "git config alias.p push; git p",
            "make",
            "npm test",
            "cargo run",
            "RUSTFLAGS=-g cargo test",
            "export FOO=bar; cargo test",
            "git subtree push x",
            "git submodule foreach git push",
            "git bisect run git push",
            "git rebase -x 'git push' main",
            "git -c core.sshCommand='git push' fetch",
            "git fetch --upload-pack='git push'",
            "git hook run pre-push",
            "git lfs push",
            "sed '1e git push' f",
            "awk 'BEGIN{system(\"git push\")}'",
            "vim -c '!git push'",
            "vim +'!git push'",
            "ed f",
            "man -P 'git push' ls",
            "tar -xf a --to-command='git push'",
            "tar -cf a --checkpoint=1 --checkpoint-action=exec='git push' b",
            "rg --pre 'git push' x",
            "sort --compress-program='git push' x",
            "fd -x git push",
            "fd x -X git push",
            "zip x y -TT 'git push'",
            "rsync -e 'git push' a b:",
            "gdb -ex '!git push'",
            "expect -c 'spawn git push'",
            "node -e 'x'",
            "ruby -e 'x'",
            "php -r 'x'",
            "lua -e x",
            ". ./x.sh",
            "source x.sh",
            "git send-pack origin main",
        ],
        Decision::Ask,
    );
}

#[test]
fn what_cannot_run_it_runs() {
    expect(
        &[
            "git config alias.p push",
            "cargo test",
            "FOO=1 cargo test",
            "RUST_LOG=debug cargo test",
            "git commit -m x",
            "git pull",
            "git status",
            "git stash push",
            "git remote update",
            "hub push",
            "gh repo sync",
            "less f",
        ],
        Decision::Allow,
    );
}

#[test]
fn a_denied_command_makes_programs_ask_that_run_what_somebody_wrote() {
    let book = user_rules("[[rule]]\ncommandPrefix = \"git push\"\ndecision = \"deny\"\n");
    let decide =
        |line: &str| Decision::from(&book.explain(&shell::plan(line, &place()), ApprovalMode::Yolo).verdict);
    for line in [
        "go run .",
        "go generate",
        "uv run x.py",
        "uvx x",
        "ts-node x.ts",
        "perl5.36 x.pl",
        "ruby3.1 x.rb",
        "node18 x.js",
        "lua5.4 x.lua",
        "python3.12 x.py",
        "bash5 x.sh",
        "cargo run",
        "cargo +nightly run",
        "cargo -q r",
        "cargo $x",
        "poetry run x",
        "dotnet run",
        "git --attr-source HEAD push",
        "trap -- 'git push' EXIT",
        "echo '1e git push' | sed -f- f",
    ] {
        assert_ne!(decide(line), Decision::Allow, "{line}");
    }
    for line in [
        "cargo test",
        "cargo --version",
        "go test ./...",
        "go mod tidy",
        "docker ps",
        "gcc-12 a.c",
        "git pull",
    ] {
        assert_eq!(decide(line), Decision::Allow, "{line}");
    }
}
