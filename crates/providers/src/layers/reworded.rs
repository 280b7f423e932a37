//! Requests put differently for one model of a chain: without tools, or with a beginning that never changes.

use std::sync::{Arc, Mutex, PoisonError};

use charla_proto::{
    BoxFuture, ChunkStream, Content, ContentGenerator, EmbedRequest, EmbedResponse, GenerateRequest,
    GenerateResponse, LlmError, Part, PartKind, Role, TokenCount,
};

/// A generator whose requests are put differently.
///
/// A model that only chats is offered no tools, whatever the session has: in a chain each model has its own mode.
///
/// A local server keeps what it has read of a prompt as long as the next one begins with the same words. Its
/// templates put tools behind the system message, so that a folder or a date in that message makes it read all
/// tools again. What differs from run to run therefore goes in front of the first user message.
pub struct Reworded {
    inner: Arc<dyn ContentGenerator>,
    chat_only: bool,
    steady_system: bool,
    last: Mutex<Option<Split>>,
}

/// A system instruction and a first message as they came, and what was made of them. The same contents give the
/// same `Arc`s again, so that codecs below recognise what they have encoded.
#[derive(Clone)]
struct Split {
    system: Arc<Content>,
    first: Arc<Content>,
    steady: Arc<Content>,
    opened: Arc<Content>,
}

impl Reworded {
    /// Over this generator.
    pub fn over(inner: Arc<dyn ContentGenerator>, chat_only: bool, steady_system: bool) -> Self {
        Self { inner, chat_only, steady_system, last: Mutex::default() }
    }

    fn reworded(&self, request: &GenerateRequest) -> GenerateRequest {
        let mut request = request.clone();
        if self.chat_only {
            request.tools.clear();
            request.tool_config = None;
        }
        if self.steady_system {
            self.steady(&mut request);
        }
        request
    }

    fn steady(&self, request: &mut GenerateRequest) {
        let opens = |content: &Arc<Content>| {
            content.role == Role::User && content.function_responses().next().is_none()
        };
        let Some(system) = request.system_instruction.clone().filter(|system| system.parts.len() > 1) else {
            return;
        };
        let Some(first) = request.contents.iter_mut().find(|content| opens(content)) else { return };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |split: &&Split| Arc::ptr_eq(&split.system, &system) && Arc::ptr_eq(&split.first, first);
        let split = match last.as_ref().filter(same) {
            Some(known) => known.clone(),
            None => {
                let (steady, opened) = split(&system, first);
                Split { system, first: first.clone(), steady: Arc::new(steady), opened: Arc::new(opened) }
            }
        };
        request.system_instruction = Some(split.steady.clone());
        *first = split.opened.clone();
        *last = Some(split);
    }
}

/// The first part of the instruction, and the message with the others in front.
fn split(system: &Content, first: &Content) -> (Content, Content) {
    let mut parts = system.parts.iter().cloned();
    let steady = Content { parts: parts.next().into_iter().collect(), ..system.clone() };
    let rest: Vec<String> = parts.filter_map(|part| Some(part.as_text()?.trim().to_owned())).collect();
    let mut opening = rest.join("\n\n");
    let mut opened = first.clone();
    // One text and not two: many templates take a message that is a list for a picture's.
    if let Some(PartKind::Text(words)) = opened.parts.first().map(|part| &part.kind) {
        opening = format!("{opening}\n\n{words}");
        opened.parts.remove(0);
    }
    opened.parts.insert(0, Part::text(opening));
    (steady, opened)
}

impl ContentGenerator for Reworded {
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        Box::pin(async move { self.inner.generate(&self.reworded(request)).await })
    }

    fn stream<'a>(&'a self, request: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        Box::pin(async move { self.inner.stream(&self.reworded(request)).await })
    }

    fn count_tokens<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        Box::pin(async move { self.inner.count_tokens(&self.reworded(request)).await })
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        self.inner.embed(request)
    }
}

#[cfg(test)]
mod tests {
    use charla_proto::{LlmErrorKind, Tool};

    use super::*;

    struct Nobody;

    impl ContentGenerator for Nobody {
        fn generate<'a>(
            &'a self,
            _: &'a GenerateRequest,
        ) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
            Box::pin(async { Err(LlmError::new(LlmErrorKind::NotSupported, "nobody")) })
        }

        fn stream<'a>(&'a self, _: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
            Box::pin(async { Err(LlmError::new(LlmErrorKind::NotSupported, "nobody")) })
        }

        fn count_tokens<'a>(&'a self, _: &'a GenerateRequest) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
            Box::pin(async { Err(LlmError::new(LlmErrorKind::NotSupported, "nobody")) })
        }

        fn embed<'a>(&'a self, _: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
            Box::pin(async { Err(LlmError::new(LlmErrorKind::NotSupported, "nobody")) })
        }
    }

    fn request(folder: &str, contents: Vec<Arc<Content>>) -> GenerateRequest {
        let system = Content::new(Role::User, vec![Part::text("Be brief."), Part::text(folder)]);
        GenerateRequest {
            system_instruction: Some(Arc::new(system)),
            tools: vec![Tool::functions(Vec::new())],
            ..GenerateRequest::new("m", contents)
        }
    }

    #[test]
    fn what_changes_goes_in_front_of_the_first_message_and_stays_there() {
        let layer = Reworded::over(Arc::new(Nobody), false, true);
        let said = Arc::new(Content::user("hi"));
        let mut step = request("Folder: /a", vec![said.clone()]);
        let first = layer.reworded(&step);
        assert_eq!(first.system_instruction.as_ref().unwrap().text(), "Be brief.");
        assert_eq!(first.contents[0].text(), "Folder: /a\n\nhi");
        step.contents.extend([Arc::new(Content::model("hello")), Arc::new(Content::user("more"))]);
        let second = layer.reworded(&step);
        assert!(Arc::ptr_eq(&first.contents[0], &second.contents[0]), "it is made anew at every step");
        assert_eq!(second.contents[2].text(), "more");
        let elsewhere = layer.reworded(&request("Folder: /b", vec![said]));
        assert_eq!(elsewhere.system_instruction, first.system_instruction);
    }

    #[test]
    fn a_model_that_only_chats_is_offered_nothing() {
        let layer = Reworded::over(Arc::new(Nobody), true, false);
        let sent = layer.reworded(&request("x", vec![Arc::new(Content::user("hi"))]));
        assert!(sent.tools.is_empty());
        assert_eq!(sent.contents[0].text(), "hi");
    }
}
