//! The client as the port of crates that have none.

use bytes::Bytes;
use charla_proto::{BoxFuture, Fetch, FetchAnswer, FetchRequest, LlmError};
use http::{HeaderMap, HeaderValue, Method, header};
use reqwest::Url;
use tokio::time::timeout;

use super::failure::went_silent;
use super::{Client, config_error, host_of};

impl Fetch for Client {
    fn fetch<'a>(&'a self, request: FetchRequest<'a>) -> BoxFuture<'a, Result<FetchAnswer, LlmError>> {
        Box::pin(async move {
            let url = Url::parse(request.url)
                .map_err(|error| config_error(format!("this is no address: {error}")))?;
            let host = host_of(&url);
            let exchange = async {
                let (method, body) = match request.body {
                    Some(body) => (Method::POST, Bytes::from(body.to_string())),
                    None => (Method::GET, Bytes::new()),
                };
                let client = self.with_first_byte_timeout(request.limit);
                let mut reply = client.send(method, url, headers(&request)?, body).await?;
                let body = reply.body.read(request.most_bytes).await?;
                Ok(FetchAnswer { status: reply.status, body })
            };
            match timeout(request.limit, exchange).await {
                Ok(answer) => answer,
                Err(_) => Err(went_silent(&host, request.limit, true)),
            }
        })
    }
}

fn headers(request: &FetchRequest) -> Result<HeaderMap, LlmError> {
    let mut headers = HeaderMap::new();
    let json = HeaderValue::from_static("application/json");
    if request.body.is_some() {
        headers.insert(header::CONTENT_TYPE, json.clone());
    }
    headers.insert(header::ACCEPT, json);
    // One question is no reason to keep a connection, and local servers close theirs at moments of their own.
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    if let Some(key) = request.key {
        let value = HeaderValue::try_from(format!("Bearer {key}"));
        let mut value = value.map_err(|_| config_error("the key cannot be sent in a header"))?;
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use charla_proto::LlmErrorKind;
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::net::{NetworkOptions, Proxy};

    /// A server that gives these bytes and then says nothing more, and what it was sent.
    async fn asked(reply: &'static str, ask: impl AsyncFnOnce(&Client, &str)) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api/show", listener.local_addr().unwrap());
        let served = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.unwrap();
            stream.write_all(reply.as_bytes()).await.unwrap();
            // Some servers keep the connection although asked not to.
            let _ = stream.read(&mut [0; 16]).await;
            String::from_utf8_lossy(&request[..read]).to_lowercase()
        });
        let client = Client::new(NetworkOptions { proxy: Proxy::None, ..NetworkOptions::default() }).unwrap();
        ask(&client, &url).await;
        served.await.unwrap()
    }

    fn get(url: &str) -> FetchRequest<'_> {
        FetchRequest { url, key: None, body: None, limit: Duration::from_secs(5), most_bytes: 1000 }
    }

    #[tokio::test]
    async fn a_question_is_posted_and_any_status_is_an_answer() {
        let reply = "HTTP/1.1 404 X\r\ntransfer-encoding: Chunked\r\n\r\n1;x\r\n{\r\n1\r\n}\r\n0\r\n\r\n";
        let sent = asked(reply, async |client, url| {
            let body = json!({"model": "m"});
            let request = FetchRequest { key: Some("secret"), body: Some(&body), ..get(url) };
            let answer = client.fetch(request).await.unwrap();
            assert_eq!(answer, FetchAnswer { status: 404, body: b"{}".to_vec() });
        });
        let sent = sent.await;
        assert!(sent.starts_with("post /api/show http/1.1\r\n"), "{sent}");
        assert!(sent.contains("\r\nauthorization: bearer secret\r\n"), "{sent}");
        assert!(sent.contains("\r\ncontent-type: application/json\r\n"), "{sent}");
        assert!(sent.ends_with("\r\n\r\n{\"model\":\"m\"}"), "{sent}");
    }

    #[tokio::test]
    async fn an_answer_is_bounded_in_size_and_time() {
        let reply = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc";
        asked(reply, async |client, url| {
            let error = client.fetch(FetchRequest { most_bytes: 2, ..get(url) }).await.unwrap_err();
            assert_eq!(error.kind, LlmErrorKind::Protocol);
        })
        .await;
        asked(reply, async |client, url| {
            let limit = Duration::from_millis(50);
            let error = client.fetch(FetchRequest { limit, ..get(url) }).await.unwrap_err();
            assert_eq!(error.kind, LlmErrorKind::Timeout, "{error}");
        })
        .await;
    }

    #[tokio::test]
    async fn what_cannot_be_asked_is_an_error() {
        let client = Client::new(NetworkOptions::default()).unwrap();
        for url in ["", "no address", "http://", "file:///etc/passwd"] {
            assert!(client.fetch(get(url)).await.is_err(), "{url}");
        }
        let request = FetchRequest { key: Some("a\r\nb: c"), ..get("http://127.0.0.1:1/") };
        assert_eq!(client.fetch(request).await.unwrap_err().kind, LlmErrorKind::Config);
    }
}
