//! Old sessions, removed.

use std::time::{Duration, SystemTime};

use charla_proto::{PrunedSessions, SessionSummary};

use super::error::SessionError;
use super::store::Sessions;

/// Which sessions go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PruneRequest {
    /// Those that nobody has written to for so long.
    pub older_than: Duration,
    /// But never the latest ones, as many as these.
    pub keep: usize,
    /// Look what would go and remove nothing.
    pub dry_run: bool,
}

impl Sessions {
    /// Removes old sessions with everything that only they refer to; those that went, or would.
    pub async fn prune(
        &self,
        request: PruneRequest,
    ) -> Result<(Vec<SessionSummary>, PrunedSessions), SessionError> {
        let now = SystemTime::now();
        let sessions = self.list().await?.sessions.into_iter().skip(request.keep);
        let is_old = |session: &SessionSummary| {
            now.duration_since(session.modified).is_ok_and(|age| age >= request.older_than)
        };
        let mut old: Vec<SessionSummary> = sessions.filter(is_old).collect();
        if request.dry_run {
            return Ok((old, PrunedSessions::default()));
        }
        let ids: Vec<String> = old.iter().map(|session| session.session.clone()).collect();
        let pruned = self.removed(&ids).await?;
        old.retain(|session| pruned.deleted.contains(&session.session));
        Ok((old, pruned))
    }
}
