//! Paths: where they really lead, and whether anything there may be opened.
//!
//! Everything is decided on the path with all links followed, so that neither `..` nor a link leads out of
//! the workspace unseen. When the call runs, minutes may lie between the two, exactly that path is opened
//! ([`folder`]): a link that has come into it is an error.

pub(crate) mod folder;

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use charla_proto::text::printable;
use charla_proto::{Effect, ToolContext, ToolError, ToolErrorKind, Withheld, looks_secret};
use folder::{Folder, is_known_without_links, is_link, open_regular};
use rustix::fs::{FileType, Stat};

use crate::git::part_of_repository;
use crate::invocation::check;

/// Longer paths are refused by every system we run on.
const LONGEST_PATH: usize = 4096;
/// Longer names are refused by every file system we meet.
const LONGEST_NAME: usize = 255;
/// How many links a path may go through.
const MOST_LINKS: usize = 40;
/// Trees whose files act when they are opened: reading one may wait forever.
const SPECIAL_TREES: &[&str] = &["/proc", "/sys", "/dev"];
/// The one place in them that holds ordinary files.
const SHARED_MEMORY: &str = "/dev/shm";

/// A path a model gave, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedPath {
    /// As given, made absolute.
    pub(crate) path: PathBuf,
    /// With every link followed. May not exist.
    pub(crate) real: PathBuf,
    /// Within one of the workspace's folders.
    pub(crate) inside: bool,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Missing,
    File { size: u64 },
    Directory,
    Special(&'static str),
}

impl ResolvedPath {
    /// Resolves a path as a model gives it: absolute, or relative to the session's folder.
    pub(crate) fn resolve(given: &str, cx: &ToolContext) -> Result<Self, ToolError> {
        well_formed(given)?;
        Self::at(&cx.cwd.join(given), cx)
    }

    /// The same on a thread where it may block, unless the kernel knows the answer by heart.
    pub(crate) async fn resolve_soon(given: String, cx: &ToolContext) -> Result<Self, ToolError> {
        if let Some(known) = Self::known(&given, cx) {
            return Ok(known);
        }
        let context = cx.clone();
        check(move || Self::resolve(&given, &context)).await
    }

    /// A path that is what it says, in a workspace that is where it says.
    fn known(given: &str, cx: &ToolContext) -> Option<Self> {
        well_formed(given).ok()?;
        let path = tidy(&cx.cwd.join(given));
        let goes_back = |path: &Path| path.components().any(|part| part == Component::ParentDir);
        let is_plain = |path: &Path| !goes_back(path) && is_known_without_links(path);
        if !is_plain(&path) || !cx.roots.iter().all(|root| is_plain(root)) {
            return None;
        }
        let inside = cx.roots.iter().any(|root| path.starts_with(root));
        Some(Self { real: path.clone(), path, inside })
    }

    /// Resolves an absolute path that no model gave.
    pub(crate) fn at(path: &Path, cx: &ToolContext) -> Result<Self, ToolError> {
        let real = real_path(path)?;
        let inside = cx.roots.iter().any(|root| {
            let root = fs::canonicalize(root).unwrap_or_else(|_| root.clone());
            real.starts_with(root)
        });
        Ok(Self { path: tidy(path), real, inside })
    }

    /// A file that was found below a folder that was judged. It is where its path says, or it is not read.
    pub(crate) fn found(path: &Path) -> Self {
        Self { path: path.to_owned(), real: path.to_owned(), inside: true }
    }

    /// True for a file of the workspace that may be told of before the call was judged: no rule asks about it or denies it.
    pub(crate) fn is_open(&self, cx: &ToolContext) -> bool {
        let secret = looks_secret(&self.real) || looks_secret(&self.path);
        let restricted = cx.files.withheld(&self.real).is_some() || self.restricted_name(cx).is_some();
        let withheld = secret || restricted;
        self.inside && !withheld && part_of_repository(&self.real, &cx.roots, cx.home.as_deref()).is_none()
    }

    /// What reading it does, for a plan.
    pub(crate) fn reading(&self, cx: &ToolContext) -> Vec<Effect> {
        let read = Effect::Read { path: self.real.clone() };
        let names = self.restricted_name(cx).into_iter().chain(cx.files.first_name(&self.real));
        let repository = part_of_repository(&self.real, &cx.roots, cx.home.as_deref());
        std::iter::once(read).chain(names.map(|path| Effect::Read { path })).chain(repository).collect()
    }

