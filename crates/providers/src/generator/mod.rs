//! A provider's model as a [`ContentGenerator`]: encodes, sends, decodes, judges. One attempt; trying
//! again is [`crate::layers`]' business.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use charla_proto::{
    Assembler, BoxFuture, ChunkStream, ContentGenerator, EmbedRequest, EmbedResponse, GenerateRequest,
    GenerateResponse, Hint, LlmError, LlmErrorKind, StreamEvent, TokenCount,
};
use futures_util::stream;
use http::Method;
use secrecy::SecretString;

use crate::endpoint::{Endpoint, Target};
use crate::net::{Client, Reply};
use crate::wire::{self, BodyDecoder, Fragments, Mode, Wire, WireRequest};
use crate::{history, tokens};

mod address;
mod answer;
pub(crate) mod judge;
mod listing;
mod measure;
mod recorded;
mod recording;
mod refusal;

pub(crate) use judge::OUTPUT_LIMIT;
pub(crate) use measure::ENDLESS;

use answer::Answer;
pub use listing::list_models;
pub use measure::{MOST_MEDIA, MOST_WORDS};
pub use recorded::{Recorded, RecordedLine, RecordedLines, RecordedMethod, RecordedOrder};
pub use recording::{Recording, RecordingSink};

/// Most of an error's body that is read, and how long it may take.
const ERROR_BODY: usize = 1024 * 1024;
const ERROR_PATIENCE: Duration = Duration::from_secs(10);
/// How many things one request may teach: each costs an exchange.
const MOST_LESSONS: u32 = 3;

/// What proves to the server who we are.
#[derive(Clone, Default)]
pub enum Credential {
    /// Nothing.
    #[default]
    None,
    /// A key that does not change.
    Key(SecretString),
    /// A source of short-lived tokens.
    Source(Arc<dyn TokenSource>),
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Credential::None => "None",
            Credential::Key(_) => "Key(…)",
            Credential::Source(_) => "Source(…)",
        })
    }
}

/// Gives out tokens that expire. It keeps the current one itself and fetches another when needed.
pub trait TokenSource: Send + Sync {
    /// A token that is good now.
    fn token(&self) -> BoxFuture<'_, Result<SecretString, LlmError>>;

    /// The server refused the last token: do not give it out again.
    fn invalidate(&self);
}

/// One model at one endpoint.
pub struct Generator {
    target: Target,
    /// The target with the peculiarities that its server told by refusing requests.
    known: RwLock<Arc<Target>>,
    reference: Arc<str>,
    credential: Credential,
    client: Client,
    wire: &'static dyn Wire,
    /// Held only while a request is encoded.
    fragments: Mutex<Fragments>,
}

impl Generator {
    /// The generator of `target`, spoken to in the endpoint's wire.
    pub fn new(target: Target, credential: Credential, client: Client) -> Self {
        let wire = wire::of(target.endpoint.wire);
        let reference = target.reference().into();
        let known = RwLock::new(Arc::new(target.clone()));
        Self { target, known, reference, credential, client, wire, fragments: Mutex::default() }
    }

    /// The same with a codec of one's own instead of the built-in one of the endpoint's wire.
    pub fn with_wire(self, wire: &'static dyn Wire) -> Self {
        Self { wire, ..self }
    }

    fn encode(&self, request: &GenerateRequest, mode: Mode) -> Result<WireRequest, LlmError> {
        let request = self.prepare(request);
        let mut fragments = self.fragments.lock().unwrap_or_else(PoisonError::into_inner);
        let encoded = self.wire.encode(&request, &self.known(), mode, &mut fragments)?;
        fragments.wrote(&encoded.body);
        Ok(encoded)
    }

    /// The target with what was learned of it.
    fn known(&self) -> Arc<Target> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// True when the error to `request`, which was written for `used`, tells how it would be taken.
    fn learn(&self, used: &Target, error: &LlmError, request: &GenerateRequest) -> bool {
        let quirks = &used.endpoint.quirks;
        let told = self.wire.learn(quirks, error).or_else(|| refusal::learn(quirks, error, request));
        let Some(quirks) = told else { return false };
        // What is remembered was written for the old peculiarities. Locked until the new ones hold: a request that
        // is encoded at the same time must not remember more of it.
        let mut fragments = self.fragments.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Another request may have learned meanwhile; what this one was told is asked anew if it still holds.
        if *known.endpoint == *used.endpoint {
            tracing::debug!(model = %self.reference, %error, "the server wants it otherwise");
            *fragments = Fragments::default();
            let endpoint = Endpoint { quirks, ..(*self.target.endpoint).clone() };
            *known = Arc::new(Target { endpoint: Arc::new(endpoint), ..self.target.clone() });
        }
        true
    }

