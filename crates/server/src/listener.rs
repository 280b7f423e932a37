//! Connections: how many there may be, how slow they may be, and how they end.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use charla_core::CancellationToken;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tower_service::Service;

use crate::access::network;
use crate::app::App;
use crate::guard;
use crate::nonsense::Worded;
use crate::outgoing::{Connection, Outgoing};
use crate::places::Places;
use crate::problem::Problem;
use crate::tls::Certificate;

/// How many connections there may be; further ones wait to be taken.
const CONNECTIONS: usize = 1024;
/// How many of them one address may have, if it is not that of a trusted proxy: others find a place always.
const OF_ONE_ADDRESS: usize = CONNECTIONS * 3 / 4;
/// How long a request's head may take.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
/// The largest head.
const MAX_HEAD: usize = 64 * 1024;
/// How long a client may take nothing of what is sent to it.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);
/// How long connections may take to end.
const DRAIN: Duration = Duration::from_secs(5);

/// Where connections come from, and how they are encrypted.
pub(crate) struct Listening {
    pub(crate) listener: TcpListener,
    pub(crate) certificate: Option<Certificate>,
}

/// Takes connections until `stop`, then lets those that are busy finish.
pub(crate) async fn serve(listening: Listening, app: Arc<App>, router: Router, stop: CancellationToken) {
    let Listening { listener, certificate } = listening;
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let addresses = Places::new(OF_ONE_ADDRESS);
    let graceful = GracefulShutdown::new();
    loop {
        let Ok(permit) = room.clone().acquire_owned().await else { break };
        let (stream, peer) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // No more files may be open, or the peer is gone: the next one may do.
                    tracing::warn!("a connection could not be taken: {error}");
                    sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        // Behind a proxy are many: each has limits as a user.
        let place = match app.access.is_proxy(peer.ip()) {
            true => None,
            false => match addresses.take(&network(peer.ip())) {
                Some(place) => place,
                None => continue,
            },
        };
        let _ = stream.set_nodelay(true);
        let encryption = certificate.as_ref().map(Certificate::acceptor);
        let (app, router, watcher) = (app.clone(), router.clone(), graceful.watcher());
        tokio::spawn(async move {
            let open = app.metrics.connection();
            // A peer that is gone or talks nonsense is no failure of ours.
            match encryption {
                None => drop(watcher.watch(connection(Patient::new(stream), peer, app, router)).await),
                Some(acceptor) => {
                    let shaken = timeout(HEAD_PATIENCE, acceptor.accept(Patient::new(stream))).await;
                    if let Ok(Ok(stream)) = shaken {
                        drop(watcher.watch(connection(stream, peer, app, router)).await);
                    }
                }
            }
            drop((permit, place, open));
        });
    }
    let _ = timeout(DRAIN, graceful.shutdown()).await;
}

fn connection<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    peer: SocketAddr,
    app: Arc<App>,
    router: Router,
) -> impl GracefulConnection<Error = hyper::Error> + Send + 'static {
    let service = service_fn(move |request| respond(app.clone(), router.clone(), peer, request));
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(Worded::new(stream)), service)
}

/// Refuses a head that came in one piece with more than the reader keeps of one that comes in several.
fn fits(headers: &HeaderMap) -> Result<(), Problem> {
    let size: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    match size > MAX_HEAD {
        true => Err(Problem::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "too_large",
            "the request's head is too large",
        )),
        false => Ok(()),
    }
}

/// Answers one request.
async fn respond(
    app: Arc<App>,
    mut router: Router,
    peer: SocketAddr,
    request: http::Request<Incoming>,
) -> Result<http::Response<axum::body::Body>, std::convert::Infallible> {
    let named = || app.names.check_host(request.uri(), request.headers());
    let mut response = match fits(request.headers()).and_then(|()| named()) {
        Ok(()) => {
            let mut request = request.map(axum::body::Body::new);
            request.extensions_mut().insert(peer);
            router.call(request).await?
        }
        Err(problem) => problem.into_response(),
    };
    guard::secure(response.headers_mut());
    app.metrics.answered(response.status().as_u16());
    Ok(response)
}

/// A connection that is given up when its other end takes nothing for too long.
type Patient = Connection<TcpStream, Patience>;

/// Since when nothing was taken.
#[derive(Default)]
struct Patience {
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncWrite + Unpin> Outgoing<S> for Patience {
    fn poll_write(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(stream).poll_write_vectored(cx, bytes);
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self
            .stalled
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + WRITE_PATIENCE)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_for_too_long_is_given_up_and_a_slow_one_is_not() {
        const ROOM: usize = 16;
        let (near, mut far) = duplex(ROOM);
        let mut connection = Connection::<_, Patience>::new(near);
        let begin = Instant::now();
        let writing = async {
            let all = connection.write_all(&[b'x'; 4 * ROOM]).await;
            (all, connection)
        };
        let reading = async {
            for _ in 0..3 {
                sleep(WRITE_PATIENCE * 9 / 10).await;
                far.read_exact(&mut [0; ROOM]).await.unwrap();
            }
        };
        let ((written, mut connection), ()) = tokio::join!(writing, reading);
        written.unwrap();
        assert!(begin.elapsed() > 2 * WRITE_PATIENCE, "it took something each time");
        let stalled = Instant::now();
        let given_up = connection.write_all(b"x").await.unwrap_err();
        assert_eq!((given_up.kind(), stalled.elapsed()), (io::ErrorKind::TimedOut, WRITE_PATIENCE));
    }
}