    /// The path as it was given, where it is a link and a rule asks about that name or denies it.
    pub(crate) fn restricted_name(&self, cx: &ToolContext) -> Option<PathBuf> {
        let restricted = |path: &Path| matches!(cx.files.withheld(path), Some(Withheld::Rule { .. }));
        (self.path != self.real && restricted(&self.path)).then(|| self.path.clone())
    }

    /// True when a rule denies it, by its real name or the given one.
    pub(crate) fn is_denied(&self, cx: &ToolContext) -> bool {
        cx.files.denies(&self.real) || (self.path != self.real && cx.files.denies(&self.path))
    }

    /// Makes sure that the path still leads where it led when it was judged. What is done goes to where it
    /// led in any case; this is to tell a person who has changed a link meanwhile.
    pub(crate) fn recheck(&self) -> Result<(), ToolError> {
        if self.path == self.real && is_known_without_links(&self.path) {
            return Ok(());
        }
        if real_path(&self.path)? == self.real { Ok(()) } else { Err(leads_elsewhere(&self.path)) }
    }

    /// What is there now.
    pub(crate) fn kind(&self) -> Result<FileKind, ToolError> {
        self.kind_of(&self.real)
    }

    fn kind_of(&self, real: &Path) -> Result<FileKind, ToolError> {
        match look(real) {
            Ok(found) => Ok(kind_of(real, &found)),
            Err(error) if is_missing(&error) => Ok(FileKind::Missing),
            Err(error) => Err(io_failure(&self.path, &error)),
        }
    }

    /// Refuses a path that leads through a file as if it were a folder: nothing can ever be there.
    pub(crate) fn refuse_below_file(&self) -> Result<(), ToolError> {
        for above in self.real.ancestors().skip(1) {
            match self.kind_of(above)? {
                FileKind::Missing => {}
                FileKind::Directory => break,
                FileKind::File { .. } | FileKind::Special(_) => {
                    let (file, wanted) = (above.display(), self.path.display());
                    let message = format!("{file} is a file, so there can be no {wanted}.");
                    return Err(ToolError::new(ToolErrorKind::NotADirectory, message));
                }
            }
        }
        Ok(())
    }

    /// Reads a regular file of at most `limit` bytes. Never waits on what is no regular file.
    pub(crate) fn read(&self, limit: u64) -> Result<Vec<u8>, ToolError> {
        self.read_with_data(limit).map(|(bytes, _)| bytes)
    }

    /// The same, with what the file system says about the file that was read.
    pub(crate) fn read_with_data(&self, limit: u64) -> Result<(Vec<u8>, Metadata), ToolError> {
        match self.kind()? {
            FileKind::Missing => return Err(missing(&self.path)),
            FileKind::Directory => return Err(is_directory(&self.path)),
            FileKind::Special(what) => return Err(special(&self.path, what)),
            FileKind::File { size } if size > limit => return Err(too_large(&self.path, size, limit)),
            FileKind::File { .. } => {}
        }
        let failed = |error: io::Error| io_failure(&self.path, &error);
        let file = open_regular(&self.real).map_err(failed)?;
        let data = file.metadata().map_err(failed)?;
        // With room for one byte more, the end is seen without asking for more room.
        let mut bytes = Vec::with_capacity(data.len().min(limit) as usize + 1);
        file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > limit {
            return Err(too_large(&self.path, bytes.len() as u64, limit));
        }
        Ok((bytes, data))
    }

    /// The path for a title, short where it can be, with what a person must know about it.
    pub(crate) fn title(&self, cx: &ToolContext) -> String {
        let shown = self.path.strip_prefix(&cx.cwd).unwrap_or(&self.path);
        let shown = if shown.as_os_str().is_empty() { Path::new(".") } else { shown };
        let mut title = printable(shown);
        if self.real != self.path && !self.real.ends_with(shown) {
            title.push_str(&format!(" (a link to {})", printable(&self.real)));
        }
        if !self.inside {
            title.push_str(" (outside the workspace)");
        }
        if looks_secret(&self.real) || (self.real != self.path && looks_secret(&self.path)) {
            title.push_str(" (may hold secrets)");
        }
        title
    }
}

fn well_formed(given: &str) -> Result<(), ToolError> {
    if given.trim().is_empty() {
        return Err(ToolError::new(ToolErrorKind::InvalidArgs, "The path is empty."));
    }
    if given.contains('\0') {
        return Err(ToolError::new(
            ToolErrorKind::InvalidArgs,
            "The path has a NUL character in it, which no path can have.",
        ));
    }
    let long_name = given.split('/').any(|name| name.len() > LONGEST_NAME);
    if given.len() > LONGEST_PATH || long_name {
        return Err(ToolError::new(
            ToolErrorKind::InvalidArgs,
            format!("The path is too long ({} bytes): no file can have it.", given.len()),
        ));
    }
    if given == "~" || given.starts_with("~/") {
        return Err(ToolError::new(
            ToolErrorKind::InvalidArgs,
            "`~` is not expanded here. Give the absolute path, or one relative to the working folder.",
        ));
    }
    Ok(())
}

