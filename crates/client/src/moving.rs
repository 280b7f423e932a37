//! Sessions that move between this machine's store and a server. Each is in one place afterwards, whole.

use charla::session::{Arrival, Sessions};
use charla::{Failure, FailureKind};

use crate::api::Client;
use crate::source::RemoteSessions;

/// A session that has moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Its id where it is now.
    pub session: String,
    /// Whether it is new in the place it went to.
    pub arrival: Arrival,
}

impl Client {
    /// Moves a session to the server. Nobody writes it meanwhile; unless `keep` is set, it is removed here once the server
    /// has all of it. Where the server had it already nothing is removed: its store may be this very one.
    pub async fn push(&self, sessions: &Sessions, which: &str, keep: bool) -> Result<Moved, Failure> {
        let session = sessions.find(which).await?;
        let (bundle, held) = sessions.hold(&session).await?;
        let (arrived, arrival) = self.import(&bundle).await?;
        drop(held);
        if !keep && arrival == Arrival::Kept {
            sessions.delete(&session).await.map_err(|error| left_behind(error.into()))?;
        }
        Ok(Moved { session: arrived, arrival })
    }

    /// Moves a session of the server here. Unless `keep` is set, it is removed there once all of it is here and if it has not
    /// gone on meanwhile. Where it was here already nothing is removed: the server's store may be this very one.
    pub async fn pull(&self, sessions: &Sessions, which: &str, keep: bool) -> Result<Moved, Failure> {
        let session = RemoteSessions::new(self.clone()).find(which).await?;
        let bundle = self.bundle(&session).await?;
        if bundle.session()? != session {
            return Err(Failure::system(format!("{} gave another session than {session}", self.server())));
        }
        let last = bundle.last();
        let arrival = sessions.take_in(&bundle, None, self.server()).await?;
        if !keep && arrival == Arrival::Kept {
            self.delete(&session, Some(last)).await.map_err(|error| left_behind(error.into()))?;
        }
        Ok(Moved { session, arrival })
    }
}

/// It arrived, and could not be removed where it came from.
fn left_behind(failure: Failure) -> Failure {
    let message = format!("the session arrived, but is still where it was, too: {}", failure.message);
    Failure { message, kind: FailureKind::Conflict, hint: failure.hint }
}
