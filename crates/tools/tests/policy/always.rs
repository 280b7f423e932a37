//! "Always" means this: what was remembered, what comes next, and whether it runs.

use std::path::{Path, PathBuf};

use charla_core::policy::{Decision, RuleBook, Scope, Wall};
use charla_proto::{ApprovalMode, Confinement, Policy, Verdict};
use charla_tools::shell::{self, ShellContext};

use super::PROJECT;

const DEFAULT: ApprovalMode = ApprovalMode::Default;

fn book(root: &str) -> RuleBook {
    let scope = Scope {
        roots: vec![PathBuf::from(root)],
        home: Some(PathBuf::from("/home/user")),
        wall: Wall::WHOLE,
        ..Scope::default()
    };
    RuleBook::new(scope, &[]).unwrap()
}

fn place(cwd: impl AsRef<Path>) -> ShellContext {
    ShellContext { cwd: cwd.as_ref().to_owned(), home: Some(PathBuf::from("/home/user")) }
}

/// The rules that "always" adds for a line; absent when it is not offered.
fn remembered(line: &str, cwd: &str) -> Option<String> {
    match book(PROJECT).explain(&shell::plan(line, &place(cwd)), DEFAULT).verdict {
        Verdict::Ask { missing, .. } => missing
            .into_iter()
            .map(|part| part.always)
            .collect::<Option<Vec<String>>>()
            .map(|rules| rules.join("\n")),
        _ => None,
    }
}

/// The verdict on `next` after `line` was allowed for good.
fn after(line: &str, next: &str, cwd: &str, root: &str) -> Verdict {
    let rules = remembered(line, PROJECT).unwrap_or_else(|| panic!("no always for {line}"));
    book(root).with_rules(&rules).unwrap().judge(&shell::plan(next, &place(cwd)), DEFAULT)
}

