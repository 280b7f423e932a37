//! A server's sessions, for front ends that open sessions.

use std::sync::Arc;

use charla::session::{LATEST, latest_answered};
use charla::settings::Settings;
use charla::{Begin, Failure, Notices, OpenRequest, OpenedSession, SessionSource};
use charla_core::session::SessionHandle;
use charla_proto::{BoxFuture, Phase};

use crate::api::{Client, Created};
use crate::error::ClientError;
use crate::follow::Remote;
use crate::store::RemoteStore;

/// Opens sessions of a server.
#[derive(Clone, Debug)]
pub struct RemoteSessions {
    client: Client,
}

impl RemoteSessions {
    /// The sessions that this client may see.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// The id meant by an id, its beginning, or `latest`.
    pub async fn find(&self, which: &str) -> Result<String, Failure> {
        match self.client.session(which).await {
            Ok(session) => return Ok(session.session),
            Err(ClientError::Refused(problem)) if problem.status == 404 => {}
            Err(error) => return Err(error.into()),
        }
        let sessions = self.client.sessions().await?;
        if which == LATEST {
            let latest = latest_answered(sessions.iter(), &RemoteStore::new(self.client.clone())).await;
            return latest.map(|(id, _)| id).ok_or_else(|| Failure::input("the server has no session"));
        }
        let mut found = sessions.iter().filter(|session| session.session.starts_with(which));
        match (found.next(), found.next()) {
            (Some(session), None) if !which.is_empty() => Ok(session.session.clone()),
            (Some(_), Some(_)) => {
                Err(Failure::input(format!("`{which}` is the beginning of several sessions"))
                    .with_hint("give more of the id"))
            }
            _ => Err(Failure::input(format!("{} has no session `{which}`", self.client.server()))),
        }
    }

    async fn begin(&self, request: OpenRequest, notices: &mut dyn Notices) -> Result<String, Failure> {
        let Created { session, notices: told } = match &request.begin {
            Begin::Resume(which) => return self.find(which).await,
            Begin::New => self.client.create(None).await?,
            Begin::Fork { session, at } => self.client.fork(session, *at).await?,
        };
        told.into_iter().for_each(|notice| notices.warning(&notice.into()));
        Ok(session)
    }
}

impl SessionSource for RemoteSessions {
    fn open<'a>(
        &'a self,
        _: &'a Settings,
        request: OpenRequest,
        mut notices: Box<dyn Notices>,
    ) -> BoxFuture<'a, Result<OpenedSession, Failure>> {
        Box::pin(async move {
            let id = self.begin(request, &mut *notices).await?;
            let snapshot = self.client.snapshot(&id).await?;
            let remote = Arc::new(Remote::new(self.client.clone(), &id, notices));
            let handle = SessionHandle::relayed(remote, &snapshot);
            let is_open = snapshot.phase == Phase::Open;
            Ok(OpenedSession::elsewhere(handle, id, snapshot.choices.model, is_open))
        })
    }

    fn server(&self) -> Option<&str> {
        Some(self.client.server())
    }
}
