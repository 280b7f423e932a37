//! The sandbox of one session.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use charla_proto::{Confinement, Consent};

use crate::arrivals::Arrivals;
use crate::child::{Limits, Steps, UNASKED_BOUNDS, before_exec};
use crate::closed::{Closed, Closing};
use crate::error::SandboxError;
use crate::files::{self, Grants, Made, System};
use crate::filter::{self, Program};
use crate::memory::Memory;
use crate::mounts::Mounts;
use crate::places::{Bounds, Extra, Places};
use crate::private::Private;
use crate::sys;
use crate::tree::{self, Found};
use crate::twins;
use crate::wall::Wall;

/// Confines the children of one session.
#[derive(Debug)]
pub struct Sandbox {
    places: Places,
    /// What the kernel says it offers.
    offered: Wall,
    system: OnceLock<System>,
    private: Mutex<Option<Arc<Private>>>,
    programs: [OnceLock<Arc<Program>>; 3],
    bounds: Option<Bounds>,
    /// Of the last reading and the last editing child.
    rulesets: [Mutex<Option<Made>>; 2],
    /// The workspace as it was looked through last.
    memory: Arc<Memory>,
    /// The same of what is readable beside it.
    beside: Memory,
    /// The same of what rules deny beside it.
    denied: Memory,
    /// The secrets of the workspace, when they were last asked for.
    secrets: Mutex<Option<Known>>,
}

/// Files that are kept from children, by what they are.
#[derive(Debug)]
struct Known {
    files: HashMap<twins::Identity, PathBuf>,
    since: Instant,
}

/// How long they are believed to be all: a search comes across many files.
const MOMENT: Duration = Duration::from_millis(500);

/// A confinement that is ready for one child.
#[derive(Debug)]
pub struct Cell {
    steps: Steps,
    /// For a child that nobody was asked about.
    private: Option<Arc<Private>>,
    /// For a child that may not make protected places.
    arrivals: Option<Arrivals>,
}

impl Cell {
    /// What a child makes and may not make that edits unasked, or that a broad rule allows. For whoever starts it to take out when it
    /// has ended.
    pub fn arrivals(&mut self) -> Option<Arrivals> {
        self.arrivals.take()
    }

    /// The folder of their own that a child has which nobody was asked about.
    pub fn temporary(&self) -> Option<PathBuf> {
        self.private.as_ref().map(|private| private.temporary())
    }

    /// A `gitattributes` file that such a child may read: under it, git shows nothing of what secret files hold.
    pub fn attributes(&self) -> Option<PathBuf> {
        self.private.as_ref().map(|private| private.attributes())
    }

    /// Puts the child of this command into the cell. Its working folder, and its variables, must be set before.
    pub fn apply(self, command: &mut Command) {
        if let Some(folder) = self.temporary() {
            command.envs(["TMPDIR", "TMP", "TEMP"].map(|name| (name, &folder)));
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
        Self {
            places,
            offered,
            system: OnceLock::new(),
            private: Mutex::default(),
            programs: Default::default(),
            bounds: None,
            rulesets: Default::default(),
            memory: Arc::default(),
            beside: Memory::default(),
            denied: Memory::default(),
            secrets: Mutex::default(),
        }
    }

    /// The same for somebody whose own word does not reach beyond the workspace: what they agree to stays within these bounds.
    pub fn within(self, bounds: Bounds) -> Self {
        Self { bounds: Some(bounds), ..self }
    }

    /// Whoever agrees to something here agrees to it within these bounds.
    pub fn bounds(&self) -> Option<Bounds> {
        self.bounds
    }

    /// What this machine offers.
    pub fn wall(&self) -> &Wall {
        &self.offered
    }

    /// Gets everything ready for one child that works in `cwd`. Looks through the workspace: blocks for some
    /// milliseconds when that is large. A confinement that does not hold
    /// here is an error, but for that one: a person agreed, and was told what holds.
    pub fn prepare(&self, confinement: Confinement, cwd: &Path, extra: &Extra) -> Result<Cell, SandboxError> {
        if let Some(bounds) = self.bounds.filter(|_| confinement >= Confinement::Asked) {
            return self.bounded(bounds, cwd, extra);
        }
        match confinement {
            Confinement::Open => self.open(cwd, extra),
            Confinement::Asked if !self.proven().reading => {
                Ok(Cell { steps: Steps::default(), private: None, arrivals: None })
            }
            Confinement::Asked => self.asked(cwd, extra),
            Confinement::Reading if self.proven().reading => self.reading(cwd, extra),
            Confinement::Editing if self.proven().editing => self.editing(cwd, extra),
            Confinement::Reading | Confinement::Editing => {
                Err(SandboxError::Missing(self.proven().notes.join("; ")))
            }
        }
    }

    /// The name of a file under which its content is kept from children, or is not written, if this is another one of it (a hard link). Looks through
    /// the workspace for a file that has several names, unless that was done a moment ago; one that is too large is not known.
    pub fn first_name(&self, path: &Path) -> Option<PathBuf> {
        let file = twins::identity(path)?;
        let mut known = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|known| known.since.elapsed() > MOMENT) {
            let files = tree::by_first_names(&self.places, &self.memory).unwrap_or_default();
            *known = Some(Known { files, since: Instant::now() });
        }
        known.as_ref()?.files.get(&file).filter(|name| *name != path).cloned()
    }