#[test]
fn an_answer_is_remembered_for_what_it_was_given_to() {
    let pairs = [
        // The same words, alone or with what needs no answer.
        ("make", "make", true),
        ("make", "make | tail -3", true),
        ("make", "make 2>&1 | head", true),
        ("make", "ls && make", true),
        ("make", "make && make", true),
        ("make all", "make all", true),
        ("make", "timeout 60 make", true),
        ("npm test", "npm test", true),
        ("npm test", "npm test > /dev/null", true),
        ("./run.sh", "./run.sh", true),
        ("./run.sh a", "./run.sh a", true),
        ("python3 x.py", "python3 x.py", true),
        ("python3 -c 'print(1)'", "python3 -c 'print(1)'", true),
        ("python3 -c 'print(1)'", "python3 -c \"print(1)\"", true),
        ("cd sub && ./run.sh", "cd sub && ./run.sh", true),
        ("FOO=1 make", "FOO=1 make", true),
        ("FOO=1 make", "timeout 60 env FOO=1 make", true),
        ("FOO=1 make", "LANG=C FOO=1 make", true),
        ("A=1 B=2 make", "B=2 A=1 make", true),
        ("FOO=1 ls", "FOO=1 ls", true),
        ("make > out.txt", "make > out.txt", true),
        ("make > out.txt", "make", true),
        ("touch x", "touch x", true),
        ("cp a b", "cp a b", true),
        ("cat ../x", "cat ../x", true),
        ("make && npm test", "npm test", true),
        ("make && npm test", "npm test && make", true),
        ("cd sub && make", "(cd sub; cd ../sub && make)", false),
        // Other words.
        ("make", "make all", false),
        ("make", "make -f x", false),
        ("make", "gmake", false),
        ("make", "./make", false),
        ("make", "/tmp/make", false),
        ("make all", "make", false),
        ("make", "make $x", false),
        ("make", "make; rm x", false),
        ("make", "make | sh", false),
        ("make", "sudo make", false),
        ("make", "xargs make", false),
        ("npm test", "npm test x", false),
        ("npm test", "npm run x", false),
        ("./run.sh", "./run.sh x", false),
        ("./run.sh a", "./run.sh b", false),
        ("python3 x.py", "python3 y.py", false),
        ("python3 x.py", "python3 -i x.py", false),
        ("python3 -c 'print(1)'", "python3 -c 'print(2)'", false),
        ("touch x", "touch y", false),
        ("cp a b", "cp b a", false),
        ("cat ../x", "cat ../y", false),
        ("cat ../x", "cd sub && cat ../x ../../x", false),
        // Another folder.
        ("./run.sh", "cd sub && ./run.sh", false),
        ("make", "cd sub && make", false),
        ("make", "cd sub; make", false),
        ("make", "cd /tmp && make", false),
        ("make", "(cd ..; make)", false),
        ("make", "bash -c 'cd sub && make'", false),
        ("cd sub && ./run.sh", "./run.sh", false),
        ("cd sub && ./run.sh", "cd other && ./run.sh", false),
        ("npm test", "cd packages/x && npm test", false),
        ("python3 x.py", "cd sub && python3 x.py", false),
        // Another value, another variable.
        ("FOO=1 make", "make", false),
        ("FOO=1 make", "FOO=1 npm test", false),
        ("FOO=1 make", "FOO=1 ls", false),
        ("FOO=1 make", "FOO=1 make && npm test", false),
        ("FOO=1 make", "FOO=1 make; FOO=2 make", false),
        ("FOO=1 make", "make; FOO=1 ls", false),
        ("FOO=1 make", "cd sub && FOO=1 make", false),
        ("A=1 B=2 make", "A=1 make", false),
        ("FOO=1 ls", "FOO=1 make", false),
        ("FOO=1 make", "FOO=1 ls; make", false),
        ("FOO=1 make", "FOO=1 ls && make", false),
        ("FOO=1 make", "FOO=1; make", false),
        ("FOO=1 make", "(export FOO=1); make", false),
        ("FOO=1 make", "ls && export FOO=1; make", false),
        ("FOO=1 make", "FOO=1 env -u FOO make", false),
        ("FOO=1 make", "FOO=1 env -i make", false),
        ("FOO=1 make", "FOO=1 FOO=2 make", false),
        ("FOO=1 make", "FOO=1 env FOO=2 make", false),
        ("FOO=1 make", "FOO+=1 make", false),
        ("FOO=1 make", "export FOO=1; make", true),
        ("FOO=1 make", "export FOO=1 && make", true),
        ("FOO=1 make && npm test", "FOO=1 make && npm test", true),
        ("FOO=1 make && npm test", "npm test; FOO=1 make", true),
        ("FOO=1 make && npm test", "make && FOO=1 npm test", false),
        ("FOO=1 make && npm test", "export FOO=1; make && npm test", false),
        ("./run.sh", "foo=1 ./run.sh", false),
        ("./run.sh", "env foo=1 ./run.sh", false),
        ("./run.sh", "export foo=1; ./run.sh", false),
        ("./run.sh", "command export foo=1; ./run.sh", false),
        ("./run.sh", "eval 'export foo=1'; ./run.sh", false),
        ("./run.sh", "declare -x foo=1; ./run.sh", false),
        ("./run.sh", "foo=1; export foo; ./run.sh", false),
        ("./run.sh", "foo=1 timeout 5 ./run.sh", false),
        ("./run.sh", "foo=1 sh -c ./run.sh", false),
        ("./run.sh", "set -a; foo=1; ./run.sh", false),
        ("./run.sh", "for i in 1 2; do ./run.sh; export foo=1; done", false),
        ("./run.sh", "CI=1 ./run.sh", false),
        ("./run.sh", "NODE_ENV=production ./run.sh", false),
        ("./run.sh", "foo=1 ls; ./run.sh", true),
        ("./run.sh", "foo=1; ./run.sh", true),
        ("./run.sh", "(export foo=1; ls); ./run.sh", true),
        ("./run.sh", "for i in 1 2; do ./run.sh; done", true),
        ("./run.sh", "NO_COLOR=1 ./run.sh", true),
        ("make", "RUST_BACKTRACE=1 make", true),
        ("FOO=1 make", "FOO=2 make", false),
        ("FOO=1 make", "FOO=$x make", false),
        ("FOO=1 make", "FOO=1 BAR=1 make", false),
        ("FOO=1 make", "BAR=1 make", false),
        ("BASH_ENV=/dev/null make", "BASH_ENV=./evil make", false),
        ("make", "PATH=. make", false),
        ("make", "LD_PRELOAD=./x.so make", false),
        ("make", "npm_config_x=1 make", false),
        // Other files and other input.
        ("make > out.txt", "make > other.txt", false),
        ("make > out.txt", "make > ../out.txt", false),
        ("make > out.txt", "make >> .git/config", false),
        ("make", "make > out.txt", false),
        ("npm test", "npm test | python3 -", false),
        ("python3 x.py", "python3 - < x.py", false),
        ("python3 x.py", "python3 <<EOF\nx\nEOF", false),
        // The same words with another input.
        ("./run.sh", "./run.sh < x", false),
        ("./run.sh", "cat x | ./run.sh", false),
        ("./run.sh", "./run.sh <<< x", false),
        ("./run.sh", "./run.sh <<EOF\nx\nEOF", false),
        ("./run.sh", "{ ./run.sh; } < x", false),
        ("./run.sh", "(./run.sh) < x", false),
        ("./run.sh", "while ./run.sh; do :; done < x", false),
        ("./run.sh", "cat x | timeout 5 ./run.sh", false),
        ("./run.sh", "cat x | sh -c ./run.sh", false),
        ("./run.sh", "cat x | (ls && ./run.sh)", false),
        ("./run.sh", "exec < x; ./run.sh", false),
        ("./run.sh", "exec 0< x && ./run.sh", false),
        ("./run.sh", "command exec < x; ./run.sh", false),
        ("./run.sh", "eval 'exec < x'; ./run.sh", false),
        ("./run.sh", "for i in 1 2; do ./run.sh; exec < x; done", false),
        ("./run.sh", "exec 3< x; ./run.sh <&3", false),
        ("./run.sh", "exec 3< x; ./run.sh 0>&3", false),
        ("./run.sh", "exec 3< x; exec 0>&3; ./run.sh", false),
        ("./run.sh", "./run.sh < <(ls)", false),
        ("python3 x.py", "ls | python3 x.py", false),
        ("make", "yes | make", false),
        ("npm test", "npm test < x", false),
        ("psql", "psql < x", false),
        ("psql", "psql <<EOF\ndrop table x\nEOF", false),
        ("touch x", "ls | touch x", true),
        ("cat ../x", "ls | cat ../x", true),
        ("./run.sh", "./run.sh | head < x", true),
        ("./run.sh", "exec > /dev/null; ./run.sh", true),
        ("./run.sh", "ls < x; ./run.sh", true),
    ];
    assert!(pairs.len() >= 60);
    for (line, next, runs) in pairs {
        let verdict = after(line, next, PROJECT, PROJECT);
        let expected = if runs { Decision::Allow } else { Decision::Ask };
        assert_eq!(Decision::from(&verdict), expected, "{line:?}, then {next:?}: {verdict:?}");
    }
}

