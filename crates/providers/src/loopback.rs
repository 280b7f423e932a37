//! The browser's way back: a port of this machine where a login that a person gave in a browser ends.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use charla_proto::{LlmError, LlmErrorKind};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A login under way, with what proves that its end belongs to its beginning (state, PKCE).
pub struct Loopback {
    listener: TcpListener,
    redirect: String,
    state: String,
    verifier: String,
}

impl Loopback {
    /// Listens on a free port of this machine.
    pub async fn start() -> Result<Self, LlmError> {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .map_err(|error| config(format!("cannot listen for the browser's answer: {error}")))?;
        let port = listener.local_addr().map(|address| address.port()).unwrap_or_default();
        let redirect = format!("http://127.0.0.1:{port}");
        Ok(Self { listener, redirect, state: random()?, verifier: random()? })
    }

    /// Where the browser is sent back to.
    pub fn redirect(&self) -> &str {
        &self.redirect
    }

    /// What comes back with the code, or the answer is a stranger's.
    pub fn state(&self) -> &str {
        &self.state
    }

    /// What the code is exchanged with.
    pub fn verifier(&self) -> &str {
        &self.verifier
    }

    /// What of the verifier is shown before (`S256`).
    pub fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(digest(&SHA256, self.verifier.as_bytes()))
    }

    /// Waits for the browser and gives its code. Requests that are not the answer (a favicon, a stranger without our
    /// state) are turned away and waiting goes on. Dropping the future gives up.
    pub async fn code(&self) -> Result<String, LlmError> {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else { continue };
            if let Some(answer) = self.answer(stream).await {
                return answer;
            }
        }
    }

    /// One request of the browser: the code, a refusal, or `None` for something else.
    async fn answer(&self, mut stream: TcpStream) -> Option<Result<String, LlmError>> {
        let mut line = String::new();
        let mut reader = BufReader::new(&mut stream);
        (&mut reader).take(8192).read_line(&mut line).await.ok()?;
        let query = line.split(' ').nth(1)?.split_once('?').map(|(_, query)| query.to_owned());
        let outcome = query.and_then(|query| self.read_query(&query));
        let page = match &outcome {
            Some(Ok(_)) => "You are logged in. You can close this page and go back to Charla.",
            Some(Err(_)) => "The login was refused. Go back to Charla.",
            None => "Nothing to see here.",
        };
        let response = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{page}",
            page.len()
        );
        let _ = stream.write_all(response.as_bytes()).await;
        let _ = stream.shutdown().await;
        outcome
    }

    fn read_query(&self, query: &str) -> Option<Result<String, LlmError>> {
        let field = |name: &str| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        if field("state")? != self.state {
            return None;
        }
        if let Some(error) = field("error") {
            return Some(Err(LlmError::new(LlmErrorKind::Auth, format!("the login was refused: {error}"))));
        }
        field("code").map(Ok)
    }
}

fn random() -> Result<String, LlmError> {
    let mut bytes = [0; 32];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| config("the system gives no random numbers".to_owned()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn config(message: String) -> LlmError {
    LlmError::new(LlmErrorKind::Config, message)
}
