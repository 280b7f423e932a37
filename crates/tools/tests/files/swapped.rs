//! Somebody who may write the workspace exchanges a folder for a link that leads out of it, over and over, while
//! the tools work in it. Nothing of what is outside comes in, and nothing goes out.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use charla_proto::{ApprovalMode, FileChange, Snapshots};
use charla_tools::revert::{Reversal, Step};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

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
            while !seen.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                count.fetch_add(1, Ordering::Relaxed);
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

/// Calls a tool over and over, as far as it is allowed unasked: a path that leads out when it is looked at asks.
async fn hammer(bench: &Bench, tool: &str, args: impl Fn(usize) -> Value) {
    let book = book(bench, "");
    let mut ran = 0;
    for time in 0..TIMES {
        let (how, told) = call(bench, &book, ApprovalMode::AutoEdit, tool, args(time)).await;
        ran += usize::from(how == "ran");
        assert!(!told.contains(CANARY), "{tool}, try {time}: {told}");
    }
    assert!(ran > 0, "{tool} never ran");
}

#[tokio::test]
async fn what_is_read_is_inside_while_folders_are_exchanged_for_links() {
    let bench = workspace();
    let swapper = Swapper::start(&bench.root);
    let root = bench.root.clone();
    let reads: [(&str, Value); 7] = [
        ("read_file", json!({"file_path": "a/f.txt"})),
        ("read_file", json!({"file_path": root.join("a/sub/g.txt")})),
        ("read_many_files", json!({"include": ["a/f.txt", "a/**/*.txt"]})),
        ("grep_search", json!({"pattern": "inside|can.ry"})),
        ("grep_search", json!({"pattern": "inside|can.ry", "dir_path": "a"})),
        ("glob", json!({"pattern": "**/*.txt"})),
        ("list_directory", json!({"dir_path": "a"})),
    ];
    for (tool, args) in &reads {
        hammer(&bench, tool, |_| args.clone()).await;
    }
    assert!(swapper.swaps.load(Ordering::Relaxed) > 0);
}

#[tokio::test]
async fn what_is_written_stays_inside_while_folders_are_exchanged_for_links() {
    let bench = workspace();
    let before = outside(&bench);
    let swapper = Swapper::start(&bench.root);
    let new = |time| json!({"file_path": format!("a/new{time}.txt"), "content": "x"});
    hammer(&bench, "write_file", new).await;
    let deep = |time| json!({"file_path": format!("a/d{time}/e/new.txt"), "content": "x"});
    hammer(&bench, "write_file", deep).await;
    let over = |time| json!({"file_path": "a/f.txt", "content": format!("inside {time}\n")});
    hammer(&bench, "write_file", over).await;
    let edit = |_| json!({"file_path": "a/sub/g.txt", "old_string": "inside", "new_string": "inside inside"});
    hammer(&bench, "replace", edit).await;
    for time in 0..TIMES {
        put_back(&bench, "a/f.txt", time);
        put_back(&bench, "a/undone/h.txt", time);
    }
    drop(swapper);
    assert_eq!(outside(&bench), before);
}

/// Takes a file to another content and back, as undo and redo do; whether it succeeds depends on the moment.
fn put_back(bench: &Bench, path: &str, time: usize) {
    let path = bench.root.join(path);
    let now = fs::read(&path).ok().map(|bytes| bench.kept.keep(&bytes).unwrap());
    let after = (time % 3 > 0).then(|| bench.kept.keep(format!("inside {time}\n").as_bytes()).unwrap());
    let step = Step { change: FileChange { path, before: now, after }, mode: None };
    if let Ok(reversal) = Reversal::check(vec![step], &*bench.kept) {
        let _ = reversal.apply();
        let _ = reversal.withdraw();
    }
}
