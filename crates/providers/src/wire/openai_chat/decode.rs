//! From answers to chunks.

use charla_proto::{Candidate, Citation, Content, Role};

use super::choice::{ChoiceState, Form};
use super::chunk::{Annotation, Choice, Chunk, SearchResult};
use super::lenient::List;
use super::*;

/// Reads one answer, streamed or whole.
#[derive(Default)]
pub struct Decoder {
    choices: Vec<ChoiceState>,
    /// The first id that is not empty counts: some servers change it within a stream.
    has_id: bool,
    has_model: bool,
    citations: Vec<Citation>,
    citations_given: usize,
    /// An error that came beside choices: usage and `[DONE]` may still follow it.
    error: Option<LlmError>,
    /// An event that is no JSON. At the end of the body it was cut off; before more events it is wrong.
    broken: Option<String>,
    /// Something of this wire has come.
    seen: bool,
    done: bool,
}

impl EventDecoder for Decoder {
    fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        out: &mut Vec<GenerateResponse>,
    ) -> Result<(), LlmError> {
        let data = data.trim();
        if data.is_empty() {
            return Ok(());
        }
        if let Some(broken) = self.broken.take() {
            return Err(not_json(&broken));
        }
        if data == "[DONE]" {
            self.done = true;
            self.seen = true;
            return self.flush(out);
        }
        if name == Some("error") && !self.done {
            self.flush(out)?;
            return Err(error::in_stream_text(data));
        }
        self.read(data, Form::Stream, out)
    }

    fn document(&mut self, document: Value, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        let known = ["choices", "base_resp"].iter().any(|key| document.get(key).is_some());
        let known = known || error::is_error(&document);
        let text = document.to_string();
        if !known {
            let start: String = text.chars().take(200).collect();
            let message = format!("the server's answer is no chat completion: {start}");
            return Err(LlmError::new(LlmErrorKind::Protocol, message)
                .with_hint("check the base URL: it may point at another kind of server"));
        }
        self.read(&text, Form::Whole, out)?;
        self.flush(out)
    }

    fn end(&mut self, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        self.flush(out)?;
        match self.broken.take() {
            Some(broken) if !self.seen => Err(not_json(&broken)),
            _ => Ok(()),
        }
    }

    fn held(&self) -> usize {
        let citations = self.citations.get(self.citations_given..).unwrap_or_default();
        let choices = self.choices.iter().map(ChoiceState::held);
        choices.chain(citations.iter().map(weight_of_citation)).sum()
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

impl Decoder {
    fn read(&mut self, text: &str, form: Form, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        if let Ok(chunk) = serde_json::from_str::<Chunk>(text) {
            return self.chunk(chunk, text, form, out);
        }
        // A key that comes twice is no syntax error: reading into a tree keeps the last.
        let once = serde_json::from_str::<Value>(text).map(|tree| tree.to_string());
        if let Ok(once) = once
            && let Ok(chunk) = serde_json::from_str::<Chunk>(&once)
        {
            return self.chunk(chunk, &once, form, out);
        }
        self.broken = Some(text.chars().take(200).collect());
        Ok(())
    }

    fn chunk(
        &mut self,
        chunk: Chunk,
        text: &str,
        form: Form,
        out: &mut Vec<GenerateResponse>,
    ) -> Result<(), LlmError> {
        let mut response = GenerateResponse::default();
        let failure = failure(&chunk, text);
        let groq = chunk.x_groq.0.and_then(|groq| groq.usage.0);
        let usage = chunk.usage.0.and_then(|usage| usage.into_metadata());
        response.usage_metadata = usage.or_else(|| groq.and_then(|usage| usage.into_metadata()));
        if self.done {
            give(response, out);
            return Ok(());
        }
        self.seen |= chunk.choices.is_some();
        if !self.has_id
            && let Some(id) = chunk.id.take()
        {
            self.has_id = true;
            response.response_id = Some(id.into_owned());
        }
        if !self.has_model
            && let Some(model) = chunk.model.take()
        {
            self.has_model = true;
            response.model_version = Some(model.into_owned());
        }
        self.cite(chunk.search_results.0.into_iter());
        let addresses = chunk.citations.0.into_iter();
        self.cite(addresses.map(|url| SearchResult { url, ..SearchResult::default() }));
        let beside = chunk.choices.is_some();
        let choices = chunk.choices.unwrap_or_default();
        for choice in choices.first.into_iter().chain(choices.rest) {
            let candidate = self.choice(choice, form);
            if !is_empty(&candidate) {
                response.candidates.push(candidate);
            }
        }
        give(response, out);
        match failure {
            None => Ok(()),
            Some(error) if beside => {
                self.error.get_or_insert(error);
                Ok(())
            }
            Some(error) => {
                self.flush(out)?;
                Err(error)
            }
        }
    }

    fn choice(&mut self, choice: Choice, form: Form) -> Candidate {
        // Servers that number nothing have one choice.
        let index = choice.index.0.and_then(|index| u32::try_from(index).ok()).unwrap_or(0);
        let place = self.choices.iter().position(|state| state.index == index).unwrap_or_else(|| {
            self.choices.push(ChoiceState::new(index));
            self.choices.len() - 1
        });
        let mut parts = Vec::new();
        let started = self.choices[place].started;
        // The whole message beside or after deltas repeats them.
        let message = choice.message.0.filter(|_| !started).map(|message| *message);
        let delta = match choice.delta.0 {
            // Some servers put an empty delta beside the message of a whole answer.
            Some(delta) if form == Form::Whole && delta.is_empty() => message.or(Some(delta)),
            Some(delta) => Some(delta),
            None => message,
        };
        if let Some(mut delta) = delta {
            self.annotate(std::mem::take(&mut delta.annotations));
            self.choices[place].delta(delta, form, &mut parts);
        }
        let state = &mut self.choices[place];
        let mut candidate = Candidate { index, ..Candidate::default() };
        if let Some(word) = choice.finish_reason.get()
            && state.finish(word, choice.native_finish_reason.get())
        {
            state.flush(&mut parts, &mut candidate);
            candidate.citations = self.take_citations(index);
        }
        if !parts.is_empty() {
            candidate.content = Some(Content::new(Role::Model, parts));
        }
        candidate
    }

    /// Gives out everything held back; then the error that came beside the answer, if any.
    fn flush(&mut self, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        let mut response = GenerateResponse::default();
        if self.choices.is_empty() && self.citations_given < self.citations.len() {
            self.choices.push(ChoiceState::default());
        }
        for place in 0..self.choices.len() {
            let mut parts = Vec::new();
            let mut candidate = Candidate { index: self.choices[place].index, ..Candidate::default() };
            self.choices[place].flush(&mut parts, &mut candidate);
            candidate.citations = self.take_citations(candidate.index);
            if !parts.is_empty() {
                candidate.content = Some(Content::new(Role::Model, parts));
            }
            if !is_empty(&candidate) {
                response.candidates.push(candidate);
            }
        }
        give(response, out);
        self.error.take().map_or(Ok(()), Err)
    }

    fn annotate(&mut self, annotations: List<Annotation>) {
        for annotation in annotations.0 {
            self.cite(annotation.url_citation.0.into_iter());
            let files = annotation.file.0.into_iter();
            self.cite(files.map(|file| SearchResult { title: file.name, ..SearchResult::default() }));
        }
    }

    /// Keeps sources, each once.
    fn cite<'a>(&mut self, sources: impl Iterator<Item = SearchResult<'a>>) {
        for source in sources {
            let (title, uri) = (source.title.get(), source.url.get());
            let known = self.citations.iter().any(|old| match uri {
                Some(_) => old.uri.as_deref() == uri,
                None => old.title.as_deref() == title,
            });
            if !known && (title.is_some() || uri.is_some()) {
                let (title, uri) = (title.map(str::to_owned), uri.map(str::to_owned));
                self.citations.push(Citation { title, uri, ..Citation::default() });
            }
        }
    }

    /// The sources not given out yet; they belong to the answer as a whole, so the first choice has them.
    fn take_citations(&mut self, index: u32) -> Vec<Citation> {
        if self.choices.first().is_none_or(|first| first.index != index) {
            return Vec::new();
        }
        let new = self.citations.get(self.citations_given..).unwrap_or_default().to_vec();
        self.citations_given = self.citations.len();
        new
    }
}

