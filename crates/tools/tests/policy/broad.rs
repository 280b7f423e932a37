//! What a broad allowance is not about: files that run or instruct later, and what lies outside the workspace.

use charla_core::policy::{Decision, RuleBook, allowed_tools};
use charla_proto::{ApprovalMode, Confinement, Effect, Verdict};
use charla_tools::shell;

use super::{place, user_rules};

/// What allows commands without naming their files: the flag, "this tool in this session", a rule file.
fn broad() -> Vec<RuleBook> {
    let tool = "[[rule]]\ntool = \"run_shell_command\"\ndecision = \"allow\"\n";
    let pattern = "[[rule]]\ncommandRegex = \".*\"\ndecision = \"allow\"\n";
    let flag = user_rules("").with(allowed_tools(["run_shell_command"]).unwrap());
    vec![flag, user_rules(tool), user_rules(pattern)]
}

/// The same that names the command of a line and nothing else.
fn prefix(line: &str) -> Vec<RuleBook> {
    let name = line.split(' ').next().unwrap();
    let rule = format!("[[rule]]\ncommandPrefix = \"{name}\"\ndecision = \"allow\"\n");
    vec![
        user_rules(&rule),
        user_rules("").with(allowed_tools([format!("run_shell_command({name})").as_str()]).unwrap()),
    ]
}

fn decision(book: &RuleBook, line: &str) -> Decision {
    Decision::from(&book.explain(&shell::plan(line, &place()), ApprovalMode::Default).verdict)
}

/// `{}` is replaced by places that are none of an allowance's business.
const PLACES: [&str; 9] = [
    "~/.bashrc",
    "/home/user/.charla/policies/x.toml",
    ".git/hooks/pre-commit",
    "/etc/x",
    "../x",
    "AGENTS.md",
    "sub/../.git/config",
    ".github/workflows/ci.yml",
    "$x",
];

const WRITERS: [&str; 70] = [
    "cp f {}",
    "cp -f f {}",
    "cp -- f {}",
    "cp f {} -S .bak",
    "cp f {} --suffix .bak",
    "cp -t {} f",
    "cp -ft {} f",
    "cp -t{} f",
    "cp --target-directory={} f",
    "cp --target-directory {} f",
    "cp --targ={} f",
    "cp -a a b {}",
    "mv f {}",
    "mv {} f",
    "mv -t {} f",
    "mv -v a b {}",
    "ln -s f {}",
    "ln {} f",
    "ln -sf {} f",
    "ln -t {} f",
    "install f {}",
    "install -D f {}",
    "install -m 755 f {}",
    "install -d {}",
    "install -d a {} b",
    "install -t {} f",
    "touch {}",
    "touch -r f {}",
    "touch a {} b",
    "tee {}",
    "tee -a {}",
    "tee a {}",
    "mkdir {}",
    "mkdir -p {}",
    "mkdir -m 700 {}",
    "rm {}",
    "rmdir {}",
    "unlink {}",
    "truncate -s 0 {}",
    "chmod +x {}",
    "chmod 644 a {}",
    "chown me {}",
    "mkfifo {}",
    "sponge {}",
    "sed -i s/a/b/ {}",
    "sed -i -e s/a/b/ f {}",
    "sed -n 'w {}' f",
    "sed 's/a/b/w {}' f",
    "sort -o {} f",
    "sort f -o{}",
    "sort --output={} f",
    "uniq f {}",
    "xxd -r f {}",
    "tar -xf a.tar -C {}",
    "tar xfC a.tar {}",
    "tar -cf {} f",
    "tar cf {} f",
    "tar --extract --file a.tar --directory={}",
    "tar xf a.tar {}",
    "unzip a.zip -d {}",
    "zip {} f",
    "gzip {}",
    "patch {} a.diff",
    "patch -o {} f a.diff",
    "patch -d {} -i a.diff",
    "split f {}",
    "curl -o {} http://x/y",
    "curl -sSLo {} http://x/y",
    "wget -O {} http://x/y",
    "wget -P {} http://x/y",
];

#[test]
fn a_broad_allowance_leaves_protected_places_to_a_person() {
    let places = |shape: &str| PLACES.map(|place| shape.replace("{}", place));
    let lines: Vec<String> = WRITERS.iter().flat_map(|shape| places(shape)).collect();
    let mut wrong = Vec::new();
    for line in &lines {
        // What a pattern of sed holds is no word of the shell.
        let books = broad().into_iter().chain(prefix(line));
        let hidden = line.contains("w $x");
        wrong.extend(books.filter(|book| !hidden && decision(book, line) == Decision::Allow).map(|_| line));
    }
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), lines.len());
}