    /// What the machine was seen to enforce, of what it offers. Tried once, when a child is to be confined.
    pub fn proven(&self) -> &Wall {
        match self.offered.reading {
            true => Wall::proven(),
            false => &self.offered,
        }
    }

    pub(crate) fn reading(&self, cwd: &Path, extra: &Extra) -> Result<Cell, SandboxError> {
        let found = self.look(extra)?;
        let mut grants = self.unasked(&found.hidden)?;
        for root in tree::outermost(&self.places.roots) {
            grants.read_real(root, &found.hidden);
        }
        let mounts = if extra.searches { self.covers(found, cwd)? } else { None };
        self.cell(Confinement::Reading, grants, mounts)
    }

    /// A view in which what git keeps in the workspace is empty, if that is not too much.
    fn covers(&self, found: Found, cwd: &Path) -> Result<Option<Mounts>, SandboxError> {
        let inside =
            |path: &PathBuf| self.places.roots.iter().any(|root| path.starts_with(root)) && path.exists();
        let hidden: BTreeSet<PathBuf> = found.kept.into_iter().filter(inside).collect();
        if hidden.is_empty() || hidden.len() > Mounts::MOST || !self.proven().editing {
            return Ok(None);
        }
        let temporary = self.private()?.temporary();
        let writable = std::iter::once(temporary.as_path());
        Mounts::new(writable, &Found { hidden, ..Found::default() }, cwd).map(Some)
    }

    pub(crate) fn editing(&self, cwd: &Path, extra: &Extra) -> Result<Cell, SandboxError> {
        let mut found = self.look(extra)?;
        let mut grants = self.unasked(&found.hidden)?;
        let roots = tree::outermost(&self.places.roots);
        found.hidden.retain(|path| path.exists() && roots.iter().any(|root| path.starts_with(root)));
        for root in &roots {
            grants.write_real(root, &BTreeSet::new());
        }
        let temporary = self.private()?.temporary();
        let writable = roots.into_iter().chain([&temporary]).map(PathBuf::as_path);
        let mounts = Mounts::new(writable, &found, cwd)?.refusing();
        let arrivals = Arrivals::of_editing(&self.places, self.memory.clone(), found);
        Ok(Cell { arrivals: Some(arrivals), ..self.cell(Confinement::Editing, grants, Some(mounts))? })
    }

    /// The workspace as a child that nobody was asked about sees it: what git keeps is hidden, unless git alone reads it.
    fn look(&self, extra: &Extra) -> Result<Found, SandboxError> {
        let mut found = tree::look(&self.places, &self.memory)?;
        found.kept.retain(|path| !extra.git.iter().any(|folder| path.starts_with(folder)));
        found.hidden.extend(found.kept.iter().cloned());
        found.hidden.extend(self.places.all_secrets());
        Ok(found)
    }

