//! The log as a file: one entry a line.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use charla::private_file;

use super::{BrokenChain, Chain, Entry, NO_ENTRY};
use crate::access::Digest;

/// The longest line that is read back to go on from.
const MAX_LINE: u64 = 64 * 1024;

pub(super) fn append(path: &Path, entry: Entry) -> io::Result<u64> {
    if let Some(folder) = path.parent() {
        private_file::make_folder(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.lock()?;
    let End { mut chain, rest, is_ended } = end(&mut file)?;
    let mut text = if is_ended { String::new() } else { String::from("\n") };
    if !rest.is_empty() {
        // A line that a crash has cut gets an end of its own, stays for whoever looks, and has a witness; also where another crash has cut
        // what was written about it.
        let witness = chain.next(Entry::torn(rest.strip_suffix('\n').unwrap_or(&rest)))?;
        text = text + &witness + "\n";
        chain = Chain::after(&witness).unwrap_or_default();
    }
    text.push_str(&chain.next(entry)?);
    text.push('\n');
    file.write_all(text.as_bytes())?;
    Ok(chain.number + 1)
}

/// Where a log ends.
struct End {
    /// The chain after the last whole line.
    chain: Chain,
    /// What follows that.
    rest: String,
    /// The last line has its end.
    is_ended: bool,
}

fn end(file: &mut File) -> io::Result<End> {
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(2 * MAX_LINE)))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    let text = String::from_utf8_lossy(&tail);
    let is_ended = text.is_empty() || text.ends_with('\n');
    let mut rest = String::new();
    for line in text.split_inclusive('\n').rev() {
        if let Some(chain) = Chain::after(line) {
            return Ok(End { chain, rest, is_ended });
        }
        rest.insert_str(0, line);
    }
    Ok(End { chain: Chain::default(), rest, is_ended })
}

/// How many entries a log has, if its chain is whole. One that is there and empty is not: it begins with an entry. What a crash has cut is no
/// break, at the end or where the entry after it witnesses it.
pub fn verify_audit(path: &Path) -> io::Result<Result<u64, BrokenChain>> {
    let mut reader = BufReader::new(File::open(path)?);
    let (mut chain, mut torn) = (Chain::default(), Vec::<String>::new());
    let (mut bytes, mut line, mut is_ended) = (Vec::new(), 0, true);
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        line += 1;
        is_ended = bytes.pop_if(|last| *last == b'\n').is_some();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        bytes.clear();
        match chain.check(&text)? {
            Err(NO_ENTRY) => torn.push(text),
            Err(why) => return Ok(Err(broken(line, &torn, why))),
            Ok(()) if Chain::witnessed(&text) == (!torn.is_empty()).then(|| hash(&torn)) => torn.clear(),
            Ok(()) => return Ok(Err(broken(line, &torn, "what it witnesses is not there"))),
        }
    }
    match torn.is_empty() || !is_ended {
        true => Ok(chain.whole(true)),
        false => Ok(Err(broken(line + 1, &torn, NO_ENTRY))),
    }
}

/// A break at this line, or at the first of those before it that are no entries.
fn broken(line: u64, torn: &[String], why: &'static str) -> BrokenChain {
    let before = u64::try_from(torn.len()).unwrap_or(0);
    BrokenChain { line: line - before, why: if before > 0 { NO_ENTRY } else { why } }
}

fn hash(torn: &[String]) -> String {
    Digest::of(&torn.join("\n")).text()
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
        (0..entries).for_each(|number| {
            assert_eq!(append(&path, entry(&format!("e{number}"))).unwrap(), number as u64 + 1)
        });
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
    fn a_line_that_a_crash_has_cut_is_no_break_and_the_log_goes_on() {
        let (_folder, path) = log(2);
        let whole = std::fs::read_to_string(&path).unwrap();
        for kept in whole.lines().next().unwrap().len()..whole.len() {
            std::fs::write(&path, whole.get(..kept).unwrap()).unwrap();
            let entries = verify_audit(&path).unwrap().unwrap();
            append(&path, entry("next")).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            let torn = text.lines().filter(|line| Chain::after(line).is_none()).count();
            assert_eq!(verify_audit(&path).unwrap(), Ok(entries + 1 + torn as u64), "{text}");
            // Once more, in the middle of what was written then, and between its lines.
            let ends = text.match_indices('\n').map(|(at, _)| at + 1);
            for kept in ends.filter(|at| (kept..text.len()).contains(at)).chain([text.len() - 20]) {
                std::fs::write(&path, text.get(..kept).unwrap()).unwrap();
                append(&path, entry("last")).unwrap();
                assert!(verify_audit(&path).unwrap().is_ok(), "{}", std::fs::read_to_string(&path).unwrap());
            }
        }
    }

    #[test]
    fn a_torn_line_that_is_changed_taken_out_or_put_in_is_found() {
        let (_folder, path) = log(2);
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, whole.get(..whole.len() - 20).unwrap()).unwrap();
        append(&path, entry("next")).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let changed = lines[1].replace("e1", "e9");
        let cases: [&[&str]; 5] = [
            &[lines[0], &changed, lines[2], lines[3]],
            &[lines[0], lines[2], lines[3]],
            &[lines[0], "put in", lines[1], lines[2], lines[3]],
            &[lines[0], lines[1], lines[3]],
            &[lines[0], "put in", ""],
        ];
        for lines in cases {
            std::fs::write(&path, lines.join("\n")).unwrap();
            assert_eq!(verify_audit(&path).unwrap().unwrap_err().line, 2, "{lines:?}");
        }
    }

    #[test]
    fn many_that_write_at_once_make_one_chain() {
        let (_folder, path) = log(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        append(&path, entry("x")).unwrap();
                    }
                });
            }
        });
        assert_eq!(verify_audit(&path).unwrap(), Ok(80));
    }
}
