//! What kind of object a number names, read from git's own files.
//!
//! Whether a number is a commit's decides whether git is asked about it: a content or a tree by itself has no name that would
//! say whether it is secret.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::read::ZlibDecoder;

use super::Repository;
use super::index::variable;

use crate::bounded;

/// How many differences an object may be kept as, one upon the other.
const MOST_BASES: usize = 64;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Commit,
    /// A tag that leads to a commit.
    TagOfCommit,
    /// A tag that leads to something else, or cannot be followed.
    OtherTag,
    Tree,
    Content,
}

impl Kind {
    pub(super) fn is_commit(self) -> bool {
        matches!(self, Kind::Commit | Kind::TagOfCommit)
    }

    /// What a tag with this text is.
    fn of_tag(text: &[u8]) -> Self {
        let mut lines = text.split(|byte| *byte == b'\n');
        match lines.nth(1) {
            Some(b"type commit") => Kind::TagOfCommit,
            _ => Kind::OtherTag,
        }
    }
}

/// What those objects of a repository are whose numbers begin so; absent when that cannot be told.
pub(super) fn kinds(repository: &Repository, number: &str) -> Option<Vec<Kind>> {
    let folders = repository.objects();
    let found: Option<Vec<_>> = folders.iter().map(|folder| Objects { folder }.kinds(number, 0)).collect();
    found.map(|kinds| kinds.concat())
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
        let pack = bounded::open(pack).ok()?;
        table
            .offsets(number)?
            .into_iter()
            .map(|offset| self.packed_kind(&pack, offset, &table, depth))
            .collect()
    }

    /// The kind of an object in a pack; one that is kept as a difference is what its base is.
    fn packed_kind(&self, pack: &File, first: u64, table: &Table, depth: usize) -> Option<Kind> {
        let mut offset = first;
        for _ in 0..MOST_BASES {
            let mut head = [0; 64];
            let count = pack.read_at(&mut head, offset).ok()?;
            let head = head.get(..count)?;
            let size = head.iter().position(|byte| byte & 0x80 == 0)? + 1;
            match (head.first()? >> 4) & 7 {
                1 => return Some(Kind::Commit),
                2 => return Some(Kind::Tree),
                3 => return Some(Kind::Content),
                4 if offset == first => return tag_in(pack, offset + size as u64),
                4 => return Some(Kind::OtherTag),
                6 => offset = offset.checked_sub(variable(head, size)?.0 as u64)?,
                7 if depth < MOST_BASES => {
                    let base: String = head
                        .get(size..size + table.width)?
                        .iter()
                        .map(|byte| format!("{byte:02x}"))
                        .collect();
                    let kind = self.kinds(&base, depth + 1)?.first().copied()?;
                    // Its text is another than its base's.
                    return Some(if kind == Kind::TagOfCommit { Kind::OtherTag } else { kind });
                }
                _ => return None,
            }
        }
        None
    }
}

/// How much of an object is read: enough to see where a tag leads.
const BEGINNING: u64 = 256;

fn loose_kind(path: &Path) -> Option<Kind> {
    let text = beginning(bounded::open(path).ok()?)?;
    let end = text.iter().position(|byte| *byte == 0)?;
    let (head, rest) = text.split_at_checked(end + 1)?;
    match head.split(|byte| *byte == b' ').next()? {
        b"commit" => Some(Kind::Commit),
        b"tree" => Some(Kind::Tree),
        b"blob" => Some(Kind::Content),
        b"tag" => Some(Kind::of_tag(rest)),
        _ => None,
    }
}

fn tag_in(pack: &File, at: u64) -> Option<Kind> {
    let mut packed = vec![0; 2 * BEGINNING as usize];
    let count = pack.read_at(&mut packed, at).ok()?;
    beginning(packed.get(..count)?).map(|text| Kind::of_tag(&text))
}

fn beginning(packed: impl Read) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut unpacked = ZlibDecoder::new(packed).take(BEGINNING);
    // What was cut off ends in an error, behind what can be read.
    let done = unpacked.read_to_end(&mut text);
    (done.is_ok() || !text.is_empty()).then_some(text)
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
        let file = bounded::open(path).ok()?;
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
