//! TLS to the database: certificates are checked against those that the system trusts, and must name the host.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::{fmt, io};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as RustlsStream;

/// Makes connections secure. The system's certificates are read when the first one needs them.
#[derive(Clone, Default)]
pub(super) struct Tls {
    config: Arc<OnceLock<Arc<ClientConfig>>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    fn config(&self) -> io::Result<Arc<ClientConfig>> {
        if let Some(config) = self.config.get() {
            return Ok(config.clone());
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(self.config.get_or_init(|| Arc::new(config)).clone())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Secured<S>;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Handshake> {
        // A socket of this machine has no name, and is never secured.
        let name = ServerName::try_from(host.to_owned()).ok();
        Ok(Handshake { tls: self.clone(), name })
    }
}

/// One connection about to be made secure.
pub(super) struct Handshake {
    tls: Tls,
    name: Option<ServerName<'static>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Secured<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Secured<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let unnamed = || io::Error::new(io::ErrorKind::InvalidInput, "the database's host has no name");
            let name = self.name.ok_or_else(unnamed)?;
            let connector = TlsConnector::from(self.tls.config()?);
            connector.connect(name, stream).await.map(Secured)
        })
    }
}

/// A connection that is secure.
pub(super) struct Secured<S>(RustlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Secured<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Secured<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context, buf: &mut ReadBuf) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Secured<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
