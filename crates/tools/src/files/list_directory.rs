//! `list_directory`.

use std::fs;
use std::sync::Arc;

use charla_proto::tool::Tool;
use charla_proto::{
    Args, BoxFuture, Effect, FunctionDeclaration, Invocation, ToolContext, ToolError, ToolErrorKind,
    ToolOutput,
};
use serde::Deserialize;
use serde_json::json;

use super::read_file::LIMIT;
use crate::args::Schema;
use crate::invocation::{Prepared, Stop, check, read_within, reading, said};
use crate::paths::{Kind, Place, io_failure, printable, special};
use crate::search::{Filter, filter_schema, patterns, walk};

/// How many entries are listed.
const MOST_ENTRIES: usize = 1000;

/// Lists what is in a folder.
pub struct ListDirectory {
    schema: Schema,
}

#[derive(Deserialize)]
struct Wanted {
    dir_path: String,
    #[serde(default)]
    ignore: Vec<String>,
    #[serde(default)]
    file_filtering_options: Filter,
}

impl Default for ListDirectory {
    fn default() -> Self {
        let schema = Schema::new(
            "list_directory",
            "Lists the names of the files and folders directly in a folder. Ignored files (.gitignore and the like) are left out.",
            json!({
                "dir_path": {"type": "string", "minLength": 1, "description": "The folder: an absolute path, or one relative to the working folder."},
                "ignore": {"type": "array", "maxItems": 1000, "items": {"type": "string"}, "description": "Patterns of names to leave out."},
                "file_filtering_options": filter_schema(),
            }),
            &["dir_path"],
        );
        Self { schema }
    }
}

impl Tool for ListDirectory {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        self.schema.declaration()
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move {
            let wanted: Wanted = self.schema.read(args)?;
            let ignored = patterns(&wanted.ignore, true)?;
            let context = cx.clone();
            let place = check(move || Place::resolve(&wanted.dir_path, &context)).await?;
            let effects = vec![Effect::Read { path: place.real.clone() }];
            let plan = reading("list_directory", format!("List {}", place.title(cx)), effects);
            let filter = wanted.file_filtering_options;
            Ok(Prepared::boxed(plan, move |cx| {
                read_within(LIMIT, cx.cancelled, move |stop| {
                    place.again()?;
                    list(&place, &ignored, &filter, stop)
                })
            }))
        })
    }
}

struct Entry {
    name: String,
    folder: bool,
    note: String,
}

fn list(
    place: &Place,
    ignored: &globset::GlobSet,
    filter: &Filter,
    stop: &Stop,
) -> Result<ToolOutput, ToolError> {
    expect_folder(place)?;
    let all = fs::read_dir(&place.real).map_err(|error| io_failure(&place.path, &error))?.count();
    let mut entries = Vec::new();
    for found in walk(&place.real, filter).max_depth(Some(1)).build().skip(1) {
        if stop.now() {
            break;
        }
        let Ok(found) = found else { continue };
        if !ignored.is_match(found.file_name()) {
            entries.push(entry(&found));
        }
    }
    entries.sort_by(|a, b| b.folder.cmp(&a.folder).then_with(|| a.name.cmp(&b.name)));
    Ok(in_words(place, &entries, all.saturating_sub(entries.len())))
}

fn entry(found: &ignore::DirEntry) -> Entry {
    let name = printable(std::path::Path::new(found.file_name()));
    let kind = found.file_type();
    if kind.is_some_and(|kind| kind.is_symlink()) {
        let target = fs::read_link(found.path()).map(|target| printable(&target)).unwrap_or_default();
        return Entry { name, folder: false, note: format!(" (link to {target})") };
    }
    let folder = kind.is_some_and(|kind| kind.is_dir());
    let note = match found.metadata() {
        Ok(data) if data.is_file() => format!(" ({} bytes)", data.len()),
        Ok(data) if !data.is_dir() => " (special file)".to_owned(),
        _ => String::new(),
    };
    Entry { name, folder, note }
}

fn in_words(place: &Place, entries: &[Entry], left_out: usize) -> ToolOutput {
    let folder = printable(&place.path);
    let mut text = match entries.len() {
        0 if left_out == 0 => format!("The folder {folder} is empty."),
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
    if left_out > 0 {
        text.push_str(&format!("\n({left_out} ignored)"));
    }
    said(text, format!("Listed {} entries of {folder}", entries.len()))
}

/// Refuses everything but a folder.
pub(crate) fn expect_folder(place: &Place) -> Result<(), ToolError> {
    match place.kind()? {
        Kind::Directory => Ok(()),
        Kind::Missing => Err(ToolError::new(
            ToolErrorKind::NotFound,
            format!("There is no folder {}.", place.path.display()),
        )),
        Kind::File { .. } => Err(ToolError::new(
            ToolErrorKind::NotADirectory,
            format!("{} is a file, not a folder. Use read_file to read it.", place.path.display()),
        )),
        Kind::Special(what) => Err(special(&place.path, what)),
    }
}
