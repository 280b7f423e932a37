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

/// True for a command that asks a tool for its version and nothing else.
pub(super) fn asks_version(name: &str, words: &[Word]) -> bool {
    let [word] = words else { return false };
    matches!(word.known(), Some("--version" | "-version" | "version" | "-V" | "-vV" | "-Vv"))
        || (NODE.contains(&name) && word.known() == Some("-v"))
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

/// True when the file says `needle`, or may: it cannot be read.
fn holds(path: &Path, needle: &str) -> bool {
    needle.is_empty()
        || bounded::read(path).map_or(true, |bytes| String::from_utf8_lossy(&bytes).contains(needle))
}
