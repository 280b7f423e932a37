//! What the text of a command does not say and the disk does: where symbolic links lead, and which folders
//! are repositories of their own.

use std::path::{Path, PathBuf};

use charla_proto::text::join_path;
use charla_proto::{Effect, Word};

/// Adds what the disk knows about the paths in `effects`: a path that is reached through a link is listed under
/// its real name too, and git in a repository nested in one of the `roots` is unclear, because the settings
/// of that repository may run programs. Reads the file system, and changes nothing.
pub fn look_at_disk(effects: &mut Vec<Effect>, roots: &[PathBuf]) {
    let real_roots: Vec<(PathBuf, PathBuf)> =
        roots.iter().filter_map(|root| Some((root.clone(), root.canonicalize().ok()?))).collect();
    let mut found = Vec::new();
    for effect in effects.iter() {
        match effect {
            Effect::Read { path } => found.extend(real(path, &real_roots).map(|path| Effect::Read { path })),
            Effect::Write { path } => {
                found.extend(real(path, &real_roots).map(|path| Effect::Write { path }))
            }
            Effect::Exec { words, cwd, command, .. } => {
                let known = words.iter().skip(1).filter_map(Word::known);
                let paths = known.filter(|word| !word.starts_with('-')).map(|word| join_path(cwd, word));
                let existing = paths.chain([cwd.clone()]).filter(|path| path.symlink_metadata().is_ok());
                found.extend(
                    existing.filter_map(|path| real(&path, &real_roots)).map(|path| Effect::Read { path }),
                );
                if words.first().and_then(Word::known) == Some("git") && nested_repository(cwd, roots) {
                    let reason = "the settings of a repository inside the workspace may run programs";
                    found.push(Effect::Unclear { what: command.clone(), reason: reason.into() });
                }
            }
            _ => {}
        }
    }
    for effect in found {
        if !effects.contains(&effect) {
            effects.push(effect);
        }
    }
}

/// The real path, if it differs from what the text says. A root that is itself reached through a link keeps
/// the name it is known by.
fn real(path: &Path, roots: &[(PathBuf, PathBuf)]) -> Option<PathBuf> {
    let mut existing = path.to_path_buf();
    let mut rest = Vec::new();
    let resolved = loop {
        match existing.canonicalize() {
            Ok(resolved) => break resolved,
            Err(_) => {
                rest.push(existing.file_name()?.to_owned());
                existing.pop();
            }
        }
    };
    let resolved = rest.iter().rev().fold(resolved, |path, name| path.join(name));
    let as_known = roots
        .iter()
        .find_map(|(known, real)| Some(known.join(resolved.strip_prefix(real).ok()?)))
        .unwrap_or(resolved);
    (as_known != path).then_some(as_known)
}

fn nested_repository(cwd: &Path, roots: &[PathBuf]) -> bool {
    let inside = |folder: &&Path| roots.iter().any(|root| folder.starts_with(root) && *folder != root);
    cwd.ancestors()
        .take_while(inside)
        .any(|folder| folder.join(".git").exists() || folder.join("HEAD").exists())
}
