//! Events of `/responses` as chunks.
//!
//! A finished item is the truth; its deltas are shown as they come, and of the finished item only what the
//! deltas did not show. Items are told apart by their place in the output, since ids may change between
//! events. The response's own list of items counts only when no item came by itself.

use charla_proto::{Candidate, Citation, Content, Part, Role};

use super::event::{Event, head, malformed, output_of, tree, words};
use super::item::{self, Head};
use super::*;

/// The kinds of words an item streams.
#[derive(Clone, Copy)]
enum Channel {
    Text,
    Refusal,
    Summary,
    Reasoning,
}

impl Channel {
    fn part(self, text: &str) -> Part {
        match self {
            Channel::Text => Part::text(text),
            Channel::Summary | Channel::Reasoning => Part::thought(text),
            Channel::Refusal => {
                let mut part = Part::text(text);
                part.extra.insert("refusal", Value::from(true));
                part
            }
        }
    }
}

/// An item that is still coming in.
#[derive(Default)]
struct OpenItem {
    place: u64,
    /// As it was announced; a call's name and id are there.
    announced: Value,
    /// What was shown of it, by channel.
    shown: [String; 4],
    arguments: String,
    arguments_done: bool,
    citations: Vec<Citation>,
    done: bool,
}

impl OpenItem {
    /// What it holds that was not given out.
    fn weight(&self) -> usize {
        let open = if self.done { 0 } else { self.arguments.len() + weight(&self.announced) };
        ENTRY + open + self.citations.iter().map(weight_of_citation).sum::<usize>()
    }
}

/// Decodes one answer.
#[derive(Default)]
pub(super) struct Decoder {
    items: Vec<OpenItem>,
    /// Finished reasoning items wait for what follows them, to learn whether anything does.
    reasoning: Vec<Value>,
    reasoned: bool,
    refused: bool,
    id: Option<String>,
    model: Option<String>,
    /// An `error` event; the response's own failure may follow and says that it ended.
    error: Option<LlmError>,
    /// An event that ends in the middle: the end of the body excuses it, another event does not.
    cut_event: bool,
    done: bool,
}

impl EventDecoder for Decoder {
    fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        out: &mut Vec<GenerateResponse>,
    ) -> Result<(), LlmError> {
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        if self.cut_event {
            return Err(malformed("it ends in the middle"));
        }
        let event: Event = match serde_json::from_str(data) {
            Ok(event) => event,
            Err(_) if name == Some("error") => {
                self.error = Some(classify(0, None, error::read(data.as_bytes())));
                return Ok(());
            }
            Err(error) if error.is_eof() => {
                self.cut_event = true;
                return Ok(());
            }
            // Valid JSON of another shape is an event we do not know.
            Err(error) if error.is_data() => return Ok(()),
            Err(error) => return Err(malformed(&error.to_string())),
        };
        self.dispatch(name, data, &event, out)
    }

    fn document(&mut self, mut document: Value, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        let head = Head::deserialize(&document).unwrap_or_default();
        let output = document["output"].take();
        let is_response = output.is_array() || head.status.is_string();
        if !is_response && (!document["error"].is_null() || !document["detail"].is_null()) {
            return Err(classify(0, None, error::from_document(&document)));
        }
        if !is_response {
            return Err(LlmError::new(LlmErrorKind::Protocol, "the server's answer is no response object"));
        }
        self.output(output, out);
        self.finish(&head, "completed", out)
    }

    fn end(&mut self, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        self.give_open_items(out);
        self.give_reasoning(false, out);
        if self.id.is_some() || self.model.is_some() {
            out.push(GenerateResponse {
                response_id: self.id.take(),
                model_version: self.model.take(),
                ..GenerateResponse::default()
            });
        }
        self.error.take().map_or(Ok(()), Err)
    }

    fn held(&self) -> usize {
        let reasoning = self.reasoning.iter().map(weight).sum::<usize>();
        reasoning + self.items.iter().map(OpenItem::weight).sum::<usize>()
    }

    fn is_done(&self) -> bool {
        self.done || self.error.is_some()
    }
}

