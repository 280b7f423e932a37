//! Lines of an attacker, class by class, as products of what is hidden and how: none of them runs unasked.

use charla_core::policy::{Decision, RuleBook, allowed_tools};
use charla_proto::{ApprovalMode, Confinement, Verdict};
use charla_tools::shell;

use super::{place, user_rules};

const DEFAULT: ApprovalMode = ApprovalMode::Default;

/// The lines that `mode` lets run, further than `held`.
fn let_through<'a>(
    book: &RuleBook,
    lines: &'a [String],
    mode: ApprovalMode,
    held: Option<Confinement>,
) -> Vec<&'a str> {
    let runs = |line: &&String| match book.explain(&shell::plan(line, &place()), mode).verdict {
        Verdict::Allow { confinement, .. } => held.is_none_or(|held| confinement > held),
        Verdict::Ask { .. } | Verdict::Deny { .. } => false,
    };
    lines.iter().filter(runs).map(String::as_str).collect()
}

/// Every line asks in default and auto_edit mode, and is refused in plan mode.
fn nothing_runs(class: &str, lines: &[String]) {
    nothing_runs_beyond(class, lines, None);
}

/// The same, where a line may run as far as `held`: what it reads is only known to the shell, and the kernel is asked.
fn nothing_runs_beyond(class: &str, lines: &[String], held: Option<Confinement>) {
    assert!(lines.len() >= 250, "{class}: only {} lines", lines.len());
    let book = user_rules("");
    for mode in [DEFAULT, ApprovalMode::AutoEdit] {
        let wrong = let_through(&book, lines, mode, held);
        assert!(
            wrong.is_empty(),
            "{class}, {mode}: {} of {} run:\n{}",
            wrong.len(),
            lines.len(),
            wrong.join("\n")
        );
    }
    for line in lines {
        let verdict = book.explain(&shell::plan(line, &place()), ApprovalMode::Plan).verdict;
        assert_eq!(Decision::from(&verdict), Decision::Deny, "{class}, plan: {line}");
    }
}

/// `{}` in each shape is replaced by each of the texts.
fn product(shapes: &[&str], texts: &[&str]) -> Vec<String> {
    let fill = |shape: &&str| {
        let shape = shape.to_string();
        texts.iter().map(move |text| shape.replace("{}", text)).collect::<Vec<_>>()
    };
    shapes.iter().flat_map(fill).collect()
}

#[test]
fn a_program_that_is_only_named_like_a_carrier_is_judged_itself() {
    let carriers = [
        "env ls",
        "env -i ls",
        "env A=b ls",
        "timeout 5 ls",
        "nohup ls",
        "nice ls",
        "nice -n 5 ls",
        "setsid ls",
        "stdbuf -oL ls",
        "time ls",
        "xargs ls",
        "xargs -n1 basename",
        "command ls",
        "command -v ls",
        "builtin pwd",
        "exec ls",
        "eval ls",
        "sh -c ls",
        "sh -c 'pwd; ls'",
        "bash -c ls",
        "bash -ec ls",
        "dash -c ls",
        "ionice ls",
        "taskset 1 ls",
        "watch ls",
        "busybox ls",
        "unbuffer ls",
        "cat README.md",
        "ls",
        "git status",
        "find . -name x",
    ];
    let places = [
        "./{}",
        "../{}",
        "sub/{}",
        "/tmp/evil/{}",
        "/opt/bin/{}",
        "~/bin/{}",
        "./bin/../{}",
        ".//{}",
        "/usr/bin/../../tmp/{}",
    ];
    let mut lines = product(&places, &carriers);
    lines.extend(product(
        &["/bin/{}", "/usr/bin/{}", "/usr/local/bin/{}"],
        &["eval ls", "exec ls", "command ls", "builtin ls", "busybox ls"],
    ));
    lines.extend(product(&["ls && {}", "echo $({})"], &["./env ls", "sub/timeout 5 ls", "/tmp/x/sh -c ls"]));
    nothing_runs("carriers by path", &lines);
}

