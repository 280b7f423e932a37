//! What kind of thing an object of git is, by its number.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::Repository;
use super::index::variable;

/// As many bases of one object are followed.
const MOST_BASES: usize = 64;
/// The least and the most digits by which git knows an object.
const DIGITS: std::ops::RangeInclusive<usize> = 4..=64;

/// True when a word of a git command may name the content of a file by its number: nobody can tell which file that is.
/// What is not understood may.
pub(crate) fn may_be_content(repository: &Repository, word: &str) -> bool {
    word.split("..").any(|part| {
        let part = part.trim_start_matches(['^', '.']);
        // `name-12-g0123abc` is a number too.
        let described = part.rsplit_once("-g").map(|(_, number)| number);
        std::iter::once(part).chain(described).any(|part| {
            let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
            let ends = part.as_bytes().get(digits).is_none_or(|next| b"^~@:".contains(next));
            // What follows a colon is a path, which is judged by its name.
            let number = part.get(..digits).filter(|_| ends && DIGITS.contains(&digits));
            number.is_some_and(|number| is_content(repository, &number.to_lowercase()))
        })
    })
}

fn is_content(repository: &Repository, number: &str) -> bool {
    let found = repository
        .objects()
        .iter()
        .map(|folder| Objects { folder }.kinds(number, 0))
        .collect::<Option<Vec<_>>>();
    found.is_none_or(|kinds| kinds.concat().contains(&Kind::Content))
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Content,
    Other,
}

/// One folder of objects.
struct Objects<'a> {
    folder: &'a Path,
}

impl Objects<'_> {
    /// What those objects are whose numbers begin so; absent when that cannot be told.
    fn kinds(&self, number: &str, depth: usize) -> Option<Vec<Kind>> {
        let mut kinds = self.loose(number)?;
        for entry in self.folder.join("pack").read_dir().into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "pack") {
                kinds.extend(self.packed(&path, number, depth)?);
            }
        }
        Some(kinds)
    }

    fn loose(&self, number: &str) -> Option<Vec<Kind>> {
        let (first, rest) = number.split_at_checked(2)?;
        let Ok(names) = self.folder.join(first).read_dir() else { return Some(Vec::new()) };
        let files = names.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(rest));
        files.map(|entry| loose_kind(&entry.path())).collect()
    }

    fn packed(&self, pack: &Path, number: &str, depth: usize) -> Option<Vec<Kind>> {
        let table = Table::open(&pack.with_extension("idx"))?;
        let pack = File::open(pack).ok()?;
        table
            .offsets(number)?
            .into_iter()
            .map(|offset| self.packed_kind(&pack, offset, &table, depth))
            .collect()
    }

    /// The kind of an object in a pack; one that is kept as a difference is what its base is.
    fn packed_kind(&self, pack: &File, mut offset: u64, table: &Table, depth: usize) -> Option<Kind> {
        for _ in 0..MOST_BASES {
            let mut head = [0; 64];
            let count = pack.read_at(&mut head, offset).ok()?;
            let head = head.get(..count)?;
            let size = head.iter().position(|byte| byte & 0x80 == 0)? + 1;
            match (head.first()? >> 4) & 7 {
                3 => return Some(Kind::Content),
                1 | 2 | 4 => return Some(Kind::Other),
                6 => offset = offset.checked_sub(variable(head, size)?.0 as u64)?,
                7 if depth < MOST_BASES => {
                    let base: String = head
                        .get(size..size + table.width)?
                        .iter()
                        .map(|byte| format!("{byte:02x}"))
                        .collect();
                    return self.kinds(&base, depth + 1)?.first().copied();
                }
                _ => return None,
            }
        }
        None
    }
}

fn loose_kind(path: &Path) -> Option<Kind> {
    let mut head = [0; 4];
    flate2::read::ZlibDecoder::new(File::open(path).ok()?).read_exact(&mut head).ok()?;
    Some(if &head == b"blob" { Kind::Content } else { Kind::Other })
}

/// The table of a pack: which object stands where.
struct Table {
    file: File,
    /// How many bytes a number has.
    width: usize,
    /// How many objects begin with at most this byte.
    fan: Vec<u32>,
}