/// The path with `.`, `..` and every link resolved, as the system would; parts that do not exist stay.
fn real_path(path: &Path) -> Result<PathBuf, ToolError> {
    let mut real = PathBuf::new();
    let mut links = 0;
    let mut ahead: Vec<OsString> = parts_reversed(path);
    while let Some(part) = ahead.pop() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        match fs::read_link(&next) {
            Ok(target) => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(ToolError::new(
                        ToolErrorKind::NotFound,
                        format!("{} goes through too many links: they form a loop.", path.display()),
                    ));
                }
                if target.is_absolute() {
                    real = PathBuf::new();
                }
                ahead.extend(parts_reversed(&target));
            }
            // No link, or nothing there: either way there is nothing to follow.
            Err(_) => real = next,
        }
    }
    Ok(real)
}

fn parts_reversed(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| !matches!(part, Component::CurDir));
    let mut parts: Vec<OsString> = parts.map(|part| part.as_os_str().to_owned()).collect();
    parts.reverse();
    parts
}

/// The path without `.` parts. `..` stays: what it means depends on links.
fn tidy(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, Component::CurDir)).collect()
}

/// When a file was last changed.
pub(crate) fn modified(found: &Stat) -> SystemTime {
    let seconds = u64::try_from(found.st_mtime).unwrap_or_default();
    #[allow(clippy::useless_conversion, reason = "its type differs between systems")]
    let nanoseconds = u64::try_from(found.st_mtime_nsec).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds)
}

/// What is at a path in which nothing is a link.
pub(crate) fn look(real: &Path) -> io::Result<Stat> {
    match Folder::of(real) {
        Ok((folder, name)) => folder.look(name),
        Err(_) if real.parent().is_none() => Folder::open(real)?.look(".".as_ref()),
        Err(error) => Err(error),
    }
}

fn is_special(path: &Path) -> bool {
    SPECIAL_TREES.iter().any(|tree| path.starts_with(tree)) && !path.starts_with(SHARED_MEMORY)
}

pub(crate) fn kind_of(path: &Path, found: &Stat) -> FileKind {
    let special = match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => return FileKind::Directory,
        _ if is_special(path) => "a file of the system itself",
        FileType::RegularFile => {
            return FileKind::File { size: u64::try_from(found.st_size).unwrap_or_default() };
        }
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "no regular file",
    };
    FileKind::Special(special)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// An I/O error in words that name the file.
pub(crate) fn io_failure(path: &Path, error: &io::Error) -> ToolError {
    if is_link(error) {
        return leads_elsewhere(path);
    }
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => missing(Path::new(&path.to_string())),
        io::ErrorKind::PermissionDenied => ToolError::new(
            ToolErrorKind::PermissionDenied,
            format!("{path}: no permission. The user would have to grant it."),
        ),
        _ => ToolError::new(ToolErrorKind::Io, format!("{path}: {error}")),
    }
}

fn leads_elsewhere(path: &Path) -> ToolError {
    let message = format!(
        "{} leads elsewhere than when this call was checked: a link in it was changed. Nothing was done.",
        path.display()
    );
    ToolError::new(ToolErrorKind::Conflict, message)
}

pub(crate) fn missing(path: &Path) -> ToolError {
    let message = format!(
        "There is no file {}. Look with list_directory or glob what is there, and mind that relative paths start in the working folder.",
        path.display()
    );
    ToolError::new(ToolErrorKind::NotFound, message)
}

pub(crate) fn is_directory(path: &Path) -> ToolError {
    ToolError::new(
        ToolErrorKind::IsADirectory,
        format!("{} is a directory, not a file. Use list_directory to see what is in it.", path.display()),
    )
}

pub(crate) fn special(path: &Path, what: &str) -> ToolError {
    ToolError::new(
        ToolErrorKind::SpecialFile,
        format!("{} is {what} and is not opened by this tool.", path.display()),
    )
}

fn too_large(path: &Path, size: u64, limit: u64) -> ToolError {
    ToolError::new(
        ToolErrorKind::TooLarge,
        format!(
            "{} has {size} bytes, more than the {} MB this tool takes. Use grep_search to find what you need in it.",
            path.display(),
            limit / 1_000_000
        ),
    )
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
