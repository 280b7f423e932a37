//! Questions to a program about itself: its version, its help, what it has installed.

use charla_proto::Word;

use super::{Call, Checked};

/// Commands that print their version and nothing else when asked for it.
const VERSIONED: &[&str] = &[
    "cargo",
    "rustc",
    "rustup",
    "node",
    "npm",
    "npx",
    "yarn",
    "pnpm",
    "bun",
    "deno",
    "python",
    "python3",
    "pip",
    "pip3",
    "uv",
    "go",
    "java",
    "javac",
    "gcc",
    "g++",
    "clang",
    "make",
    "cmake",
    "docker",
    "ruby",
    "perl",
    "php",
    "git",
    "bash",
    "gh",
    "kubectl",
    "tsc",
    "jq",
    "rg",
    "curl",
    "wget",
    "openssl",
    "ssh",
    "sqlite3",
    "psql",
    "nginx",
    "vim",
    "tmux",
    "rustfmt",
    "ninja",
    "meson",
    "gdb",
    "terraform",
    "helm",
    "poetry",
    "pytest",
    "ruff",
    "mypy",
    "black",
    "eslint",
    "prettier",
    "clang-format",
    "ld",
    "as",
    "sed",
    "awk",
    "grep",
    "tar",
    "ls",
    "fd",
    "zsh",
];

/// Programs that load what the workspace holds before they print their help.
const LOADING: [&str; 5] = ["pytest", "eslint", "prettier", "tsc", "make"];

/// Programs with commands of their own, of which each prints its help and nothing else when asked for it.
const WITH_COMMANDS: [&str; 9] = ["cargo", "npm", "pip", "pip3", "rustup", "docker", "kubectl", "gh", "go"];

/// Questions that are no option: the words behind the name.
const ASKED: [(&str, &[&str]); 24] = [
    ("go", &["version"]),
    ("openssl", &["version"]),
    ("terraform", &["version"]),
    ("helm", &["version"]),
    ("kubectl", &["version", "--client"]),
    ("node", &["-v"]),
    ("npm", &["-v"]),
    ("nginx", &["-v"]),
    ("python", &["-V"]),
    ("python3", &["-V"]),
    ("ssh", &["-V"]),
    ("curl", &["-V"]),
    ("java", &["-version"]),
    ("javac", &["-version"]),
    ("cargo", &["--list"]),
    ("cargo", &["fmt", "--version"]),
    ("cargo", &["clippy", "--version"]),
    ("cargo", &["nextest", "--version"]),
    ("rustup", &["show"]),
    ("rustup", &["toolchain", "list"]),
    ("rustup", &["target", "list"]),
    ("rustup", &["component", "list"]),
    ("npm", &["help"]),
    ("cargo", &["help"]),
];

/// True for a call that asks a program about itself and does nothing else.
pub(super) fn asks_about_program(call: Call<'_>) -> bool {
    let known: Option<Vec<&str>> = call.words.iter().map(Word::known).collect();
    let Some(words) = known else { return false };
    let has_help = super::is_known(call.name) || super::programs::find(call.name).is_some();
    let is_command = |word: &str| {
        word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') && !word.starts_with('-')
    };
    let runs_others = |word: &str| matches!(word, "exec" | "x" | "explore" | "run-script" | "tool");
    let listed = VERSIONED.contains(&call.name);
    match words.as_slice() {
        ["--version"] => listed,
        ["--help"] => (listed || has_help) && !LOADING.contains(&call.name),
        [command, "--help"] | ["help", command] => {
            WITH_COMMANDS.contains(&call.name) && is_command(command) && !runs_others(command)
        }
        _ if matches!(call.name, "rustc" | "cargo") && words.iter().all(|word| tells_version(word)) => {
            !words.is_empty()
        }
        ["--print", "sysroot" | "target-list" | "cfg" | "host-tuple" | "target-cpus"] => call.name == "rustc",
        words => ASKED.contains(&(call.name, words)),
    }
}

fn tells_version(word: &str) -> bool {
    matches!(word, "--version" | "--verbose" | "-V" | "-v" | "-vV" | "-Vv")
}

/// `man 3 printf`: pages of the system, not of a file.
pub(super) fn manual(call: Call<'_>) -> Checked {
    let plain = |word: &str| {
        let asks = matches!(word, "-k" | "-f" | "-a" | "-w");
        asks || !word.starts_with('-')
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:+".contains(&byte))
    };
    super::only(call, plain)
}
