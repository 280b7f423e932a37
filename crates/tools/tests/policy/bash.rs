//! Words against the real bash: what the reader says a command is given, it is given.
//!
//! The only command in reach is a stub that writes down its arguments, in an empty folder.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use charla_proto::text::shell_quote;
use charla_proto::{Effect, Word};
use charla_tools::shell::{self, ShellContext};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// A bash that can run nothing but the stub `w`.
struct Bash {
    folder: tempfile::TempDir,
    lines: Cell<usize>,
}

impl Bash {
    fn new() -> Bash {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        std::fs::create_dir(folder.path().join("empty")).unwrap();
        // One write for each run, as several may happen at once.
        let script = "#!/bin/sh\nprintf '%s\\0' \"$@\" \"$(printf '\\036')\" >>\"$OUT\"\n";
        std::fs::write(folder.path().join("script"), script).unwrap();
        // A program puts it in place: a handle of ours could be open in a shell that another test has just forked, and
        // what is open for writing does not run.
        let mut install = Command::new("install");
        install.args(["-m", "755"]).arg(folder.path().join("script")).arg(folder.path().join("bin/w"));
        assert!(install.status().unwrap().success());
        Bash { folder, lines: Cell::new(0) }
    }

    fn place(&self) -> ShellContext {
        ShellContext { cwd: self.folder.path().join("empty"), home: Some(PathBuf::from("/home/user")) }
    }

    /// The arguments of each run of the stub, in order.
    fn runs(&self, line: &str) -> Vec<Vec<String>> {
        // A file of its own for each line: what a process substitution starts may outlive the shell.
        self.lines.set(self.lines.get() + 1);
        let out: &Path = &self.folder.path().join(format!("out-{}", self.lines.get()));
        let _ = Command::new("/bin/bash")
            .args(["--noprofile", "--norc", "-c", line])
            .current_dir(self.folder.path().join("empty"))
            .env_clear()
            .env("PATH", self.folder.path().join("bin"))
            .env("HOME", "/home/user")
            .env("LC_ALL", "C.UTF-8")
            .env("OUT", out)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        let written = std::fs::read(out).unwrap_or_default();
        let text = String::from_utf8(written).unwrap();
        let mut runs: Vec<&str> = text.split("\u{1e}\0").collect();
        runs.pop();
        runs.into_iter().map(|run| run.split_terminator('\0').map(standing_for).collect()).collect()
    }
}

/// The word as the reader would give it. Which of its numbers bash gives a process substitution depends on how many of those
/// before it have ended by then; the reader always gives the first.
fn standing_for(word: &str) -> String {
    let number = word.strip_prefix("/dev/fd/").filter(|number| !number.is_empty());
    match number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
        true => "/dev/fd/63".to_owned(),
        false => word.to_owned(),
    }
}

/// The words of each run of `w` as the reader sees them; absent when the line is unclear to it.
fn read(line: &str, place: &ShellContext) -> Option<Vec<Vec<Word>>> {
    let mut runs = Vec::new();
    for effect in shell::effects(line, place) {
        match effect {
            Effect::Unclear { .. } => return None,
            Effect::Exec { words, .. } if words[0].known() == Some("w") => runs.push(words[1..].to_vec()),
            _ => {}
        }
    }
    Some(runs)
}

fn literal(runs: &[Vec<Word>]) -> Option<Vec<Vec<String>>> {
    runs.iter().map(|run| run.iter().map(|word| word.known().map(str::to_owned)).collect()).collect()
}

