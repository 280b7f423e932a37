//! The engine as a generator.

use std::sync::{Arc, Mutex, PoisonError};

use charla_local::{Engine, InUse};
use charla_proto::{
    BoxFuture, ChunkStream, ContentGenerator, EmbedRequest, EmbedResponse, GenerateRequest, GenerateResponse,
    LlmError, LlmErrorKind, TokenCount,
};
use charla_providers::endpoint::{Endpoint, ModelRow, Target};
use charla_providers::{Client, Credential, Generator};
use futures_util::StreamExt;

/// Asks a model of the engine. Makes sure before each request that the engine runs, and keeps it running
/// until the answer is complete.
pub struct EngineGenerator {
    engine: Engine,
    endpoint: Endpoint,
    model: ModelRow,
    client: Client,
    /// The address that was valid last, and the generator for it, which keeps what it learned of the model.
    current: Mutex<Option<(String, Arc<Generator>)>>,
}

impl EngineGenerator {
    /// A generator over this engine. `endpoint` says all but where it is.
    pub fn new(engine: Engine, endpoint: Endpoint, model: ModelRow, client: Client) -> Self {
        Self { engine, endpoint, model, client, current: Mutex::default() }
    }

    /// The engine, and what asks it where it is now.
    async fn ready(&self) -> Result<(InUse, Arc<Generator>), LlmError> {
        let used = self.engine.ensure(&mut |_| {}).await;
        let used = used.map_err(|error| LlmError::new(LlmErrorKind::Network, error.to_string()))?;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let known = current.take().filter(|(address, _)| *address == used.base_url);
        let (_, generator) = current.insert(known.unwrap_or_else(|| {
            let endpoint = Endpoint { base_url: used.base_url.clone(), ..self.endpoint.clone() };
            let target = Target::new(Arc::new(endpoint), self.model.clone());
            let key = Credential::Key(used.key.clone());
            (used.base_url.clone(), Arc::new(Generator::new(target, key, self.client.clone())))
        }));
        Ok((used, generator.clone()))
    }
}

/// An engine that has gone is started by the next attempt: unlike somebody else's server it is worth one.
fn starts_again(mut error: LlmError) -> LlmError {
    error.detail.code = error.detail.code.filter(|code| code != "not_running");
    error
}

impl ContentGenerator for EngineGenerator {
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        Box::pin(async move {
            let (_used, generator) = self.ready().await?;
            generator.generate(request).await.map_err(starts_again)
        })
    }

    fn stream<'a>(&'a self, request: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        Box::pin(async move {
            let (used, generator) = self.ready().await?;
            let inner = generator.stream(request).await.map_err(starts_again)?;
            // The engine is kept running as long as the answer is read.
            Ok(inner.inspect(move |_| _ = &used).boxed())
        })
    }

    fn count_tokens<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        Box::pin(async move {
            let (_used, generator) = self.ready().await?;
            generator.count_tokens(request).await
        })
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        Box::pin(async move {
            let (_used, generator) = self.ready().await?;
            generator.embed(request).await
        })
    }
}