impl Decoder {
    fn dispatch(
        &mut self,
        name: Option<&str>,
        data: &str,
        event: &Event,
        out: &mut Vec<GenerateResponse>,
    ) -> Result<(), LlmError> {
        let kind = event.kind().or(name);
        match kind {
            Some("response.output_text.delta") => self.show(event, Channel::Text, out),
            Some("response.reasoning_summary_text.delta") => self.show(event, Channel::Summary, out),
            Some("response.reasoning_text.delta") => self.show(event, Channel::Reasoning, out),
            Some("response.refusal.delta") => self.show(event, Channel::Refusal, out),
            Some("response.function_call_arguments.delta" | "response.custom_tool_call_input.delta") => {
                if let Some(delta) = event.delta.and_then(words) {
                    self.item(event.output_index).arguments.push_str(&delta);
                }
            }
            Some("response.function_call_arguments.done" | "response.custom_tool_call_input.done") => {
                let arguments = event.arguments.or(event.input).and_then(words);
                let item = self.item(event.output_index);
                item.arguments_done = true;
                if let Some(arguments) = arguments.filter(|arguments| !arguments.is_empty()) {
                    item.arguments = arguments.into_owned();
                }
            }
            Some("response.output_item.added") => {
                self.open(event.output_index).announced = tree(event.item);
            }
            Some("response.output_item.done") => {
                let item = self.item(event.output_index);
                if !std::mem::replace(&mut item.done, true) {
                    let place = item.place;
                    self.give_item(place, tree(event.item), out);
                }
            }
            Some("response.output_text.annotation.added" | "response.output_text_annotation.added") => {
                let citation = item::citation(&tree(event.annotation));
                self.item(event.output_index).citations.extend(citation);
            }
            Some("response.created") => self.begin(&head(event.response)),
            Some(
                "response.completed"
                | "response.incomplete"
                | "response.failed"
                | "response.cancelled"
                | "response.done",
            ) => {
                let ending = kind.and_then(|kind| kind.strip_prefix("response.")).unwrap_or_default();
                if self.items.is_empty() {
                    self.output(output_of(event.response), out);
                }
                let ending = if ending == "done" { "completed" } else { ending };
                return self.finish(&head(event.response), ending, out);
            }
            Some("error") => self.fail(data),
            None if event.error.is_some() => self.fail(data),
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, head: &Head) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        // Some servers name the response anew in each event; the last name is the one it is kept under.
        self.id = text(&head.id).or_else(|| self.id.take());
        self.model = text(&head.model).or_else(|| self.model.take());
    }

    fn fail(&mut self, data: &str) {
        let document: Value = serde_json::from_str(data).unwrap_or_default();
        self.error.get_or_insert_with(|| classify(0, None, error::from_document(&document)));
    }

    /// The item an event speaks of; without a place it is the newest one.
    fn item(&mut self, place: Option<u64>) -> &mut OpenItem {
        let place = place.or_else(|| self.items.last().map(|item| item.place)).unwrap_or(0);
        self.at(place)
    }

    /// The item an announcement speaks of; without a place it is a new one.
    fn open(&mut self, place: Option<u64>) -> &mut OpenItem {
        self.at(place.unwrap_or(self.items.len() as u64))
    }

    fn at(&mut self, place: u64) -> &mut OpenItem {
        // Events speak of the newest item nearly always.
        let known = self.items.iter().rposition(|item| item.place == place);
        let index = known.unwrap_or_else(|| {
            self.items.push(OpenItem { place, ..OpenItem::default() });
            self.items.len() - 1
        });
        &mut self.items[index]
    }

    fn show(&mut self, event: &Event, channel: Channel, out: &mut Vec<GenerateResponse>) {
        let Some(delta) = event.delta.and_then(words).filter(|delta| !delta.is_empty()) else { return };
        self.give_reasoning(false, out);
        self.refused |= matches!(channel, Channel::Refusal);
        let item = self.item(event.output_index);
        item.shown[channel as usize].push_str(&delta);
        out.push(chunk(vec![channel.part(&delta)]));
    }

    /// What the deltas did not show of the whole text. A visible text that contradicts its deltas
    /// replaces them (see [`charla_proto::Assembler`]); thoughts and refusals stay as shown.
    fn rest(&mut self, place: u64, channel: Channel, whole: &str) -> Option<Part> {
        let shown = &self.at(place).shown[channel as usize];
        match (whole.strip_prefix(shown.as_str()), channel) {
            (Some(""), _) => None,
            (Some(rest), _) => Some(channel.part(rest)),
            (None, Channel::Text) if !whole.is_empty() => {
                let mut part = channel.part(whole);
                part.extra.insert("replaces", Value::from(shown.len()));
                Some(part)
            }
            (None, _) => None,
        }
    }

