//! Sends what is told, in batches, behind a queue with an end: whoever tells never waits.

use std::time::Duration;

use charla_providers::Client;
use charla_providers::net::ExchangeRequest;
use serde_json::Value;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, sleep_until, timeout};

use super::config::Config;
use super::encode::{Span, metrics, traces};
use super::metrics::Metrics;
use super::turns::Item;
use crate::clock::now;

/// So much may wait to be taken in. What comes to a full queue is lost, and counted.
pub(super) const QUEUE: usize = 2048;
/// So many spans may wait to be sent, over failures of the collector; the oldest go first.
const MOST_SPANS: usize = 2048;
/// So many spans are a batch.
const BATCH: usize = 512;
/// How long something waits for others to be sent with it.
const PATIENCE: Duration = Duration::from_secs(5);
/// An answer is not worth more: it says what was not taken.
const MOST_ANSWER: usize = 64 * 1024;

/// What is told of one session, on its way to the collector.
pub(super) struct Exporter {
    config: Config,
    client: Client,
    spans: Vec<Span>,
    metrics: Metrics,
}

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
enum Sent {
    Taken,
    /// It may be taken later.
    Later,
    Refused,
}

impl Exporter {
    pub(super) fn new(config: Config, client: Client) -> Self {
        let metrics = Metrics::new(config.temporality, now());
        Self { config, client, spans: Vec::new(), metrics }
    }

    /// Takes what comes and sends it, until nobody is there who could tell more.
    pub(super) async fn run(mut self, mut items: Receiver<Item>) {
        let mut due: Option<Instant> = None;
        loop {
            let waited = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                item = items.recv() => match item {
                    Some(item) => self.take(item),
                    None => break,
                },
                () = waited => {
                    self.flush().await;
                    due = None;
                }
            }
            if self.spans.len() >= BATCH && due.is_none_or(|due| due > Instant::now()) {
                due = Some(Instant::now());
            } else if due.is_none() && !self.is_empty() {
                due = Some(Instant::now() + PATIENCE);
            }
        }
        self.flush().await;
    }

    fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.metrics.is_told()
    }

    fn take(&mut self, item: Item) {
        match item {
            Item::Span(span) => {
                if self.spans.len() >= MOST_SPANS {
                    self.spans.remove(0);
                }
                self.spans.push(*span);
            }
            Item::Measurement(measurement) => self.metrics.add(*measurement),
        }
    }

    async fn flush(&mut self) {
        if !self.spans.is_empty() {
            let sent = match &self.config.traces {
                Some(address) => self.send(address, &traces(&self.config.resource, &self.spans)).await,
                None => Sent::Refused,
            };
            if sent != Sent::Later {
                self.spans.clear();
            }
        }
        if !self.metrics.is_told() {
            let now = now();
            let sent = match &self.config.metrics {
                Some(address) => {
                    self.send(address, &metrics(&self.config.resource, self.metrics.json(now))).await
                }
                None => Sent::Refused,
            };
            if sent != Sent::Later {
                self.metrics.told(now);
            }
        }
    }

    async fn send(&self, address: &str, body: &Value) -> Sent {
        let request = ExchangeRequest {
            method: "POST",
            url: address,
            headers: &self.config.headers,
            body: body.to_string(),
        };
        let asked = async {
            let answer = self.client.exchange(request).await?;
            let status = answer.status();
            let body = answer.whole(MOST_ANSWER).await.unwrap_or_default();
            Ok::<_, charla_proto::LlmError>((status, body))
        };
        match timeout(self.config.timeout, asked).await {
            Ok(Ok((200..=299, _))) => Sent::Taken,
            Ok(Ok((status, body))) => {
                let body = String::from_utf8_lossy(&body);
                tracing::debug!(status, %body, "the collector did not take telemetry");
                if matches!(status, 429 | 502 | 503 | 504) { Sent::Later } else { Sent::Refused }
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, "telemetry cannot be sent");
                Sent::Later
            }
            Err(_) => {
                tracing::debug!("the collector does not answer");
                Sent::Later
            }
        }
    }
}