#[test]
fn an_option_behind_the_first_operand_is_not_the_carriers_own() {
    let started = [
        "env -v rm ../x",
        "env rm ../x -v",
        "awk -v x=1 'BEGIN{system(\"id\")}'",
        "bash -v x.sh",
        "bash x.sh -v",
        "curl -v http://x",
        "rm -v ../f",
        "make -v",
        "python3 -v x.py",
        "node -v x",
        "touch -v x",
        "cp -v a /b",
        "tee -v x",
        "tar -v x",
        "ssh -v host",
        "sudo -v ls",
        "perl -v x",
        "ruby -v x",
        "sh -v x",
        "docker -v x",
        "npm -v x",
        "git push -v",
        "install -v a b",
        "ln -v a b",
        "mv -v a /b",
        "chmod -v 777 a",
    ];
    let shapes = [
        "command {}",
        "command -p {}",
        "command -- {}",
        "command {} -v",
        "command {} -V",
        "command -p {} -V",
        "command -- {} -v",
        "command command {}",
        "builtin command {}",
        "command {} && ls",
        "ls; command {}",
        "echo \"$(command {})\"",
    ];
    nothing_runs("command -v", &product(&shapes, &started));
}

#[test]
fn sed_scripts_that_write_or_run_are_found_behind_brackets_and_options() {
    let endings = ["e", "w out", "ge", "gw out", "2e", "pw out", "e #", "Iw out", "w /tmp/x", "me"];
    let patterns = [
        "[[:alpha:]/]",
        "[]/]",
        "[^]/]",
        "[[.a.]/]",
        "[[=a=]/]",
        "[[:digit:][:space:]/]",
        "[a/]",
        "[\\]/]",
        "[^/]",
        "[]a/]",
        "[/[:alpha:]]",
        "a",
        "[0-9]",
        "[]]",
        "[[:alpha:]]",
    ];
    let mut lines = Vec::new();
    for pattern in patterns {
        for ending in endings {
            lines.push(format!("sed 's/{pattern}/x/{ending}' f"));
            lines.push(format!("sed -n 's/{pattern}/x/;s/y/z/{ending}' f"));
        }
    }
    lines.extend(product(
        &[
            "sed -e p --expression '{}' f",
            "sed --expression p --expression '{}' f",
            "sed -e p --expression='{}' f",
            "sed -ne '{}' f",
            "sed -n -e p -e '{}' f",
            "sed '{}' f",
            "sed --expression '{}' -e p f",
        ],
        &[
            "1e touch x",
            "w out",
            "e",
            "r /etc/passwd",
            "R x",
            "W x",
            "s/a/b/e",
            "$!w x",
            "/a/w x",
            "i\\\\\nx",
            "1,2w x",
        ],
    ));
    lines.extend(
        [
            "sed -i p ../f",
            "sed -f x f",
            "sed --file=x f",
            "sed -s -i p ../f",
            "sed 's/[/]/x/w out' f",
            "sed 's/[[:alpha:]/]/g;s/e #/x/' f",
        ]
        .map(str::to_owned),
    );
    nothing_runs("sed", &lines);
}

#[test]
fn a_word_only_the_shell_knows_is_any_number_of_words() {
    let words = [
        "$x",
        "${x}",
        "$(ls)",
        "`ls`",
        "\"a\"$x",
        "$x\"b\"",
        "\"$@\"",
        "$@",
        "\"${a[@]}\"",
        "${a[*]}",
        "a$x",
        "${x:-y}",
        "$x$y",
        "\"$x\"$y",
        "'a'$x",
    ];
    let shapes = [
        "env a={} ls",
        "env {} ls",
        "timeout {} ls",
        "timeout -s {} 5 ls",
        "nice -n {} ls",
        "du -d {}",
        "head -n {} f",
        "head {} f",
        "test {} x",
        "[ {} x ]",
        "test {} = x",
        "[ -f {} ]",
        "find . -name {}",
        "find {} -name x",
        "sort -k {} f",
        "sort {}",
        "git log -n {}",
        "git log {}",
        "cut -d {} f",
        "tree -L {}",
        "xargs -n {} ls",
        "sed -e {} f",
        "grep -e {} f",
        "cat {}",
        "uniq {}",
        "diff {} f",
        "rg {}",
        "jq {} f",
        "awk {} f",
        "fd -t {}",
        "command {}",
        "eval {}",
        "bash -c {}",
        "stdbuf -o {} ls",
        "\\export x={}; ls",
        "command export x={}; ls",
        "builtin export x={}",
    ];
    let mut lines = product(&shapes, &words);
    lines.extend(product(
        &[
            "test {} 'a[$(touch x)]'",
            "[ {} 'a[$(touch x)]' ]",
            "cat {}",
            "sort {} f",
            "find . {}",
            "git log {}",
        ],
        &["\"$x\"", "\"a$x\"", "\"$(ls)\"", "\"${x}\""],
    ));
    lines.push("bash -c 'test \"$@\"' x -v 'a[$(touch x)]'".to_owned());
    nothing_runs_beyond("unknown words", &lines, Some(Confinement::Reading));
}

