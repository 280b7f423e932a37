//! Lines whose meaning the disk decides: links, `..` behind them, patterns, repositories, tool chains.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use charla_core::policy::{Decision, RuleBook, Scope, Wall};
use charla_proto::{ApprovalMode, Policy, Verdict};
use charla_tools::shell::{self, ShellContext};

/// A clone with everything in it that a clone can carry.
struct Clone {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Clone {
    fn new() -> Clone {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("ws");
        for path in [
            "outside/inner",
            "ws/sub",
            "ws/suba",
            "ws/subb",
            "ws/emptydir",
            "ws/.charla",
            "ws/.git/hooks",
            "ws/src/deep",
            "ws/vendor/x/objects/deep",
            "ws/vendor/x/refs",
            "ws/tc/bin",
            "ws/tree/.vscode",
            "ws/plain/dir",
        ] {
            std::fs::create_dir_all(base.join(path)).unwrap();
        }
        for path in [
            "neighbour.txt",
            "outside/secret",
            "ws/f",
            "ws/g",
            "ws/src/a.rs",
            "ws/src/b.rs",
            "ws/tree/.vscode/tasks.json",
            "ws/plain/dir/x",
            "ws/vendor/x/HEAD",
            "ws/.git/HEAD",
            "ws/subb/w",
        ] {
            std::fs::write(base.join(path), "x\n").unwrap();
        }
        std::fs::write(
            root.join(".git/config"),
            "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@host:a/b\n",
        )
        .unwrap();
        let links = [
            ("/etc", "sub/link"),
            ("/etc/ssl", "sub/ssl"),
            ("..", "sub/in"),
            ("/etc/passwd", "sub/w"),
            ("/etc/passwd", "suba/w"),
            ("../outside", "outlink"),
            ("../../outside/inner", "sub/dl"),
            (".git/hooks", "hooklink"),
            (".charla", "chlink"),
            ("vendor/x/objects/deep", "lnk"),
            ("src", "srclink"),
            ("../outside/secret", "leak.txt"),
        ];
        for (target, link) in links {
            symlink(target, root.join(link)).unwrap();
        }
        Clone { _folder: folder, root }
    }

    fn verdict(&self, line: &str, mode: ApprovalMode) -> Verdict {
        self.verdict_under("", line, mode)
    }

    fn verdict_under(&self, rules: &str, line: &str, mode: ApprovalMode) -> Verdict {
        let scope =
            Scope { roots: vec![self.root.clone()], home: None, wall: Wall::WHOLE, ..Scope::default() };
        let place = ShellContext { cwd: self.root.clone(), home: None };
        let plan = shell::plan_on_disk(line, &place, std::slice::from_ref(&self.root));
        RuleBook::new(scope, &[]).unwrap().with_rules(rules).unwrap().judge(&plan, mode)
    }

    /// True when a line runs unasked.
    fn runs(&self, line: &str) -> bool {
        matches!(self.verdict(line, ApprovalMode::Default), Verdict::Allow { .. })
    }

    fn expect(&self, lines: &[&str], mode: ApprovalMode, expected: Decision) {
        for line in lines {
            let verdict = self.verdict(line, mode);
            assert_eq!(Decision::from(&verdict), expected, "{line}, {mode}: {verdict:?}");
        }
    }

    /// The verdict where every command is allowed.
    fn allowed(&self, line: &str) -> Decision {
        let rule = "[[rule]]\ntool = \"run_shell_command\"\ndecision = \"allow\"\n";
        Decision::from(&self.verdict_under(rule, line, ApprovalMode::Default))
    }

