//! `list_directory`.

use std::ffi::OsStr;

use charla_proto::text::printable;
use charla_proto::{Effect, FileJudge, Prepared, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use ignore::WalkBuilder;
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::invocation::{StopSignal, read_plan, text_output};
use crate::paths::folder::Folder;
use crate::paths::{FileKind, ResolvedPath, io_failure, kind_of, special};
use crate::search::{Filter, LeftOut, patterns, search_within, walk};
use crate::typed::{PreparedCall, TypedTool};

/// How many entries are listed.
const MOST_ENTRIES: usize = 1000;

/// Lists what is in a folder.
pub struct ListDirectory;

/// What `list_directory` takes.
#[derive(Deserialize, JsonSchema)]
pub struct ListDirectoryArgs {
    /// The folder: an absolute path, or one relative to the working folder.
    #[schemars(length(min = 1))]
    dir_path: String,
    /// Patterns of names to leave out.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    ignore: Vec<String>,
    /// Which ignore files count; all do unless told otherwise.
    #[serde(default)]
    file_filtering_options: Filter,
}

impl TypedTool for ListDirectory {
    type Args = ListDirectoryArgs;
    const NAME: &'static str = "list_directory";
    const SCHEMA: &'static str = include_str!("../schemas/list_directory.json");
    const DESCRIPTION: &'static str = "Lists the names of the files and folders directly in a folder. Ignored \
files (.gitignore and the like) are left out.";

    async fn prepare(&self, args: ListDirectoryArgs, cx: &ToolContext) -> PreparedCall {
        let ignored = patterns(&args.ignore, true)?;
        let place = ResolvedPath::resolve_soon(args.dir_path, cx).await?;
        let by_name = place.restricted_name(cx).map(|path| Effect::Read { path });
        let real = Effect::Read { path: place.real.clone() };
        let effects = std::iter::once(real).chain(by_name).collect();
        let plan = read_plan(Self::NAME, format!("List {}", place.title(cx)), effects);
        let (filter, home) = (args.file_filtering_options, cx.home.clone());
        Ok(Prepared::boxed(plan, move |cx| {
            search_within(cx.cancelled, move |stop| {
                place.recheck()?;
                list(&place, &ignored, walk(&place.real, &filter, home.as_deref()), &cx.files, stop)
            })
        }))
    }
}

struct FolderEntry {
    name: String,
    folder: bool,
    note: String,
}

fn list(
    place: &ResolvedPath,
    ignored: &globset::GlobSet,
    mut walk: WalkBuilder,
    files: &FileJudge,
    stop: &StopSignal,
) -> Result<ToolOutput, ToolError> {
    expect_folder(place)?;
    let failed = |error| io_failure(&place.path, &error);
    let folder = Folder::open(&place.real).map_err(failed)?;
    let all = folder.names().map_err(failed)?.len();
    let mut left_out = LeftOut::below([place]);
    let mut entries = Vec::new();
    for found in walk.max_depth(Some(1)).build().skip(1) {
        if stop.now() {
            break;
        }
        let Ok(found) = found else { continue };
        if ignored.is_match(found.file_name()) || left_out.takes_name(files, found.path()) {
            continue;
        }
        entries.extend(entry(&folder, found.file_name()));
    }
    entries.sort_by(|a, b| b.folder.cmp(&a.folder).then_with(|| a.name.cmp(&b.name)));
    Ok(in_words(place, &entries, all.saturating_sub(entries.len()), &left_out))
}

/// What is in the folder under a name; `None` when it is gone.
fn entry(folder: &Folder, name: &OsStr) -> Option<FolderEntry> {
    let data = folder.look(name).ok()?;
    let note = match (FileType::from_raw_mode(data.st_mode), kind_of(name.as_ref(), &data)) {
        (FileType::Symlink, _) => {
            let target = folder.link(name).map(|target| printable(&target)).unwrap_or_default();
            format!(" (link to {target})")
        }
        (_, FileKind::File { size }) => format!(" ({size} bytes)"),
        (_, FileKind::Special(_)) => " (special file)".to_owned(),
        (_, FileKind::Directory | FileKind::Missing) => String::new(),
    };
    let is_folder = FileType::from_raw_mode(data.st_mode).is_dir();
    Some(FolderEntry { name: printable(std::path::Path::new(name)), folder: is_folder, note })
}

fn in_words(place: &ResolvedPath, entries: &[FolderEntry], missing: usize, left_out: &LeftOut) -> ToolOutput {
    let folder = printable(&place.path);
    let ignored = missing.saturating_sub(left_out.count_by_rules());
    let mut text = match entries.len() {
        0 if missing == 0 => format!("The folder {folder} is empty."),
        0 if ignored == 0 => format!("Nothing in {folder} may be listed."),
        0 => format!("Everything in {folder} is ignored."),
        _ => format!("Directory listing for {folder}:"),
    };
    for entry in entries.iter().take(MOST_ENTRIES) {
        let mark = if entry.folder { "[DIR] " } else { "" };
        text.push_str(&format!("\n{mark}{}{}", entry.name, entry.note));
    }
    if entries.len() > MOST_ENTRIES {
        text.push_str(&format!(
            "\n[{} more entries are not shown; use glob with a pattern to find what you look for.]",
            entries.len() - MOST_ENTRIES
        ));
    }
    if ignored > 0 {
        text.push_str(&format!("\n({ignored} ignored)"));
    }
    left_out.by_rules().for_each(|note| text.push_str(&format!("\n[{note}]")));
    text_output(
        text,
        match entries.len() {
            1 => format!("Listed 1 entry of {folder}"),
            several => format!("Listed {several} entries of {folder}"),
        },
    )
}

/// Refuses everything but a folder.
pub(crate) fn expect_folder(place: &ResolvedPath) -> Result<(), ToolError> {
    match place.kind()? {
        FileKind::Directory => Ok(()),
        FileKind::Missing => Err(ToolError::new(
            ToolErrorKind::NotFound,
            format!("There is no folder {}.", place.path.display()),
        )),
        FileKind::File { .. } => Err(ToolError::new(
            ToolErrorKind::NotADirectory,
            format!("{} is a file, not a folder. Use read_file to read it.", place.path.display()),
        )),
        FileKind::Special(what) => Err(special(&place.path, what)),
    }
}