#[test]
fn a_variable_that_changes_commands_is_found_however_it_is_set() {
    let names = [
        "PATH",
        "LD_PRELOAD",
        "BASH_ENV",
        "GIT_EXTERNAL_DIFF",
        "IFS",
        "ENV",
        "SECONDS",
        "OPTIND",
        "PROMPT_COMMAND",
        "PS4",
        "HOME",
        "CDPATH",
        "http_proxy",
        "LANGUAGE",
    ];
    let shapes = [
        "command export {}=x; ls",
        "builtin export {}=x; ls",
        "\\export {}=x; ls",
        "'export' {}=x; ls",
        "command declare -x {}=x",
        "builtin typeset {}=x",
        "command readonly {}=x",
        "command local {}=x",
        ": ${{}:=x}; ls",
        ": \"${{}:=x}\"; ls",
        "echo ${{}=x}",
        "ls ${{}:=x}",
        "export {}; ls",
        "declare -x {}",
        "readonly {}",
        "printf -v {} x; ls",
        "printf 'xxx%n' {}; ls",
        "printf 'xx%5n' {}",
        "read {} < f",
        "read -r {}",
        "for {} in x; do ls; done",
        "select {} in x; do ls; done",
        "declare -n r={}; r=x",
        "declare -i {}=1",
        "mapfile {} < f",
        "getopts a {}",
        "{}=x ls",
        "{}=x",
        "{}+=x ls",
        "env {}=x ls",
        "cat <<EOF\n${{}:=x}\nEOF",
        "let {}=1",
        "(({}=1))",
        "wait -n -p {}",
        "export {}=x",
        "x=1 {}=y ls",
        "[ -n \"${{}:=x}\" ]",
        "export x=1 {}=y",
        "y='1 {}=./3'; \\export x=$y; ls",
        "read a {} b < f",
        "exec env {}=x ls",
        "bash -c 'export {}=x; ls'",
    ];
    nothing_runs("variables", &product(&shapes, &names));
}

#[test]
fn xargs_and_find_forms_that_are_not_understood_ask() {
    let ends = [
        "-L1",
        "-n1",
        "-n 2",
        "-L 1",
        "-l1",
        "-i",
        "--max-lines=1",
        "--max-args=1",
        "-I%",
        "-I %",
        "--replace=%",
    ];
    let starts = ["xargs -I{} ", "xargs -n1 ", "xargs -L1 ", "xargs -0 -I{} ", "xargs -r -n 1 "];
    let inner = ["find . -maxdepth 0", "basename {}", "ls", "echo", "awk %"];
    let mut lines = Vec::new();
    for start in starts {
        for end in ends {
            lines.extend(inner.iter().map(|inner| format!("ls | {start}{end} {inner}")));
        }
    }
    lines.extend(product(
        &["ls | xargs {}", "ls | xargs -0 {}"],
        &[
            "--max-lines touch echo",
            "-a x ls",
            "--arg-file=x ls",
            "-o ls",
            "-p ls",
            "--process-slot-var=PATH ls",
            "-e ls",
            "cat",
            "head",
            "sh -c 'cat \"$1\"' x",
            "wc -l",
            "-I{} sh -c {}",
            "-I{} {}",
            "sort",
            "git log",
            "env",
            "bash",
            "find",
            "sed p",
            "test",
            "printf",
        ],
    ));
    lines.extend(product(
        &["find . {}", "find src -name x {}", "find /etc -maxdepth 1 {}"],
        &[
            "-execdir ls {} ';'",
            "-execdir git status ';'",
            "-execdir cat a ';'",
            "-okdir ls ';'",
            "-delete",
            "-exec touch {} ';'",
            "-exec sh -c 'cat \"$1\"' x {} ';'",
            "-fls x",
            "-fprintf x y",
            "-exec cat {} +",
            "-ok rm {} ';'",
            "-exec head -1 shadow ';'",
            "$x",
            "-files0-from x",
        ],
    ));
    nothing_runs_beyond("xargs and find", &lines, Some(Confinement::Reading));
}

