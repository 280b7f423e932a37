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
/// The longest wait before a collector that takes nothing is asked again.
const MOST_PATIENCE: Duration = Duration::from_secs(60);
/// An answer is not worth more: it says what was not taken.
const MOST_ANSWER: usize = 64 * 1024;

/// Who is told.
pub(super) trait Collector {
    /// Sends a body to an address.
    fn post(&self, address: &str, body: String) -> impl Future<Output = Sent> + Send;
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Taken,
    /// It may be taken later; after so long, where the collector says.
    Later(Option<Duration>),
    Refused,
}

/// A collector behind HTTP.
pub(super) struct Http {
    client: Client,
    headers: Vec<(String, String)>,
    timeout: Duration,
}

impl Http {
    pub(super) fn new(config: &Config, client: Client) -> Self {
        Self { client, headers: config.headers.clone(), timeout: config.timeout }
    }
}

impl Collector for Http {
    async fn post(&self, address: &str, body: String) -> Sent {
        let request = ExchangeRequest { method: "POST", url: address, headers: &self.headers, body };
        let asked = async {
            let answer = self.client.exchange(request).await?;
            let status = answer.status();
            let after = answer.header("retry-after").and_then(|text| text.trim().parse().ok());
            let body = answer.whole(MOST_ANSWER).await.unwrap_or_default();
            Ok::<_, charla_proto::LlmError>((status, after, body))
        };
        match timeout(self.timeout, asked).await {
            Ok(Ok((200..=299, _, _))) => Sent::Taken,
            Ok(Ok((status, after, body))) => {
                let body = String::from_utf8_lossy(&body);
                tracing::debug!(status, %body, "the collector did not take telemetry");
                match status {
                    429 | 502 | 503 | 504 => Sent::Later(after.map(Duration::from_secs)),
                    _ => Sent::Refused,
                }
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, "telemetry cannot be sent");
                Sent::Later(None)
            }
            Err(_) => {
                tracing::debug!("the collector does not answer");
                Sent::Later(None)
            }
        }
    }
}

/// When something is sent next.
#[derive(Default)]
struct Timing {
    due: Option<Instant>,
    /// So often in a row the collector has not taken what it was sent.
    failures: u32,
}

impl Timing {
    /// So many spans wait, or figures do. A whole batch goes at once, but never to a collector that took nothing the last time.
    fn waiting(&mut self, spans: usize, now: Instant) {
        if spans >= BATCH && self.failures == 0 {
            self.due = Some(now);
        } else if self.due.is_none() {
            self.due = Some(now + PATIENCE);
        }
    }

    /// Something was sent, and this came of it.
    fn sent(&mut self, sent: Sent, now: Instant) {
        let Sent::Later(after) = sent else {
            *self = Self::default();
            return;
        };
        let wait = PATIENCE * 2_u32.pow(self.failures.min(4));
        self.failures += 1;
        self.due = Some(now + wait.max(after.unwrap_or_default()).min(MOST_PATIENCE));
    }
}

/// What is told of one session, on its way to the collector.
pub(super) struct Exporter<C> {
    config: Config,
    collector: C,
    spans: Vec<Span>,
    metrics: Metrics,
}

impl<C: Collector> Exporter<C> {
    pub(super) fn new(config: Config, collector: C) -> Self {
        let metrics = Metrics::new(config.temporality, now());
        Self { config, collector, spans: Vec::new(), metrics }
    }

