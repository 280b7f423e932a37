//! Somebody who may write the workspace exchanges a folder for a link that leads out of it, over and over, while
//! the tools work in it. Nothing of what is outside comes in, and nothing goes out.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use charla_proto::{ApprovalMode, FileChange, SnapshotError, Snapshots};
use charla_tools::revert::{Reversal, Step};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::bench::Bench;
use crate::rules::{book, call};

/// What is only outside; no output may have it.
const CANARY: &str = "canary";
/// How often each tool is called.
const TIMES: usize = 400;

/// Exchanges two names until it is dropped.
struct Swapper {
    stop: Arc<AtomicBool>,
    swaps: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Swapper {
    fn start(root: &Path) -> Self {
        let (stop, swaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (folder, link) = (root.join("a"), root.join("link"));
        let (seen, count) = (stop.clone(), swaps.clone());
        let thread = thread::spawn(move || {
            // Sometimes at once and sometimes later: a call may meet one exchange, or many, or none.
            let mut pause = 1_u32;
            while !seen.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                count.fetch_add(1, Ordering::Relaxed);
                pause = pause.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (0..pause >> 25).for_each(|_| thread::yield_now());
            }
        });
        Self { stop, swaps, thread: Some(thread) }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(matches!(ended, Some(Ok(()))), "the exchange failed");
    }
}

/// A workspace with a folder `a`, and `link` to a folder outside with the same files and others.
fn workspace() -> Bench {
    let bench = Bench::new();
    bench.write("a/f.txt", "inside\n");
    bench.write("a/sub/g.txt", "inside\n");
    bench.write("../outside/f.txt", format!("inside {CANARY}\n"));
    bench.write("../outside/sub/g.txt", format!("{CANARY}\n"));
    bench.write(&format!("../outside/{CANARY}.txt"), "inside\n");
    symlink("../outside", bench.root.join("link")).unwrap();
    bench
}

/// Everything outside: names and contents.
fn outside(bench: &Bench) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in ignore::WalkBuilder::new(bench.root.join("../outside")).hidden(false).build() {
        let entry = entry.unwrap();
        let bytes = fs::read(entry.path()).unwrap_or_default();
        found.push((entry.path().display().to_string(), bytes));
    }
    found.sort();
    found
}

/// A call of a tool, different each time.
type Call<'a> = (&'a str, Box<dyn Fn(usize) -> Value>);

/// Calls each tool over and over, as far as it is allowed unasked: a path that leads out when it is looked at asks.
async fn hammer(bench: &Bench, calls: &[Call<'_>]) {
    let book = book(bench, "");
    let mode = ApprovalMode::AutoEdit;
    for (tool, args) in calls {
        let (how, told) = call(bench, &book, mode, tool, args(TIMES)).await;
        assert_eq!(how, "ran", "{tool} alone: {told}");
    }
    let swapper = Swapper::start(&bench.root);
    for (tool, args) in calls {
        for time in 0..TIMES {
            let (_, told) = call(bench, &book, mode, tool, args(time)).await;
            assert!(!told.contains(CANARY), "{tool}, try {time}: {told}");
        }
    }
    assert!(swapper.swaps.load(Ordering::Relaxed) > 0);
}

#[tokio::test]
async fn what_is_read_is_inside_while_folders_are_exchanged_for_links() {
    let bench = workspace();
    let absolute = bench.root.join("a/sub/g.txt");
    let reads = [
        ("read_file", json!({"file_path": "a/f.txt"})),
        ("read_file", json!({"file_path": absolute})),
        ("read_many_files", json!({"include": ["a/f.txt", "a/**/*.txt"]})),
        ("grep_search", json!({"pattern": "inside|can.ry"})),
        ("grep_search", json!({"pattern": "inside|can.ry", "dir_path": "a"})),
        ("glob", json!({"pattern": "**/*.txt"})),
        ("list_directory", json!({"dir_path": "a"})),
    ];
    let calls = reads.map(|(tool, args)| -> Call<'_> { (tool, Box::new(move |_| args.clone())) });
    hammer(&bench, &calls).await;
}

#[tokio::test]
async fn what_is_written_stays_inside_while_folders_are_exchanged_for_links() {
    let bench = workspace();
    let before = outside(&bench);
    let write = |path: String| json!({"file_path": path, "content": "x"});
    let calls: [Call<'_>; 4] = [
        ("write_file", Box::new(move |time| write(format!("a/new{time}.txt")))),
        ("write_file", Box::new(move |time| write(format!("a/d{time}/e/new.txt")))),
        (
            "write_file",
            Box::new(|time| json!({"file_path": "a/f.txt", "content": format!("inside {time}\n")})),
        ),
        (
            "replace",
            Box::new(
                |_| json!({"file_path": "a/sub/g.txt", "old_string": "inside", "new_string": "inside "}),
            ),
        ),
    ];
    hammer(&bench, &calls).await;
    assert_eq!(outside(&bench), before);
}

#[test]
fn what_is_put_back_stays_inside_while_folders_are_exchanged_for_links() {
    let bench = workspace();
    let before = outside(&bench);
    let paths = ["a/f.txt", "a/undone/h.txt"].map(|path| bench.root.join(path));
    assert!(paths.iter().all(|path| put_back(path, 1)));
    let swapper = Swapper::start(&bench.root);
    for time in 0..8 * TIMES {
        for path in &paths {
            put_back(path, time);
        }
    }
    drop(swapper);
    assert_eq!(outside(&bench), before);
}

/// Contents by their hash, as a session keeps them.
#[derive(Default)]
struct Contents(Mutex<HashMap<String, Vec<u8>>>);

impl Snapshots for Contents {
    fn keep(&self, bytes: &[u8]) -> Result<String, SnapshotError> {
        let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        self.0.lock().unwrap().insert(hash.clone(), bytes.to_vec());
        Ok(hash)
    }

    fn load(&self, hash: &str) -> Result<Vec<u8>, SnapshotError> {
        self.0.lock().unwrap().get(hash).cloned().ok_or_else(|| SnapshotError::Missing(hash.to_owned()))
    }
}

/// Takes a file to another content and back, as undo and redo do; whether it succeeds depends on the moment.
fn put_back(path: &Path, time: usize) -> bool {
    let contents = Contents::default();
    let before = fs::read(path).ok().map(|bytes| contents.keep(&bytes).unwrap());
    let text = format!("inside {time}\n");
    let after = (!time.is_multiple_of(3)).then(|| contents.keep(text.as_bytes()).unwrap());
    let step = Step { change: FileChange { path: path.to_owned(), before, after }, mode: None };
    let Ok(reversal) = Reversal::check(vec![step], &contents) else { return false };
    let applied = reversal.apply().is_ok();
    if time.is_multiple_of(2) {
        let _ = reversal.withdraw();
    }
    applied
}