    /// A child that runs with the user's rights. Where nothing but a broad rule lets it run, what rules deny is closed to it.
    fn open(&self, cwd: &Path, extra: &Extra) -> Result<Cell, SandboxError> {
        let mut steps = Steps::default();
        if extra.consent == Consent::Broad
            && let Some(closed) = self.closed(Closing::Denied)?
        {
            steps.mounts = Some(Mounts::closing(&closed, cwd)?);
            steps.seal = Some(Arc::new(files::everything()?));
        }
        Ok(Cell { steps, private: None, arrivals: None })
    }

    /// What is closed to a child that otherwise reaches the whole workspace, where the kernel can do that.
    fn closed(&self, closing: Closing) -> Result<Option<Closed>, SandboxError> {
        if closing == Closing::Denied && self.places.denied.is_empty() || !self.proven().editing {
            return Ok(None);
        }
        let closed = Closed::look(&self.places, &self.memory, &self.denied, closing)?;
        Ok((closed.found.is_some() || !closed.is_empty()).then_some(closed))
    }

    /// What is looked at behind a child to which that much is closed.
    fn behind(&self, closed: Option<&mut Closed>) -> Option<Arrivals> {
        let found = closed?.found.take()?;
        Some(Arrivals::of_broad(&self.places, self.memory.clone(), found))
    }

    fn asked(&self, cwd: &Path, extra: &Extra) -> Result<Cell, SandboxError> {
        let places = &self.places;
        let mut hidden: BTreeSet<PathBuf> = places.all_secrets().into_iter().collect();
        // What is a link is closed where it leads, too.
        let real: Vec<PathBuf> = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
        hidden.extend(real);
        let mut grants = Grants::asked();
        grants.asked_system(places, &hidden, extra.consent == Consent::Person || extra.lasting);
        for root in tree::outermost(&places.roots).into_iter().chain(&places.history) {
            grants.write(root, &hidden);
        }
        self.read_beside(&mut grants);
        grants.agreed(places, extra, &hidden);
        let settled = if extra.lasting { self.settled(&hidden, cwd)? } else { None };
        let mut closed = self.closed(Closing::for_consent(extra.consent))?;
        let arrivals = self.behind(closed.as_mut());
        let mounts = match (settled, closed.filter(|closed| !closed.is_empty())) {
            (Some(view), Some(closed)) => Some(view.and_closing(&closed)?),
            (None, Some(closed)) => Some(Mounts::closing(&closed, cwd)?),
            (view, None) => view,
        };
        Ok(Cell { arrivals, ..self.cell(Confinement::Asked, grants, mounts)? })
    }

    /// A view in which nothing can be changed, in any way, but what builds and the workspace hold.
    fn settled(&self, secrets: &BTreeSet<PathBuf>, cwd: &Path) -> Result<Option<Mounts>, SandboxError> {
        if !self.proven().editing {
            return Ok(None);
        }
        let places = &self.places;
        let mut writable = places.build_folders();
        writable.push("/dev/shm".into());
        writable.extend(tree::outermost(&places.roots).into_iter().chain(&places.history).cloned());
        // Each one once, and the outer before what is in it.
        let writable: BTreeSet<PathBuf> =
            writable.iter().filter_map(|path| path.canonicalize().ok()).collect();
        if writable.contains(Path::new("/")) {
            return Ok(None);
        }
        let mut protected: BTreeSet<PathBuf> =
            secrets.iter().filter_map(|path| path.canonicalize().ok()).collect();
        // What others are told by, who are not asked about.
        protected.insert(self.private()?.folder().to_owned());
        let found = Found { protected, ..Found::default() };
        Mounts::new(writable.iter().map(PathBuf::as_path), &found, cwd).map(Some)
    }