fn give(response: GenerateResponse, out: &mut Vec<GenerateResponse>) {
    let empty = response.candidates.is_empty()
        && response.usage_metadata.is_none()
        && response.response_id.is_none()
        && response.model_version.is_none();
    if !empty {
        out.push(response);
    }
}

fn is_empty(candidate: &Candidate) -> bool {
    candidate.content.is_none() && candidate.finish_reason.is_none() && candidate.citations.is_empty()
}

/// The failure that a chunk tells of, beside choices or instead of them.
fn failure(chunk: &Chunk, text: &str) -> Option<LlmError> {
    let says = |value: &Option<Box<Value>>| value.as_deref().is_some_and(error::says_something);
    let instead = chunk.choices.is_none()
        && chunk.usage.0.is_none()
        && (chunk.object.get() == Some("error") || says(&chunk.message) || says(&chunk.detail));
    if instead || says(&chunk.error) {
        return Some(error::in_stream_text(text));
    }
    if let Some(error) = chunk.base_resp.as_deref().and_then(error::in_base_resp) {
        return Some(error);
    }
    let mut choices = chunk.choices.iter().flat_map(|list| list.first.iter().chain(&list.rest));
    let failed = choices.find(|choice| says(&choice.error))?;
    Some(error::in_stream(&serde_json::json!({"error": failed.error})))
}

fn not_json(start: &str) -> LlmError {
    LlmError::new(LlmErrorKind::Protocol, format!("the server sent an event that is not JSON: {start}"))
}
