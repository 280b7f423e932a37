//! Conversations with the scripted server.

use std::sync::Arc;

use charla_proto::{
    Assembler, Content, ContentGenerator, FunctionResponse, GenerateRequest, GenerateResponse, LlmError,
    Part, Role, StreamEvent, Thinking, ThinkingLevel, WireKind,
};
use charla_providers::endpoint::{AuthStyle, Endpoint, ModelRow, Quirks, Target};
use charla_providers::{Client, Credential, Generator, NetworkOptions};
use charla_testkit::Server;
use futures_util::StreamExt;

/// This model of the server, spoken to in this wire under this provider's name.
pub fn generator(server: &Server, name: &str, wire: WireKind, quirks: Quirks, model: ModelRow) -> Generator {
    let auth = match wire {
        WireKind::Gemini => AuthStyle::GoogApiKey,
        WireKind::Anthropic => AuthStyle::XApiKey,
        WireKind::OpenaiChat | WireKind::OpenaiResponses => AuthStyle::Bearer,
    };
    let (name, base_url) = (name.to_owned(), server.base_url(wire));
    let endpoint = Endpoint { name, wire, base_url, auth, headers: Vec::new(), quirks };
    let client = Client::new(NetworkOptions::default()).expect("a client");
    let target = Target::new(Arc::new(endpoint), model);
    Generator::new(target, Credential::Key("key".to_owned().into()), client)
}

/// Thinking as every wire can be asked for it.
pub fn thinking() -> Thinking {
    Thinking {
        include_thoughts: Some(true),
        thinking_budget: Some(2048),
        thinking_level: Some(ThinkingLevel::Low),
    }
}

/// Asks, and adds the answer to the history.
pub async fn ask(
    generator: &dyn ContentGenerator,
    request: GenerateRequest,
    history: &mut Vec<Arc<Content>>,
) -> GenerateResponse {
    let (answer, retries) = streamed(generator, &request).await.expect("a good answer");
    assert_eq!(retries, 0, "the first attempt is answered");
    history.push(Arc::new(answer.content().cloned().expect("a content")));
    answer
}

/// The whole of a streamed answer, and how many attempts failed before it.
pub async fn streamed(
    generator: &dyn ContentGenerator,
    request: &GenerateRequest,
) -> Result<(GenerateResponse, usize), LlmError> {
    let (mut whole, mut retries) = (Assembler::new(), 0);
    let mut stream = generator.stream(request).await?;
    while let Some(event) = stream.next().await {
        match event? {
            StreamEvent::Chunk(chunk) => whole.push(chunk),
            StreamEvent::Retry(_) => {
                whole = Assembler::new();
                retries += 1;
            }
            other => panic!("unexpected {other:?}"),
        }
    }
    Ok((whole.finish(), retries))
}

/// A response to every call of the last content.
pub fn responses(history: &[Arc<Content>], output: &str) -> Vec<Part> {
    let calls = history.last().expect("a content").function_calls();
    let response = |id, name| Part::function_response(FunctionResponse::output(id, name, output));
    calls.map(|call| response(call.id.clone().expect("calls have ids"), call.name.clone())).collect()
}

/// Answers every call of the last content with this; gives how many there were.
pub fn answer_calls(history: &mut Vec<Arc<Content>>, output: &str) -> usize {
    let responses = responses(history, output);
    let count = responses.len();
    history.push(Arc::new(Content::new(Role::User, responses)));
    count
}