    /// What a person agreed to who may reach the workspace and nothing else: all of the workspace, and what every child needs.
    fn bounded(&self, bounds: Bounds, cwd: &Path, extra: &Extra) -> Result<Cell, SandboxError> {
        if !self.proven().reading {
            return Err(SandboxError::Missing(self.proven().notes.join("; ")));
        }
        let hidden: BTreeSet<PathBuf> = self.places.all_secrets().into_iter().collect();
        let private = self.private()?;
        let mut grants = Grants::asked();
        for root in tree::outermost(&self.places.roots) {
            grants.write_real(root, &hidden);
        }
        self.read_beside(&mut grants);
        grants.write(&private.temporary(), &BTreeSet::new());
        let system = self.system.get_or_init(|| System::of(&self.places));
        let (ruleset, program) = match bounds.network {
            true => (grants.asked_ruleset(Some(system))?, self.program(Confinement::Asked)?),
            false => {
                (grants.unasked_ruleset(system, &Mutex::default())?, self.program(Confinement::Editing)?)
            }
        };
        let capabilities = filter::FILE_CAPABILITIES;
        let limits = Limits { bounds: Some(UNASKED_BOUNDS), capabilities, ruleset, program };
        let mut closed = self.closed(Closing::for_consent(extra.consent))?;
        let arrivals = self.behind(closed.as_mut());
        let closed = closed.filter(|closed| !closed.is_empty());
        let mounts = closed.map(|closed| Mounts::closing(&closed, cwd)).transpose()?;
        let steps = Steps { mounts, limits: Some(limits), seal: None };
        Ok(Cell { steps, private: Some(private), arrivals })
    }

    /// What every child may touch that nobody was asked about, but for the workspace.
    fn unasked(&self, hidden: &BTreeSet<PathBuf>) -> Result<Grants, SandboxError> {
        let mut grants = Grants::unasked();
        self.read_beside(&mut grants);
        for path in &self.places.history {
            grants.read(path, hidden);
        }
        let private = self.private()?;
        grants.write(&private.temporary(), &BTreeSet::new());
        grants.read(&private.attributes(), &BTreeSet::new());
        Ok(grants)
    }

    /// What is readable beside the workspace, but for the secrets and stores in it.
    fn read_beside(&self, grants: &mut Grants) {
        let folders = self.places.beside();
        let mut hidden = tree::look_beside(&self.places, &folders, &self.beside);
        hidden.extend(self.places.all_secrets());
        for folder in &folders {
            // What is closed above it is not closed for it.
            let within = hidden.iter().filter(|path| path.starts_with(folder)).cloned().collect();
            grants.read(folder, &within);
        }
    }

    fn cell(
        &self,
        confinement: Confinement,
        grants: Grants,
        mounts: Option<Mounts>,
    ) -> Result<Cell, SandboxError> {
        let system = || self.system.get_or_init(|| System::of(&self.places));
        let [reading, editing] = &self.rulesets;
        let ruleset = match confinement {
            Confinement::Reading => grants.unasked_ruleset(system(), reading)?,
            Confinement::Editing => grants.unasked_ruleset(system(), editing)?,
            Confinement::Asked | Confinement::Open => grants.asked_ruleset(None)?,
        };
        let (capabilities, private) = match confinement {
            Confinement::Reading | Confinement::Editing => (filter::FILE_CAPABILITIES, Some(self.private()?)),
            Confinement::Asked | Confinement::Open => (filter::ASKED_CAPABILITIES, None),
        };
        let bounds = private.is_some().then_some(UNASKED_BOUNDS);
        let limits = Limits { bounds, capabilities, ruleset, program: self.program(confinement)? };
        Ok(Cell { steps: Steps { mounts, limits: Some(limits), seal: None }, private, arrivals: None })
    }

    fn program(&self, confinement: Confinement) -> Result<Arc<Program>, SandboxError> {
        let [reading, editing, asked] = &self.programs;
        let kept = match confinement {
            Confinement::Reading => reading,
            Confinement::Editing => editing,
            Confinement::Asked | Confinement::Open => asked,
        };
        if let Some(program) = kept.get() {
            return Ok(program.clone());
        }
        let program = Arc::new(filter::program(confinement)?);
        Ok(kept.get_or_init(|| program).clone())
    }

    /// The private folder, made when it is first needed.
    pub(crate) fn private(&self) -> Result<Arc<Private>, SandboxError> {
        let mut made = self.private.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some(private) => Ok(private.clone()),
            None => Ok(made.insert(Arc::new(Private::make(&self.places.temporary)?)).clone()),
        }
    }
}

/// Keeps other processes of the user from looking into this one: its variables hold keys. Root's can.
pub fn hide_process() {
    // Where it does not work, nothing else would.
    let _ = sys::set_dumpable(false);
}
