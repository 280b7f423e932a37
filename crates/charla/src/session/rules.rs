//! The rules that hold: read from the folders of the administrator, the user and the workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use charla_core::policy::{
    Judgement, Link, PolicyError, RuleBook, RuleFile, Scope, TestFailure, Tier, allowed_tools,
};
use charla_proto::{ApprovalMode, FileJudge};
use charla_tools::owner::Owners;
use charla_tools::shell::{self, ShellContext};
use charla_tools::{ReadFile, TypedTool};

use super::confinement::{proof, wall};
use super::links;
use crate::bounded;
use crate::environment::Environment;
use crate::settings::Settings;
use crate::trust::{self, Unread};

/// Folders that a workspace brings rules in.
const BROUGHT: [&str; 2] = [".charla", ".gemini"];
/// Where plan mode may write its plans, from the workspace on.
const PLANS: &str = ".charla/plans";

/// Where rules are.
#[derive(Clone, Debug)]
pub struct RulePlaces {
    /// The workspace.
    pub(super) directory: PathBuf,
    /// The user's home.
    pub(super) home: Option<PathBuf>,
    /// Charla's own folder (`~/.charla` or `$CHARLA_HOME`).
    pub(super) charla_home: Option<PathBuf>,
    /// What the user has set for Gemini CLI (`~/.gemini`).
    pub(super) gemini_home: Option<PathBuf>,
    /// Where plan mode may write its plans.
    pub(super) plans: PathBuf,
    /// The administrator's folder (`/etc/charla`).
    pub(super) admin: PathBuf,
    /// Whose files count in a workspace.
    pub(super) owners: Owners,
    /// The rules of whoever lets the user in as a guest.
    pub(super) host: Option<PathBuf>,
    /// Folders and files with a second name.
    pub(super) links: Vec<Link>,
    /// Tells whether the workspace is trusted, where that matters.
    pub(super) environment: Environment,
}

impl RulePlaces {
    /// The folders of these surroundings.
    pub fn of(environment: &Environment) -> Self {
        Self {
            directory: environment.directory.clone(),
            home: environment.home.clone(),
            charla_home: environment.charla_home(),
            gemini_home: environment.gemini_home().filter(|_| environment.guest.is_none()),
            plans: environment.directory.join(PLANS),
            admin: PathBuf::from("/etc/charla"),
            owners: trust::owners(environment),
            host: environment.guest.as_ref().map(|guest| guest.policies.clone()),
            links: links::of(environment),
            environment: environment.clone(),
        }
    }

    fn is_trusted(&self) -> bool {
        let content = trust::WorkspaceContent::read(&self.environment);
        content.known(&self.environment).is_ok_and(trust::Standing::is_trusted)
    }

    /// What a mistake in the workspace's own rules comes to. Where its user has agreed to them, they may deny something, and
    /// nothing goes on without them. A stranger's say nothing that the stranger could not have left unsaid.
    fn mistaken(&self, error: PolicyError) -> Result<String, PolicyError> {
        match self.is_trusted() {
            true => Err(error),
            false => Ok(format!("{error}; it is left out, as this workspace is not trusted")),
        }
    }

    /// The same with plans where these settings want them.
    pub fn planning(self, settings: &Settings) -> Self {
        Self { plans: plans(&self.environment, settings), ..self }
    }

    /// True when the rules of this file hold anyway.
    pub fn reads(&self, file: &Path) -> bool {
        let [workspace, gemini] = BROUGHT.map(|folder| self.directory.join(folder));
        let homes = [
            Some(&self.admin),
            self.charla_home.as_ref(),
            self.gemini_home.as_ref(),
            Some(&workspace),
            Some(&gemini),
        ];
        let folders = homes.into_iter().flatten().map(|home| home.join("policies"));
        let real = self.directory.join(file).canonicalize().ok();
        let Some(folder) = real.as_deref().and_then(Path::parent) else { return false };
        folders.into_iter().any(|known| known.canonicalize().is_ok_and(|known| known == folder))
    }
}

/// Where plan mode may write its plans.
pub(super) fn plans(environment: &Environment, settings: &Settings) -> PathBuf {
    let wanted = settings.tools.plan_directory.as_deref();
    environment.directory.join(wanted.unwrap_or(PLANS))
}

/// The rules of the administrator, the user and the workspace, and the files named beside them, which speak
/// for the user. `roots` are all folders of the workspace.
pub(super) fn rule_book(
    places: &RulePlaces,
    roots: &[PathBuf],
    extra: &[PathBuf],
) -> Result<RuleBook, PolicyError> {
    let mut files = folder(&places.admin.join("policies"), Tier::Admin)?;
    let homes = [&places.charla_home, &places.gemini_home];
    for home in homes.into_iter().flatten() {
        files.extend(folder(&home.join("policies"), Tier::User)?);
    }
    if let Some(policies) = &places.host {
        files.extend(folder(policies, Tier::Host)?);
    }
    let mut left_out = Vec::new();
    for file in brought_by_workspace(places) {
        match file {
            Ok(file) => files.push(file),
            Err(error) => left_out.push(places.mistaken(error)?),
        }
    }
    for path in extra {
        files.push(file(path, Tier::User)?);
    }
    let scope = Scope {
        wall: wall(),
        proof: Some(proof),
        roots: roots.to_vec(),
        home: places.home.clone(),
        plans: Some(places.plans.clone()),
        readable: Vec::new(),
        links: places.links.clone(),
    };
    let book = RuleBook::new(scope, &files)?.noting(Tier::Workspace, left_out);
    let linked: Vec<Link> = book.restricted_places().iter().filter_map(|place| links::link(place)).collect();
    let book = book.knowing(linked);
    Ok(if places.host.is_some() { book.within_workspace() } else { book })
}

