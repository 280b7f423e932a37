//! The log as a file: one entry a line.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use charla::private_file;

use super::{BrokenChain, Chain, Entry};

/// The longest line that is read back to go on from.
const MAX_LINE: u64 = 64 * 1024;

pub(super) fn append(path: &Path, entry: Entry) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private_file::make_folder(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.lock()?;
    let (chain, torn) = end(&mut file)?;
    // A line that a crash has cut gets an end of its own, and stays for whoever looks.
    let mut text = if torn { String::from("\n") } else { String::new() };
    text.push_str(&chain.next(entry)?);
    text.push('\n');
    file.write_all(text.as_bytes())
}

/// The chain after the last whole line, and whether something unfinished follows it.
fn end(file: &mut File) -> io::Result<(Chain, bool)> {
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(2 * MAX_LINE)))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    let text = String::from_utf8_lossy(&tail);
    let last = text.lines().rev().find_map(Chain::after);
    let torn = !text.is_empty() && !text.ends_with('\n');
    Ok((last.unwrap_or_default(), torn))
}

/// How many entries a log has, if its chain is whole. One that is there and empty is not: it begins with an entry.
pub fn verify_audit(path: &Path) -> io::Result<Result<u64, BrokenChain>> {
    let mut chain = Chain::default();
    for (line, text) in (1..).zip(BufReader::new(File::open(path)?).split(b'\n')) {
        // What is no text is no entry either.
        let text = String::from_utf8(text?).unwrap_or_default();
        if let Err(why) = chain.check(&text)? {
            return Ok(Err(BrokenChain { line, why }));
        }
    }
    Ok(chain.whole(true))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::Map;

    use super::*;

    fn entry(what: &str) -> Entry {
        Entry { who: "anna".into(), from: "127.0.0.1".into(), what: what.into(), about: Map::new() }
    }

    fn log(entries: usize) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server/audit.jsonl");
        (0..entries).for_each(|number| append(&path, entry(&format!("e{number}"))).unwrap());
        (folder, path)
    }

    #[test]
    fn a_log_that_nobody_touched_is_whole() {
        let (_folder, path) = log(5);
        assert_eq!(verify_audit(&path).unwrap(), Ok(5));
    }

    #[test]
    fn a_line_that_is_changed_taken_out_moved_or_put_in_is_found() {
        let (_folder, path) = log(4);
        let whole = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = whole.lines().collect();
        let changed = lines[1].replace("e1", "e9");
        let cases: [(Vec<&str>, u64); 5] = [
            (vec![lines[0], &changed, lines[2], lines[3]], 2),
            (vec![lines[0], lines[2], lines[3]], 2),
            (vec![lines[1], lines[2], lines[3]], 1),
            (vec![lines[0], lines[2], lines[1], lines[3]], 2),
            (vec![lines[0], lines[0], lines[1]], 2),
        ];
        for (lines, line) in cases {
            std::fs::write(&path, lines.join("\n")).unwrap();
            assert_eq!(verify_audit(&path).unwrap().unwrap_err().line, line, "{lines:?}");
        }
    }

    #[test]
    fn a_line_that_says_the_same_in_other_bytes_or_more_is_found() {
        let (_folder, path) = log(2);
        let whole = std::fs::read_to_string(&path).unwrap();
        let changes = [
            ("{\"number\":1", "{\"extra\":1,\"number\":1"),
            ("\"number\":1", "\"number\": 1"),
            ("anna", "\\u0061nna"),
            ("\"about\":{}", "\"about\":{ }"),
            ("\n", "\r\n"),
        ];
        for (from, to) in changes {
            let changed = whole.replacen(from, to, 1);
            assert_ne!(changed, whole, "{from}");
            std::fs::write(&path, changed).unwrap();
            assert_eq!(verify_audit(&path).unwrap().unwrap_err().line, 1, "{to}");
        }
    }

    #[test]
    fn a_log_that_was_emptied_is_found() {
        let (_folder, path) = log(2);
        std::fs::write(&path, "").unwrap();
        assert_eq!(verify_audit(&path).unwrap().unwrap_err().line, 1);
    }

    #[test]
    fn a_line_that_a_crash_has_cut_is_found_and_the_log_goes_on() {
        let (_folder, path) = log(2);
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, whole.get(..whole.len() - 20).unwrap()).unwrap();
        append(&path, entry("next")).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert_eq!(verify_audit(&path).unwrap().unwrap_err().line, 2);
    }

    #[test]
    fn many_that_write_at_once_make_one_chain() {
        let (_folder, path) = log(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..10).for_each(|_| append(&path, entry("x")).unwrap()));
            }
        });
        assert_eq!(verify_audit(&path).unwrap(), Ok(80));
    }
}