/// A sign, a version, and how many objects begin with at most each byte.
const TABLE_HEAD: usize = 8 + 256 * 4;

impl Table {
    fn open(path: &Path) -> Option<Self> {
        // `pack-` and the number of the pack.
        let width = path.file_stem()?.to_str()?.strip_prefix("pack-")?.len() / 2;
        let file = File::open(path).ok()?;
        let mut head = vec![0; TABLE_HEAD];
        file.read_exact_at(&mut head, 0).ok()?;
        if head.get(..8)? != b"\xfftOc\0\0\0\x02" || ![20, 32].contains(&width) {
            return None;
        }
        let fan = head
            .get(8..)?
            .chunks_exact(4)
            .map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]));
        Some(Self { fan: fan.collect(), file, width })
    }

    /// Where in the pack the objects stand whose numbers begin so.
    fn offsets(&self, number: &str) -> Option<Vec<u64>> {
        let first = usize::from(u8::from_str_radix(number.get(..2)?, 16).ok()?);
        let from = if first == 0 { 0 } else { *self.fan.get(first - 1)? };
        let to = *self.fan.get(first)?;
        let count = u64::from(*self.fan.last()?);
        let mut names = vec![0; (to.checked_sub(from)? as usize).checked_mul(self.width)?];
        self.file.read_exact_at(&mut names, TABLE_HEAD as u64 + u64::from(from) * self.width as u64).ok()?;
        let offsets = TABLE_HEAD as u64 + count * (self.width as u64 + 4);
        let mut found = Vec::new();
        for (index, name) in (u64::from(from)..).zip(names.chunks_exact(self.width)) {
            let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
            if name.starts_with(number) {
                found.push(self.offset(offsets + index * 4, offsets + count * 4)?);
            }
        }
        Some(found)
    }

    /// An offset of 31 bits, or the place of a longer one.
    fn offset(&self, at: u64, longer: u64) -> Option<u64> {
        let mut four = [0; 4];
        self.file.read_exact_at(&mut four, at).ok()?;
        let short = u32::from_be_bytes(four);
        if short & 0x8000_0000 == 0 {
            return Some(u64::from(short));
        }
        let mut eight = [0; 8];
        self.file.read_exact_at(&mut eight, longer + u64::from(short & 0x7fff_ffff) * 8).ok()?;
        Some(u64::from_be_bytes(eight))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn contents_are_told_from_commits_loose_and_packed() {
        let folder = tempfile::tempdir().unwrap();
        let git = |words: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(words);
            let done = command.current_dir(folder.path()).output().unwrap();
            assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
            String::from_utf8(done.stdout).unwrap().trim().to_owned()
        };
        git(&["init", "-q", "."]);
        let mut named = Vec::new();
        for number in 0..12 {
            let text = format!("{number}\n") + &"the same long line, again and again\n".repeat(50);
            std::fs::write(folder.path().join("f"), text).unwrap();
            git(&["add", "."]);
            git(&["commit", "-qm", "one more"]);
            named.push((
                git(&["rev-parse", "HEAD"]),
                git(&["rev-parse", "HEAD:f"]),
                git(&["rev-parse", "HEAD^{tree}"]),
            ));
        }
        let repository = Repository::of(folder.path()).unwrap();
        let check = || {
            for (commit, content, tree) in &named {
                assert!(may_be_content(&repository, content));
                assert!(may_be_content(&repository, &format!("{content:.10}").to_uppercase()));
                assert!(may_be_content(&repository, &format!("v1-3-g{content:.12}")));
                assert!(may_be_content(&repository, &format!("{commit}..{content}")));
                assert!(may_be_content(&repository, &format!("{content}^{{blob}}")));
                assert!(!may_be_content(&repository, commit));
                assert!(!may_be_content(&repository, &format!("{commit:.12}~1")));
                assert!(!may_be_content(&repository, tree));
            }
            for word in ["HEAD", "main", "f", "feed", "deadbeefdeadbeef", "v1.0", "HEAD~2..HEAD", ""] {
                assert!(!may_be_content(&repository, word), "{word}");
            }
        };
        check();
        git(&["repack", "-adfq", "--depth=50"]);
        check();
    }
}
