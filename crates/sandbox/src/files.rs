//! Which files a child may touch, as a Landlock ruleset.
//!
//! Landlock gives rights to a file, or to a folder and everything below. To keep something in a folder from a
//! child, the folder is only listed, and each of its other entries gets the rights ("carved").

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, make_bitflags,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

use charla_proto::Consent;

use crate::error::SandboxError;
use crate::places::{
    ASKED_DEVICES, CACHES_BESIDE, Extra, Places, SINKS, SYSTEM_FILES, SYSTEM_FOLDERS, TOOL_CHAINS,
};
use crate::twins;

type Rights = BitFlags<AccessFs>;

const LIST: Rights = make_bitflags!(AccessFs::{ReadDir});
const READ: Rights = make_bitflags!(AccessFs::{ReadDir | ReadFile});
const RUN: Rights = make_bitflags!(AccessFs::{ReadDir | ReadFile | Execute});
const USE: Rights =
    make_bitflags!(AccessFs::{ReadDir | ReadFile | WriteFile | Truncate | IoctlDev | MakeReg | RemoveFile});
const WRITE: Rights = make_bitflags!(AccessFs::{
    ReadDir | ReadFile | WriteFile | Truncate | Refer | RemoveDir | RemoveFile | MakeDir | MakeReg | MakeFifo |
    MakeSym
});
const BUILD: Rights = make_bitflags!(AccessFs::{
    ReadDir | ReadFile | WriteFile | Truncate | Refer | RemoveDir | RemoveFile | MakeDir | MakeReg | MakeFifo |
    MakeSym | MakeSock | Execute | IoctlDev
});

/// Rights on an opened file or folder.
#[derive(Debug)]
struct Opened {
    place: OwnedFd,
    rights: Rights,
}

/// The files outside of the workspace that reading children may touch, opened once for a session. What appears
/// later beside a secret is not readable.
#[derive(Debug)]
pub(crate) struct System {
    opened: Vec<Opened>,
}

impl System {
    pub(crate) fn of(places: &Places) -> Self {
        let secrets: BTreeSet<PathBuf> = places.all_secrets().into_iter().collect();
        let mut opened = Vec::new();
        let mut grant = |path: &Path, rights| carve(path, rights, &secrets, &mut |grant| opened.push(grant));
        for folder in SYSTEM_FOLDERS.iter().map(Path::new) {
            grant(folder, RUN);
        }
        for path in SYSTEM_FILES.iter().map(Path::new) {
            grant(path, READ);
        }
        // Names alone: what processes have there stays closed.
        grant(Path::new("/proc"), LIST);
        for path in SINKS.iter().map(Path::new) {
            grant(path, READ | AccessFs::WriteFile | AccessFs::Truncate);
        }
        for folder in places.below_home(TOOL_CHAINS) {
            grant(&folder, RUN);
        }
        for folder in places.program_folders() {
            grant(folder, RUN);
            if let Some(environment) = folder.parent().filter(|parent| parent.join("pyvenv.cfg").is_file()) {
                grant(environment, RUN);
            }
            if let Some(chain) = places.tool_chain(folder) {
                grant(&chain, RUN);
            }
        }
        Self { opened }
    }
}

/// What a child may touch, in the making.
pub(crate) struct Grants {
    opened: Vec<Opened>,
    /// What is given where something is to be written.
    write: Rights,
}

/// A ruleset that was made, for the next child that may touch the same. As long as it is there, the kernel keeps the
/// files it names, so that no other can get their numbers.
#[derive(Debug)]
pub(crate) struct Made {
    named: Vec<Named>,
    ruleset: Arc<OwnedFd>,
}

/// Which file gets which rights.
type Named = (u64, u64, Rights);

impl Grants {
    /// Nothing yet, for a child that nobody was asked about.
    pub(crate) fn unasked() -> Self {
        Self { opened: Vec::new(), write: WRITE }
    }

    /// Nothing yet, for a child that a person agreed to.
    pub(crate) fn asked() -> Self {
        Self { opened: Vec::new(), write: BUILD }
    }