#[test]
fn readers_do_not_reach_outside_by_options_nobody_looked_at() {
    let outside = [
        "/etc/passwd",
        "../x",
        "~/x",
        "/proc/self/environ",
        "/dev/tty",
        "/root/.ssh/id_rsa",
        "/dev/zero",
        "/dev/random",
    ];
    let shapes = [
        "head -999c {}",
        "head -1c {}",
        "head -c5 {}",
        "head -n1 {}",
        "head -qn1 {}",
        "tail -9999c {}",
        "tail -n+1 {}",
        "fmt -pw {}",
        "fmt -pt {}",
        "column -t -Nc -Tc {}",
        "strings @{}",
        "strings -n4 {}",
        "hexdump -f{}",
        "hexdump -C {}",
        "hexdump -e '1/1 \"%c\"' {}",
        "od -c {}",
        "od -An {}",
        "cut -c1- {}",
        "nl -ba {}",
        "paste -s {}",
        "fold -w80 {}",
        "expand -t4 {}",
        "unexpand -a {}",
        "cat -A {}",
        "tac -s x {}",
        "rev {}",
        "base64 -w0 {}",
        "cmp -l {} f",
        "comm -12 {} f",
        "join -j1 {} f",
        "sort -k1 {}",
        "uniq {}",
        "diff {} f",
        "git diff f {}",
        "git diff -- f {}",
        "grep x {}",
        "sed p {}",
        "awk 1 {}",
        "jq . {}",
        "cat < {}",
        "rg x {}",
        "grep -f{} f",
        "diff --from-file={} f",
    ];
    let mut lines = product(&shapes, &outside);
    lines.retain(|line| !line.contains("git diff") || !line.contains("/dev/"));
    lines.extend(
        [
            "git diff emptydir ..",
            "git diff .. f",
            "git diff a/../../x f",
            "grep -d recurse x .",
            "grep -R x src",
            "grep --dereference-recursive x src",
        ]
        .map(str::to_owned),
    );
    nothing_runs("readers", &lines);
}

#[test]
fn the_terminal_is_nobodys_to_write_or_read() {
    let shapes = [
        "echo x > {}",
        "echo x >> {}",
        "printf '\\033[2J' > {}",
        "cat < {}",
        "cat {}",
        "head -c1 {}",
        "tee {}",
        "exec > {}",
        "exec < {}",
        "exec 3<> {}",
        "ls 2> {}",
        "ls &> {}",
        "{ ls; } > {}",
        "(ls) > {}",
        "if ls; then ls; fi > {}",
        "while read -r l; do echo $l; done < {}",
        "read -r x < {}",
        "ls | tee {}",
        "echo x >| {}",
        "cp f {}",
        "sleep 1; echo x > {}",
        "bash -c 'echo x > {}'",
        "eval 'echo x > {}'",
        "timeout 5 cat {}",
        "touch {}",
        "dd of={}",
        "sed p {}",
        "grep x {}",
        "awk 1 {}",
        "sort {}",
        "wc -l < {}",
        "ls >& {}",
    ];
    let devices = [
        "/dev/tty",
        "/dev/tty1",
        "/dev/pts/0",
        "/dev/console",
        "/dev/ptmx",
        "/dev/../dev/tty",
        "/proc/self/fd/0",
        "/dev/sda",
    ];
    nothing_runs("terminal", &product(&shapes, &devices));
}

#[test]
fn rules_that_deny_ask_where_a_script_is_not_read() {
    let book = user_rules("[[rule]]\ncommandPrefix = [\"git push\", \"rm\"]\ndecision = \"deny\"\n");
    let pattern = user_rules("[[rule]]\ncommandRegex = \"push|rm\"\ndecision = \"ask\"\n");
    let interpreters = [
        "sh",
        "bash",
        "dash",
        "zsh",
        "ksh",
        "fish",
        "python3",
        "python",
        "python3.12",
        "perl",
        "ruby",
        "node",
        "php",
        "lua",
        "deno",
        "/bin/sh",
        "/usr/bin/python3",
        "./run",
        "sub/x.sh",
        "/tmp/x",
    ];
    let shapes = [
        "echo aGk= | {}",
        "{} <<< hi",
        "{} s",
        "{} < s",
        "{} - < s",
        "cat s | {} -",
        "{} <<'EOF'\nhi\nEOF",
        "base64 -d s | {}",
        "ls | xargs {}",
        "timeout 5 {} s",
        "nohup {} s &",
        "env A=b {} s",
        "find . -exec {} s ';'",
    ];
    let mut lines = product(&shapes, &interpreters);
    lines.extend(
        [
            "awk 'BEGIN{system(\"r\" \"m x\")}'",
            "sed '1e r''m x' f",
            "sed -f s f",
            "awk -f s",
            "make",
            "make -C sub",
            "just x",
            "npm run x",
            "npx x",
            "source s",
            ". s",
            ". ./s",
            "vim -c ':!x' f",
            "python3 -c 'import os'",
            "perl -e 1",
            "node -e 1",
            "ruby -e 1",
            "ninja",
            "gmake",
            "rake",
            "ed -s f < s",
            "ls | xargs sh -c",
            "echo ls | bash -s",
        ]
        .map(str::to_owned),
    );
    assert!(lines.len() >= 250, "{}", lines.len());
    for book in [&book, &pattern] {
        let wrong = let_through(book, &lines, ApprovalMode::Yolo, None);
        assert!(wrong.is_empty(), "{} run:\n{}", wrong.len(), wrong.join("\n"));
    }
    // A rule that names the command has thought of that, and what only reads hides nothing.
    let named = user_rules(
        "[[rule]]\ncommandPrefix = \"rm\"\ndecision = \"deny\"\n[[rule]]\ncommandPrefix = [\"make\", \"python3 x.py\"]\ndecision = \"allow\"\n",
    );
    for line in ["make", "python3 x.py", "ls", "bash -c ls", "sed p f", "awk 1 f", "cargo test", "git status"]
    {
        let plan = shell::plan(line, &place());
        assert_eq!(
            Decision::from(&named.explain(&plan, ApprovalMode::Yolo).verdict),
            Decision::Allow,
            "{line}"
        );
    }
}

