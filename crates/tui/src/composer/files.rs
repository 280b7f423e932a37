//! The files of a folder, looked at in the background and found by a few of their letters.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use charla::session::walk_of_names;
use ignore::{DirEntry, WalkState};

use super::score::Query;

/// More files are not remembered.
const MOST: usize = 500_000;
/// How many paths a thread keeps to itself before it tells of them.
const BATCH: usize = 128;
const THREADS: usize = 2;

/// The files of a folder that no ignore file excludes.
pub struct FileIndex {
    folder: Folder,
    found_more: Arc<dyn Fn() + Send + Sync>,
    /// The walk that is complete, or the first one.
    shown: Arc<Walk>,
    /// A later walk that is going on.
    coming: Option<Arc<Walk>>,
}

/// A folder, and the home whose git settings name files that are of no interest anywhere.
#[derive(Clone)]
struct Folder {
    path: PathBuf,
    home: Option<PathBuf>,
}

/// One walk through the folder.
#[derive(Default)]
struct Walk {
    paths: Mutex<Paths>,
    done: AtomicBool,
    stopped: AtomicBool,
}

/// Many paths in one piece of memory.
#[derive(Default)]
struct Paths {
    text: String,
    ends: Vec<usize>,
    /// How many there were when somebody was told of them.
    told: usize,
}

impl FileIndex {
    /// Begins to look at a folder. `found_more` is called from another thread: when there are twice as many files as the
    /// last time, and at the end.
    pub fn start(path: PathBuf, home: Option<PathBuf>, found_more: Arc<dyn Fn() + Send + Sync>) -> Self {
        let folder = Folder { path, home };
        let shown = Walk::begin(&folder, &found_more);
        Self { folder, found_more, shown, coming: None }
    }

    /// Looks at the folder again; until that is done, what was known is shown.
    pub fn renew(&mut self) {
        self.settle();
        if self.coming.is_none() && self.shown.is_done() {
            self.coming = Some(Walk::begin(&self.folder, &self.found_more));
        }
    }

    fn settle(&mut self) {
        if let Some(coming) = self.coming.take_if(|coming| coming.is_done()) {
            self.shown = coming;
        }
    }

    /// True once every file was seen.
    pub fn is_complete(&self) -> bool {
        self.shown.is_done()
    }

    /// The paths that suit a few letters best, of those found so far. Folders end with a slash.
    pub fn matches(&self, typed: &str, limit: usize) -> Vec<String> {
        let walk = self.coming.as_ref().filter(|coming| coming.is_done()).unwrap_or(&self.shown);
        let query = Query::new(typed);
        let paths = walk.paths();
        let scored =
            paths.iter().filter_map(|path| query.score(path).map(|score| (Reverse(score), path.len(), path)));
        let mut best: Vec<_> = scored.collect();
        let limit = limit.min(best.len());
        if let Some(last) = limit.checked_sub(1) {
            best.select_nth_unstable(last);
        }
        best.truncate(limit);
        best.sort_unstable();
        best.into_iter().map(|(_, _, path)| path.to_owned()).collect()
    }
}

impl Drop for FileIndex {
    fn drop(&mut self) {
        for walk in [Some(&self.shown), self.coming.as_ref()].into_iter().flatten() {
            walk.stopped.store(true, Ordering::Relaxed);
        }
    }
}

impl Walk {
    fn begin(folder: &Folder, found_more: &Arc<dyn Fn() + Send + Sync>) -> Arc<Self> {
        let walk = Arc::new(Self::default());
        let (walking, folder, found_more) = (Arc::clone(&walk), folder.clone(), Arc::clone(found_more));
        let started = thread::Builder::new().name("files".to_owned()).spawn(move || {
            walking.run(&folder, found_more.as_ref());
            walking.done.store(true, Ordering::Release);
            found_more();
        });
        // Without a thread there are no files to offer.
        if started.is_err() {
            walk.done.store(true, Ordering::Release);
        }
        walk
    }

    fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    fn paths(&self) -> MutexGuard<'_, Paths> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, folder: &Folder, found_more: &(dyn Fn() + Send + Sync)) {
        let walk = walk_of_names(&folder.path, folder.home.as_deref()).threads(THREADS).build_parallel();
        walk.run(|| {
            let mut batch = Batch { walk: self, paths: Vec::new(), found_more };
            Box::new(move |entry| {
                let path = entry.ok().and_then(|entry| relative(&entry, &folder.path));
                batch.add(path)
            })
        });
    }

    /// Takes what a thread found; true when that is worth telling.
    fn add(&self, batch: &mut Vec<String>) -> bool {
        let mut paths = self.paths();
        for path in batch.drain(..) {
            paths.push(&path);
        }
        let number = paths.ends.len();
        let is_news = number >= paths.told * 2 && number > 0;
        if is_news {
            paths.told = number;
        }
        is_news
    }

    fn is_enough(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.paths().ends.len() >= MOST
    }
}

/// What one thread found and did not tell yet.
struct Batch<'a> {
    walk: &'a Walk,
    paths: Vec<String>,
    found_more: &'a (dyn Fn() + Send + Sync),
}

impl Batch<'_> {
    fn add(&mut self, path: Option<String>) -> WalkState {
        self.paths.extend(path);
        match self.paths.len() < BATCH {
            true => WalkState::Continue,
            false => self.tell(),
        }
    }

    fn tell(&mut self) -> WalkState {
        if self.walk.add(&mut self.paths) {
            (self.found_more)();
        }
        match self.walk.is_enough() {
            true => WalkState::Quit,
            false => WalkState::Continue,
        }
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.tell();
    }
}

impl Paths {
    fn push(&mut self, path: &str) {
        self.text.push_str(path);
        self.ends.push(self.text.len());
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).filter_map(|(start, end)| self.text.get(start..*end))
    }
}

/// A path seen from the folder, if it can be typed: one that is no text, or would break a line, cannot.
fn relative(entry: &DirEntry, folder: &Path) -> Option<String> {
    let path = entry.path().strip_prefix(folder).ok()?.to_str()?;
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    let can_be_typed = !path.is_empty() && !path.contains(|c: char| c.is_control() || c == '"');
    can_be_typed.then(|| if is_folder { format!("{path}/") } else { path.to_owned() })
}