#[test]
fn a_writer_in_disguise_is_still_one() {
    for line in [
        "env cp f ~/.bashrc",
        "nice -n 5 cp f ~/.bashrc",
        "timeout 5 tee .git/hooks/pre-commit",
        "nohup touch AGENTS.md",
        "sh -c 'cp f ~/.bashrc'",
        "bash -c \"touch ~/.charla/policies/x.toml\"",
        "eval cp f .git/config",
        "command tee AGENTS.md",
        "/bin/cp f .git/config",
        "/usr/bin/touch .git/config",
        "busybox cp f .git/config",
        "(cd ~ && touch .bashrc)",
        "cd .git/hooks && cp ../../f pre-commit",
        "cd ..; touch x",
        "for f in .git/config; do touch $f; done",
        "for f in *; do cp f \"$f\"; done",
        "ls | xargs touch",
        "ls | xargs -I{} cp f {}",
        "find . -name x -exec cp {} ~/ ';'",
        "find . -fprint .git/hooks/pre-commit",
        "touch {a,.git/config}",
        "cp f .gi[t]/config",
        "cp x/.bashrc .",
        "cp x/AGENTS.md docs",
        "mv x/AGENTS.md docs/",
        "cp --parents .git/config x",
        "ln -s ../AGENTS.md",
        "ln -s ~/.bashrc x && tee x",
        "cp * .git/hooks",
        "rm *",
        "touch '.git/config'",
        "touch .g\\it/config",
        "touch $'\\x2egit/config'",
        "cat f | tee .git/hooks/pre-commit > /dev/null",
        "git config core.hooksPath x",
        "git config --global alias.x '!sh'",
        "git -C sub config core.fsmonitor ./evil",
        "git diff --output=.git/hooks/pre-commit",
        "git archive -o .git/hooks/x HEAD",
        "git format-patch -o ../x HEAD~1",
        "git clone http://x/y ../y",
        "git worktree add /tmp/x",
        "git worktree add .vscode",
        "git clone . .git/hooks/x",
        "git clone x/AGENTS.md",
        "git init .vscode",
        "git submodule add https://x/y .vscode",
        "git checkout-index -a --prefix=.git/hooks/",
        "git bundle create AGENTS.md HEAD",
        "tar --index-file=.git/hooks/x -cf a f",
        "tar -g .git/hooks/x -cf a f",
        "tar cfg a .git/hooks/x f",
        "zip -T .git/hooks/x f",
        "perl -pi.bak -e1 AGENTS.md",
        "git -C ../other commit -m x",
        "gcc -o .git/hooks/pre-commit f.c",
        "openssl rand -out ~/.bashrc 8",
        "perl -pi -e s/a/b/ AGENTS.md",
        "awk 'BEGIN { print \"x\" > \".git/config\" }'",
        "awk '{print >> \"/etc/x\"}' f",
        "curl -O http://x/AGENTS.md",
        "wget http://x/.bashrc?y=1",
        "rsync -a f .git/hooks/",
        "dd if=f of=.git/config",
        "git mv f AGENTS.md",
        "git format-patch -1 -oAGENTS.md",
        "chrt -i 0 touch AGENTS.md",
        "parallel touch ::: AGENTS.md",
        "env -S 'touch AGENTS.md'",
        "env --split-string='touch AGENTS.md'",
        "env -S'touch' AGENTS.md",
        "env -C .vscode touch x",
        "env --chdir=.vscode touch x",
        "xargs -a f touch x",
        "find . -execdir touch x ';'",
        "objcopy f AGENTS.md",
        "git init --template=x .",
        "sed --in-pl s/a/b/ AGENTS.md",
        "flock x cp f .git/config",
        "strace -f tee AGENTS.md",
        "unshare -r -- touch ../x",
        "cpio -pd .git/hooks",
        "trap 'cp f ~/.bashrc' EXIT",
        "cd $x && cp f pre-commit",
        "cd \"$x\"; touch pre-commit",
        "f() { cp f ~/.bashrc; }; f",
        "coproc tee AGENTS.md",
        ": > .git/config",
        "exec 3> ~/.bashrc; echo x >&3",
        "cat <(tee AGENTS.md < f)",
        "c''p f .GIT/config",
        "cp f .git//config",
        "cp f ./sub/../.git/config",
        "cp f ~+/.git/config",
        "cp f \"$HOME/.bashrc\"",
        "cp -at.git f",
        "install -Dt .git/hooks f",
        "tar --one-top-level=.git/hooks -xf a.tar",
        "tar -xf a.tar --dir=.git/hooks",
        "curl --output-dir .git/hooks -O http://x/y",
        "/usr/bin/time -o .git/config ls",
        "script -qc ls .git/hooks/x",
        "echo x > ~/.bashrc",
    ] {
        for (number, book) in broad().iter().enumerate() {
            assert_eq!(decision(book, line), Decision::Ask, "{line} ({number})");
        }
    }
}

