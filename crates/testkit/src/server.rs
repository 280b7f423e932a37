//! The server: one thread, one listener, and what it has seen.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use charla_proto::WireKind;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use crate::answer::State;
use crate::http::{Connection, Headers, ReadError};
use crate::reply::Response;
use crate::script::Script;
use crate::send::{Sent, send};

/// A request the server was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Its place among all requests, from 0.
    pub order: usize,
    /// The wire it came on.
    pub wire: WireKind,
    /// The path, without the query.
    pub path: String,
    /// The model it asks for; empty when it names none.
    pub model: String,
    /// The header fields.
    pub headers: Headers,
    /// The JSON body; null when there was none.
    pub body: Value,
    /// A stream was asked for.
    pub streaming: bool,
    /// The key it came with.
    pub key: Option<String>,
    /// The status it was answered with.
    pub status: u16,
    /// Proofs of thinking in it that were made for this wire and model.
    pub own_proofs: usize,
    /// Proofs of thinking in it that were made for others.
    pub foreign_proofs: usize,
}

/// Something a real service would have refused, or that the script does not foresee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The wire; none when the path belongs to no wire.
    pub wire: Option<WireKind>,
    /// What is wrong, in words.
    pub message: String,
}

/// Called for each request after the answer is decided and before it is sent.
pub type Observer = Box<dyn Fn(&Recorded, Option<&Problem>) + Send + Sync>;

/// A scripted model server on a loopback socket.
///
/// It runs on a thread of its own, with a clock of its own: tests may be synchronous, or pause their
/// runtime's time. Dropping it closes every connection.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    progress: watch::Sender<Progress>,
    observer: Option<Observer>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    connections: usize,
    requests: usize,
    disconnects: usize,
}

impl Server {
    /// Starts a server on a free port.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::start_on(0, script, None)
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> usize {
        self.shared.progress.borrow().connections
    }

    /// Starts a server on this port (0: a free one), telling `observer` of each request.
    pub fn start_on(port: u16, script: Script, observer: Option<Observer>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(script)),
            progress: watch::Sender::new(Progress::default()),
            observer,
        });
        let (stop, stopped) = oneshot::channel();
        let for_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("charla-testkit".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    _ = accept(listener, for_thread) => {}
                }
            });
        })?;
        Ok(Self { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL that an endpoint of this wire is configured with.
    pub fn base_url(&self, wire: WireKind) -> String {
        let version = if wire == WireKind::Gemini { "v1beta" } else { "v1" };
        format!("{}/{version}", self.url())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests so far, in the order they arrived.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.state().recorded.clone()
    }

    /// What a real service would have refused, and what the script did not foresee. A test that expects
    /// none asserts that this is empty.
    pub fn problems(&self) -> Vec<Problem> {
        self.shared.state().problems.clone()
    }

    /// Returns once at least `count` requests have arrived.
    pub async fn wait_for_requests(&self, count: usize) {
        self.wait(|progress| progress.requests >= count).await;
    }

    /// Returns once a client has gone away before its answer was complete.
    pub async fn wait_for_disconnect(&self) {
        self.wait(|progress| progress.disconnects > 0).await;
    }

    async fn wait(&self, mut reached: impl FnMut(&Progress) -> bool) {
        // The sender lives as long as `self`, so waiting cannot fail.
        self.shared.progress.subscribe().wait_for(|progress| reached(progress)).await.ok();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                shared.progress.send_modify(|progress| progress.connections += 1);
                connections.spawn(serve(stream, Arc::clone(&shared)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let mut connection = Connection::new(stream);
    loop {
        let request = match connection.request().await {
            Ok(request) => request,
            Err(ReadError::Gone) => return,
            Err(ReadError::Bad(status, message)) => {
                shared.state().problems.push(Problem { wire: None, message: message.to_owned() });
                send(&mut connection, &Response::document(status, "text/plain", message), false).await;
                return connection.close().await;
            }
        };
        let keep_alive = request.keep_alive;
        let response = answer(&shared, &request);
        match send(&mut connection, &response, keep_alive).await {
            Sent::Whole if keep_alive => {}
            Sent::Whole | Sent::Closed => return connection.close().await,
            Sent::Reset => return connection.reset(),
            Sent::ClientGone => {
                shared.progress.send_modify(|progress| progress.disconnects += 1);
                return;
            }
        }
    }
}

fn answer(shared: &Shared, request: &crate::http::Request) -> Response {
    let mut state = shared.state();
    let (response, recorded, problem) = state.answer(request);
    if let Some(problem) = &problem {
        state.problems.push(problem.clone());
    }
    if let Some(recorded) = recorded {
        state.recorded.push(recorded.clone());
        drop(state);
        if let Some(observer) = &shared.observer {
            observer(&recorded, problem.as_ref());
        }
        shared.progress.send_modify(|progress| progress.requests += 1);
    }
    response
}
