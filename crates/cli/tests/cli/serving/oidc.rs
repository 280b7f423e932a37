//! Signing in at a provider of identities: a real one, on loopback.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use charla_testkit::{Postgres, Script};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::client::{Answer, Served};
use super::place;
use super::team::Team;
use crate::place::server;

/// What the provider gives for a code, and the challenge it came with.
type Codes = Arc<Mutex<HashMap<String, (String, Value)>>>;

/// A provider of identities.
struct Provider {
    issuer: String,
    codes: Codes,
}

impl Provider {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap();
        let codes = Codes::default();
        let (known, name) = (codes.clone(), issuer.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &name, &pair, &known);
            }
        });
        Self { issuer, codes }
    }

    /// Somebody agrees at the provider: the code that their browser comes back with.
    fn agree(&self, asked: &HashMap<String, String>, claims: Value) -> String {
        let mut all = json!({
            "iss": self.issuer, "aud": asked["client_id"], "nonce": asked["nonce"], "exp": 4_000_000_000_u64,
        });
        all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
        let mut codes = self.codes.lock().unwrap();
        let code = format!("code-{}", codes.len());
        codes.insert(code.clone(), (asked["code_challenge"].clone(), all));
        code
    }
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn answer(stream: TcpStream, issuer: &str, pair: &EcdsaKeyPair, codes: &Codes) {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let said = match first.split(' ').nth(1).unwrap() {
        "/.well-known/openid-configuration" => Some(json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/keys"),
        })),
        "/keys" => {
            let (x, y) = pair.public_key().as_ref().get(1..).unwrap().split_at(32);
            Some(
                json!({"keys": [{"kty": "EC", "crv": "P-256", "kid": "1", "x": encoded(x), "y": encoded(y)}]}),
            )
        }
        "/token" => token(&body, pair, codes).map(|token| json!({"id_token": token, "token_type": "Bearer"})),
        _ => None,
    };
    let (status, text) = said.map_or((400, "{}".to_owned()), |said| (200, said.to_string()));
    let length = text.len();
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n");
    let _ = write!(reader.into_inner(), "{head}connection: close\r\n\r\n{text}");
}