#[test]
fn a_broad_allowance_covers_ordinary_work() {
    for line in [
        "cp a b",
        "cp -r src out",
        "cp a b out/",
        "cp src/*.txt out/",
        "cp /usr/share/dict/words .",
        "cp a .",
        "cp --preserve=mode a b",
        "cp -t out a b",
        "mv a b",
        "mv src/a.txt .",
        "ln -s a b",
        "install -m 755 a bin/a",
        "install -d out/deep",
        "touch a b",
        "mkdir -p out/deep",
        "tee out.txt",
        "tee /dev/null",
        "make | tee build.log",
        "rm a b",
        "touch src/*.o",
        "chmod +x run.sh",
        "chmod -x run.sh",
        "truncate -s 0 a",
        "sed -i s/a/b/ src/main.rs",
        "sed 's|/w/|/x/|' a",
        "sort -u a",
        "sort -o a a",
        "uniq -c a",
        "tar czf out.tgz --exclude .git .",
        "tar --exclude=.git -cf out.tar .",
        "tar xf out.tar",
        "tar -xzf out.tgz -C out",
        "unzip a.zip",
        "zip -r a.zip . -x 'target/*'",
        "gzip a",
        "gzip -c AGENTS.md",
        "patch -p1 -i a.diff",
        "patch -p1 < a.diff",
        "split -b 1m a part-",
        "curl -fsSL http://x/y",
        "curl -H 'Accept: x' -o out.json http://x/y",
        "curl \"$x\"",
        "wget -q http://x/y.tgz",
        "git add AGENTS.md",
        "git add -A",
        "git reset HEAD",
        "git reset HEAD~1",
        "git commit -m 'see ../x'",
        "git checkout -- .github/workflows/ci.yml",
        "git config --get user.name",
        "git log -S /api/v1",
        "git push",
        "git show HEAD",
        "git mv a b",
        "cargo build --release",
        "cargo test",
        "npm install",
        "npm run build -- --out-dir out",
        "python3 x.py",
        "python3 -c 'print(1)'",
        "gcc -o out/a a.c",
        "go build -o bin/a ./cmd/a",
        "make -j4",
        "perl -ne 'print' AGENTS.md",
        "awk '{print > \"out.txt\"}' a",
        "awk '$1 > 3' a",
        "for f in a b; do cp $f out/; done",
        "docker build -t x .",
        "dotnet test -o out",
        "cat ~/.cargo/config",
        "strace -f make",
        "flock x make",
        "f() { make; }; f",
        "cd $x && make",
        "trap 'echo done' EXIT; make",
        "diff a /etc/hosts",
    ] {
        // A regular expression is about commands whose words are all known.
        for book in broad().iter().take(2) {
            let verdict = book.explain(&shell::plan(line, &place()), ApprovalMode::Default).verdict;
            assert_eq!(Decision::from(&verdict), Decision::Allow, "{line}: {verdict:?}");
        }
    }
}

#[test]
fn a_rule_that_says_the_place_is_about_it() {
    for (rule, line, expected) in [
        ("command = \"cp f .git/hooks/pre-commit\"", "cp f .git/hooks/pre-commit", Decision::Allow),
        ("commandPrefix = \"touch AGENTS.md\"", "touch AGENTS.md", Decision::Allow),
        ("commandPrefix = \"touch AGENTS.md\"", "touch AGENTS.md ../x", Decision::Ask),
        ("commandPrefix = \"git config\"", "git config user.name x", Decision::Allow),
        ("commandPrefix = \"git\"", "git config user.name x", Decision::Ask),
    ] {
        let book = user_rules(&format!("[[rule]]\n{rule}\ndecision = \"allow\"\n"));
        assert_eq!(decision(&book, line), expected, "{rule}: {line}");
    }
    let tool = user_rules("[[rule]]\ntool = \"run_shell_command\"\ndecision = \"allow\"\n");
    let plan = shell::plan("cp f ~/.bashrc", &place());
    assert_eq!(Decision::from(&tool.explain(&plan, ApprovalMode::Yolo).verdict), Decision::Allow);
}

