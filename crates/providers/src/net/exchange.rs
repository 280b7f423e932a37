//! A request whose answer comes whole or as events, for protocols that are not about models.

use std::collections::VecDeque;

use bytes::Bytes;
use charla_proto::LlmError;
use futures_util::{Stream, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use reqwest::Url;

use super::{Client, Reply, config_error};
use crate::sse::{Frame, Framer};

/// A request of any kind.
pub struct ExchangeRequest<'a> {
    /// `GET`, `POST`, …
    pub method: &'a str,
    /// The whole address.
    pub url: &'a str,
    /// Its headers. Their values are secrets.
    pub headers: &'a [(String, String)],
    /// What it says.
    pub body: String,
}

/// The head of an answer, and the rest still to come. Dropping it closes the connection.
pub struct ExchangeAnswer {
    reply: Reply,
    largest: usize,
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamedEvent {
    /// The `event:` field; empty when there is none.
    pub name: String,
    /// The data lines, joined by newlines.
    pub data: String,
}

impl Client {
    /// Sends a request and waits for the head of the answer, whatever its status.
    pub async fn exchange(&self, request: ExchangeRequest<'_>) -> Result<ExchangeAnswer, LlmError> {
        let url =
            Url::parse(request.url).map_err(|error| config_error(format!("this is no address: {error}")))?;
        let method =
            Method::from_bytes(request.method.as_bytes()).map_err(|_| config_error("this is no method"))?;
        let mut headers = HeaderMap::new();
        for (name, value) in request.headers {
            let refused = || config_error(format!("the header `{name}` cannot be sent"));
            let mut value = HeaderValue::try_from(value).map_err(|_| refused())?;
            value.set_sensitive(true);
            headers.insert(HeaderName::try_from(name).map_err(|_| refused())?, value);
        }
        let reply = self.send(method, url, headers, Bytes::from(request.body)).await?;
        Ok(ExchangeAnswer { reply, largest: self.options().max_event })
    }
}

impl ExchangeAnswer {
    /// The status.
    pub fn status(&self) -> u16 {
        self.reply.status
    }

    /// The value of a header, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.reply.headers.get(name)?.to_str().ok()
    }

    /// True when the answer is a stream of events.
    pub fn is_stream(&self) -> bool {
        self.header(header::CONTENT_TYPE.as_str()).is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// All of it, if it has at most so many bytes.
    pub async fn whole(mut self, most: usize) -> Result<Vec<u8>, LlmError> {
        self.reply.body.read(most).await
    }

    /// Its events as they come. An `Err` is the last one.
    pub fn events(self) -> impl Stream<Item = Result<StreamedEvent, LlmError>> + Send {
        let reading = Reading {
            framer: Framer::new(self.largest),
            reply: self.reply,
            ready: VecDeque::new(),
            over: false,
        };
        stream::unfold(reading, |mut reading| async move { Some((reading.next().await?, reading)) })
    }
}

struct Reading {
    reply: Reply,
    framer: Framer,
    ready: VecDeque<StreamedEvent>,
    over: bool,
}

impl Reading {
    async fn next(&mut self) -> Option<Result<StreamedEvent, LlmError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.over {
                return None;
            }
            let ready = &mut self.ready;
            let mut keep = |frame: Frame| {
                if let Frame::Event { name, data } = frame {
                    ready.push_back(StreamedEvent {
                        name: name.unwrap_or_default().to_owned(),
                        data: data.to_owned(),
                    });
                }
                Ok(())
            };
            let read = match self.reply.body.next().await {
                Some(Ok(bytes)) => self.framer.push(&bytes, &mut keep),
                Some(Err(error)) => Err(error),
                None => {
                    self.over = true;
                    self.framer.end(&mut keep)
                }
            };
            if let Err(error) = read {
                self.over = true;
                return Some(Err(error));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::net::{NetworkOptions, Proxy};

    #[tokio::test]
    async fn events_come_one_by_one_and_headers_go_along() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let served = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.unwrap();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Session: 7\r\n\r\n";
            stream
                .write_all(format!("{head}event: a\ndata: 1\n\ndata: 2\n\n: silence\n\ndata: 3").as_bytes())
                .await
                .unwrap();
            String::from_utf8_lossy(&request[..read]).to_lowercase()
        });
        let client = Client::new(NetworkOptions { proxy: Proxy::None, ..NetworkOptions::default() }).unwrap();
        let headers = [("X-Key".to_owned(), "secret".to_owned())];
        let request = ExchangeRequest { method: "POST", url: &url, headers: &headers, body: "{}".to_owned() };
        let answer = client.exchange(request).await.unwrap();
        assert_eq!((answer.status(), answer.header("x-session"), answer.is_stream()), (200, Some("7"), true));
        let events: Vec<_> = answer.events().map(|event| event.unwrap()).collect().await;
        let event = |name: &str, data: &str| StreamedEvent { name: name.to_owned(), data: data.to_owned() };
        assert_eq!(events, [event("a", "1"), event("", "2"), event("", "3")]);
        let sent = served.await.unwrap();
        assert!(sent.contains("\r\nx-key: secret\r\n") && sent.ends_with("{}"), "{sent}");
    }
}