#[test]
fn bash_passes_the_words_the_reader_resolved() {
    let bash = Bash::new();
    let lines = [
        "w a b",
        "w 'a b' c",
        "w \"a b\" c",
        "w a\\ b",
        "w 'a'\"b\"c",
        "w ''",
        "w \"\" ''a",
        "w a''b",
        "'w' x",
        "\\w x",
        "w\\\n x",
        "w x\\\ny",
        "\"w\" x",
        "w $'a\\tb'",
        "w $'\\x61\\142\\u0063'",
        "w $'it\\'s'",
        "w $'a\\\\b'",
        "w \"a\\\"b\"",
        "w \"a\\b\"",
        "w \"a\\\\b\"",
        "w 'a\\b'",
        "w a\\b",
        "w \"\\$x\" '$x' \\$x",
        "w \"`:`\"a",
        "w {a,b}",
        "w x{a,b}y",
        "w {a,b}{c,d}",
        "w {a,{b,c}}",
        "w {1..3}",
        "w {3..1}",
        "w a{1..2}b",
        "w {a}",
        "w {}",
        "w {,a}",
        "w {a,}",
        "w '{a,b}'",
        "w \\{a,b}",
        "w {a,b",
        "w a,b}",
        "w {a,b}}",
        "w {{a,b}",
        "w {'a,b',c}",
        "w {\"a b\",c}",
        "w a{b,c}d{e,f}g",
        "w {,}",
        "w ''{,}",
        "w ~",
        "w ~/x",
        "w a~",
        "w '~'",
        "w \\~",
        "w \"~\"/x",
        "w ~'/x'",
        "w #a",
        "w a#b",
        "w a #b\nw c",
        "w a;w b",
        "w a\nw b",
        "w a&&w b",
        "(w a)",
        "{ w a; }",
        "w a >/dev/null b",
        "w </dev/null a",
        ">/dev/null w a",
        "w a 2>&1 b",
        "w a2>/dev/null",
        "w 2 >/dev/null",
        "w 'a\nb'",
        "w \"a\nb\"",
        "w \"a\\\nb\"",
        "w a=b",
        "x=1 w a",
        "if w a; then w b; fi",
        "for i in 1; do w a; done",
        "case a in a) w b;; esac",
        "w $(w a)",
        "w \"$(w a)\"",
        "w `w a`",
        "w <<EOF\n$(w a)\nEOF",
        "w <<'EOF'\n$(w a)\nEOF",
        "w <<-EOF\n\tx\n\tEOF\nw b",
        "eval 'w a'",
        "eval w 'a\\ b'",
        "! w a",
        "w a | w",
        "w a &\nwait",
        "w é ü 日本",
        "w - -- -x",
        "w \"a'b\"'c\"d'",
        "w [",
        "w ]",
        "w a]b",
        "w @{0}",
        "w HEAD@{1}",
        "w a:b",
        "w %x",
        "w +x",
        "w =x",
        "w ,",
        "w 'a'\\''b'",
        "w \"$(printf a)\"",
        "command w a",
        "w ${x}a",
        "w \"${x:-b}\"",
        "w $((1+2))",
        "w \"a$\"",
        "w a$",
        "w $",
        "w \"$\"",
        "f() { w a; }; f",
        "[[ -n a ]] && w b",
        "w a;:;w b",
        "w a  b\tc",
        "w \\\\",
        "w '\\'",
        "w \"\\\\\"",
        "w a\\'b",
        "w $'\\e[0m'",
        "w $'\\q'",
        "w {x,$'a b'}",
        "w {a..c}",
    ];
    let place = bash.place();
    let (mut compared, mut unclear) = (0, Vec::new());
    for line in lines {
        let Some(runs) = read(line, &place) else {
            unclear.push(line);
            continue;
        };
        let really = bash.runs(line);
        assert_eq!(runs.len(), really.len(), "{line:?}: {runs:?} against {really:?}");
        if let Some(words) = literal(&runs) {
            // Parts of a pipeline may run in any order.
            let (mut words, mut really) = (words, really);
            words.sort();
            really.sort();
            assert_eq!(words, really, "{line:?}");
            compared += 1;
        }
    }
    println!("{compared} of {} lines compared word by word; unclear: {unclear:?}", lines.len());
    assert!(compared >= 100, "{compared}");
}

