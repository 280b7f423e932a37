//! What the reader says a line would do.

use charla_proto::{Effect, FileJudge, WordKind};
use charla_tools::shell;

use super::place;

/// Effects in a short form.
fn read(line: &str) -> Vec<String> {
    shell::effects(line, &place())
        .into_iter()
        .map(|effect| match effect {
            Effect::Read { path } => format!("read {}", path.display()),
            Effect::Write { path } => format!("write {}", path.display()),
            Effect::Exec { words, cwd, carrier, .. } => {
                let words: Vec<String> = words
                    .iter()
                    .map(|word| match word.kind {
                        WordKind::Literal => word.text.clone(),
                        WordKind::Glob => format!("*{}*", word.text),
                        WordKind::Single => format!("1{}1", word.text),
                        WordKind::Unknown => format!("?{}?", word.text),
                    })
                    .collect();
                let cwd = cwd
                    .strip_prefix("/home/user/project")
                    .map(|path| path.display().to_string())
                    .unwrap_or_else(|_| cwd.display().to_string());
                let carrier = if carrier { "start" } else { "run" };
                format!(
                    "{carrier} [{}]{}",
                    words.join("|"),
                    if cwd.is_empty() { String::new() } else { format!(" in {cwd}") }
                )
            }
            Effect::Env { name, value } => format!("set {name}={}", value.text),
            Effect::Unclear { what, .. } => format!("unclear {what}"),
            Effect::Unconfined => "unconfined".to_owned(),
            Effect::Net { host } => format!("net {host}"),
            Effect::Mcp { server, tool } => format!("mcp {server} {tool}"),
        })
        .collect()
}

#[test]
fn every_part_of_a_compound_line_is_listed_in_order() {
    assert_eq!(read("a && b | c; (d) & { e; }"), ["run [a]", "run [b]", "run [c]", "run [d]", "run [e]"]);
    assert_eq!(
        read("if a; then b; elif c; then d; else e; fi"),
        ["run [a]", "run [b]", "run [c]", "run [d]", "run [e]"]
    );
    assert_eq!(read("case x in a|b) c;; *) d;; esac"), ["run [c]", "run [d]"]);
}

#[test]
fn substitutions_run_before_the_command_that_holds_them() {
    assert_eq!(read("a \"$(b `c`)\""), ["run [c]", "run [b|?`c`?]", "run [a|1\"$(b `c`)\"1]"]);
    assert_eq!(read("a <(b)"), ["run [b]", "run [a|/dev/fd/63]"]);
}

#[test]
fn redirects_are_reads_and_writes_of_the_path_they_mean() {
    assert_eq!(read("a > x 2>&1 < ../y"), ["write /home/user/project/x", "read /home/user/y", "run [a]"]);
    assert_eq!(read("a > x b"), ["write /home/user/project/x", "run [a|b]"]);
    assert_eq!(read("exec 3</dev/tcp/example.com/80"), ["net example.com", "start [exec]"]);
}

#[test]
fn the_folder_follows_cd_only_where_it_must_have_worked() {
    assert_eq!(read("cd a && b"), ["run [cd|a]", "run [b] in a"]);
    assert_eq!(read("cd a; b"), ["run [cd|a]", "run [b]", "run [b] in a"]);
    assert_eq!(read("(cd a && b); c"), ["run [cd|a]", "run [b] in a", "run [c]"]);
    assert_eq!(read("x || cd a && b"), ["run [x]", "run [cd|a]", "run [b]", "run [b] in a"]);
    assert_eq!(read("! cd a && b"), ["run [cd|a]", "run [b]", "run [b] in a"]);
    assert_eq!(
        read("cd a && cd .. && b > x"),
        ["run [cd|a]", "run [cd|..] in a", "write /home/user/project/x", "run [b]"]
    );
}

