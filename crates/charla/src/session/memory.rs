//! The memory files of a session: what the user and the project want it to know.

use std::path::{Path, PathBuf};

use charla_proto::FileJudge;
use charla_tools::memory::{self, Memory, MemoryPlaces};

use super::rules::judge_of_files;
use crate::bounded;
use crate::environment::Environment;
use crate::extensions::Brings;
use crate::hint::Hint;
use crate::notices::{Notice, Notices};
use crate::settings::Brought;
use crate::trust::{self, WorkspaceContent};

/// So many characters one file of an extension may have.
const MOST_OF_EXTENSION: usize = 40_000;
/// How many files a note names.
const SHOWN: usize = 5;

/// Reads those that the rules leave open, and what is to be told about them.
pub(super) fn memory_files(environment: &Environment, files: FileJudge) -> Memory {
    let owners = trust::owners(environment);
    let mut foreign = None;
    let is_root = |folder: &&Path| {
        let Ok(facts) = folder.join(".git").symlink_metadata() else { return false };
        match owners.stranger(&facts) {
            None => true,
            Some(owner) => {
                foreign.get_or_insert((folder.join(".git"), owner));
                false
            }
        }
    };
    let directory = &environment.directory;
    let project = directory.ancestors().find(is_root).unwrap_or(directory).to_owned();
    let mut memory = memory::load(&MemoryPlaces {
        user_folder: environment.charla_home(),
        project_root: project,
        cwd: directory.clone(),
        home: environment.home.clone(),
        owners,
        files,
    });
    if let Some((path, owner)) = foreign {
        let reason = charla_tools::owner::belongs_to_another(owner);
        memory.notices.push(format!("{} makes no project: {reason}", path.display()));
    }
    memory
}

/// The files that are read as instructions, in their order, and what is left out of them.
pub fn instruction_files(environment: &Environment) -> (Vec<PathBuf>, Vec<String>) {
    let memory = memory_files(environment, judge_of_files(environment, &[]));
    (memory.files, memory.notices)
}

/// Reads them and those of extensions, tells what was left out, and once that a project that nobody has trusted brings
/// instructions.
pub(super) fn read(
    environment: &Environment,
    files: FileJudge,
    brought: &Brought,
    notices: &mut dyn Notices,
) -> String {
    let memory = memory_files(environment, files);
    memory.notices.iter().for_each(|notice| notices.warning(&notice.as_str().into()));
    if !memory.project_files.is_empty() && !is_trusted(environment, &brought.workspace) {
        let folder = &environment.directory;
        if trust::is_new(environment, folder, memory.project_text()) {
            let text = format!("read as instructions: {}", names(&memory.project_files, folder));
            notices.note(&Notice::with_hint(text, Hint::ShowWorkspaceContent));
        }
    }
    let of_extensions = brought.extensions.iter().flat_map(of_extension);
    let texts: Vec<String> = std::iter::once(memory.text).chain(of_extensions).collect();
    texts.join("\n\n").trim().to_owned()
}

/// The instructions of an extension, with its name before them.
fn of_extension(extension: &Brings) -> impl Iterator<Item = String> {
    extension.context.iter().filter_map(|file| {
        let text = bounded::text(file).ok()?;
        let text: String = text.trim().chars().take(MOST_OF_EXTENSION).collect();
        (!text.is_empty()).then(|| format!("## From the extension {}\n\n{text}", extension.name))
    })
}

/// In their home the user wrote the files themselves.
fn is_trusted(environment: &Environment, content: &WorkspaceContent) -> bool {
    let known = content.known(environment);
    known.is_ok_and(trust::Standing::is_trusted) || environment.home.as_ref() == Some(&environment.directory)
}

fn names(files: &[PathBuf], folder: &Path) -> String {
    let short = |path: &PathBuf| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    let more = files.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", files.iter().take(SHOWN).map(short).collect::<Vec<_>>().join(", "))
}