    /// Takes what comes and sends it, until nobody is there who could tell more.
    pub(super) async fn run(mut self, mut items: Receiver<Item>) {
        let mut timing = Timing::default();
        loop {
            let waited = async {
                match timing.due {
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
                    let sent = self.flush().await;
                    timing.sent(sent, Instant::now());
                }
            }
            if !self.is_empty() {
                timing.waiting(self.spans.len(), Instant::now());
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

    /// Sends all there is; `Later` where any of it stays here.
    async fn flush(&mut self) -> Sent {
        let mut result = Sent::Taken;
        if !self.spans.is_empty() {
            let body = traces(&self.config.resource, &self.spans);
            let sent = self.send(self.config.traces.as_deref(), &body).await;
            match sent {
                Sent::Later(_) => result = sent,
                Sent::Taken | Sent::Refused => self.spans.clear(),
            }
        }
        if !self.metrics.is_told() {
            let now = now();
            let body = metrics(&self.config.resource, self.metrics.json(now));
            let sent = self.send(self.config.metrics.as_deref(), &body).await;
            match sent {
                Sent::Later(_) => result = sent,
                Sent::Taken | Sent::Refused => self.metrics.told(now),
            }
        }
        result
    }

    async fn send(&self, address: Option<&str>, body: &Value) -> Sent {
        match address {
            Some(address) => self.collector.post(address, body.to_string()).await,
            None => Sent::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::sync::mpsc::{self, Sender};

    use super::super::encode::{Attributes, SpanId, TraceId};
    use super::super::metrics::Temporality;
    use super::*;

    /// Notes when it was asked, and answers as it is told to.
    struct Noting {
        asked: Arc<Mutex<Vec<Instant>>>,
        answer: Sent,
    }

    impl Collector for Noting {
        async fn post(&self, _: &str, _: String) -> Sent {
            let asked = {
                let mut asked = self.asked.lock().unwrap();
                asked.push(Instant::now());
                asked.len()
            };
            // Whoever asks without pause is to fail, not to hang.
            if asked > 100 {
                std::future::pending::<()>().await;
            }
            self.answer
        }
    }

    fn started(answer: Sent) -> (Sender<Item>, Arc<Mutex<Vec<Instant>>>) {
        let config = Config {
            traces: Some("http://c/v1/traces".to_owned()),
            metrics: None,
            headers: Vec::new(),
            resource: Attributes::default(),
            temporality: Temporality::Delta,
            timeout: Duration::from_secs(10),
            content: false,
            parent: None,
        };
        let asked = Arc::default();
        let (items, queue) = mpsc::channel(QUEUE);
        tokio::spawn(Exporter::new(config, Noting { asked: Arc::clone(&asked), answer }).run(queue));
        (items, asked)
    }

    async fn tell(items: &Sender<Item>, count: usize) {
        for _ in 0..count {
            let span = Span {
                trace: TraceId::new(),
                id: SpanId::new(),
                parent: None,
                name: "chat".to_owned(),
                is_client: true,
                start: 1,
                end: 2,
                attributes: Attributes::default(),
                failed: None,
            };
            items.send(Item::Span(Box::new(span))).await.unwrap();
        }
    }

    /// The seconds after `began` at which it was asked, within ten minutes.
    async fn ten_minutes(asked: &Mutex<Vec<Instant>>, began: Instant) -> Vec<u64> {
        tokio::time::sleep(Duration::from_secs(600)).await;
        asked.lock().unwrap().iter().map(|at| (*at - began).as_secs()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_collector_that_takes_nothing_is_asked_ever_more_seldom() {
        let (items, asked) = started(Sent::Later(None));
        let began = Instant::now();
        tell(&items, 600).await;
        let seconds = ten_minutes(&asked, began).await;
        assert_eq!(seconds[..7], [0, 5, 15, 35, 75, 135, 195]);
        assert_eq!(seconds.len(), 13, "{seconds:?}");
        tell(&items, 600).await;
        assert_eq!(asked.lock().unwrap().len(), 13, "more to tell is no reason to ask before it is time");
    }

    #[tokio::test(start_paused = true)]
    async fn a_collector_says_when_it_wants_to_be_asked_again() {
        let (items, asked) = started(Sent::Later(Some(Duration::from_secs(20))));
        let began = Instant::now();
        tell(&items, 600).await;
        assert_eq!(ten_minutes(&asked, began).await[..4], [0, 20, 40, 60]);
        let (items, asked) = started(Sent::Later(Some(Duration::from_secs(86_400))));
        let began = Instant::now();
        tell(&items, 600).await;
        assert_eq!(ten_minutes(&asked, began).await[..3], [0, 60, 120], "but not for how long in all");
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_goes_at_once_and_less_than_one_waits_for_more() {
        for answer in [Sent::Taken, Sent::Refused] {
            let (items, asked) = started(answer);
            let began = Instant::now();
            tell(&items, BATCH).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            tell(&items, 1).await;
            assert_eq!(ten_minutes(&asked, began).await, [0, 6]);
        }
    }
}