    fn write(&self, path: impl AsRef<Path>, text: &str) {
        std::fs::write(self.root.join(path), text).unwrap();
    }
}

#[test]
fn what_lies_outside_is_not_read_through_links_patterns_or_parents() {
    let clone = Clone::new();
    let asks = [
        "cat sub/w",
        "cat sub/link/passwd",
        "cat sub/ssl/../passwd",
        "head -1 sub/link/hosts",
        "cd sub/link && cat passwd",
        "cd sub/in && cat ../neighbour.txt",
        "cat sub/in/../neighbour.txt",
        "cat sub/w*",
        "cat sub/?",
        "cat sub/link/passw*",
        "cat su*/w",
        "cat */w",
        "cat leak*",
        "cat *.txt",
        "grep x sub/w*",
        "wc -l sub/*",
        "head sub/*",
        "diff suba/w subb/w",
        "sort sub/w",
        "cat < sub/w",
        "cat < sub/ssl/../passwd",
        "cat < sub/in/../neighbour.txt",
        "cd outlink && cat secret",
        "cat outlink/secret",
        "cat outlink/*",
        "cat ./sub/../outlink/secret",
        "cd -P sub/link/.. && cat etc/passwd",
        "cd sub/dl && cat ../secret",
        "cat sub/dl/../secret",
        "grep -r x outlink",
        "grep -r x sub/link",
        "sed p leak.txt",
        "awk 1 sub/w",
        "jq . leak.txt",
        "for f in sub/*; do cat sub/w; done",
        "bash -c 'cat sub/w'",
        "ls | head; cat sub/w",
        "find sub/link -name x -exec cat {} +",
        "tail -n1 sub/in/leak.txt",
        "echo \"$(cat sub/w)\"",
        "cat src/../leak.txt",
        "git diff --no-index f leak.txt",
        "cut -c1 leak.txt",
    ];
    clone.expect(&asks, ApprovalMode::Default, Decision::Ask);
    clone.expect(&asks, ApprovalMode::AutoEdit, Decision::Ask);
    let runs = [
        "cat f",
        "cat src/*.rs",
        "cat srclink/a.rs",
        "cat srclink/*.rs",
        "head src/../f",
        "cd src && cat ../f",
        "cd src/deep && cat ../../f",
        "cat < src/a.rs",
        "diff f g",
        "ls sub",
        "ls */",
        "ls -d *",
        "echo *",
        "wc -l src/*",
        "grep -rn x src",
        "grep -n x src/*.rs",
        "find . -name a.rs",
        "cd src && git status",
        "git status",
        "git log",
        "git remote -v",
        "git diff f",
        "cat missing",
        "cat src/missing*.rs",
    ];
    clone.expect(&runs, ApprovalMode::Default, Decision::Allow);
}

#[test]
fn auto_edit_writes_nothing_outside_and_nothing_that_runs_later() {
    let clone = Clone::new();
    let asks = [
        "cp f outlink/new",
        "tee outlink/new",
        "touch outlink/new",
        "mkdir outlink/new",
        "mv f outlink/new",
        "cp f outlink",
        "cp f hooklink/pre-commit",
        "tee hooklink/pre-commit",
        "tee chlink/settings.json",
        "touch chlink/x",
        "echo hi > outlink/new",
        "echo hi > sub/dl/../new5",
        "cp f sub/dl/../new6",
        "echo hi > hooklink/pre-commit",
        "echo hi > chlink/settings.json",
        "cd outlink && touch x",
        "cd sub/dl && touch ../x",
        "cp f sub/in/../x",
        "echo x > sub/in/../x",
        "cp -r tree new",
        "mv tree new",
        "cp -r tree src",
        "touch .envrc.local",
        "cp f AGENTS.md",
        "tee agents.md",
        "mv f .github/workflows/ci.yml",
        "echo x > .cargo/config.toml",
        "touch conftest.py",
        "tee .mcp.json",
        "mkdir -p .claude/x",
        "cp f .GIT/hooks/pre-commit",
        "echo x > lefthook.yml",
        "echo x > .Nvim.lua",
        "echo x > rust-toolchain.toml",
        "touch src/CLAUDE.md",
        "echo x > /dev/tty",
        "echo x > leak.txt",
        "tee leak.txt",
        "cp f leak.txt",
    ];
    clone.expect(&asks, ApprovalMode::AutoEdit, Decision::Ask);
    let runs = [
        "cp f new",
        "mv f new",
        "touch src/c.rs",
        "mkdir -p new/folder",
        "echo hi > out.txt",
        "cp -r plain copy",
        "tee srclink/d.rs",
        "echo x > srclink/d.rs",
        "cd src && touch ../y",
        "echo x > src/../z",
        "touch Makefile",
    ];
    clone.expect(&runs, ApprovalMode::AutoEdit, Decision::Allow);
}

#[test]
fn git_asks_where_the_settings_of_a_repository_could_run_programs() {
    let clone = Clone::new();
    let nested = [
        "cd vendor/x && git status",
        "cd vendor/x && /usr/bin/git status",
        "cd lnk && git status",
        "cd vendor/x/objects && git log",
        "cd vendor/x/objects/deep && /bin/git diff",
        "find vendor/x -name HEAD -execdir git status ';'",
        "cd .git && git log",
        "(cd lnk; git log)",
        "git -C vendor/x status",
        "cd vendor/x && command git status",
        "cd vendor/x && env git status",
        "cd vendor/x; timeout 5 git status",
    ];
    clone.expect(&nested, ApprovalMode::Default, Decision::Ask);
    clone.expect(&["git status", "git log"], ApprovalMode::Default, Decision::Allow);
    for settings in [
        "[core]\n\tfsmonitor = ./evil\n",
        "[diff]\n\texternal = ./x\n",
        "[diff \"a\"]\n\ttextconv = x\n",
        "[filter \"a\"]\n\tclean = x\n",
        "[include]\n\tpath = ../x\n",
        "[core]\n\thooksPath = x\n",
    ] {
        clone.write(".git/config", settings);
        clone.expect(&["git status", "git diff", "cd src && git log"], ApprovalMode::Default, Decision::Ask);
    }
    clone.write(".git/config", "[remote \"origin\"]\n\turl = https://user:token@host/x\n");
    let telling = [
        "git remote -v",
        "git remote get-url origin",
        "git config remote.origin.url",
        "git config branch.main.remote",
        "git for-each-ref --format='%(upstream:remotename)'",
        "git branch --format='%(push:remotename)'",
    ];
    clone.expect(&telling, ApprovalMode::Default, Decision::Ask);
    let plain = ["git status", "git log", "git config user.name", "git branch", "git ls-files"];
    clone.expect(&plain, ApprovalMode::Default, Decision::Allow);
}

#[test]
fn a_version_is_not_asked_for_where_a_file_chooses_the_program() {
    let clone = Clone::new();
    let queries = [
        "cargo --version",
        "cargo -V",
        "rustc --version",
        "rustc -V",
        "node --version",
        "node -v",
        "npm --version",
        "yarn --version",
        "pnpm --version",
        "go version",
        "python3 --version",
        "java --version",
        "ruby --version",
    ];
    clone.expect(&queries, ApprovalMode::Default, Decision::Allow);
    let choosers = [
        ("rust-toolchain", "x", &["cargo --version", "rustc -V"][..]),
        (
            "rust-toolchain.toml",
            "x",
            &["cargo -V", "cd src && cargo --version", "cd src/deep && rustc --version"],
        ),
        (".yarnrc.yml", "yarnPath: x", &["yarn --version", "npm -v"]),
        (
            "package.json",
            "{\"packageManager\": \"yarn@1\"}",
            &["yarn --version", "pnpm --version", "cd src && npm --version"],
        ),
        (".tool-versions", "nodejs path:./tc", &["node -v", "cargo -V", "make --version", "jq --version"]),
        ("go.mod", "module x\ntoolchain go1.99\n", &["go version"]),
        (".python-version", "x", &["python3 --version", "pip --version"]),
        ("mise.toml", "x", &["node -v"]),
    ];
    for (file, text, lines) in choosers {
        clone.write(file, text);
        clone.expect(lines, ApprovalMode::Default, Decision::Ask);
        std::fs::remove_file(clone.root.join(file)).unwrap();
        clone.expect(lines, ApprovalMode::Default, Decision::Allow);
    }
    // A file that says nothing but a version chooses among what the user installed.
    let queries = &["cargo --version", "cargo build --help", "rustc --print sysroot", "rustup show"][..];
    for (text, expected) in [
        ("[toolchain]\nchannel = \"1.80.1\"\ncomponents = [\"clippy\"]\n", Decision::Allow),
        ("[toolchain]\nchannel = \"nightly-2026-01-01\"\n", Decision::Allow),
        ("[toolchain]\npath = \"tc\"\n", Decision::Ask),
        ("[toolchain]\nchannel = \"1.80.1\"\npath = \"tc\"\n", Decision::Ask),
        ("[toolchain]\nchannel = \"../tc\"\n", Decision::Ask),
        ("toolchain = { path = \"tc\" }\n", Decision::Ask),
        ("toolchain.path = \"tc\"\nchannel = \"stable\"\n", Decision::Ask),
    ] {
        clone.write("rust-toolchain.toml", text);
        clone.expect(queries, ApprovalMode::Default, expected);
    }
    std::fs::remove_file(clone.root.join("rust-toolchain.toml")).unwrap();
    clone.write(".python-version", "3.12.1\n");
    clone.write(".nvmrc", "v20\n");
    clone.expect(&["python3 --version", "node -v"], ApprovalMode::Default, Decision::Allow);
    clone.write("package.json", "{\"name\": \"x\"}");
    clone.write("go.mod", "module x\n");
    clone.expect(&["node -v", "go version", "cargo --version"], ApprovalMode::Default, Decision::Allow);
}

#[test]
fn a_descriptor_of_the_command_is_not_looked_for_among_ours() {
    let clone = Clone::new();
    let before = clone.runs("diff <(ls) <(ls src)");
    // Whatever stands behind our numbers, up to those that bash uses.
    let held: Vec<std::fs::File> = (0..80).map(|_| std::fs::File::open("/etc/passwd").unwrap()).collect();
    assert!(before && clone.runs("diff <(ls) <(ls src)"));
    assert!(clone.runs("cat <(sort f)"));
    drop(held);
}

#[test]
fn git_asks_about_contents_by_their_number_and_where_attributes_show_secrets() {
    let clone = Clone::new();
    let git = |words: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(words);
        let done = command.current_dir(&clone.root).output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    std::fs::remove_dir_all(clone.root.join(".git")).unwrap();
    git(&["init", "-q", "."]);
    git(&["add", "f", "g"]);
    git(&["commit", "-qm", "Begin"]);
    let (commit, content) = (git(&["rev-parse", "HEAD"]), git(&["rev-parse", "HEAD:f"]));
    for line in ["git log -p", "git show", "git diff", "git grep x", "git log -S x", "git -C . show"] {
        assert!(clone.runs(line), "{line}");
    }
    assert!(
        clone.runs(&format!("git show {commit}")) && clone.runs(&format!("git diff {commit}~1..{commit}"))
    );
    for command in ["show", "cat-file -p", "diff HEAD", "grep x"] {
        assert!(!clone.runs(&format!("git {command} {content}")), "{command}");
        assert!(!clone.runs(&format!("git -C . {command} {}", content.split_at(8).0)), "{command}");
    }
    git(&["tag", "content", "HEAD:f"]);
    git(&["tag", "commit"]);
    assert!(clone.runs("git show commit") && clone.runs("git diff commit~1 commit:src HEAD:src"));
    for line in
        ["git show content", "git cat-file -p tags/content", "git show HEAD content", "git log -p content"]
    {
        assert!(!clone.runs(line), "{line}");
    }
    assert!(clone.runs("git log -p -- content"));
    std::fs::rename(clone.root.join(".git"), clone.root.join("kept")).unwrap();
    clone.write(".git", "gitdir: kept\n");
    assert!(!clone.runs("git log"), "what is kept there, others could read");
    std::fs::remove_file(clone.root.join(".git")).unwrap();
    std::fs::rename(clone.root.join("kept"), clone.root.join(".git")).unwrap();
    std::fs::write(clone.root.join(".env"), "KEY=x").unwrap();
    git(&["add", "-f", ".env"]);
    for line in ["git grep x", "git grep -c x", "git log -S x", "git log -pS x"] {
        assert!(!clone.runs(line), "{line}");
    }
    assert!(clone.runs("git grep x -- src") && clone.runs("git log -p"));
    std::fs::write(clone.root.join(".gitattributes"), "*.rs diff=rust\n").unwrap();
    assert!(clone.runs("git log -p"));
    std::fs::write(clone.root.join(".gitattributes"), "*.rs diff=rust\n.env diff\n").unwrap();
    assert!(!clone.runs("git log -p") && !clone.runs("git show"));
}

#[test]
fn a_broad_allowance_does_not_write_through_links_either() {
    let clone = Clone::new();
    for line in [
        "cp f hooklink/x",
        "install f hooklink/x",
        "tee outlink/x",
        "touch sub/in/../neighbour.txt",
        "sort -o hooklink/x f",
        "tar -xf a.tar -C hooklink",
        "tar -xf a.tar --directory=outlink",
        "unzip a.zip -d hooklink",
        "patch hooklink/x a.diff",
        "curl -o hooklink/x http://x/y",
        "gcc -o hooklink/x f.c",
        "dd if=f of=hooklink/x",
        "sed -i s/a/b/ outlink/secret",
        "cp -r tree new",
    ] {
        assert_eq!(clone.allowed(line), Decision::Ask, "{line}");
    }
    for line in
        ["cp f new", "tee srclink/d.rs", "tar -xf a.tar -C src", "sort -o g f", "gcc -o src/x f.c", "make"]
    {
        assert_eq!(clone.allowed(line), Decision::Allow, "{line}");
    }
}

#[test]
fn a_remote_that_is_a_folder_is_not_pushed_to_unasked() {
    let clone = Clone::new();
    let rule = "[[rule]]\ncommandPrefix = [\"git push\", \"git fetch\"]\ndecision = \"allow\"\n";
    let decide = |line: &str| Decision::from(&clone.verdict_under(rule, line, ApprovalMode::Default));
    let write = |text: &str| std::fs::write(clone.root.join(".git/config"), text).unwrap();
    write("[remote \"origin\"]\n\turl = git@example.org:a/b.git\n");
    for line in ["git push", "git push origin main", "git fetch origin", "git push -u origin HEAD"] {
        assert_eq!(decide(line), Decision::Allow, "{line}");
    }
    for line in ["git push other main", "git push vendor/x main", "git fetch sub"] {
        assert_eq!(decide(line), Decision::Ask, "{line}");
    }
    for settings in
        ["", "[remote \"origin\"]\n\turl = ./origin\n", "[remote \"origin\"]\n\turl = /w/origin\n"]
    {
        write(settings);
        assert_eq!(decide("git push origin main"), Decision::Ask, "{settings}");
    }
}

#[test]
fn a_file_that_is_named_like_an_option_is_one_to_the_command() {
    let clone = Clone::new();
    clone.write("--pre=.sh", "x");
    let rule = "[[rule]]\ncommandPrefix = [\"rg\", \"tar\"]\ndecision = \"allow\"\n";
    let decide = |line: &str| Decision::from(&clone.verdict_under(rule, line, ApprovalMode::Default));
    for line in ["rg x *", "rg x [-]*", "tar cf a.tar *"] {
        assert_eq!(decide(line), Decision::Ask, "{line}");
    }
    std::fs::remove_file(clone.root.join("--pre=.sh")).unwrap();
    clone.write("src/--pre=.sh", "x");
    assert_eq!(decide("tar cf a.tar src/*"), Decision::Allow);
}

#[test]
fn a_link_behind_a_glued_option_is_followed() {
    let clone = Clone::new();
    for line in [
        "cp -thooklink f",
        "cp -ftoutlink f",
        "tar -Coutlink -xf a.tar",
        "install -thooklink f",
        "sort -ooutlink/x f",
    ] {
        assert_eq!(clone.allowed(line), Decision::Ask, "{line}");
    }
    assert_eq!(clone.allowed("cp -tsrc f"), Decision::Allow);
    assert!(!clone.runs("cat [[:alpha:]]*"), "what it names is not known");
}
