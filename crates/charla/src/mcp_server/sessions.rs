//! The sessions that prompts run in: open as long as one does.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use charla_core::CancellationToken;
use tokio::sync::Mutex;

use crate::Charla;
use crate::failure::Failure;
use crate::notices::Notice;
use crate::session::{Begin, OpenRequest, OpenedSession};
use crate::settings::Override;

/// Sessions in which prompts run, by id, with how many.
#[derive(Default)]
pub(super) struct OpenSessions(Mutex<HashMap<String, (Arc<OpenedSession>, usize)>>);

impl OpenSessions {
    /// A new session in this folder; in the folder we work in where none is named.
    pub(super) async fn begin(
        &self,
        charla: &Charla,
        overrides: Vec<Override>,
        folder: Option<PathBuf>,
        cancel: CancellationToken,
    ) -> Result<Arc<OpenedSession>, Failure> {
        let request = OpenRequest { workspace: folder, overrides, ..OpenRequest::default() };
        let session = open(charla, request, cancel).await?;
        self.0.lock().await.insert(session.id.clone(), (session.clone(), 1));
        Ok(session)
    }

    /// An earlier session, in the folder it was in.
    pub(super) async fn resume(
        &self,
        which: &str,
        charla: &Charla,
        overrides: Vec<Override>,
        cancel: CancellationToken,
    ) -> Result<Arc<OpenedSession>, Failure> {
        let id = charla.sessions()?.find(which).await?;
        let mut open = self.0.lock().await;
        if let Some((session, users)) = open.get_mut(&id) {
            *users += 1;
            return Ok(session.clone());
        }
        let folder = charla.sessions()?.summary(&id).await?.started.cwd;
        let request = OpenRequest {
            workspace: Some(folder),
            begin: Begin::Resume(id.clone()),
            overrides,
            ..OpenRequest::default()
        };
        let session = self::open(charla, request, cancel).await?;
        open.insert(id, (session.clone(), 1));
        Ok(session)
    }

    /// A prompt is over: a session without one is closed, so that others can go on with it.
    pub(super) async fn leave(&self, session: &OpenedSession) {
        let mut open = self.0.lock().await;
        let Some((_, users)) = open.get_mut(&session.id) else { return };
        *users -= 1;
        if *users == 0 {
            open.remove(&session.id);
            session.close().await;
        }
    }

    /// Closes all of them.
    pub(super) async fn close_all(&self) {
        for (_, (session, _)) in self.0.lock().await.drain() {
            session.close().await;
        }
    }
}

/// Opens a session, as long as the call that wants it goes on. Later calls may speak in it, too: what is cancelled then is the
/// prompt of a call, never the session's turn, whosever that is.
async fn open(
    charla: &Charla,
    request: OpenRequest,
    call: CancellationToken,
) -> Result<Arc<OpenedSession>, Failure> {
    let own = CancellationToken::new();
    let request = OpenRequest { cancel: own.clone(), ..request };
    let mut notices = Vec::<Notice>::new();
    let mut opening = Box::pin(charla.open(request, &mut notices));
    let opened = tokio::select! {
        opened = &mut opening => return opened.map(Arc::new),
        () = call.cancelled() => {
            own.cancel();
            opening.await
        }
    };
    opened?.close().await;
    Err(Failure::cancelled())
}