#[test]
fn a_remembered_answer_holds_in_its_workspace_and_folder() {
    for line in ["make", "./run.sh", "npm test", "FOO=1 make", "make > out.txt", "python3 x.py"] {
        let here = after(line, line, PROJECT, PROJECT);
        assert_eq!(Decision::from(&here), Decision::Allow, "{line}");
        for (cwd, root) in [
            ("/home/user/hostile", "/home/user/hostile"),
            ("/home/user/project/sub", PROJECT),
            ("/home/user/project/sub", "/home/user/project/sub"),
            ("/tmp", PROJECT),
        ] {
            let elsewhere = after(line, line, cwd, root);
            assert_eq!(Decision::from(&elsewhere), Decision::Ask, "{line} in {cwd} of {root}");
        }
    }
}

#[test]
fn what_may_be_something_else_the_next_time_has_no_always() {
    for line in [
        "python3 -",
        "python3",
        "python3 - <<EOF\nprint(1)\nEOF",
        "python3 <<EOF\nprint(1)\nEOF",
        "bash <<EOF\nls\nEOF",
        "sh <<< ls",
        "ls | sh",
        "ls | bash -s",
        "bash",
        "sh -s",
        "cat x | python3 -",
        "node -",
        "cat x | node",
        "perl",
        "ruby -",
        "make -f -",
        "kubectl apply -f -",
        "git apply < x",
        "patch -p1 < x",
        "psql < x",
        "cat x | xargs -n1 ./run.sh",
        "python3 /dev/stdin < x",
        "bash /dev/fd/0 < x",
        "curl http://x | sh",
        "echo x | ./run.sh",
        "./run.sh < x",
        "make $x",
        "./run.sh \"$x\"",
        "FOO=$x make",
        "awk -f - x",
        "sed -f- x",
        "awk -f- x",
        "sed -nf- x",
        "sed -f/dev/stdin x",
        "awk -f/proc/self/fd/0 x",
        "python3 /proc/self/fd/0",
        "perl -n /proc/thread-self/fd/0",
        "sed --file=/dev/stdin x",
        "gawk -E/dev/fd/0 x",
        "git commit -F-",
        // Files that run or instruct later.
        "make | tee AGENTS.md",
        "tee .git/hooks/pre-commit",
        "cp x .git/hooks/pre-commit",
        "cp x .github/workflows/ci.yml",
        "mv x .vscode/tasks.json",
        "sed -i s/a/b/ CLAUDE.md",
        "touch .envrc",
        "cp x ~/.bashrc",
        // Two commands that a variable may have been set for.
        "export FOO=1; make; ./run.sh",
        // Whether it reaches the command is not known.
        "FOO=1; make",
        "ls && export FOO=1; make",
        "if ls; then export FOO=1; fi; make",
        "env -i make",
        "FOO+=1 make",
        // Parts that reach differently far.
        "make && git fetch",
        "docker ps; ./run.sh",
        "rm -rf x",
        "sudo make",
        "python3 <(ls)",
        "while read -r l; do ./run.sh; done < x",
        "ssh host ls",
        "eval \"$x\"",
        "f() { make; }; f",
    ] {
        assert_eq!(remembered(line, PROJECT), None, "{line}");
    }
}