#[test]
fn wrappers_are_looked_through() {
    assert_eq!(read("sudo -u x rm y"), ["run [sudo|-u|x|rm|y]", "run [rm|y]"]);
    assert_eq!(
        read("env A=b timeout 5 rm y"),
        ["start [env|A=b|timeout|5|rm|y]", "set A=b", "start [timeout|5|rm|y]", "run [rm|y]"]
    );
    assert_eq!(read("xargs -n 1 rm"), ["start [xargs|-n|1|rm]", "run [rm|?…?]"]);
    assert_eq!(read("find . -exec rm {} +"), ["run [find|.|-exec|rm|{}|+]", "run [rm|*./***]"]);
    assert_eq!(read("bash -c 'a; b'"), ["start [bash|-c|a; b]", "run [a]", "run [b]"]);
}

#[test]
fn assignments_are_effects_of_their_own() {
    assert_eq!(read("A=b C=$d e"), ["set A=b", "set C=$d", "run [e]"]);
    assert_eq!(read("export P=q R"), ["run [export|P=q|R]", "set P=q", "set R=$R"]);
    assert_eq!(read("for V in a; do b; done"), ["set V=a", "run [b]"]);
}

#[test]
fn what_cannot_be_known_is_said_to_be_unclear() {
    for line in [
        "$x",
        "a <<EOF",
        "eval $x",
        "echo $((a[b]))",
        "f() { a; }",
        "alias a=b",
        "a 'b",
        "ssh host a",
        "cd $x",
        "a > $x",
    ] {
        assert!(read(line).iter().any(|effect| effect.starts_with("unclear")), "{line}: {:?}", read(line));
    }
}

#[test]
fn links_and_nested_repositories_are_found_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("project");
    std::fs::create_dir_all(root.join("nested/.git")).unwrap();
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::write(root.join("plain"), "").unwrap();
    std::fs::write(root.join(".env"), "").unwrap();
    std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
    std::os::unix::fs::symlink(".env", root.join("notes")).unwrap();
    let on_disk = |line: &str| {
        let place = shell::ShellContext { cwd: root.clone(), home: None };
        let before = shell::effects(line, &place).len();
        shell::effects_on_disk(line, &place, std::slice::from_ref(&root), &FileJudge::default())
            .split_off(before)
    };
    assert_eq!(on_disk("cat plain src/missing"), []);
    assert_eq!(on_disk("cat out/hosts"), [Effect::Read { path: "/etc/hosts".into() }]);
    assert_eq!(on_disk("cat notes"), [Effect::Read { path: root.join(".env") }]);
    assert_eq!(on_disk("ls > out/new"), [Effect::Write { path: "/etc/new".into() }]);
    assert_eq!(on_disk("cd src && git status"), []);
    assert!(matches!(on_disk("cd nested && git status").as_slice(), [Effect::Unclear { .. }]));
}

#[test]
fn a_loop_over_words_that_are_written_out_is_followed() {
    let listed = ["set b=main next", "run [git|log|main]", "run [git|log|next]"];
    for line in [
        "for b in main next; do git log $b; done",
        "for b in main next; do git log \"$b\"; done",
        "for b in main next; do git log ${b}; done",
    ] {
        assert_eq!(read(line), listed, "{line}");
    }
    assert_eq!(read("for f in src/*.rs; do a \"$f\"; done"), ["set f=src/*.rs", "run [a|1\"$f\"1]"]);
    let nested = "for a in 1 2; do for b in x y; do c $a $b; done; done";
    let all = ["run [c|1|x]", "run [c|1|y]", "run [c|2|x]", "run [c|2|y]"];
    assert_eq!(read(nested)[2..], all);
}

#[test]
fn a_loops_variable_that_something_else_may_set_is_not_known() {
    for line in [
        "for b in main; do b=x; a $b; done",
        "for b in main; do read b; a $b; done",
        "for b in main; do a $b; done; b=x",
        "for b in main; do printf -v b x; a $b; done",
        "for b in main; do unset b; a $b; done",
        "for b in main; do : ${b:=x}; a $b; done",
        "for b in main; do sh -c 'a $b'; done",
        "for b in main $x; do a $b; done",
        "for b in 'two words'; do a $b; done",
        "for b in main; do for b in $x; do a $b; done; done",
    ] {
        assert!(read(line).contains(&"run [a|?$b?]".to_owned()), "{line}: {:?}", read(line));
    }
    // What is more than the variable is not put together.
    assert!(read("for b in HEAD; do a $b:x; done").contains(&"run [a|?$b:x?]".to_owned()));
}
