//! Which servers are trusted.

use std::sync::{Arc, OnceLock};

use charla_proto::LlmError;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::config_error;

/// A TLS configuration that trusts the system's authorities and the ones handed in.
pub(super) fn config(extra: &[Vec<u8>]) -> Result<ClientConfig, LlmError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = LazyVerifier { provider: provider.clone(), extra: parse(extra)?, inner: OnceLock::new() };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| config_error(format!("TLS cannot be set up: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn parse(pems: &[Vec<u8>]) -> Result<Vec<CertificateDer<'static>>, LlmError> {
    let mut certificates = Vec::new();
    for pem in pems {
        let before = certificates.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate
                .map_err(|error| config_error(format!("a certificate file is not valid PEM: {error}")))?;
            certificates.push(certificate);
        }
        if certificates.len() == before {
            return Err(config_error("a certificate file holds no certificate")
                .with_hint("it must be PEM text with `-----BEGIN CERTIFICATE-----` lines"));
        }
    }
    Ok(certificates)
}

/// The usual verification, with the authorities loaded when the first certificate is to be checked.
///
/// Reading the system's store costs milliseconds and megabytes, which a local server reached over plain
/// HTTP should not pay for.
#[derive(Debug)]
struct LazyVerifier {
    provider: Arc<CryptoProvider>,
    extra: Vec<CertificateDer<'static>>,
    inner: OnceLock<Result<Arc<WebPkiServerVerifier>, String>>,
}

impl LazyVerifier {
    fn load(&self) -> Result<Arc<WebPkiServerVerifier>, String> {
        let system = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        // Stores hold the odd certificate that cannot be read; the others still count.
        roots.add_parsable_certificates(system.certs);
        for certificate in &self.extra {
            let added = roots.add(certificate.clone());
            added.map_err(|error| format!("an added certificate cannot be used as an authority: {error}"))?;
        }
        if roots.is_empty() {
            let why = system.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
            return Err(format!("{NO_AUTHORITIES}{why}"));
        }
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), self.provider.clone())
            .build()
            .map_err(|error| error.to_string())
    }
}

/// How the message begins when there is nothing to check a certificate against.
pub(super) const NO_AUTHORITIES: &str = "no certificate authorities were found on this system";

impl ServerCertVerifier for LazyVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let inner = self.inner.get_or_init(|| self.load()).as_ref();
        let inner = inner.map_err(|message| rustls::Error::General(message.clone()))?;
        inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_named_as_the_mistake() {
        let error = config(&[b"hello".to_vec()]).unwrap_err();
        assert_eq!(error.message, "a certificate file holds no certificate");
        let cut = b"-----BEGIN CERTIFICATE-----\nAAAA".to_vec();
        assert!(config(&[cut]).unwrap_err().message.starts_with("a certificate file is not valid PEM"));
    }

    #[test]
    fn both_protocols_are_offered() {
        assert_eq!(config(&[]).unwrap().alpn_protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
    }
}
