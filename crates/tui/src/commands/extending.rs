//! `/extensions`, `/skills`, `/agents` and `/hooks`: what somebody else's work adds to sessions.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use charla::extensions::{Candidate, Extensions};
use charla::hooks::{HookStanding, listed};
use charla::trust::TrustedFolders;
use charla::{Charla, Failure, Notice};
use charla_terminal::{extensions, hooks, skills, wording};

use super::work::{Errand, Finding, Found, plain};
use crate::app::Choice;
use crate::picker::{Item, Picker};
use crate::text::{Line, Role};

/// An extension that waits for somebody to agree to it. What was shown is what is installed.
#[derive(Clone)]
pub struct Offered {
    candidate: Arc<Mutex<Option<Candidate>>>,
    /// The version that it takes the place of.
    before: Option<String>,
}

/// The extensions that were updated since the terminal began.
#[derive(Clone, Default)]
pub struct Updated(Arc<Mutex<BTreeSet<String>>>);

impl Updated {
    fn add(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }

    fn has(&self, name: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }
}

impl fmt::Debug for Offered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Offered").field("before", &self.before).finish_non_exhaustive()
    }
}

impl PartialEq for Offered {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.candidate, &other.candidate)
    }
}

impl Eq for Offered {}

impl Errand {
    /// The extensions, what each brings and whether it is used; further words install, update, use and remove them.
    pub async fn extensions(self, words: String) -> Finding {
        beside(move || {
            let all = all_of(&self.charla)?;
            let words: Vec<&str> = words.split_whitespace().collect();
            match words.as_slice() {
                [] | ["list"] => Ok(Found::Lines(told(&all, &self.updated)?)),
                ["install", source] => {
                    only_from_trusted(&self.charla, &all, source)?;
                    Ok(offer(all.candidate(source)?, None))
                }
                ["update", name] => newest(&all, name, &self.updated),
                ["uninstall", name] => {
                    all.uninstall(name)?;
                    Ok(changed(&format!("Extension \"{name}\" successfully uninstalled.")))
                }
                [what @ ("enable" | "disable"), name] => {
                    all.enable(name, *what == "enable")?;
                    Ok(changed(&format!("Extension \"{name}\" successfully {what}d.")))
                }
                _ => {
                    let takes = "it takes `install SOURCE`, `update NAME`, `enable NAME`, `disable NAME`, `uninstall NAME`, `reload`, or nothing";
                    Err(Failure::input(takes))
                }
            }
        })
        .await
    }

    /// Installs what was agreed to.
    pub async fn agreed(self, offered: Offered) -> Finding {
        beside(move || {
            let all = all_of(&self.charla)?;
            let candidate = offered.candidate.lock().unwrap_or_else(PoisonError::into_inner).take();
            let candidate = candidate.ok_or_else(|| Failure::input("it is installed already"))?;
            let manifest = all.install(candidate)?;
            let (name, version) = (&manifest.name, &manifest.version);
            Ok(changed(&match offered.before {
                Some(before) => {
                    self.updated.add(name);
                    format!("Extension \"{name}\" successfully updated: {before} → {version}.")
                }
                None => format!("Extension \"{name}\" installed successfully and enabled."),
            }))
        })
        .await
    }

    /// The skills, whose they are, and what was left out.
    pub async fn skills(self) -> Finding {
        let mut notices: Vec<Notice> = Vec::new();
        let found = self.charla.skills(&self.settings, &mut notices);
        let left_out = found.left_out().iter().map(Notice::from);
        notices.extend(left_out);
        Ok(Found::Lines(listing(&notices, &skills::in_words(&found))))
    }

    /// The agents, whose they are, and what was left out.
    pub async fn agents(self) -> Finding {
        let mut notices: Vec<Notice> = Vec::new();
        let found = self.charla.agents(&self.settings, &mut notices);
        let left_out = found.left_out().iter().map(Notice::from);
        notices.extend(left_out);
        Ok(Found::Lines(listing(&notices, &skills::agents_in_words(&found))))
    }

    /// The hooks, where they are set and whether they run.
    pub async fn hooks(self) -> Finding {
        let mut notices: Vec<Notice> = Vec::new();
        let found = listed(&self.settings, self.charla.environment(), &mut notices)?;
        let mut lines = warnings(&notices);
        lines.extend(hooks::in_words(&found).iter().flat_map(|line| plain(line)));
        if found.iter().any(|(_, standing)| *standing == HookStanding::Untrusted) {
            lines.extend(plain("hooks of a workspace run once it is trusted: `charla trust`"));
        }
        Ok(Found::Lines(lines))
    }
}