    /// Everything but what is hidden can be read, and what builds need can be written; what of that runs later, only where a
    /// person `agreed`.
    pub(crate) fn asked_system(&mut self, places: &Places, hidden: &BTreeSet<PathBuf>, agreed: bool) {
        // Of the devices only a few.
        let mut kept: BTreeSet<PathBuf> = hidden.clone();
        kept.insert("/dev".into());
        self.carve(Path::new("/"), RUN, &kept);
        for path in SYSTEM_FILES.iter().chain(SINKS).chain(ASKED_DEVICES).map(Path::new) {
            if path.starts_with("/dev") {
                self.carve(path, USE, hidden);
            }
        }
        let graphics = fs::read_dir("/dev").into_iter().flatten().flatten().map(|entry| entry.path());
        for path in graphics.filter(|path| path.to_string_lossy().starts_with("/dev/nvidia")) {
            self.carve(&path, USE, hidden);
        }
        let mut kept = hidden.clone();
        if !agreed {
            kept.extend(places.runs_later());
            for folder in places.below_home(CACHES_BESIDE) {
                self.carve(&folder, BUILD, hidden);
            }
        }
        for folder in places.build_folders() {
            // A home among what everybody writes is held as others are: its caches are granted by themselves.
            let home = places.home.iter().filter(|home| home.starts_with(&folder) && **home != folder);
            let kept = kept.iter().chain(home).cloned().collect();
            self.carve(&folder, BUILD, &kept);
        }
    }

    /// What a command names to be read or to be written. Where a person agreed, it is as they were shown, secret or not; a folder
    /// does not stand for the secrets in it.
    pub(crate) fn agreed(&mut self, places: &Places, extra: &Extra, hidden: &BTreeSet<PathBuf>) {
        let nothing = BTreeSet::new();
        let named = |path: &Path| {
            extra.consent == Consent::Person && path.ancestors().any(|above| hidden.contains(above))
        };
        for path in &extra.read {
            self.read(path, if named(path) { &nothing } else { hidden });
        }
        for path in &extra.write {
            // What is to be made is made in its folder; but not so that everything else in a home can be written.
            let place = if path.exists() { Some(path.as_path()) } else { path.parent() };
            let holds_more = |place: &&Path| {
                let mut kept = places.home.iter().chain(&places.roots);
                kept.any(|kept| kept.starts_with(place))
            };
            if let Some(place) = place.filter(|place| !holds_more(place)) {
                self.write(place, if named(place) { &nothing } else { hidden });
            }
        }
    }

    /// A file or folder can be read, but for what is hidden.
    pub(crate) fn read(&mut self, path: &Path, hidden: &BTreeSet<PathBuf>) {
        self.carve(path, READ, hidden);
    }

    /// A file or folder can be written, too.
    pub(crate) fn write(&mut self, path: &Path, hidden: &BTreeSet<PathBuf>) {
        self.carve(path, self.write, hidden);
    }

    /// Reading in a folder that is to be where its path says. One that was exchanged for a link gives nothing.
    pub(crate) fn read_real(&mut self, path: &Path, hidden: &BTreeSet<PathBuf>) {
        carve_shown(path, READ, hidden, &mut |opened| self.opened.push(opened));
    }

    /// Writing in such a folder.
    pub(crate) fn write_real(&mut self, path: &Path, hidden: &BTreeSet<PathBuf>) {
        carve_shown(path, self.write, hidden, &mut |opened| self.opened.push(opened));
    }

    fn carve(&mut self, path: &Path, rights: Rights, hidden: &BTreeSet<PathBuf>) {
        carve(path, rights, hidden, &mut |opened| self.opened.push(opened));
    }

    /// The ruleset of a child that nobody was asked about: this and the system's files, no network, no signals to
    /// processes outside of the sandbox. The last one is used again if it would be the same.
    pub(crate) fn unasked_ruleset(
        &self,
        system: &System,
        last: &Mutex<Option<Made>>,
    ) -> Result<Arc<OwnedFd>, SandboxError> {
        let named = self.opened.iter().map(Opened::named).collect::<Option<Vec<Named>>>();
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(named), Some(last)) = (&named, &*last)
            && *named == last.named
        {
            return Ok(last.ruleset.clone());
        }
        let empty = || {
            Ruleset::default()
                .set_compatibility(CompatLevel::BestEffort)
                .handle_access(AccessFs::from_all(ABI::V9))?
                .handle_access(AccessNet::from_all(ABI::V9))?
                .scope(Scope::from_all(ABI::V9))?
                .create()
        };
        let ruleset = Arc::new(finished(empty(), system.opened.iter().chain(&self.opened))?);
        *last = named.map(|named| Made { named, ruleset: ruleset.clone() });
        Ok(ruleset)
    }

    /// The ruleset of a child that a person agreed to: network, sockets and signals are not limited. `system` is what it may
    /// touch beside this.
    pub(crate) fn asked_ruleset(&self, system: Option<&System>) -> Result<Arc<OwnedFd>, SandboxError> {
        let empty = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(ABI::V8))
            .and_then(Ruleset::create);
        let system = system.iter().flat_map(|system| &system.opened);
        finished(empty, system.chain(&self.opened)).map(Arc::new)
    }
}