/// How far a line reaches that these rules allow.
fn reach(book: &RuleBook, line: &str, mode: ApprovalMode) -> Option<Confinement> {
    match book.explain(&shell::plan(line, &place()), mode).verdict {
        Verdict::Allow { confinement, .. } => Some(confinement),
        Verdict::Ask { .. } | Verdict::Deny { .. } => None,
    }
}

#[test]
fn what_a_rule_allows_reaches_as_far_as_it_names() {
    use Confinement::{Asked, Open, Reading};
    let rule = |text: &str| user_rules(&format!("[[rule]]\n{text}\ndecision = \"allow\"\n"));
    let shell = "tool = \"run_shell_command\"";
    for (text, line, expected) in [
        (shell, "make", Asked),
        (shell, "cargo test", Asked),
        (shell, "python3 x.py", Asked),
        (shell, "x=1; make $x", Asked),
        (shell, "git push", Asked),
        (shell, "docker ps", Asked),
        (shell, "./docker ps", Asked),
        ("tool = \"run_shell_command\"\nconfinement = \"open\"", "make", Open),
        ("tool = \"run_shell_command\"\nconfinement = \"reading\"", "make", Reading),
        ("commandPrefix = \"make\"", "make all", Asked),
        ("commandRegex = \"make.*\"", "make all", Asked),
        ("commandPrefix = \"make\"\nconfinement = \"open\"", "make all", Open),
        ("command = \"make all\"", "make all", Open),
        ("commandPrefix = \"git push\"", "git push -u origin main", Open),
        ("commandPrefix = \"git\"", "git commit -m push", Asked),
        ("commandPrefix = \"aws\"", "aws s3 ls", Open),
        ("commandPrefix = \"npm\"", "npm publish", Open),
        ("commandPrefix = \"npm\"", "npm run publish", Asked),
        ("commandPrefix = \"docker\"", "docker ps", Open),
        ("commandPrefix = \"./docker\"", "./docker ps", Asked),
    ] {
        assert_eq!(reach(&rule(text), line, ApprovalMode::Default), Some(expected), "{text}: {line}");
    }
    for line in ["git -c core.sshCommand=./x fetch", "git fetch --upload-pack=./x"] {
        assert_eq!(reach(&rule("commandPrefix = \"git\""), line, ApprovalMode::Default), None, "{line}");
    }
    assert_eq!(reach(&rule(shell), "make", ApprovalMode::Yolo), Some(Open));
    let both = allowed_tools(["run_shell_command", "run_shell_command(git push)"]).unwrap();
    let both = user_rules("").with(both);
    assert_eq!(reach(&both, "git push", ApprovalMode::Default), Some(Open));
    assert_eq!(reach(&both, "make", ApprovalMode::Default), Some(Asked));
}

#[test]
fn leaving_the_sandbox_is_not_what_a_broad_allowance_is_about() {
    let decide = |text: &str, mode| {
        let mut plan = shell::plan("make", &place());
        plan.effects.push(Effect::Unconfined);
        let book =
            user_rules(&format!("[[rule]]\ntool = \"run_shell_command\"\n{text}decision = \"allow\"\n"));
        Decision::from(&book.explain(&plan, mode).verdict)
    };
    assert_eq!(decide("", ApprovalMode::Default), Decision::Ask);
    assert_eq!(decide("confinement = \"asked\"\n", ApprovalMode::AutoEdit), Decision::Ask);
    assert_eq!(decide("confinement = \"open\"\n", ApprovalMode::Default), Decision::Allow);
    assert_eq!(decide("", ApprovalMode::Yolo), Decision::Allow);
}

