//! Files that choose which program a tool chain's command starts.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use charla_proto::Word;

use crate::bounded;

const RUST: &[&str] = &["cargo", "rustc", "rustup"];
const NODE: &[&str] = &["node", "npm", "npx", "yarn", "pnpm", "bun", "tsc"];
const PYTHON: &[&str] = &["python", "python3", "pip", "pip3", "uv"];
const GO: &[&str] = &["go"];
const JAVA: &[&str] = &["java", "javac"];
const RUBY: &[&str] = &["ruby"];
const ALL: &[&str] = &[];

/// A file, what has to be in it to count, and whom it is about.
const CHOOSERS: [(&str, &str, &[&str]); 28] = [
    ("rust-toolchain", "", RUST),
    ("rust-toolchain.toml", "", RUST),
    (".cargo/config", "", RUST),
    (".cargo/config.toml", "", RUST),
    (".yarnrc", "", NODE),
    (".yarnrc.yml", "", NODE),
    (".npmrc", "", NODE),
    (".pnpmfile.cjs", "", NODE),
    ("package.json", "packageManager", NODE),
    ("package.json", "devEngines", NODE),
    ("package.json", "volta", NODE),
    (".nvmrc", "", NODE),
    (".node-version", "", NODE),
    ("bunfig.toml", "", NODE),
    (".python-version", "", PYTHON),
    (".python-versions", "", PYTHON),
    ("uv.toml", "", PYTHON),
    ("go.mod", "toolchain", GO),
    ("go.work", "toolchain", GO),
    (".go-version", "", GO),
    (".java-version", "", JAVA),
    (".sdkmanrc", "", JAVA),
    (".ruby-version", "", RUBY),
    (".tool-versions", "", ALL),
    ("mise.toml", "", ALL),
    (".mise.toml", "", ALL),
    (".rtx.toml", "", ALL),
    (".config/mise/config.toml", "", ALL),
];

/// True for a command that asks a tool for its version, or about itself, and nothing else.
pub(super) fn asks_version(name: &str, words: &[Word]) -> bool {
    let last = words.last().and_then(Word::known);
    if words.len() > 1 {
        let first = words.first().and_then(Word::known);
        let lists = RUST.contains(&name) && (first == Some("--print") || last == Some("list"));
        return lists || first == Some("help") || matches!(last, Some("--version" | "--verbose" | "--help"));
    }
    let [word] = words else { return false };
    matches!(
        word.known(),
        Some("--version" | "-version" | "version" | "-V" | "-vV" | "-Vv" | "--help" | "--list" | "show")
    ) || (NODE.contains(&name) && word.known() == Some("-v"))
}

/// The file that chooses what `name` starts in `cwd`. All paths are real ones. Above the workspace, files of whom
/// the workspace belongs to do not count: they are the user's own choice.
pub(super) fn chosen_by(name: &str, cwd: &Path, roots: &[&Path]) -> Option<PathBuf> {
    let owner = roots.first().and_then(|root| root.metadata().ok()).map(|root| root.uid());
    cwd.ancestors().find_map(|folder| {
        let inside = roots.iter().any(|root| folder.starts_with(root));
        CHOOSERS.iter().filter(|(.., names)| names.is_empty() || names.contains(&name)).find_map(
            |(file, needle, _)| {
                let path = folder.join(file);
                let found = path.symlink_metadata().ok()?;
                let counts = inside || Some(found.uid()) != owner;
                (counts && holds(&path, needle)).then_some(path)
            },
        )
    })
}

/// True when the file says `needle`, or may: it cannot be read. One that says nothing but a version chooses among what the user installed.
fn holds(path: &Path, needle: &str) -> bool {
    if needle.is_empty() {
        return !bounded::read(path).is_ok_and(|bytes| says_version(path, &String::from_utf8_lossy(&bytes)));
    }
    bounded::read(path).map_or(true, |bytes| String::from_utf8_lossy(&bytes).contains(needle))
}

/// True for `1.80`, and for a `rust-toolchain.toml` that names a channel and no path.
fn says_version(path: &Path, text: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match name {
        "rust-toolchain.toml" | "rust-toolchain" if text.contains('=') => {
            let channel = |line: &str| {
                line.split_once('=')
                    .filter(|(key, _)| key.trim() == "channel")
                    .map(|(_, value)| value.trim().to_owned())
            };
            let channels: Vec<String> = text.lines().filter_map(channel).collect();
            let lines = text.lines().map(|line| line.trim_start());
            let only_known = lines
                .clone()
                .filter_map(|line| line.split_once('='))
                .all(|(key, _)| RUSTUP_KEYS.contains(&key.trim()));
            only_known && matches!(channels.as_slice(), [one] if is_version(one.trim_matches('"')))
        }
        "rust-toolchain" | ".nvmrc" | ".node-version" | ".python-version" | ".ruby-version"
        | ".java-version" | ".go-version" => is_version(text.trim()),
        _ => false,
    }
}

/// What a file of rustup's may say beside where a toolchain lies.
const RUSTUP_KEYS: [&str; 4] = ["channel", "components", "targets", "profile"];

fn is_version(text: &str) -> bool {
    let text = text.strip_prefix('v').unwrap_or(text);
    let named = ["stable", "beta", "nightly"].iter().any(|channel| {
        text.strip_prefix(channel)
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
    });
    let numbers = !text.is_empty()
        && text.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    named || numbers
}
