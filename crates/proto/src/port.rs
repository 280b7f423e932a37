//! The ports: the traits through which crates that never import each other meet.

use std::future::Future;
use std::pin::Pin;

use futures_util::Stream;

use crate::{
    EmbedRequest, EmbedResponse, GenerateRequest, GenerateResponse, LlmError, StreamEvent, TokenCount,
};

/// A future behind a pointer, so that the ports can be used as trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A model's answer as it comes. At most one `Err`, as the last item. Dropping it ends the request.
pub type ChunkStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, LlmError>> + Send>>;

/// Anything that answers like a model: a provider, or a layer over another generator.
pub trait ContentGenerator: Send + Sync {
    /// Asks for a whole answer.
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<GenerateResponse, LlmError>>;

    /// Asks for an answer as it comes. A stream that ends without a finish reason (and without a
    /// complete call) ends in an error, never silently.
    fn stream<'a>(&'a self, request: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>>;

    /// Counts the request's tokens, by the provider where it can, else by a local estimate.
    fn count_tokens<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<TokenCount, LlmError>>;

    /// Turns texts into vectors; [`crate::LlmErrorKind::NotSupported`] where the provider cannot.
    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>>;
}