/// A token for a code, once, if the verifier fits the challenge.
fn token(body: &[u8], pair: &EcdsaKeyPair, codes: &Codes) -> Option<String> {
    let form: HashMap<String, String> = form_urlencoded::parse(body).into_owned().collect();
    let (challenge, claims) = codes.lock().unwrap().remove(&form["code"])?;
    let fits = encoded(Sha256::digest(&form["code_verifier"])) == challenge
        && form["grant_type"] == "authorization_code"
        && form["redirect_uri"].ends_with("/api/v1/oidc/callback");
    let message = format!("{}.{}", encoded(r#"{"alg": "ES256", "kid": "1"}"#), encoded(claims.to_string()));
    let signature = pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
    fits.then(|| format!("{message}.{}", encoded(signature)))
}

/// Begins to sign in: the cookie that the browser keeps, and what the provider is asked.
fn begin(team: &Team) -> (String, HashMap<String, String>) {
    begin_at(&team.served)
}

fn begin_at(served: &Served) -> (String, HashMap<String, String>) {
    let begun = served.request("GET", "/api/v1/oidc/begin", &[], b"");
    assert_eq!(begun.status, 303, "{}", begun.text());
    let cookie = begun.header("set-cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    let (address, query) = begun.header("location").split_once('?').unwrap();
    assert!(address.ends_with("/authorize"), "{address}");
    let asked: HashMap<String, String> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    assert_eq!((asked["response_type"].as_str(), asked["code_challenge_method"].as_str()), ("code", "S256"));
    (cookie.split(';').next().unwrap().to_owned(), asked)
}

fn come_back(team: &Team, cookie: &str, state: &str, code: &str) -> Answer {
    come_back_to(&team.served, cookie, state, code)
}

fn come_back_to(served: &Served, cookie: &str, state: &str, code: &str) -> Answer {
    let headers = [("cookie", cookie), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
    served.request("GET", &format!("/api/v1/oidc/callback?state={state}&code={code}"), &headers, b"")
}

#[test]
fn somebody_signs_in_at_a_provider_and_nobody_with_what_is_not_theirs() {
    let provider = Provider::start();
    let arguments = ["--oidc-issuer", provider.issuer.as_str(), "--oidc-client", "charla-tests"];
    let team = Team::with(Script::new(["unused"]), &arguments);
    team.add("anna", "member", json!({"identity": "subject-1"}));
    team.add("ben", "member", json!({"identity": "ben@example.org"}));
    let (cookie, asked) = begin(&team);
    let code = provider.agree(&asked, json!({"sub": "subject-1"}));
    assert_eq!(come_back(&team, "", &asked["state"], &code).status, 401, "another browser");
    assert_eq!(come_back(&team, &cookie, "another", &code).status, 401, "another attempt");
    let back = come_back(&team, &cookie, &asked["state"], &code);
    assert_eq!((back.status, back.header("location")), (303, "/"), "{}", back.text());
    let signed = back.headers.iter().find(|(name, value)| {
        name == "set-cookie" && value.starts_with("charla-") && !value.starts_with("charla-oidc")
    });
    let signed = signed.unwrap().1.split(';').next().unwrap().to_owned();
    let me = team.served.request("GET", "/api/v1/me", &[("cookie", &signed)], b"");
    assert_eq!(me.json()["name"], "anna");
    assert_eq!(come_back(&team, &cookie, &asked["state"], &code).status, 401, "an attempt counts once");
    let tried = |claims: Value| {
        let (cookie, asked) = begin(&team);
        let code = provider.agree(&asked, claims);
        come_back(&team, &cookie, &asked["state"], &code).status
    };
    let verified =
        |verified: bool| json!({"sub": "s", "email": "ben@example.org", "email_verified": verified});
    assert_eq!(tried(verified(true)), 303);
    assert_eq!(tried(verified(false)), 401, "an address that nobody verified");
    assert_eq!(tried(json!({"sub": "stranger"})), 401);
    assert_eq!(tried(json!({"sub": "subject-1", "nonce": "another"})), 502);
    assert_eq!(tried(json!({"sub": "subject-1", "aud": "another"})), 502);
}

#[test]
fn who_began_at_one_node_comes_back_to_another() {
    let (provider, postgres) = (Provider::start(), Postgres::start().unwrap());
    let place = place(&server(Script::new(["unused"]))).variable("CHARLA_DATABASE", &postgres.address());
    let arguments = [
        "--listen",
        "127.0.0.1:0",
        "--oidc-issuer",
        provider.issuer.as_str(),
        "--oidc-client",
        "charla-tests",
    ];
    let [a, b] = [(); 2].map(|()| Served::with(&place, &arguments));
    let given = place.path().join("given");
    std::fs::create_dir_all(&given).unwrap();
    let account = json!({"name": "anna", "role": "member", "workspace": given, "identity": "subject-1"});
    assert_eq!(a.post("/users", &account).status, 201);
    let (cookie, asked) = begin_at(&a);
    let code = provider.agree(&asked, json!({"sub": "subject-1"}));
    assert!(!cookie.contains(&asked["nonce"]), "the browser learns nothing");
    let forged = format!("{}A", cookie.strip_suffix(cookie.chars().last().unwrap()).unwrap());
    assert!(forged == cookie || come_back_to(&b, &forged, &asked["state"], &code).status == 401);
    let back = come_back_to(&b, &cookie, &asked["state"], &code);
    assert_eq!((back.status, back.header("location")), (303, "/"), "{}", back.text());
    assert_ne!(come_back_to(&a, &cookie, &asked["state"], &code).status, 303, "a code counts once");
}

#[test]
fn a_code_that_somebody_else_began_is_of_no_use() {
    let provider = Provider::start();
    let arguments = ["--oidc-issuer", provider.issuer.as_str(), "--oidc-client", "charla-tests"];
    let team = Team::with(Script::new(["unused"]), &arguments);
    team.add("anna", "member", json!({"identity": "subject-1"}));
    let (_, theirs) = begin(&team);
    let stolen = provider.agree(&theirs, json!({"sub": "subject-1"}));
    let (cookie, own) = begin(&team);
    assert_eq!(come_back(&team, &cookie, &own["state"], &stolen).status, 502, "the verifier does not fit");
    let run = team.place.run(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--oidc-issuer",
        "http://id.example.org",
        "--oidc-client",
        "x",
    ]);
    assert!(run.code != Some(0) && run.err.contains("https://"), "{}", run.err);
}
