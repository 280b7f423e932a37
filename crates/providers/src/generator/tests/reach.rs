//! Getting there: refused connections, TLS, proxies, compression.

use std::io::Write;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

use super::*;
use crate::net::{NOT_RUNNING, UNPROVEN};

#[tokio::test]
async fn a_refused_connection_asks_whether_the_local_server_runs() {
    let server = Server::start().await;
    let generator = server.generator();
    let port = server.port();
    drop(server);
    let error = collect(&generator).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Network);
    assert_eq!(error.message, format!("nothing answers at 127.0.0.1:{port}: connection refused"));
    assert_eq!(error.hint(), Some("is the local server running, and on this port?".into()));
    assert_eq!(error.detail.code.as_deref(), Some(NOT_RUNNING));
}

#[tokio::test]
async fn a_connection_that_never_stands_is_given_up() {
    let server = Server::start().await;
    let options = NetworkOptions { connect_timeout: Duration::from_millis(50), ..fast() };
    let generator = generator(format!("https://127.0.0.1:{}", server.port()), Credential::None, options);
    // The socket is accepted by the system; nobody answers the TLS greeting.
    let error = collect(&generator).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Timeout);
    assert_eq!(error.message, format!("no connection to 127.0.0.1:{} within 50 ms", server.port()));
}

#[tokio::test]
async fn a_server_without_tls_is_told_from_a_broken_one() {
    let server = Server::start().await;
    let generator = generator(format!("https://127.0.0.1:{}", server.port()), Credential::None, fast());
    let (answer, ()) = tokio::join!(collect(&generator), async {
        let mut connection = server.accept().await;
        connection.send("HTTP/1.1 400 Bad Request\r\n\r\n").await;
    });
    let error = answer.unwrap_err();
    let hint = "check the base URL: a server without TLS needs http:// instead of https://";
    assert_eq!(error.hint(), Some(hint.into()));
}

/// A private authority and a server certificate for `localhost` signed by it.
struct Authority {
    pem: String,
    acceptor: TlsAcceptor,
    config: ServerConfig,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        Self { pem: authority.pem(), acceptor: TlsAcceptor::from(Arc::new(config.clone())), config }
    }

    async fn accept(&self, server: &Server) -> std::io::Result<Connection<TlsStream<TcpStream>>> {
        let socket = server.accept().await.socket;
        Ok(Connection { socket: self.acceptor.accept(socket).await? })
    }
}

#[tokio::test]
async fn a_private_authority_is_trusted_when_handed_in() {
    let authority = Authority::new("ours");
    let server = Server::start().await;
    let options = NetworkOptions { extra_certificates: vec![authority.pem.clone().into_bytes()], ..fast() };
    let generator = generator(format!("https://localhost:{}/v1", server.port()), Credential::None, options);
    let (chunks, ()) = tokio::join!(collect(&generator), async {
        let mut connection = authority.accept(&server).await.unwrap();
        connection.answer("200 OK", "", (text("hi") + &finish()).as_bytes()).await;
    });
    assert_eq!(chunks.unwrap().len(), 2);
}

#[tokio::test]
async fn a_server_that_speaks_http2_is_spoken_to_in_it() {
    let mut authority = Authority::new("ours");
    authority.config.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(authority.config));
    let server = Server::start().await;
    let options = NetworkOptions { extra_certificates: vec![authority.pem.into_bytes()], ..fast() };
    let generator = generator(format!("https://localhost:{}/v1", server.port()), Credential::None, options);
    let (_, greeting) = tokio::join!(collect(&generator), async {
        let mut socket = acceptor.accept(server.accept().await.socket).await.unwrap();
        let mut greeting = [0; 14];
        socket.read_exact(&mut greeting).await.unwrap();
        greeting
    });
    assert_eq!(&greeting, b"PRI * HTTP/2.0");
}