#[test]
fn a_narrow_allowance_allows_the_plain_forms_only() {
    let forms = [
        "run_shell_command(git log)",
        "run_shell_command(git diff)",
        "run_shell_command(cat)",
        "run_shell_command(npm test)",
        "run_shell_command(cargo test)",
        "run_shell_command(git fetch)",
    ];
    let book = user_rules("").with(allowed_tools(forms).unwrap());
    for line in [
        "git log",
        "git log -3 --stat",
        "git log --oneline main",
        "git diff HEAD",
        "cat README.md",
        "npm test",
        "npm test -- --watch",
        "cargo test -p core",
        "git fetch origin",
        "x=1 cargo test",
        "cargo test src/lib.rs",
        "git fetch --all",
    ] {
        let verdict = book.explain(&shell::plan(line, &place()), DEFAULT).verdict;
        assert_eq!(Decision::from(&verdict), Decision::Allow, "{line}: {verdict:?}");
    }
    let commands = ["git log", "git diff", "cat", "npm test", "cargo test", "git fetch"];
    let shapes = [
        "{} --output=/tmp/x",
        "{} --output=x",
        "{} --output x",
        "{} $x",
        "{} \"$x\"",
        "{} $(ls)",
        "x=--output=y; {} $x",
        "{} /etc/passwd",
        "{} ../x",
        "{} .env",
        "{} ~/.ssh/id_rsa",
        "npm_config_script_shell=./evil {}",
        "http_proxy=x {}",
        "GIT_EXTERNAL_DIFF=x {}",
        "PATH=. {}",
        "{} > x",
        "{} | sh",
        "{}; make",
        "{} a=/etc/passwd",
        "{} --exec=x",
        "{} \"$@\"",
        "{} `ls`",
        "{} --config=../x",
        "./x && {}",
        "{} --upload-pack=x",
        "LD_PRELOAD=./x.so {}",
        "export BASH_ENV; {}",
        "sudo {}",
        "{} --file=/etc/shadow",
        "{} -- /etc/passwd",
        "env {} $x",
        "{} --textconv",
        "cd /tmp && {} ../x",
        "{} ${x:=y}",
        "pnpm_config_x=1 {}",
        "{} sub/../../x",
        "config=x {}",
        "NODE_OPTIONS=x {}",
        "{} --ext-diff",
        "{} --receive-pack=x",
        "{} '~/x'",
        "node_options=x {}",
    ];
    let lines = product(&shapes, &commands);
    assert!(lines.len() >= 250, "{}", lines.len());
    // What harmless variables do beside a command that only reads is nothing, and to such a command these are
    // plain names of files.
    let reads = |line: &String| {
        ["npm_config_script_shell=./evil", "pnpm_config_x=1", "config=x", "node_options=x"].iter().any(
            |set| ["git log", "git diff", "cat"].iter().any(|command| *line == format!("{set} {command}")),
        ) || ["git log", "git diff", "cat"]
            .iter()
            .any(|command| *line == format!("{command} a=/etc/passwd") || *line == format!("{command} '~/x'"))
    };
    let lines: Vec<String> = lines.into_iter().filter(|line| !reads(line)).collect();
    let wrong = let_through(&book, &lines, DEFAULT, None);
    assert!(wrong.is_empty(), "{} run:\n{}", wrong.len(), wrong.join("\n"));
}
