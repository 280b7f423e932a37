//! Files of a workspace and of a home that are no files: a start neither waits for them nor takes them in.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use charla_testkit::{Reply, Script};
use serde_json::json;

use crate::place::{Place, server};

/// Files that are read when a session starts, or when its tools look around.
const FILES: [&str; 38] = [
    "work/.gitignore",
    "work/.ignore",
    "work/.geminiignore",
    "work/.charlaignore",
    "work/src/.gitignore",
    "work/src/.charlaignore",
    "work/AGENTS.md",
    "work/GEMINI.md",
    "work/CHARLA.md",
    "work/CLAUDE.md",
    "work/.env",
    "work/.charla/.env",
    "work/.gemini/.env",
    "work/.charla/settings.json",
    "work/.gemini/settings.json",
    "work/.charla/policies/a.toml",
    "work/.gemini/policies/a.toml",
    "work/.charla/policies",
    "work/.charla/commands/a.toml",
    "work/.gemini/commands/a.toml",
    "work/.charla/skills/a/SKILL.md",
    "work/.gemini/skills/a/SKILL.md",
    "work/.charla/agents/a.md",
    "work/.claude/agents/a.md",
    "work/.charla",
    "work/.mcp.json",
    "work/.git",
    "work/.git/HEAD",
    "work/.git/config",
    "work/.git/index",
    "work/.git/info/exclude",
    "work/.gitattributes",
    "work/rust-toolchain.toml",
    "work/package.json",
    "home/.charla/CHARLA.md",
    "home/.charla/skills/a/SKILL.md",
    "home/.charla/agents/a.md",
    "home/.charla/commands/a.toml",
];

fn put(kind: &str, path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    if path.is_dir() {
        std::fs::remove_dir_all(path).unwrap();
    }
    match kind {
        "pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "device" => symlink("/dev/zero", path).unwrap(),
        "folder" => std::fs::create_dir_all(path.join("x")).unwrap(),
        "sparse" => std::fs::File::create(path).unwrap().set_len(1 << 30).unwrap(),
        "loop" => symlink(path.file_name().unwrap(), path).unwrap(),
        _ => unreachable!("{kind}"),
    }
}

/// Runs the binary, and says how much memory it took at most.
const MEASURED: &str = r"
import json, resource, subprocess, sys
child = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, capture_output=True, timeout=float(sys.argv[1]))
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps([child.returncode, child.stdout.decode(), child.stderr.decode(), most]))
";

fn start_with(kind: &str, file: &str) {
    // What git itself waits for or takes in is not ours: the model had it started.
    let git = if kind == "sparse" { "ls" } else { "timeout 3 git status --short" };
    let calls = Reply::new()
        .call("list_directory", json!({"dir_path": "."}))
        .call("glob", json!({"pattern": "**/*.txt"}))
        .call("grep_search", json!({"pattern": "needle"}))
        .call("read_many_files", json!({"include": ["**/*.txt"]}))
        .call("run_shell_command", json!({"command": git}))
        .call("run_shell_command", json!({"command": "ls; cargo --version"}));
    let model = server(Script::new([calls, "Done.".into()]));
    let place = Place::with_server(&model);
    std::fs::create_dir_all(place.work().join("src")).unwrap();
    std::fs::write(place.work().join("src/a.txt"), "needle\n").unwrap();
    if file.starts_with("work/.git/") {
        assert!(Command::new("git").args(["init", "-q"]).arg(place.work()).status().unwrap().success());
        std::fs::remove_file(place.path().join(file)).ok();
    }
    put(kind, &place.path().join(file));
    let prepared = place.process(&["-m", "openai/gpt-test", "-p", "go"]);
    let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut command = Command::new(python);
    command.env_clear().current_dir(place.work());
    command.envs(prepared.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let patience = Duration::from_secs(100).as_secs().to_string();
    command.args(["-c", MEASURED, &patience]).arg(prepared.get_program()).args(prepared.get_args());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (code, out, err, most): (i32, String, String, u64) = serde_json::from_str(&text)
        .unwrap_or_else(|_| panic!("{kind} {file}: {}", String::from_utf8_lossy(&output.stderr)));
    // What cannot be read and may hold a denial ends the run; everything else goes on.
    assert!(code == 0 && out == "Done.\n" || code == 52, "{kind} {file}: {code} {out}{err}");
    assert!(most < 300_000, "{kind} {file}: {most} KiB");
    let is_told = err.contains(file.rsplit('/').next().unwrap()) || err.contains("left out");
    let must_be_told = kind != "loop" && ["settings.json", "a.toml"].iter().any(|name| file.ends_with(name));
    let must_be_told = must_be_told && file.starts_with("work/.charla") && !file.contains("commands");
    assert!(code == 0 && !must_be_told || is_told, "{kind} {file}: {err}");
}

#[test]
fn a_pipe_makes_no_start_wait() {
    FILES.iter().for_each(|file| start_with("pipe", file));
}

#[test]
fn a_device_is_not_read() {
    FILES.iter().for_each(|file| start_with("device", file));
}

#[test]
fn a_large_file_does_not_fill_the_memory() {
    FILES.iter().for_each(|file| start_with("sparse", file));
}

#[test]
fn a_folder_or_a_loop_in_the_place_of_a_file_stops_nothing() {
    for kind in ["folder", "loop"] {
        FILES.iter().for_each(|file| start_with(kind, file));
    }
}

#[test]
fn gits_own_settings_that_are_pipes_make_no_search_wait() {
    for name in [".gitconfig", ".config/git/config", ".config/git/ignore"] {
        let search = Reply::new().call("glob", json!({"pattern": "*.txt"}));
        let model = server(Script::new([search, "Done.".into()]));
        let place = Place::with_server(&model).file("found.txt", "x");
        let pipe = place.path().join("home").join(name);
        std::fs::create_dir_all(pipe.parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let run = place.run(&["-m", "openai/gpt-test", "-p", "go"]);
        assert_eq!(run.code, Some(0), "{name}: {}", run.err);
        assert!(model.requests()[1].body.to_string().contains("1 file(s) match"), "{name}");
    }
}