#[tokio::test]
async fn an_unknown_authority_and_a_wrong_name_are_told_apart() {
    let (authority, stranger) = (Authority::new("ours"), Authority::new("another"));
    let rows = [
        ("localhost", &stranger.pem, "an authority this machine does not trust", Hint::TrustAuthority),
        ("127.0.0.1", &authority.pem, "made out to another name", "check the host in the base URL".into()),
    ];
    for (host, pem, message, hint) in rows {
        let server = Server::start().await;
        let options = NetworkOptions { extra_certificates: vec![pem.clone().into_bytes()], ..fast() };
        let generator = generator(format!("https://{host}:{}", server.port()), Credential::None, options);
        let (chunks, _) = tokio::join!(collect(&generator), authority.accept(&server));
        let error = chunks.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Network);
        assert_eq!(error.detail.code.as_deref(), Some(UNPROVEN), "{error}");
        assert!(error.message.contains(message), "{error}");
        assert_eq!(error.hint(), Some(hint));
    }
}

#[tokio::test]
async fn a_proxy_is_used_and_exceptions_are_not_sent_to_it() {
    let proxy = Server::start().await;
    let options = NetworkOptions {
        proxy: Proxy::Url(format!("http://127.0.0.1:{}", proxy.port())),
        no_proxy: vec!["127.0.0.1".to_owned()],
        ..fast()
    };
    let generator = generator("http://model.invalid/v1".to_owned(), Credential::None, options.clone());
    let body = text("hi") + &finish();
    let (chunks, request) = tokio::join!(collect(&generator), proxy.answer("200 OK", "", &body));
    assert_eq!(chunks.unwrap().len(), 2);
    assert!(request.starts_with("POST http://model.invalid/v1/ask?alt=sse HTTP/1.1\r\n"), "{request}");

    let server = Server::start().await;
    let direct = server.generator_with(Credential::None, options);
    let (chunks, request) = tokio::join!(collect(&direct), server.answer("200 OK", "", &body));
    assert_eq!(chunks.unwrap().len(), 2);
    assert!(request.starts_with("POST /v1/ask?alt=sse HTTP/1.1\r\n"), "{request}");
}

#[tokio::test]
async fn tls_goes_through_a_proxy_unread() {
    let authority = Authority::new("ours");
    let proxy = Server::start().await;
    let options = NetworkOptions {
        proxy: Proxy::Url(format!("http://127.0.0.1:{}", proxy.port())),
        extra_certificates: vec![authority.pem.clone().into_bytes()],
        ..fast()
    };
    let key = Credential::Key("sk-secret".into());
    let generator = generator("https://localhost/v1".to_owned(), key, options);
    let (chunks, asked) = tokio::join!(collect(&generator), async {
        let mut connection = proxy.accept().await;
        let asked = connection.request().await;
        connection.send("HTTP/1.1 200 OK\r\n\r\n").await;
        let mut inside = Connection { socket: authority.acceptor.accept(connection.socket).await.unwrap() };
        inside.answer("200 OK", "", (text("hi") + &finish()).as_bytes()).await;
        asked
    });
    assert_eq!(chunks.unwrap().len(), 2);
    assert!(asked.starts_with("CONNECT localhost:443 HTTP/1.1\r\n"), "{asked}");
    assert!(!asked.contains("sk-secret"), "{asked}");
}

#[tokio::test]
async fn a_proxy_that_is_away_is_named_without_its_password() {
    let proxy = Server::start().await;
    let url = format!("http://me:secret@127.0.0.1:{}", proxy.port());
    drop(proxy);
    let options = NetworkOptions { proxy: Proxy::Url(url), ..fast() };
    let generator = generator("http://model.invalid/v1".to_owned(), Credential::None, options);
    let error = collect(&generator).await.unwrap_err();
    assert!(error.message.contains("through the proxy 127.0.0.1:"), "{error}");
    assert!(!error.message.contains("secret"), "{error}");
}

#[test]
fn a_proxy_address_that_cannot_be_read_is_a_mistake_in_the_settings() {
    let options = NetworkOptions { proxy: Proxy::Url("http://me:secret@:x".into()), ..fast() };
    let error = Client::new(options).unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Config);
    assert!(!error.message.contains("secret"), "{error}");
}

#[tokio::test]
async fn a_compressed_body_is_read() {
    let server = Server::start().await;
    let generator = server.generator();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all((text("hi") + &finish()).as_bytes()).unwrap();
    let body = encoder.finish().unwrap();
    let (chunks, _) =
        tokio::join!(collect(&generator), server.answer("200 OK", "content-encoding: gzip", body));
    assert_eq!(chunks.unwrap()[0].text(), "hi");
}