    /// The request with a history this target takes.
    fn prepare<'a>(&self, request: &'a GenerateRequest) -> Cow<'a, GenerateRequest> {
        let contents = history::prepare(&request.contents, &self.target);
        let model = if request.model.is_empty() { &self.target.model.id } else { &request.model };
        match contents {
            Cow::Borrowed(_) if *model == request.model => Cow::Borrowed(request),
            contents => {
                let contents = contents.into_owned();
                Cow::Owned(GenerateRequest { contents, model: model.clone(), ..request.clone() })
            }
        }
    }

    /// Sends a request and gives the reply if it is a success. A token that is refused is fetched anew,
    /// once.
    async fn send(&self, request: WireRequest, mode: Mode) -> Result<Reply, LlmError> {
        let reply = self.send_once(&request, mode).await?;
        let reply = match &self.credential {
            Credential::Source(source) if reply.status == 401 => {
                source.invalidate();
                self.send_once(&request, mode).await?
            }
            _ => reply,
        };
        self.check(reply).await
    }

    async fn send_once(&self, request: &WireRequest, mode: Mode) -> Result<Reply, LlmError> {
        let fetched;
        let token = match &self.credential {
            Credential::None => None,
            Credential::Key(key) => Some(key),
            Credential::Source(source) => {
                fetched = source.token().await?;
                Some(&fetched)
            }
        };
        let endpoint = &self.target.endpoint;
        let url = address::url(&endpoint.base_url, &request.path)?;
        let headers = address::headers(endpoint, request, token, mode)?;
        self.client.send(Method::POST, url, headers, request.body.clone()).await
    }

    async fn check(&self, mut reply: Reply) -> Result<Reply, LlmError> {
        if let Some(error) = self.unreadable(&reply) {
            return Err(error);
        }
        match reply.status {
            200..300 if is_web_page(&reply) => Err(self.web_page(&reply)),
            200..300 => Ok(reply),
            300..400 => Err(self.redirect(&reply)),
            status => {
                let body = reply.body.read_some(ERROR_BODY, ERROR_PATIENCE).await;
                let body = String::from_utf8_lossy(&body);
                let body = charla_proto::json::mended(&body);
                let error = self.wire.error(&self.target, status, &reply.headers, body.as_bytes());
                // A server that lacks a model speaks of it; any other 404 means that the address is wrong.
                let misled = status == 404 && (is_web_page(&reply) || !self.speaks_of_model(&error));
                // A page with a 403 is a gateway's: the server itself would speak of keys and models in JSON.
                let stopped = status == 403 && is_web_page(&reply);
                Err(match (misled, stopped) {
                    (true, _) => error.with_hint(self.address_hint()),
                    (_, true) => error.with_hint(self.gateway_hint()),
                    _ => error,
                })
            }
        }
    }

    /// Why a body cannot be read at all: it is packed in a way that nobody asked for.
    fn unreadable(&self, reply: &Reply) -> Option<LlmError> {
        let packed = reply.headers.get(http::header::CONTENT_ENCODING)?.to_str().ok()?;
        if packed.trim().is_empty() || packed.eq_ignore_ascii_case("identity") {
            return None;
        }
        let name = &self.target.endpoint.name;
        let message = format!("{name} sent an answer compressed with {packed}, which was not asked for");
        let mut error = LlmError::new(LlmErrorKind::Protocol, message)
            .with_hint("only gzip can be read: a gateway or proxy on the way may be set up wrongly");
        error.detail.status = Some(reply.status);
        Some(error)
    }

    fn gateway_hint(&self) -> String {
        format!(
            "a gateway or firewall before {} stopped the request, not the model's server: check the network, a VPN or \
             proxy, and the base URL",
            address::shown(&self.target.endpoint.base_url)
        )
    }

    fn redirect(&self, reply: &Reply) -> LlmError {
        let location = reply.headers.get(http::header::LOCATION).and_then(|value| value.to_str().ok());
        let location = location.unwrap_or("an address it does not name");
        let message = format!(
            "{} answered with a redirect to {location}; it is not followed, because the key would go along",
            self.target.endpoint.name
        );
        let mut error = LlmError::new(LlmErrorKind::Config, message)
            .with_hint("if that address is right, set it as the endpoint's base URL");
        error.detail.status = Some(reply.status);
        error
    }

    fn web_page(&self, reply: &Reply) -> LlmError {
        let message =
            format!("{} answered with a web page instead of a model's answer", self.target.endpoint.name);
        let mut error = LlmError::new(LlmErrorKind::Protocol, message).with_hint(self.address_hint());
        error.detail.status = Some(reply.status);
        error
    }

    fn speaks_of_model(&self, error: &LlmError) -> bool {
        error.message.to_lowercase().contains("model") || error.message.contains(&self.target.model.id)
    }

    fn address_hint(&self) -> String {
        format!(
            "check the base URL {}: it may lack a path such as /v1, or a login page stands before it",
            address::shown(&self.target.endpoint.base_url)
        )
    }

    /// An error that its server gives because it was told of tools comes with the way around.
    fn about_tools(error: LlmError, request: &GenerateRequest) -> LlmError {
        let refused = matches!(error.kind, LlmErrorKind::InvalidRequest | LlmErrorKind::NotSupported);
        let told = request.function_declarations().next().is_some() && crate::probe::speaks_of_tools(&error);
        if !(refused && told) {
            return error;
        }
        error.with_hint(Hint::ChangeToolMode)
    }

    async fn open(&self, request: &GenerateRequest, mode: Mode) -> Result<Answer, LlmError> {
        let mut lessons = 0;
        let reply = loop {
            let used = self.known();
            match self.send(self.encode(request, mode)?, mode).await {
                Err(error) if lessons < MOST_LESSONS && self.learn(&used, &error, request) => lessons += 1,
                sent => break sent,
            }
        };
        let reply = reply.map_err(|error| Self::about_tools(error, request))?;
        let max_event = self.client.options().max_event;
        let decoder = BodyDecoder::new(self.wire.decoder(&self.target), max_event);
        Ok(Answer::new(reply.body, decoder, self.target.origin.clone(), self.reference.clone()))
    }

    async fn call(&self, request: WireRequest) -> Result<Vec<u8>, LlmError> {
        let mut reply = self.send(request, Mode::Unary).await?;
        reply.body.read(self.client.options().max_event.saturating_mul(4)).await
    }

    fn named(&self, error: LlmError) -> LlmError {
        name_model(error, &self.reference)
    }
}