/// Does what reads files and fetches repositories where it holds nobody up.
async fn beside(work: impl FnOnce() -> Finding + Send + 'static) -> Finding {
    let broken = |_| Err(Failure::system("the work on extensions broke off"));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(broken)
}

fn all_of(charla: &Charla) -> Result<Extensions<'_>, Failure> {
    Extensions::of(charla.environment())
        .ok_or_else(|| Failure::config("there is no home directory to keep extensions in"))
}

fn changed(words: &str) -> Found {
    Found::Changed(plain(words))
}

/// The newest of an installed one: asked about where it brings something else than was agreed to.
fn newest(all: &Extensions<'_>, name: &str, updated: &Updated) -> Finding {
    let extension = all.get(name)?;
    let candidate = all.newest(&extension)?;
    let before = extension.manifest.version.clone();
    match (extension.agrees_to_other_than(&candidate), candidate.manifest.version == before) {
        (false, true) => Ok(Found::Lines(plain(&format!("Extension \"{name}\" is already up to date.")))),
        (false, false) => {
            let version = all.install(candidate)?.version;
            updated.add(name);
            Ok(changed(&format!("Extension \"{name}\" successfully updated: {before} → {version}.")))
        }
        (true, _) => {
            let agrees_in_kind = extension.agrees_in_kind(&candidate);
            let found = offer(candidate, Some((before, &extension.consent())));
            Ok(if agrees_in_kind { standing_at_yes(found) } else { found })
        }
    }
}

/// Enter says yes to an update that brings what was agreed to before, and to nothing else.
fn standing_at_yes(found: Found) -> Found {
    match found {
        Found::Question(lines, picker) => {
            Found::Question(lines, picker.standing_at(|choice| matches!(choice, Choice::Agree(_))))
        }
        found => found,
    }
}

/// Where the user's settings of Gemini CLI want folders to be asked about, that is done at the command line.
fn only_from_trusted(charla: &Charla, all: &Extensions<'_>, source: &str) -> Result<(), Failure> {
    let Some(folders) = TrustedFolders::of(charla.environment()) else { return Ok(()) };
    let workspace = charla.environment().directory.clone();
    for folder in all.source_folder(source).into_iter().chain([workspace]) {
        if !folders.trusts(&folder)? {
            return Err(Failure::input(format!("the folder {} is not trusted", folder.display()))
                .with_hint("`charla extensions install SOURCE` asks about it"));
        }
    }
    Ok(())
}

/// Shows what an extension brings, and asks. `earlier` is the version it takes the place of, and what that brings.
fn offer(candidate: Candidate, earlier: Option<(String, &charla::extensions::Consent)>) -> Found {
    let mut lines = extensions::shown(&candidate.consent, &candidate.left_out);
    if let Some((_, consent)) = &earlier {
        lines.extend(extensions::changes(&candidate.consent.changes_since(consent)));
    }
    let (name, version) = (&candidate.manifest.name, &candidate.manifest.version);
    let title = match &earlier {
        Some((before, _)) => format!("update {name} from {before} to {version}?"),
        None => format!("install {name} {version}?"),
    };
    let before = earlier.map(|(before, _)| before);
    let offered = Offered { candidate: Arc::new(Mutex::new(Some(candidate))), before };
    let item = |label: &str, choice| Item { label: label.to_owned(), detail: String::new(), choice };
    let items = vec![item("yes", Choice::Agree(offered)), item("no", Choice::Nothing)];
    let lines = lines.iter().flat_map(|line| plain(line)).collect();
    let picker = Picker::new(&title, items).with_keys(&['y', 'n']);
    Found::Question(lines, picker.standing_at(|choice| *choice == Choice::Nothing))
}

fn told(all: &Extensions<'_>, updated: &Updated) -> Result<Vec<Line>, Failure> {
    let (installed, broken) = all.list()?;
    let mut lines = warnings(&broken);
    for extension in &installed {
        let newer = all.newer(extension).is_some();
        let updated = updated.has(&extension.manifest.name);
        lines.extend(plain(&extensions::standing(extension, newer, updated)));
        let brings = extension.consent();
        lines.extend(brings.lines().iter().map(|line| Line::of(Role::Dim, &format!("  {line}"))));
    }
    if lines.is_empty() {
        lines = plain("No extensions installed; `/extensions install PATH` adds one");
    }
    Ok(lines)
}

/// What there is, below what was left out.
fn listing(notices: &[Notice], rows: &[String]) -> Vec<Line> {
    warnings(notices).into_iter().chain(rows.iter().map(|row| Line::plain(row))).collect()
}

fn warnings(notices: &[Notice]) -> Vec<Line> {
    notices.iter().map(|notice| Line::of(Role::Warning, &wording::notice(notice))).collect()
}
