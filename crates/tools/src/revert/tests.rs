use std::collections::HashMap;
use std::fs;
use std::path::Path;

use charla_proto::content_hash;

use super::*;

/// A folder without links on the way, and contents by their hash.
struct Folder {
    folder: tempfile::TempDir,
    contents: HashMap<String, Vec<u8>>,
}

impl Snapshots for Folder {
    fn keep(&self, _: &[u8]) -> Result<String, SnapshotError> {
        Err(SnapshotError::Io("not needed".into()))
    }

    fn load(&self, hash: &str) -> Result<Vec<u8>, SnapshotError> {
        self.contents.get(hash).cloned().ok_or_else(|| SnapshotError::Missing(hash.to_owned()))
    }
}

impl Folder {
    fn new() -> Self {
        let here = std::env::temp_dir().canonicalize().unwrap();
        Self { folder: tempfile::tempdir_in(here).unwrap(), contents: HashMap::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path(name)).ok()
    }

    fn step(&mut self, name: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Step {
        let mut keep = |bytes: &[u8]| {
            let hash = content_hash(bytes);
            self.contents.insert(hash.clone(), bytes.to_vec());
            hash
        };
        let (before, after) = (before.map(&mut keep), after.map(&mut keep));
        Step { change: FileChange { path: self.path(name), before, after }, mode: None }
    }

    fn conflicts(&self, steps: Vec<Step>) -> Vec<Conflict> {
        match Reversal::check(steps, self).unwrap_err() {
            CheckError::Conflicts(conflicts) => conflicts,
            CheckError::Failed(error) => panic!("{error}"),
        }
    }
}

#[test]
fn files_are_restored_removed_and_brought_back_byte_for_byte() {
    let mut place = Folder::new();
    place.write("changed", b"new\r\n\xff");
    place.write("created", "made");
    place.write("settled", "old");
    let steps = vec![
        place.step("changed", Some(b"new\r\n\xff"), Some(b"\xef\xbb\xbfold\r\nno end")),
        place.step("created", Some(b"made"), None),
        place.step("folder/removed", None, Some(b"\0\x01\xfe")),
        place.step("settled", Some(b"new"), Some(b"old")),
    ];
    let reversal = Reversal::check(steps, &place).unwrap();
    let deeds: Vec<Deed> = reversal.deeds().map(|(_, deed)| deed).collect();
    assert_eq!(deeds, [Deed::Restored, Deed::Removed, Deed::BroughtBack, Deed::Nothing]);
    assert_eq!(place.read("changed").unwrap(), b"new\r\n\xff", "checking changes nothing");
    reversal.apply().unwrap();
    assert_eq!(place.read("changed").unwrap(), b"\xef\xbb\xbfold\r\nno end");
    assert_eq!(place.read("created"), None);
    assert_eq!(place.read("folder/removed").unwrap(), b"\0\x01\xfe");
    reversal.withdraw().unwrap();
    assert_eq!(place.read("changed").unwrap(), b"new\r\n\xff");
    assert_eq!(place.read("created").unwrap(), b"made");
    assert_eq!(place.read("folder/removed"), None);
}

#[test]
fn every_file_in_the_way_is_told_with_what_changed() {
    let mut place = Folder::new();
    place.write("edited", "one\ntwo\nmine\n");
    place.write("appeared", "mine\n");
    place.write("binary", b"\0mine");
    fs::create_dir(place.path("folder")).unwrap();
    let steps = vec![
        place.step("edited", Some(b"one\ntwo\n"), Some(b"one\n")),
        place.step("appeared", None, Some(b"old\n")),
        place.step("binary", Some(b"\0"), None),
        place.step("folder", Some(b"x"), None),
    ];
    let conflicts = place.conflicts(steps);
    let obstacles: Vec<&Obstacle> = conflicts.iter().map(|conflict| &conflict.obstacle).collect();
    let (changed, appeared) = (Obstacle::Changed, Obstacle::Appeared);
    assert_eq!(obstacles, [&changed, &appeared, &changed, &Obstacle::NoFile]);
    assert!(conflicts[0].diff.contains("+mine\n"), "{}", conflicts[0].diff);
    assert!(conflicts[2].diff.ends_with("not text: 1 bytes then, 5 now\n"), "{}", conflicts[2].diff);
}

#[test]
fn a_file_that_somebody_removed_comes_back() {
    let mut place = Folder::new();
    let steps = vec![place.step("folder/gone", Some(b"left\n"), Some(b"old\n"))];
    let reversal = Reversal::check(steps, &place).unwrap();
    assert_eq!(reversal.deeds().map(|(_, deed)| deed).collect::<Vec<_>>(), [Deed::BroughtBack]);
    reversal.apply().unwrap();
    assert_eq!(place.read("folder/gone").unwrap(), b"old\n");
}

#[test]
fn a_file_that_cannot_be_changed_leaves_the_others_as_they_were() {
    let mut place = Folder::new();
    place.write("a", "new");
    place.write("b", "new");
    let steps =
        vec![place.step("a", Some(b"new"), Some(b"old")), place.step("b", Some(b"new"), Some(b"old"))];
    let reversal = Reversal::check(steps, &place).unwrap();
    place.write("b", "changed in between");
    let error = reversal.apply().unwrap_err();
    assert!(matches!(&error, RevertError::Write { path, .. } if path.ends_with("/b")), "{error}");
    assert_eq!(place.read("a").unwrap(), b"new");
    assert_eq!(place.read("b").unwrap(), b"changed in between");
}

#[test]
fn a_content_that_was_lost_stops_it_before_anything_is_changed() {
    let mut place = Folder::new();
    place.write("a", "new");
    let steps = vec![place.step("a", Some(b"new"), Some(b"old"))];
    place.contents.clear();
    let error = Reversal::check(steps, &place).unwrap_err();
    assert!(matches!(error, CheckError::Failed(RevertError::Content { .. })), "{error:?}");
}

#[cfg(unix)]
#[test]
fn links_are_never_followed() {
    use std::os::unix::fs::symlink;
    let mut place = Folder::new();
    fs::create_dir(place.path("elsewhere")).unwrap();
    place.write("elsewhere/file", "new");
    symlink(place.path("elsewhere"), place.path("folder")).unwrap();
    symlink(place.path("elsewhere/file"), place.path("file")).unwrap();
    symlink(place.path("nowhere"), place.path("dangling")).unwrap();
    for (name, link) in [("folder/file", "folder"), ("file", "file"), ("dangling/file", "dangling")] {
        let step = place.step(name, Some(b"new"), Some(b"old"));
        let conflicts = place.conflicts(vec![step]);
        assert_eq!(conflicts[0].obstacle, Obstacle::Link(place.path(link)), "{name}");
    }
    assert_eq!(place.read("elsewhere/file").unwrap(), b"new");
}

#[cfg(unix)]
#[test]
fn permissions_stay_and_come_back() {
    let mut place = Folder::new();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    place.write("script", "new");
    place.write("made", "made");
    fs::set_permissions(place.path("script"), Permissions::from_mode(0o750)).unwrap();
    fs::set_permissions(place.path("made"), Permissions::from_mode(0o700)).unwrap();
    let steps =
        vec![place.step("script", Some(b"new"), Some(b"old")), place.step("made", Some(b"made"), None)];
    let reversal = Reversal::check(steps, &place).unwrap();
    reversal.apply().unwrap();
    assert_eq!(mode(&place.path("script")), 0o750);
    let files = reversal.files();
    assert_eq!(files[1].mode.map(|mode| mode & 0o777), Some(0o700));
    let again = Step { mode: files[1].mode, ..place.step("made", None, Some(b"made")) };
    Reversal::check(vec![again], &place).unwrap().apply().unwrap();
    assert_eq!(mode(&place.path("made")), 0o700);
}