impl Opened {
    fn named(&self) -> Option<Named> {
        let file = fstat(&self.place).ok()?;
        Some((file.st_dev, file.st_ino, self.rights))
    }
}

/// A ruleset that forbids nothing but what no ruleset allows: to change mounts, and to look into processes outside of it.
pub(crate) fn everything() -> Result<OwnedFd, SandboxError> {
    let empty = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V8))
        .and_then(Ruleset::create);
    let place = open_real(Path::new("/"));
    let all = place.map(|place| Opened { place, rights: AccessFs::from_all(ABI::V8) });
    finished(empty, all.iter())
}

fn finished<'a>(
    empty: Result<RulesetCreated, RulesetError>,
    grants: impl Iterator<Item = &'a Opened>,
) -> Result<OwnedFd, SandboxError> {
    let failed = |error: RulesetError| SandboxError::Missing(error.to_string());
    let mut ruleset = empty.map_err(failed)?;
    for opened in grants {
        ruleset = ruleset.add_rule(PathBeneath::new(&opened.place, opened.rights)).map_err(failed)?;
    }
    let descriptor: Option<OwnedFd> = ruleset.into();
    descriptor.ok_or_else(|| SandboxError::Missing("the kernel has no Landlock".to_owned()))
}

/// Gives rights on a file or folder, but not on what is hidden in it. What is not there gets none.
fn carve(path: &Path, rights: Rights, hidden: &BTreeSet<PathBuf>, give: &mut dyn FnMut(Opened)) {
    // Links were resolved by whoever named the path; those of the system (`/bin`) lead to what is meant.
    let Ok(path) = path.canonicalize() else { return };
    carve_shown(&path, rights, hidden, give);
}

/// The same for a path without links.
fn carve_shown(path: &Path, rights: Rights, hidden: &BTreeSet<PathBuf>, give: &mut dyn FnMut(Opened)) {
    if !path.ancestors().any(|above| hidden.contains(above)) {
        carve_real(path, rights, hidden, give);
    }
}

/// Opens what has this path and no link on the way, whatever is put there meanwhile.
fn open_real(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(place) => Some(place),
        // Where the kernel has no such call, or a container forbids it.
        Err(Errno::NOSYS | Errno::PERM) if path.canonicalize().is_ok_and(|real| real == path) => {
            openat(CWD, path, flags, Mode::empty()).ok()
        }
        Err(_) => None,
    }
}

fn carve_real(path: &Path, rights: Rights, hidden: &BTreeSet<PathBuf>, give: &mut dyn FnMut(Opened)) {
    let Some(place) = open_real(path) else { return };
    // Sorted by folders: what lies below comes right after.
    let after = (std::ops::Bound::Excluded(path), std::ops::Bound::Unbounded);
    let carved = hidden.range::<Path, _>(after).next().is_some_and(|next| next.starts_with(path));
    if !carved {
        give(Opened { place, rights });
        return;
    }
    give(Opened { place, rights: rights & LIST });
    let others = Twins::of(hidden, path);
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().ok());
        let is_link = kind.is_none_or(|kind| kind.is_symlink());
        if !is_link && !hidden.contains(&path) && !others.has(&path) {
            carve_real(&path, rights, hidden, give);
        }
    }
}

/// Hidden files of a folder that have other names: rights belong to the file, whatever its name.
struct Twins {
    files: Vec<(u64, u64)>,
}

impl Twins {
    fn of(hidden: &BTreeSet<PathBuf>, folder: &Path) -> Self {
        let after = (std::ops::Bound::Excluded(folder), std::ops::Bound::Unbounded);
        let inside = hidden.range::<Path, _>(after).take_while(|path| path.starts_with(folder));
        Self { files: inside.filter_map(|path| twins::identity(path)).collect() }
    }

    fn has(&self, path: &Path) -> bool {
        !self.files.is_empty() && twins::identity(path).is_some_and(|file| self.files.contains(&file))
    }
}