/// Says which model an error came from.
fn name_model(mut error: LlmError, reference: &str) -> LlmError {
    error.detail.model.get_or_insert_with(|| reference.to_owned());
    error
}

fn is_web_page(reply: &Reply) -> bool {
    let kind = reply.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/html"))
}

impl ContentGenerator for Generator {
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        Box::pin(async move {
            let mut answer = self.open(request, Mode::Unary).await.map_err(|error| self.named(error))?;
            let mut whole = Assembler::new();
            while let Some(chunk) = answer.next().await {
                whole.push(chunk?);
            }
            Ok(whole.finish())
        })
    }

    fn stream<'a>(&'a self, request: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        Box::pin(async move {
            let answer = self.open(request, Mode::Stream).await.map_err(|error| self.named(error))?;
            let chunks = stream::unfold(Box::new(answer), |mut answer| async move {
                let chunk = answer.next().await?;
                Some((chunk.map(StreamEvent::Chunk), answer))
            });
            Ok(Box::pin(chunks) as ChunkStream)
        })
    }

    fn count_tokens<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        Box::pin(async move {
            let estimate = || TokenCount { total_tokens: tokens::estimate(request), exact: false };
            if self.target.endpoint.quirks.no_count_tokens {
                return Ok(estimate());
            }
            let Some(encoded) = self.wire.encode_count(&self.prepare(request), &self.target) else {
                return Ok(estimate());
            };
            let counted = match encoded {
                Ok(encoded) => self.call(encoded).await.and_then(|body| self.wire.decode_count(&body)),
                Err(error) => Err(error),
            };
            // Counting guides decisions that can do with an estimate; it must never stop a session.
            counted.or_else(|error| {
                tracing::debug!(model = %self.reference, %error, "counting tokens by estimate");
                Ok(estimate())
            })
        })
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        Box::pin(async move {
            let Some(encoded) = self.wire.encode_embed(request, &self.target) else {
                let message = format!("{} has no embeddings", self.target.endpoint.name);
                return Err(self.named(LlmError::new(LlmErrorKind::NotSupported, message)));
            };
            let embedded = match encoded {
                Ok(encoded) => self.call(encoded).await.and_then(|body| self.wire.decode_embed(&body)),
                Err(error) => Err(error),
            };
            embedded.map_err(|error| self.named(error))
        })
    }
}

#[cfg(test)]
mod tests;
