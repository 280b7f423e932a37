//! A model of one's own: whatever answers may be asked by a session, with its tools, rules and journal.
//!
//! `cargo run -p charla --example own_model -- "Is anybody there?"`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;

use charla::proto::{
    BoxFuture, Candidate, ChunkStream, Content, ContentGenerator, EmbedRequest, EmbedResponse, FinishReason,
    GenerateRequest, GenerateResponse, LlmError, LlmErrorKind, StreamEvent, TokenCount,
};
use charla::{Charla, Environment, Failure, Notice, OpenRequest, Outcome, OwnModel};
use futures_util::stream;

/// Says back what it was told, loudly.
struct Megaphone;

impl Megaphone {
    fn answer(request: &GenerateRequest) -> GenerateResponse {
        let said = request.contents.last().map(|content| content.text()).unwrap_or_default();
        let candidate = Candidate {
            content: Some(Content::model(said.to_uppercase())),
            finish_reason: Some(FinishReason::Stop),
            ..Candidate::default()
        };
        GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() }
    }
}

impl ContentGenerator for Megaphone {
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        Box::pin(async move { Ok(Self::answer(request)) })
    }

    fn stream<'a>(&'a self, request: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        Box::pin(async move {
            let whole = StreamEvent::Chunk(Self::answer(request));
            Ok(Box::pin(stream::iter([Ok(whole)])) as ChunkStream)
        })
    }

    fn count_tokens<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        let words = request.contents.iter().map(|content| content.text().split_whitespace().count());
        let total_tokens = words.sum::<usize>() as u64;
        Box::pin(async move { Ok(TokenCount { total_tokens, exact: false }) })
    }

    fn embed<'a>(&'a self, _: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        Box::pin(async { Err(LlmError::new(LlmErrorKind::NotSupported, "a megaphone has no vectors")) })
    }
}

/// Asks the megaphone, in a session that is kept like any other.
pub async fn ask(environment: Environment, prompt: &str) -> Result<String, Failure> {
    let model = OwnModel::new("house/megaphone", Arc::new(Megaphone));
    let charla = Charla::new(environment).with_model(model);
    let mut notices: Vec<Notice> = Vec::new();
    let session = charla.open(OpenRequest::default(), &mut notices).await?;
    let answer = session.ask(prompt, async |_| Outcome::Cancel { reason: None }).await;
    session.close().await;
    answer
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let prompt = std::env::args().nth(1).unwrap_or_else(|| "Is anybody there?".to_owned());
    let folder = std::env::current_dir().map_err(|error| Failure::system(error.to_string()))?;
    let environment = Environment::of(std::env::vars_os()).in_workspace(folder);
    println!("{}", ask(environment, &prompt).await?);
    Ok(())
}
