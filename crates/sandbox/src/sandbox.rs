//! The sandbox of one session.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use charla_proto::Confinement;

use crate::child::{Limits, Steps, before_exec};
use crate::error::SandboxError;
use crate::files::{Grants, System};
use crate::filter::{self, Program};
use crate::mounts::Mounts;
use crate::places::{Extra, Places};
use crate::sys;
use crate::tree::{self, Found};
use crate::wall::Wall;

/// Confines the children of one session.
#[derive(Debug)]
pub struct Sandbox {
    places: Places,
    /// What the kernel says it offers.
    offered: Wall,
    reading: OnceLock<System>,
    programs: [OnceLock<Arc<[Program]>>; 3],
}

/// A confinement that is ready for one child.
#[derive(Debug)]
pub struct Cell {
    steps: Steps,
    temporary: Option<PathBuf>,
}

impl Cell {
    /// Puts the child of this command into the cell. Its working folder, and its variables, must be set before.
    pub fn apply(self, command: &mut Command) {
        if let Some(folder) = &self.temporary {
            command.envs(["TMPDIR", "TMP", "TEMP"].map(|name| (name, folder)));
        }
        let steps = self.steps;
        before_exec(command, move || steps.enter());
    }
}

impl Sandbox {
    /// For children that work in these places.
    pub fn new(places: Places) -> Self {
        Self::with_wall(places, Wall::look())
    }

    /// As [`Sandbox::new`], on a machine that offers this much.
    pub fn with_wall(places: Places, offered: Wall) -> Self {
        Self { places, offered, reading: OnceLock::new(), programs: Default::default() }
    }

    /// What this machine offers.
    pub fn wall(&self) -> &Wall {
        &self.offered
    }

    /// Gets everything ready for one child that works in `cwd`. Looks through the workspace: blocks for some
    /// milliseconds when that is large. A confinement that does not hold here is an error, but for
    /// [`Confinement::Asked`]: a person agreed, and was told what holds.
    pub fn prepare(&self, confinement: Confinement, cwd: &Path, extra: &Extra) -> Result<Cell, SandboxError> {
        match confinement {
            Confinement::Open => Ok(Cell { steps: Steps::default(), temporary: None }),
            Confinement::Asked if !self.proven().reading => {
                Ok(Cell { steps: Steps::default(), temporary: None })
            }
            Confinement::Asked => self.asked(extra),
            Confinement::Reading if self.proven().reading => self.reading(extra),
            Confinement::Editing if self.proven().editing => self.editing(cwd, extra),
            Confinement::Reading | Confinement::Editing => {
                Err(SandboxError::Missing(self.proven().notes.join("; ")))
            }
        }
    }

    /// What the machine was seen to enforce, of what it offers. Tried once, when a child is to be confined.
    fn proven(&self) -> &Wall {
        static PROVEN: OnceLock<Wall> = OnceLock::new();
        match self.offered.reading {
            true => PROVEN.get_or_init(Wall::prove),
            false => &self.offered,
        }
    }

    pub(crate) fn reading(&self, extra: &Extra) -> Result<Cell, SandboxError> {
        self.make_temporary()?;
        let found = tree::look(&self.places)?;
        let mut grants = self.reading_grants(extra);
        let mut hidden = found.hidden;
        hidden.extend(self.places.all_secrets());
        hidden.retain(|path| !extra.read.contains(path));
        for root in tree::outermost(&self.places.roots) {
            grants.read(root, &hidden);
        }
        self.cell(Confinement::Reading, grants, None, 0)
    }

    pub(crate) fn editing(&self, cwd: &Path, extra: &Extra) -> Result<Cell, SandboxError> {
        self.make_temporary()?;
        let found = tree::look(&self.places)?;
        let mut grants = self.reading_grants(extra);
        let roots = tree::outermost(&self.places.roots);
        let secrets = self.places.all_secrets();
        let below = |path: &PathBuf| roots.iter().any(|root| path.starts_with(root));
        let hidden =
            found.hidden.into_iter().chain(secrets.into_iter().filter(|path| below(path) && path.exists()));
        let found = Found { hidden: hidden.filter(|path| below(path)).collect(), protected: found.protected };
        for root in &roots {
            grants.write(root, &Default::default());
        }
        let writable = roots.into_iter().chain([&self.places.temporary]).map(PathBuf::as_path);
        let mounts = Mounts::new(writable, &found, cwd)?;
        self.cell(Confinement::Editing, grants, Some(mounts), 0)
    }

    fn asked(&self, extra: &Extra) -> Result<Cell, SandboxError> {
        let places = &self.places;
        let mut grants = Grants::asked();
        let mut hidden: std::collections::BTreeSet<PathBuf> = places.all_secrets().into_iter().collect();
        hidden.retain(|path| {
            !extra
                .read
                .iter()
                .chain(&extra.write)
                .any(|agreed| path.starts_with(agreed) || agreed.starts_with(path))
        });
        grants.asked_system(places, &hidden);
        for root in tree::outermost(&places.roots) {
            grants.write(root, &hidden);
        }
        for path in &extra.read {
            grants.read(path, &Default::default());
        }
        for path in &extra.write {
            grants.write(existing(path), &hidden);
        }
        self.cell(Confinement::Asked, grants, None, filter::ASKED_CAPABILITIES)
    }

    fn reading_grants(&self, extra: &Extra) -> Grants {
        let system = self.reading.get_or_init(|| System::of(&self.places));
        let mut grants = Grants::reading(system);
        for path in &extra.read {
            grants.read(path, &Default::default());
        }
        grants.write(&self.places.temporary, &Default::default());
        grants
    }

    fn cell(
        &self,
        confinement: Confinement,
        grants: Grants,
        mounts: Option<Mounts>,
        capabilities: u64,
    ) -> Result<Cell, SandboxError> {
        let programs = self.programs(confinement)?;
        // Root stays able to read what others own: to be kept from that is no part of this wall.
        let capabilities = capabilities | filter::FILE_CAPABILITIES;
        let limits = Limits { capabilities, ruleset: grants.ruleset()?, programs };
        let temporary = (confinement != Confinement::Asked).then(|| self.places.temporary.clone());
        Ok(Cell { steps: Steps { mounts, limits: Some(limits) }, temporary })
    }

    fn programs(&self, confinement: Confinement) -> Result<Arc<[Program]>, SandboxError> {
        let [reading, editing, asked] = &self.programs;
        let kept = match confinement {
            Confinement::Reading => reading,
            Confinement::Editing => editing,
            Confinement::Asked | Confinement::Open => asked,
        };
        if let Some(programs) = kept.get() {
            return Ok(programs.clone());
        }
        let programs: Arc<[Program]> = filter::programs(confinement)?.into();
        Ok(kept.get_or_init(|| programs).clone())
    }

    fn make_temporary(&self) -> Result<(), SandboxError> {
        let folder = &self.places.temporary;
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(SandboxError::path(folder))
    }
}

/// The path, or the nearest folder above it that is there: what is to be made is made in it.
fn existing(path: &Path) -> &Path {
    path.ancestors().find(|path| path.exists()).unwrap_or(path)
}

/// Keeps other processes of the user from looking into this one: its variables hold keys. Root's can.
pub fn hide_process() {
    // Where it does not work, nothing else would.
    let _ = sys::set_dumpable(false);
}
