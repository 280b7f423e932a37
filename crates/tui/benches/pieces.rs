//! What the terminal's pieces cost: Markdown in many chunks, `@` in a large tree, a large paste, a very long line.
//!
//! `cargo bench -p charla-tui --bench pieces`

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::hint::black_box;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use charla_tui::composer::{Composer, FileIndex, History, Keys, Sources};
use charla_tui::highlight::Highlighter;
use charla_tui::markdown::{Form, Layout, Stream};
use charla_tui::text::Line;

const CHUNKS: usize = 10_000;
/// A screen is drawn at most so often; a model sends about four chunks between two frames.
const CHUNKS_PER_FRAME: usize = 4;
const FOLDERS: usize = 1_000;
const FILES_PER_FOLDER: usize = 100;
const MEGABYTE: usize = 1 << 20;

fn main() -> std::io::Result<()> {
    // `cargo test` builds benches and runs them with `--test`; there is nothing to check then.
    if std::env::args().any(|arg| arg == "--test" || arg == "--list") {
        return Ok(());
    }
    let answer = answer();
    let copied = fastest(|| copied(&answer));
    row("10,000 chunks, copied", copied);
    let finished = fastest(|| streamed(&answer, usize::MAX));
    row("10,000 chunks of Markdown, finished lines", finished);
    row("the same with a tail for every fourth chunk", fastest(|| streamed(&answer, CHUNKS_PER_FRAME)));
    row("1 MB of Rust coloured", fastest(coloured));
    row("a line of 1 MB wrapped", fastest(wrapped));
    row("1 MB pasted and shown", fastest(pasted));
    files()
}

fn row(what: &str, time: Duration) {
    println!("{what:48} {:>10.3} ms", time.as_secs_f64() * 1e3);
}

/// The fastest of several runs.
fn fastest(mut run: impl FnMut()) -> Duration {
    let time = |run: &mut dyn FnMut()| {
        let started = Instant::now();
        run();
        started.elapsed()
    };
    (0..5).map(|_| time(&mut run)).min().unwrap_or_default()
}

/// An answer as models write them, in chunks.
fn answer() -> Vec<String> {
    let section = "## A heading\n\nSome **bold** words and `code`, with a [link](https://a.example) in a paragraph that \
        is long enough to be wrapped.\n\n- one item\n- another one\n  - an inner one\n\n```rust\nfn main() {\n    let \
        x = \"text\"; // why\n}\n```\n\n| a | b |\n|---|---|\n| 1 | two |\n\n";
    let characters: Vec<char> = section.chars().cycle().take(CHUNKS * 6).collect();
    characters.chunks(6).map(|chunk| chunk.iter().collect()).collect()
}

fn copied(chunks: &[String]) {
    let mut text = String::new();
    chunks.iter().for_each(|chunk| text.push_str(chunk));
    black_box(text);
}

fn streamed(chunks: &[String], tail_every: usize) {
    let mut stream = Stream::new(Layout { columns: 100, links: true, form: Form::Markdown });
    for (number, chunk) in chunks.iter().enumerate() {
        stream.push(chunk);
        black_box(stream.finished());
        if number % tail_every == tail_every - 1 {
            black_box(stream.tail());
        }
    }
    black_box(stream.end());
}

fn coloured() {
    let line = "    let value: Vec<u8> = call(1, \"text\").map(|x| x + 0x1f); // a comment";
    let mut highlighter = Highlighter::new("rust");
    for _ in 0..MEGABYTE / line.len() {
        black_box(highlighter.as_mut().map(|highlighter| highlighter.line(line)));
    }
}

fn wrapped() {
    black_box(Line::plain(&"some words ".repeat(MEGABYTE / 11)).wrap(100));
}

fn pasted() {
    let mut composer = Composer::new(Keys::Emacs, History::default(), Sources::default());
    composer.paste(&"a pasted line\r\n".repeat(MEGABYTE / 15));
    black_box(composer.view(100, 10));
    black_box(composer.expanded());
}

/// `@` in a tree of 100,000 files: from nothing to the first results, to all of them, and one more letter.
fn files() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    plant(folder.path())?;
    let (found, more) = mpsc::channel();
    let started = Instant::now();
    let index = FileIndex::start(
        folder.path().to_owned(),
        None,
        Arc::new(move || {
            let _ = found.send(());
        }),
    );
    let mut first = None;
    while !index.is_complete() && more.recv().is_ok() {
        if first.is_none() && !index.matches("file", 8).is_empty() {
            first = Some(started.elapsed());
        }
    }
    row("`@` in 100,000 files: first results", first.unwrap_or_else(|| started.elapsed()));
    row("`@` in 100,000 files: all seen", started.elapsed());
    row("`@` in 100,000 files: one more letter", fastest(|| drop(black_box(index.matches("fldr9file", 8)))));
    Ok(())
}

fn plant(root: &Path) -> std::io::Result<()> {
    for folder in 0..FOLDERS {
        let path = root.join(format!("group{}/folder{folder}", folder % 10));
        std::fs::create_dir_all(&path)?;
        for file in 0..FILES_PER_FOLDER {
            std::fs::write(path.join(format!("some_file_{file}.rs")), "")?;
        }
    }
    Ok(())
}
