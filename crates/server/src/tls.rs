//! TLS by certificate files, which are read again when they change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use charla::Failure;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// The files of a server's certificate.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate and those above it, as PEM.
    pub certificate: PathBuf,
    /// Its private key, as PEM.
    pub key: PathBuf,
}

/// What two files are known by as long as nobody writes them.
type Stamps = [Option<(SystemTime, u64)>; 2];

/// A server's certificate as its files are now.
pub(crate) struct Certificate {
    files: TlsFiles,
    kept: Mutex<(Stamps, TlsAcceptor)>,
}

impl Certificate {
    pub(crate) fn read(files: TlsFiles) -> Result<Self, Failure> {
        let stamps = stamps(&files);
        let acceptor = acceptor(&files).map_err(|why| {
            let names = (files.certificate.display(), files.key.display());
            Failure::input(format!(
                "the certificate {} with the key {} cannot be used: {why}",
                names.0, names.1
            ))
            .with_hint("give PEM files: the certificate with those above it, and its private key")
        })?;
        Ok(Self { files, kept: Mutex::new((stamps, acceptor)) })
    }

    /// For the next connection. New files that cannot be used leave the last ones in use; they are tried once.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamps(&self.files);
        if kept.0 != now {
            kept.0 = now;
            match acceptor(&self.files) {
                Ok(acceptor) => kept.1 = acceptor,
                Err(why) => tracing::warn!("the new certificate cannot be used, the last one stays: {why}"),
            }
        }
        kept.1.clone()
    }
}

fn stamps(files: &TlsFiles) -> Stamps {
    [&files.certificate, &files.key].map(|path| stamp(path))
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let file = path.metadata().ok()?;
    Some((file.modified().ok()?, file.len()))
}

fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, String> {
    let chain: Result<Vec<CertificateDer>, _> =
        CertificateDer::pem_file_iter(&files.certificate).and_then(Iterator::collect);
    let chain = chain.map_err(|error| error.to_string())?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| error.to_string())?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| error.to_string())?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