/// Says which files may go into a prompt without a call: rules that are about reading in general hold for them.
/// A guest's own folder is outside of the workspace that binds the guest's calls.
pub(super) fn judge_for_prompts(rules: Arc<RuleBook>, environment: &Environment) -> FileJudge {
    let rules = match environment.guest.is_some() {
        true => Arc::new(rules.as_ref().clone().reading(environment.charla_home().into_iter().collect())),
        false => rules,
    };
    FileJudge::new(rules, ReadFile::NAME, ApprovalMode::Default)
}

/// The same where no session is there yet, with these files of rules besides. Where rules cannot be read, no session opens, and
/// the error is told then.
pub(crate) fn judge_of_files(environment: &Environment, extra: &[PathBuf]) -> FileJudge {
    let extra: Vec<PathBuf> = extra.iter().map(|path| environment.directory.join(path)).collect();
    let directory = std::slice::from_ref(&environment.directory);
    let book = rule_book(&RulePlaces::of(environment), directory, &extra);
    book.map(|book| judge_for_prompts(Arc::new(book), environment)).unwrap_or_default()
}

/// The rules that would hold, to be asked about commands before anything runs.
pub struct RuleCheck {
    /// The rules.
    pub book: RuleBook,
    place: ShellContext,
}

impl RuleCheck {
    /// The rules of these places with further files and allowed tools, as a session would have them.
    pub fn new(places: &RulePlaces, files: &[PathBuf], allowed: &[String]) -> Result<Self, PolicyError> {
        let allowed = allowed_tools(allowed.iter().map(String::as_str))?;
        let book = rule_book(places, std::slice::from_ref(&places.directory), files)?.with(allowed);
        let place = ShellContext { cwd: places.directory.clone(), home: places.home.clone() };
        Ok(Self { book, place })
    }

    /// What the rules say to a command line here, part by part.
    pub fn explain(&self, command: &str, mode: ApprovalMode) -> Judgement {
        let plan = shell::plan_on_disk(command, &self.place, std::slice::from_ref(&self.place.cwd));
        self.book.explain(&plan, mode)
    }

    /// Runs the rules' own tests: how many there are, and those that fail.
    pub fn run_tests(&self) -> (usize, Vec<TestFailure>) {
        self.book.run_tests(&|command| shell::plan(command, &self.place))
    }
}

/// The rule files in a folder, by name. A folder that is not there has none; one that cannot be read is an
/// error, because it may hold a denial.
fn folder(path: &Path, tier: Tier) -> Result<Vec<RuleFile>, PolicyError> {
    paths_in(path)?.iter().map(|path| file(path, tier)).collect()
}

/// The same of a workspace, each with its own mistakes. What is another user's, or elsewhere, is told with the settings.
pub(super) fn brought_by_workspace(places: &RulePlaces) -> Vec<Result<RuleFile, PolicyError>> {
    let is_users = |folder: &PathBuf| {
        [&places.charla_home, &places.gemini_home].into_iter().flatten().any(|home| home == folder)
    };
    let folders = BROUGHT.map(|folder| places.directory.join(folder)).into_iter();
    let folders = folders.filter(|folder| !is_users(folder)).map(|folder| folder.join("policies"));
    folders.flat_map(|folder| files_of_workspace(&folder, places)).collect()
}

fn files_of_workspace(folder: &Path, places: &RulePlaces) -> Vec<Result<RuleFile, PolicyError>> {
    let paths = match paths_in(folder) {
        Ok(paths) => paths,
        Err(error) => return vec![Err(error)],
    };
    let checked = |path: &PathBuf| {
        let name = path.display().to_string();
        let text = match trust::read_brought(path, &places.environment.real_directory(), places.owners) {
            Ok(bytes) => String::from_utf8(bytes?).map_err(|_| "it is no text".to_owned()),
            Err(Unread::LeftOut(_)) => return None,
            Err(Unread::Failed(error)) => Err(error.to_string()),
        };
        let checked = text.map_err(|message| PolicyError { file: name.clone(), message }).and_then(|text| {
            let file = RuleFile { tier: Tier::Workspace, name, text };
            file.check().map(|()| file)
        });
        Some(checked)
    };
    paths.iter().filter_map(checked).collect()
}

fn paths_in(path: &Path) -> Result<Vec<PathBuf>, PolicyError> {
    let failed =
        |error: std::io::Error| PolicyError { file: path.display().to_string(), message: error.to_string() };
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        // A folder above it is a file.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory && !path.exists() => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(failed(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn file(path: &Path, tier: Tier) -> Result<RuleFile, PolicyError> {
    let name = path.display().to_string();
    match bounded::text(path) {
        Ok(text) => Ok(RuleFile { tier, name, text }),
        Err(error) => Err(PolicyError { file: name, message: error.to_string() }),
    }
}