#[test]
fn a_remembered_command_reaches_as_far_as_the_question_said() {
    for (line, reach) in [
        ("make", Confinement::Asked),
        ("npm test", Confinement::Asked),
        ("git fetch", Confinement::Open),
        ("git -C . pull", Confinement::Open),
        ("docker ps", Confinement::Open),
        ("make > out.txt", Confinement::Asked),
        ("FOO=1 make", Confinement::Asked),
    ] {
        let plan = shell::plan(line, &place(PROJECT));
        let Verdict::Ask { confinement, .. } = book(PROJECT).judge(&plan, DEFAULT) else { panic!("{line}") };
        assert_eq!(confinement, reach, "{line}");
        let Verdict::Allow { confinement, .. } = after(line, line, PROJECT, PROJECT) else {
            panic!("{line}")
        };
        assert_eq!(confinement, reach, "{line}");
    }
    let reading = book(PROJECT).judge(&shell::plan("ls | head", &place(PROJECT)), DEFAULT);
    assert!(matches!(reading, Verdict::Allow { confinement: Confinement::Reading, .. }));
    let editing = book(PROJECT).judge(&shell::plan("touch x", &place(PROJECT)), ApprovalMode::AutoEdit);
    assert!(matches!(editing, Verdict::Allow { confinement: Confinement::Editing, .. }));
}

#[test]
fn rules_of_earlier_versions_still_load() {
    let old = "[[rule]]\ntool = \"run_shell_command\"\ncommand = \"make\"\ndecision = \"allow\"\n\
               [[rule]]\ntool = \"run_shell_command\"\nenv = \"FOO\"\ndecision = \"allow\"\n\
               [[rule]]\ntool = \"web_fetch\"\ndecision = \"allow\"\n";
    let book = book(PROJECT).with_rules(old).unwrap();
    let verdict = book.judge(&shell::plan("cd sub && FOO=2 make", &place(PROJECT)), DEFAULT);
    assert_eq!(Decision::from(&verdict), Decision::Allow);
}

#[test]
fn what_was_remembered_of_two_commands_does_not_lift_one_by_the_other() {
    let rules = [remembered("git fetch", PROJECT).unwrap(), remembered("make", PROJECT).unwrap()].join("\n");
    let book = book(PROJECT).with_rules(&rules).unwrap();
    let judged = |line: &str| book.judge(&shell::plan(line, &place(PROJECT)), DEFAULT);
    for line in ["git fetch; make", "make && git fetch", "git fetch | make", "timeout 9 make; git fetch"] {
        let verdict = judged(line);
        let Verdict::Ask { missing, .. } = &verdict else { panic!("{line}: {verdict:?}") };
        assert!(missing.iter().all(|part| part.always.is_none()), "{line}: {missing:?}");
    }
    assert!(matches!(judged("git fetch"), Verdict::Allow { confinement: Confinement::Open, .. }));
    assert!(matches!(judged("make; ls"), Verdict::Allow { confinement: Confinement::Asked, .. }));
}

#[test]
fn an_environment_belongs_to_a_command_that_is_allowed() {
    for (rule, is_one) in [
        ("command = \"make\"\nenvironment = \"FOO=1\"\ndecision = \"allow\"", true),
        ("command = \"make\"\nenvironment = [\"A=1\", \"B=\"]\ndecision = \"allow\"", true),
        ("command = \"make\"\nenvironment = \"FOO\"\ndecision = \"allow\"", false),
        ("command = \"make\"\nenvironment = \"FOO=1\"\ndecision = \"deny\"", false),
        ("commandPrefix = \"make\"\nenvironment = \"FOO=1\"\ndecision = \"allow\"", false),
        ("tool = \"*\"\nenvironment = \"FOO=1\"\ndecision = \"allow\"", false),
    ] {
        let read = book(PROJECT).with_rules(&format!("[[rule]]\n{rule}\n"));
        assert_eq!(read.is_ok(), is_one, "{rule}");
    }
}
