use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

use super::*;
use crate::generator::TokenSource;
use crate::net::{Client, NetworkOptions};

/// A key made for these tests; it opens nothing.
const KEY: &str = include_str!("test-key.pem");

#[test]
fn forms_are_escaped_and_read_back() {
    let fields = [("a", "x y&z=ü"), ("b", "~")];
    assert_eq!(form(&fields), "a=x+y%26z%3D%C3%BC&b=%7E");
    let read = form_urlencoded::parse(b"a=x%20y%26z%3D%C3%BC&b=~").into_owned();
    assert_eq!(read.collect::<Vec<_>>(), fields.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

/// A token endpoint that answers each request with the next reply and keeps what was asked.
struct Endpoint {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Endpoint {
    async fn start(replies: Vec<(u16, Value)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let keep = asked.clone();
        tokio::spawn(async move {
            for (status, reply) in replies {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read_request(&mut stream).await;
                keep.lock().await.push(request);
                let body = reply.to_string();
                let head = format!(
                    "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            }
        });
        Self { address, asked }
    }

    fn url(&self) -> String {
        format!("http://{}/token", self.address)
    }

    async fn asked(&self, index: usize) -> String {
        self.asked.lock().await[index].clone()
    }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let read = stream.read(&mut buffer).await.unwrap();
        request.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
    }
}

fn client() -> Client {
    Client::new(NetworkOptions::default()).unwrap()
}

fn user(url: &str) -> Credentials {
    let file = json!({
        "type": "authorized_user", "client_id": "id", "client_secret": "secret", "refresh_token": "re/fresh",
        "token_uri": url,
    });
    Credentials::from_json(&file.to_string()).unwrap()
}

#[tokio::test]
async fn a_refresh_token_is_exchanged_once_and_the_token_kept_until_it_is_refused() {
    let reply = |token: &str| (200, json!({"access_token": token, "expires_in": 3600}));
    let endpoint = Endpoint::start(vec![reply("one"), reply("two")]).await;
    let tokens = GoogleTokens::new(user(&endpoint.url()), client());
    for _ in 0..3 {
        assert_eq!(tokens.token().await.unwrap().expose_secret(), "one");
    }
    assert!(endpoint.asked(0).await.ends_with("client_secret=secret&refresh_token=re%2Ffresh"));
    tokens.invalidate();
    assert_eq!(tokens.token().await.unwrap().expose_secret(), "two");
}

#[tokio::test]
async fn a_token_that_is_about_to_run_out_is_not_used() {
    let reply = |token: &str| (200, json!({"access_token": token, "expires_in": 30}));
    let endpoint = Endpoint::start(vec![reply("one"), reply("two")]).await;
    let tokens = GoogleTokens::new(user(&endpoint.url()), client());
    assert_eq!(tokens.token().await.unwrap().expose_secret(), "one");
    assert_eq!(tokens.token().await.unwrap().expose_secret(), "two");
}

#[tokio::test]
async fn a_refusal_is_an_auth_error_in_googles_words() {
    let refusal =
        json!({"error": "invalid_grant", "error_description": "Token has been expired or revoked."});
    let endpoint = Endpoint::start(vec![(400, refusal)]).await;
    let error = GoogleTokens::new(user(&endpoint.url()), client()).token().await.unwrap_err();
    assert_eq!(error.kind, charla_proto::LlmErrorKind::Auth);
    assert!(error.message.contains("invalid_grant") && error.message.contains("revoked"), "{error}");
}

#[tokio::test]
async fn a_service_account_signs_its_assertion() {
    let endpoint = Endpoint::start(vec![(200, json!({"access_token": "t", "expires_in": 3600}))]).await;
    let file = json!({
        "type": "service_account", "client_email": "me@project", "private_key": KEY, "private_key_id": "k1",
        "token_uri": endpoint.url(),
    });
    let credentials = Credentials::from_json(&file.to_string()).unwrap();
    assert_eq!(GoogleTokens::new(credentials, client()).token().await.unwrap().expose_secret(), "t");
    let asked = endpoint.asked(0).await;
    let assertion = asked.rsplit_once("&assertion=").unwrap().1;
    let (message, signature) = assertion.rsplit_once('.').unwrap();
    let der: String = KEY.lines().filter(|line| !line.starts_with("-----")).collect();
    let key = RsaKeyPair::from_pkcs8(&STANDARD.decode(der).unwrap()).unwrap();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref().to_vec());
    public.verify(message.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
    let claims = URL_SAFE_NO_PAD.decode(message.split_once('.').unwrap().1).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!("me@project"), &json!(endpoint.url())));
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 3600);
}

#[tokio::test]
async fn the_metadata_server_is_asked_with_its_header() {
    let endpoint = Endpoint::start(vec![(200, json!({"access_token": "m", "expires_in": 3600}))]).await;
    let credentials = Credentials::MetadataServer { host: endpoint.address.clone() };
    assert_eq!(GoogleTokens::new(credentials, client()).token().await.unwrap().expose_secret(), "m");
    assert!(endpoint.asked(0).await.to_lowercase().contains("metadata-flavor: google"));
}

/// Plays the browser: opens the redirect with a query made from the login page's address.
async fn browse(url: &str, query: impl Fn(&str) -> String) -> String {
    let field = |name: &str| {
        let mut fields = form_urlencoded::parse(url.split_once('?').unwrap().1.as_bytes());
        fields.find(|(field, _)| field == name).unwrap().1.into_owned()
    };
    let redirect = field("redirect_uri");
    let address = redirect.strip_prefix("http://").unwrap().to_owned();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let path = query(&field("state"));
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut page = String::new();
    let _ = stream.read_to_string(&mut page).await;
    page
}

async fn login(endpoint: &Endpoint) -> Login {
    let oauth = OAuthClient { id: "app".to_owned(), secret: "app-secret".to_owned().into() };
    let options = LoginOptions { token_uri: endpoint.url(), ..LoginOptions::default() };
    Login::start(oauth, options).await.unwrap()
}

#[tokio::test]
async fn a_person_logs_in_through_the_browser() {
    let reply = json!({"access_token": "a", "expires_in": 3600, "refresh_token": "standing"});
    let endpoint = Endpoint::start(vec![(200, reply)]).await;
    let login = login(&endpoint).await;
    let url = login.url().to_owned();
    let browser = async {
        // A favicon and a stranger come first; neither ends the wait.
        browse(&url, |_| "/favicon.ico".to_owned()).await;
        browse(&url, |_| "/?state=guessed&code=evil".to_owned()).await;
        browse(&url, |state| format!("/?state={state}&code=the%2Fcode")).await
    };
    let client = client();
    let (credentials, page) = tokio::join!(login.finish(&client), browser);
    assert!(page.contains("You are logged in"));
    let Credentials::AuthorizedUser { refresh_token, .. } = credentials.unwrap() else { panic!("no user") };
    assert_eq!(refresh_token.expose_secret(), "standing");
    let asked = endpoint.asked(0).await;
    assert!(asked.contains("code=the%2Fcode") && asked.contains("code_verifier="), "{asked}");
}

#[tokio::test]
async fn a_person_may_refuse() {
    let endpoint = Endpoint::start(vec![]).await;
    let login = login(&endpoint).await;
    let url = login.url().to_owned();
    let client = client();
    let (credentials, _) = tokio::join!(
        login.finish(&client),
        browse(&url, |state| format!("/?error=access_denied&state={state}"))
    );
    assert!(credentials.unwrap_err().message.contains("access_denied"));
}
