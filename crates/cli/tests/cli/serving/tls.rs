//! TLS by certificate files.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use charla_testkit::{Postgres, Script};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::client::Served;
use super::place;
use crate::place::{PATIENCE, Place, server};
use crate::terminal::Terminal;

/// Writes a new certificate of this machine and its key; the certificate.
fn certify(place: &Place) -> CertificateDer<'static> {
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    std::fs::write(place.path().join("cert.pem"), cert.pem()).unwrap();
    std::fs::write(place.path().join("key.pem"), signing_key.serialize_pem()).unwrap();
    cert.der().clone()
}

/// The answer of a server that shows this certificate.
fn get(served: &Served, path: &str, trusted: &CertificateDer<'static>) -> io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), "127.0.0.1".try_into().unwrap()).unwrap();
    let stream = TcpStream::connect(&served.address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut stream = StreamOwned::new(connection, stream);
    let address = &served.address;
    write!(
        stream,
        "{path} HTTP/1.1\r\nhost: {address}\r\norigin: https://{address}\r\nconnection: close\r\n"
    )?;
    let body = format!("{{\"code\": \"{}\"}}", served.code);
    write!(stream, "content-length: {}\r\n\r\n{body}", body.len())?;
    let mut text = String::new();
    match stream.read_to_string(&mut text) {
        Err(error) if text.is_empty() => Err(error),
        _ => Ok(text),
    }
}

#[test]
fn a_certificate_is_shown_and_read_again_when_its_files_change() {
    let server = server(Script::new(["unused"]));
    let place = place(&server);
    let first = certify(&place);
    let file = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let (cert, key) = (file("cert.pem"), file("key.pem"));
    let arguments = ["--tls-cert", cert.as_str(), "--tls-key", &key];
    let served = Served::with(&place, &[&["--listen", "127.0.0.1:0"][..], &arguments].concat());
    let health = |trusted: &CertificateDer<'static>| get(&served, "GET /api/v1/health", trusted);
    assert!(health(&first).unwrap().starts_with("HTTP/1.1 200"));
    let signed = get(&served, "POST /api/v1/sign-in", &first).unwrap();
    assert!(signed.contains("HTTP/1.1 200") && signed.contains("; Secure"), "{signed}");
    let second = certify(&place);
    assert!(health(&second).unwrap().starts_with("HTTP/1.1 200"));
    assert!(health(&first).is_err(), "the first one is not shown any more");
    std::fs::write(&key, "no key at all").unwrap();
    assert!(health(&second).unwrap().starts_with("HTTP/1.1 200"), "what cannot be used leaves the last one");
    let plain = served.bare("GET / HTTP/1.1\r\nhost: x\r\n\r\n", b"");
    assert_eq!(plain.status, 0, "plain HTTP is not answered");
    assert!(health(&second).is_ok());
}

#[test]
fn with_a_certificate_it_listens_beyond_this_machine_and_without_a_usable_one_not_at_all() {
    let server = server(Script::new(["unused"]));
    let place = place(&server);
    certify(&place);
    let file = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let (cert, key) = (file("cert.pem"), file("key.pem"));
    let served = Served::with(&place, &["--listen", "0.0.0.0:0", "--tls-cert", &cert, "--tls-key", &key]);
    assert!(served.address.starts_with("0.0.0.0:"));
    drop(served);
    std::fs::write(&key, "no key at all").unwrap();
    let run = place.run(&["serve", "--listen", "127.0.0.1:0", "--tls-cert", &cert, "--tls-key", &key]);
    assert!(run.code != Some(0) && run.err.contains("cannot be used"), "{}", run.err);
}

/// A certificate for these names and its key, as PEM.
fn certificate(names: &[&str]) -> (String, String) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    (cert.pem(), signing_key.serialize_pem())
}

#[test]
fn a_database_is_reached_with_tls_whose_certificate_is_trusted_and_names_it() {
    let (own, key) = certificate(&["127.0.0.1"]);
    let postgres = Postgres::start_with_tls(&own, &key).unwrap();
    let server = server(Script::new(["Hello."]));
    let (other, _) = certificate(&["127.0.0.1"]);
    // A node that trusts this certificate alone, and says so in this way.
    let node = |trusted: &str, host: &str, mode: &str| {
        let port = postgres.port().unwrap();
        let place = place(&server);
        let file = place.path().join("authorities.pem");
        std::fs::write(&file, trusted).unwrap();
        place
            .variable("SSL_CERT_FILE", file.to_str().unwrap())
            .variable("CHARLA_DATABASE", &format!("postgres://charla@{host}:{port}/postgres?sslmode={mode}"))
    };
    for mode in ["require", "verify-full"] {
        let place = node(&own, "127.0.0.1", mode);
        // Another node's key would be needed for what this one keeps.
        let served = Served::with(&place, &["--listen", "127.0.0.1:0"]);
        assert_eq!(served.get("/ready").status, 200);
        let secured = "select bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid)
            where application_name = 'charla'";
        let told = postgres.run("psql", &["-d", "postgres", "-Atc", secured]).unwrap();
        assert_eq!(String::from_utf8_lossy(&told).trim(), "t");
        drop(served);
        postgres.run("psql", &["-d", "postgres", "-qc", "drop schema charla cascade"]).unwrap();
    }
    for (trusted, host) in [(&other, "127.0.0.1"), (&own, "localhost")] {
        let run = node(trusted, host, "verify-full").run(&["serve", "--listen", "127.0.0.1:0"]);
        assert!(run.code != Some(0) && run.err.contains("certificate"), "{host}: {}", run.err);
    }
}

#[test]
fn a_server_with_a_certificate_of_ones_own_authority_is_attached_to_once_that_is_trusted() {
    let server = server(Script::new(["Hello there."]));
    let place = place(&server);
    certify(&place);
    let file = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let (cert, key) = (file("cert.pem"), file("key.pem"));
    let served = Served::with(&place, &["--listen", "127.0.0.1:0", "--tls-cert", &cert, "--tls-key", &key]);
    let url = format!("https://{}", served.address);
    let laptop = || {
        Place::new()
            .variable("TERM", "dumb")
            .variable("NO_COLOR", "1")
            .variable("CHARLA_TOKEN", &served.token)
    };
    let refused = laptop().run(&["attach", &url]);
    assert!(refused.code != Some(0) && refused.err.contains("certificate"), "{}", refused.err);
    let laptop = laptop().settings(&serde_json::json!({"network": {"caFile": cert}}).to_string());
    let listed = laptop.run(&["approvals", "--server", &url]);
    assert_eq!((listed.code, listed.out.as_str()), (Some(0), ""), "{}", listed.err);
    let mut terminal = Terminal::start(&laptop, &["attach", &url]);
    terminal.wait_for("> ");
    terminal.type_in("hello\n");
    terminal.wait_for("Hello there.");
    terminal.wait_for("> ");
    terminal.type_in("/quit\n");
    assert_eq!(terminal.finish().0, Some(0));
}
