//! Which session of a list somebody means: by a number, as the latest, by its id or the beginning of one.

use std::path::Path;

use charla_proto::{Fact, RecordStream, SessionStore, SessionSummary, TurnEnd};
use futures_util::StreamExt;

use super::error::SessionError;

/// Sessions, the latest first, seen from a folder.
pub(super) struct Listed<'a> {
    pub(super) sessions: &'a [SessionSummary],
    pub(super) directory: &'a Path,
}

impl<'a> Listed<'a> {
    fn is_here(&self, session: &SessionSummary) -> bool {
        session.started.cwd == self.directory
    }

    /// True when a session began in a folder above this one, in the same project.
    fn is_above(&self, session: &SessionSummary) -> bool {
        let project = self.directory.ancestors().find(|folder| folder.join(".git").exists());
        let began = &session.started.cwd;
        project.is_some_and(|project| began.starts_with(project) && self.directory.starts_with(began))
    }

    /// The ids of this folder's sessions in the order of their numbers, from 1 for the oldest, as Gemini CLI counts them.
    pub(super) fn in_order(&self) -> Vec<&'a str> {
        let used = self.sessions.iter().filter(|session| session.has_turns && self.is_here(session));
        let mut here: Vec<&SessionSummary> = used.collect();
        // Ids of sessions that came from elsewhere say nothing of their age.
        here.sort_unstable_by_key(|session| (session.began, &session.session));
        here.into_iter().map(|session| session.session.as_str()).collect()
    }

    /// The id of the session that has this number in this folder.
    pub(super) fn numbered(&self, which: &str) -> Option<&'a str> {
        let number = which.parse::<usize>().ok().filter(|_| is_number(which))?;
        self.in_order().into_iter().nth(number.checked_sub(1)?)
    }

    /// The latest session, and the newer one that was passed over. Where this folder has none, the latest of a folder above within the
    /// same project is meant.
    pub(super) async fn latest(
        &self,
        store: &dyn SessionStore,
    ) -> Result<(String, Option<String>), SessionError> {
        let here = || self.sessions.iter().filter(|session| self.is_here(session));
        let above = || self.sessions.iter().filter(|session| self.is_above(session));
        let latest = match latest_answered(here(), store).await {
            None => latest_answered(above(), store).await,
            latest => latest,
        };
        latest.ok_or(SessionError::NoneHere)
    }
}

/// The latest of these sessions, and the newer one that was passed over; nothing where nobody asked anything in any of them. One in which
/// nothing was asked is nobody's latest, nor is one in which every model failed while another has an answer.
pub async fn latest_answered(
    sessions: impl Iterator<Item = &SessionSummary>,
    store: &dyn SessionStore,
) -> Option<(String, Option<String>)> {
    let is_own = |session: &&SessionSummary| session.has_turns && session.started.agent.is_none();
    let ids: Vec<&str> = sessions.filter(is_own).map(|session| session.session.as_str()).collect();
    let newest = *ids.first()?;
    for id in ids {
        if !is_unanswered(store.read_after(id, 0)).await {
            return Some((id.to_owned(), (id != newest).then(|| newest.to_owned())));
        }
    }
    Some((newest.to_owned(), None))
}

/// True where the turns of a session failed, and before a model said anything. Little is read where one did.
async fn is_unanswered(mut records: RecordStream) -> bool {
    let mut has_failed = false;
    while let Some(record) = records.next().await {
        use Fact::{HookActed, ModeChanged, ModelChanged, SessionStarted, TurnEnded, TurnStarted};
        match record.map(|record| record.fact) {
            Ok(TurnEnded(ended)) if ended.end == TurnEnd::Error => has_failed = true,
            // Left open, it can be gone on with.
            Ok(TurnStarted(_)) => has_failed = false,
            Ok(SessionStarted(_) | ModeChanged(_) | ModelChanged(_) | HookActed(_)) => {}
            Ok(_) | Err(_) => return false,
        }
    }
    has_failed
}

/// True for the number of a session in a list. Ids of this century begin with a zero.
fn is_number(which: &str) -> bool {
    which.len() <= 4 && !which.starts_with('0') && which.chars().all(|c| c.is_ascii_digit())
}

/// The session of this id, or whose id begins so.
pub(super) fn named<'a>(
    which: &str,
    ids: impl Iterator<Item = &'a str> + Clone,
) -> Result<String, SessionError> {
    if which.trim().is_empty() {
        return Err(SessionError::NoId);
    }
    if let Some(exact) = ids.clone().find(|id| *id == which) {
        return Ok(exact.to_owned());
    }
    let found: Vec<&str> = ids.filter(|id| id.starts_with(which)).collect();
    match found.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => Err(SessionError::Unknown(which.to_owned())),
        several => Err(SessionError::Ambiguous { which: which.to_owned(), count: several.len() }),
    }
}
