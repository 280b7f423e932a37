//! A small chat service: sessions over HTTP, their events as they come.
//!
//! `GEMINI_API_KEY=… cargo run -p charla --example chat_service`, then
//! `curl -N -d 'What is in this folder?' http://127.0.0.1:8080/chat/new`
//!
//! The answer is a stream of server-sent events, the events of `charla -o stream-json`; the header `x-session` says what
//! to ask next: `/chat/ID`. Nobody is asked here, so nothing runs that the rules do not allow. It has no users and no
//! passwords: `charla serve` is the service for that.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use charla::{Begin, Charla, Environment, Failure, FailureKind, Notice, OpenRequest, OpenedSession};
use futures_util::stream;
use tokio::sync::Mutex;

/// The sessions that are open, by id.
struct Service {
    charla: Charla,
    open: Mutex<HashMap<String, Arc<OpenedSession>>>,
}

impl Service {
    /// The session of this id, whether it is open or kept; `new` is a new one.
    async fn session(&self, id: &str) -> Result<Arc<OpenedSession>, Failure> {
        let mut open = self.open.lock().await;
        if let Some(session) = open.get(id) {
            return Ok(session.clone());
        }
        let begin = if id == "new" { Begin::New } else { Begin::Resume(id.to_owned()) };
        let request = OpenRequest { begin, ..OpenRequest::default() };
        let session = Arc::new(self.charla.open(request, &mut Vec::<Notice>::new()).await?);
        open.insert(session.id.clone(), session.clone());
        Ok(session)
    }
}

/// Says something, and passes on what comes of it.
async fn chat(State(service): State<Arc<Service>>, Path(id): Path<String>, prompt: String) -> Response {
    let begun = async {
        let session = service.session(&id).await?;
        Ok::<_, Failure>((session.id.clone(), session.turn(&prompt).await?))
    };
    let (id, turn) = match begun.await {
        Ok(begun) => begun,
        Err(failure) => {
            let status = match failure.kind {
                FailureKind::Input => StatusCode::BAD_REQUEST,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            };
            return (status, failure.message).into_response();
        }
    };
    let events = stream::unfold(turn, |mut turn| async move {
        let event = turn.next().await?;
        let event = Event::default().json_data(&event).unwrap_or_default();
        Some((Ok::<_, Infallible>(event), turn))
    });
    ([("x-session", id)], Sse::new(events)).into_response()
}

/// The service of one user.
pub fn service(environment: Environment) -> Router {
    let service = Service { charla: Charla::new(environment), open: Mutex::default() };
    Router::new().route("/chat/{id}", post(chat)).with_state(Arc::new(service))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::system(error.to_string());
    let folder = std::env::current_dir().map_err(failed)?;
    let environment = Environment::of(std::env::vars_os()).in_workspace(folder);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await.map_err(failed)?;
    println!("Listening on http://127.0.0.1:8080");
    axum::serve(listener, service(environment)).await.map_err(failed)
}