#[test]
fn random_quoting_means_the_same_to_bash_and_to_the_reader() {
    let pieces = prop::sample::select(vec![
        "a",
        "b",
        " ",
        " ",
        "'",
        "\"",
        "\\",
        "{",
        "}",
        ",",
        "..",
        "$'",
        "~",
        "1",
        "3",
        "#",
        ";w ",
        "\nw ",
        "$(w ",
        ")",
        "`",
        "\\\n",
        "\t",
        "=",
        "\\x61",
        "[",
        "]",
        "$",
        "${",
        "-",
        "(",
        "&&w ",
        "<<E\n",
        "\nE\n",
        "!",
        "<(",
        "é",
        "if w ",
        "; then w ",
        "; fi",
        "for i in a; do w ",
        "; done",
        "{ w ",
        ";}",
        "(w ",
        "case a in a) w ",
        ";; esac",
        "|w ",
        "||w ",
        "<<'E'\n",
        "<<-E\n",
        "\n\tE\n",
        "<<<",
        "eval ",
        "&",
        "x=",
        "${x:-",
        "w ",
        "w ",
    ]);
    let strategy = prop::collection::vec(pieces, 1..16).prop_map(|pieces| format!("w {}", pieces.concat()));
    let bash = Bash::new();
    let place = bash.place();
    let (understood, compared) = (Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new(Config { cases: 1500, failure_persistence: None, ..Config::default() });
    runner
        .run(&strategy, |line| {
            let Some(runs) = read(&line, &place) else { return Ok(()) };
            understood.set(understood.get() + 1);
            let really = bash.runs(&line);
            // After `&&` a run may not happen; a run that was not foreseen may not happen at all.
            prop_assert!(really.len() <= runs.len(), "{:?}: {:?} against {:?}", line, runs, really);
            if let Some(mut words) = literal(&runs).filter(|words| words.len() == really.len()) {
                let mut really = really;
                words.sort();
                really.sort();
                compared.set(compared.get() + 1);
                prop_assert_eq!(words, really, "{:?}", line);
            }
            Ok(())
        })
        .unwrap();
    let (understood, compared) = (understood.get(), compared.get());
    println!("{understood} random lines understood, {compared} compared word by word");
    assert!(compared > 100);
}

/// Scripts that are valid by construction, with the stub hidden wherever a command can hide.
fn scripts() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "w a",
        "w 'a b' \"c\"",
        "w d\\ e",
        "w {f,g}",
        "w $'\\x61'",
        "w <<E\nx\nE",
        "w <<'E'\n$(w no)\nE",
        "w <<E\n$(w yes)\nE",
        "w <<E\n`w yes`\nE",
        "w <<-E\n\tx\n\tE",
        "w <<< x",
        "x=1 w a",
        "w a 2>&1",
        "w a \\\n  b",
        "w a # w no",
        ": || w no",
        "x=$(w a)",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(5, 24, 2, |inner| {
        (inner.clone(), inner, 0..16usize).prop_map(|(left, right, shape)| match shape {
            0 => format!("{left}\n{right}"),
            1 => format!("(\n{left}\n)"),
            2 => format!("{{\n{left}\n}}"),
            3 => format!("w \"$(\n{left}\n)\""),
            4 => format!("w $(\n{left}\n) z"),
            5 => format!("if\n{left}\nthen\n{right}\nfi"),
            6 => format!("for i in 1 2; do\n{left}\ndone"),
            7 => format!("case a in\na)\n{left}\n;;\n*)\n{right}\n;;\nesac"),
            8 => format!("! {{\n{left}\n}}"),
            9 => format!("{{\n{left}\n}} | {{\n{right}\n}}"),
            10 => format!("{{\n{left}\n}} && {{\n{right}\n}}"),
            11 => format!("{{\n{left}\n}} &\nwait"),
            12 => format!("eval {}", shell_quote(&left)),
            13 => format!("w <(\n{left}\n)"),
            14 => format!("if false; then\n{left}\nelse\n{right}\nfi"),
            _ => format!("w \"a $(\n{left}\n) ${{x:-b}}\" 'c'"),
        })
    })
}

#[test]
fn nothing_runs_that_the_reader_did_not_list() {
    let bash = Bash::new();
    let place = bash.place();
    let (understood, unclear) = (Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new(Config { cases: 300, failure_persistence: None, ..Config::default() });
    runner
        .run(&scripts(), |script| {
            let Some(listed) = read(&script, &place) else {
                unclear.set(unclear.get() + 1);
                return Ok(());
            };
            understood.set(understood.get() + 1);
            for run in bash.runs(&script) {
                let same = |words: &Vec<Word>| {
                    let exact: Option<Vec<&str>> = words.iter().map(Word::known).collect();
                    exact.is_none_or(|exact| exact == run)
                };
                prop_assert!(listed.iter().any(same), "{:?} ran {:?}, listed: {:?}", script, run, listed);
            }
            Ok(())
        })
        .unwrap();
    println!("{} scripts understood, {} unclear", understood.get(), unclear.get());
    assert!(understood.get() > 100);
}