#[test]
fn an_allowance_of_one_command_lifts_none_beside_it() {
    let both = allowed_tools(["run_shell_command", "run_shell_command(git push)"]).unwrap();
    let flags = user_rules("").with(both);
    let files = user_rules(
        "[[rule]]\ntool = \"run_shell_command\"\ndecision = \"allow\"\n\
         [[rule]]\ncommandPrefix = [\"docker\", \"git push\"]\ndecision = \"allow\"\npriority = 200\n",
    );
    for book in [&flags, &files] {
        for line in [
            "git push; python3 -c 'print(1)'",
            "python3 x.py && git push",
            "git push | ./run.sh",
            "git push & make",
            "make; git push",
            "(git push); sh x.sh",
            "if git push; then make; fi",
            "timeout 5 ./run.sh; git push",
            "./env ls; git push",
            "git push; cd $x && make",
            "git rebase -x ./run.sh main; git push",
            "git -c alias.x='!./run.sh' x; git push",
            "git co; git push",
            "./git add f; git push",
            "git add $x; git push",
            "f() { make; }; f; git push",
        ] {
            let judged = book.explain(&shell::plan(line, &place()), ApprovalMode::Default);
            let Verdict::Ask { missing, .. } = &judged.verdict else { panic!("{line}: {judged:?}") };
            assert!(missing.iter().all(|part| part.always.is_none()), "{line}: {missing:?}");
        }
        for line in [
            "git push",
            "git push | tail -3",
            "git status; git push",
            "timeout 60 git push",
            "ls && git push",
            "git add -A && git commit -m x && git push",
        ] {
            assert_eq!(reach(book, line, ApprovalMode::Default), Some(Confinement::Open), "{line}");
        }
        for line in ["make; python3 x.py", "make | tee build.log"] {
            assert_eq!(reach(book, line, ApprovalMode::Default), Some(Confinement::Asked), "{line}");
        }
    }
    // Where nobody is to be asked, all of it runs in what was allowed least.
    let held =
        user_rules("[[rule]]\ncommandPrefix = \"make\"\ndecision = \"allow\"\nconfinement = \"asked\"\n");
    for (line, expected) in [
        ("docker ps", Confinement::Open),
        ("make", Confinement::Asked),
        ("make; docker ps", Confinement::Asked),
        ("ls; docker ps", Confinement::Open),
    ] {
        assert_eq!(reach(&held, line, ApprovalMode::Yolo), Some(expected), "{line}");
    }
}

#[test]
fn a_line_that_cannot_be_read_is_not_what_a_broad_allowance_is_about() {
    for line in [
        "rm -rf src; : $[1]",
        "cp f ~/.bashrc; : $[1]",
        "cat .env; : $[1]",
        "make; : $[1]",
        "touch 'x",
        "echo $((",
    ] {
        for book in &broad() {
            assert_eq!(decision(book, line), Decision::Ask, "{line}");
        }
        let yolo = user_rules("").explain(&shell::plan(line, &place()), ApprovalMode::Yolo).verdict;
        assert_eq!(Decision::from(&yolo), Decision::Allow, "{line}");
    }
}

#[test]
fn folders_of_secrets_below_the_home_are_left_to_a_person() {
    for line in [
        "python3 -c 'import sys; print(open(sys.argv[1]+\"/keys.json\").read())' ~/.charla",
        "python3 x.py /home/user/.charla",
        "./run.sh --from=/home/user/.codex",
        "tar cf out.tar ~/.claude",
        "cp -r ~/.gemini out",
        "node x.js ~/.config/opencode",
        "make HOME_OF=/home/user/.qwen",
        "grep -r key ~/.terraform.d",
        "cat ~/.config/sops/age/keys.txt",
        "cat ../.charla/settings.json",
    ] {
        for book in broad().iter().take(2) {
            assert_eq!(decision(book, line), Decision::Ask, "{line}");
        }
    }
    for line in ["python3 x.py .charla", "cp -r .claude out", "python3 x.py ~/notes"] {
        let verdict = broad()[1].explain(&shell::plan(line, &place()), ApprovalMode::Default).verdict;
        let by_home = |verdict: &Verdict| format!("{verdict:?}").contains("secrets");
        assert!(!by_home(&verdict), "{line}: {verdict:?}");
    }
}

#[test]
fn searching_everything_and_forcing_by_a_refspec_deserve_a_look() {
    for line in [
        "touch a; rg -uuu KEY",
        "touch a; rg KEY",
        "touch a; ag KEY",
        "touch a; diff -ruN . /e",
        "touch a; diff --recursive a b",
        "touch a; zgrep -r KEY .",
        "git push origin +main",
        "git push -qf origin v1:refs/heads/main",
        "git push -vf origin main",
        "git push --mir",
        "git push -d origin old",
        "git reset -q --har",
        "git push origin +HEAD:main",
        "git push origin :main",
        "git push --mirror origin",
        "git push origin --delete main",
    ] {
        for book in broad().iter().take(2) {
            assert_eq!(decision(book, line), Decision::Ask, "{line}");
        }
    }
    let push = user_rules("[[rule]]\ncommandPrefix = \"git push\"\ndecision = \"allow\"\n");
    for line in
        ["git push origin +main", "git push origin +HEAD:main", "git push origin :main", "git push --e=./x ."]
    {
        assert_eq!(decision(&push, line), Decision::Ask, "{line}");
    }
    for line in ["git push origin main", "git push -u origin HEAD"] {
        assert_eq!(decision(&push, line), Decision::Allow, "{line}");
    }
}