    fn give_item(&mut self, place: u64, item: Value, out: &mut Vec<GenerateResponse>) {
        match item["type"].as_str() {
            Some("message") => self.give_message(place, item, out),
            Some("reasoning") => {
                let summary = item::texts(&item["summary"], &["summary_text"], "text");
                let reasoning = item::texts(&item["content"], &["reasoning_text", "text"], "text");
                let rest = [
                    self.rest(place, Channel::Summary, &summary),
                    self.rest(place, Channel::Reasoning, &reasoning),
                ];
                self.give(rest.into_iter().flatten().collect(), out);
                self.give_reasoning(false, out);
                self.reasoning.push(item);
                self.reasoned = true;
            }
            Some("function_call" | "custom_tool_call") => {
                let call = item::call(&item, &self.at(place).arguments, true);
                self.give(vec![Part::function_call(call)], out);
            }
            Some(_) => self.give(vec![Part::opaque(item)], out),
            None => {}
        }
    }

    fn give_message(&mut self, place: u64, mut item: Value, out: &mut Vec<GenerateResponse>) {
        let content = item["content"].take();
        let text = match &content {
            Value::String(text) => text.clone(),
            list => item::texts(list, &["output_text", "text"], "text"),
        };
        let refusal = item::texts(&content, &["refusal"], "refusal");
        self.refused |= !refusal.is_empty();
        let rest = [self.rest(place, Channel::Text, &text), self.rest(place, Channel::Refusal, &refusal)];
        let mut parts: Vec<Part> = rest.into_iter().flatten().collect();
        if self.reasoned || item["phase"].is_string() {
            if let Some(envelope) = item.as_object_mut() {
                envelope.shift_remove("content");
            }
            parts.push(Part::opaque(item));
        }
        self.give(parts, out);
        let citations = item::citations(&content);
        give_citations(citations, out);
    }

    /// Gives out `parts`, after the reasoning that came before them.
    fn give(&mut self, parts: Vec<Part>, out: &mut Vec<GenerateResponse>) {
        if !parts.is_empty() {
            self.give_reasoning(false, out);
            out.push(chunk(parts));
        }
    }

    fn give_reasoning(&mut self, is_final: bool, out: &mut Vec<GenerateResponse>) {
        if self.reasoning.is_empty() {
            return;
        }
        let parts = self.reasoning.drain(..).map(|item| {
            let mut part = Part::opaque(item);
            if is_final {
                part.extra.insert("final", Value::from(true));
            }
            part
        });
        out.push(chunk(parts.collect()));
    }

    /// Items that came without deltas of their own.
    fn output(&mut self, output: Value, out: &mut Vec<GenerateResponse>) {
        let Value::Array(items) = output else { return };
        for (place, item) in (0..).zip(items) {
            self.at(place).done = true;
            self.give_item(place, item, out);
        }
    }

    /// What is left of items whose end never came.
    fn give_open_items(&mut self, out: &mut Vec<GenerateResponse>) {
        for item in std::mem::take(&mut self.items) {
            if item.done {
                continue;
            }
            if matches!(item.announced["type"].as_str(), Some("function_call" | "custom_tool_call")) {
                let call = item::call(&item.announced, &item.arguments, item.arguments_done);
                self.give(vec![Part::function_call(call)], out);
            }
            give_citations(item.citations, out);
        }
    }

    fn finish(&mut self, head: &Head, ending: &str, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(());
        }
        let status = head.status.as_str().filter(|status| !status.is_empty()).unwrap_or(ending);
        self.begin(head);
        self.give_open_items(out);
        self.give_reasoning(status == "completed", out);
        out.push(GenerateResponse {
            candidates: vec![Candidate {
                finish_reason: Some(head.finish_reason(status, self.refused)),
                native_finish_reason: Some(status.to_owned()),
                finish_message: head.incomplete_reason().map(str::to_owned),
                ..Candidate::default()
            }],
            usage_metadata: head.usage(),
            model_version: self.model.take(),
            response_id: self.id.take(),
            ..GenerateResponse::default()
        });
        // An `error` event has said it already and is told at the end of the body.
        if status == "failed" && self.error.is_none() {
            return Err(classify(0, None, failure(head)));
        }
        Ok(())
    }
}

fn failure(head: &Head) -> ErrorBody {
    let mut body = error::from_document(&head.error);
    if body.message.is_empty() {
        body.message = "the server says that the response failed, and not why".to_owned();
    }
    body
}

fn chunk(parts: Vec<Part>) -> GenerateResponse {
    let content = Some(Content::new(Role::Model, parts));
    GenerateResponse {
        candidates: vec![Candidate { content, ..Candidate::default() }],
        ..GenerateResponse::default()
    }
}

fn give_citations(citations: Vec<Citation>, out: &mut Vec<GenerateResponse>) {
    if !citations.is_empty() {
        out.push(GenerateResponse {
            candidates: vec![Candidate { citations, ..Candidate::default() }],
            ..GenerateResponse::default()
        });
    }
}
