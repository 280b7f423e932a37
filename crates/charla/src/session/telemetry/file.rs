//! What happens in a session, written to a file as Gemini CLI writes it: its names, its objects, one after the other.
//!
//! Nothing of it is sent anywhere, and a session without such a file has none of this.

use std::sync::Arc;

use charla_core::session::Subscription;
use charla_proto::{SessionEvent, TurnEvent};
use charla_providers::layers::{LogCall, LogEntry, LogSink};
use serde_json::{Value, json};

use super::events::Watcher;
use super::outfile::{Outfile, put};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::Settings;

/// What one session writes to its file.
#[derive(Clone)]
pub(super) struct FileTelemetry {
    file: Arc<Outfile>,
    /// What was said is written, too.
    prompts: bool,
    /// What was answered is written, too.
    traces: bool,
}

impl FileTelemetry {
    /// What the settings want, for this session; nothing unless they name a file.
    pub(super) fn of(
        settings: &Settings,
        environment: &Environment,
        session: &str,
    ) -> Result<Option<Self>, Failure> {
        let wanted = &settings.telemetry;
        let Some(file) = wanted.outfile.as_deref().filter(|_| wanted.enabled == Some(true)) else {
            return Ok(None);
        };
        let path = environment.expand(file, &environment.directory);
        Ok(Some(Self {
            file: Arc::new(Outfile::open(&path, session)?),
            prompts: wanted.log_prompts.unwrap_or(true),
            traces: wanted.traces.unwrap_or(false),
        }))
    }

    /// Writes that a session has begun, and then whatever happens in it, until it is over.
    pub(super) async fn follow(self, mut events: Subscription) {
        self.file.count("session.count", json!({}), 1);
        let mut watcher = Watcher::new(self.file, self.prompts);
        while let Some(event) = events.recv().await {
            match event {
                SessionEvent::Record(record) => watcher.record(&record),
                SessionEvent::Turn(TurnEvent::HookRan(ran)) => watcher.hooked(&ran),
                SessionEvent::Turn(_) | SessionEvent::Missed | SessionEvent::Broken(_) => {}
            }
        }
    }

    fn request(&self, entry: &LogEntry) {
        let mut request = json!({ "model": model(entry) });
        if self.prompts {
            let contents = entry.request.get("contents").map(Value::to_string);
            put(&mut request, "request_text", contents.map(Value::from));
        }
        self.file.event("api_request", request);
    }

    fn answer(&self, entry: &LogEntry) {
        let duration = u64::try_from(entry.duration.as_millis()).unwrap_or(u64::MAX);
        let mut attributes = json!({ "model": model(entry), "duration_ms": duration });
        if let Some(error) = &entry.error {
            put(&mut attributes, "error", Some(error.message.clone().into()));
            put(&mut attributes, "error_type", Some(error.kind.name().into()));
            put(&mut attributes, "status_code", error.status.map(Value::from));
            return self.file.event("api_error", attributes);
        }
        let usage = entry.usage.clone().unwrap_or_default();
        put(&mut attributes, "input_token_count", usage.prompt_token_count.map(Value::from));
        put(&mut attributes, "output_token_count", usage.candidates_token_count.map(Value::from));
        put(&mut attributes, "cached_content_token_count", usage.cached_content_token_count.map(Value::from));
        put(&mut attributes, "thoughts_token_count", usage.thoughts_token_count.map(Value::from));
        put(&mut attributes, "total_token_count", Some(usage.total().into()));
        self.file.event("api_response", attributes);
    }

    fn trace(&self, entry: &LogEntry) {
        let text = |value: Option<&Value>| value.map(Value::to_string).unwrap_or_default();
        let mut attributes = json!({
            "gen_ai.request.model": model(entry),
            "gen_ai.output.messages": text(entry.response.as_ref()),
        });
        if self.prompts {
            put(&mut attributes, "gen_ai.input.messages", Some(text(entry.request.get("contents")).into()));
        }
        self.file.span("llm_call", attributes);
    }
}

impl LogSink for FileTelemetry {
    fn record(&self, entry: LogEntry) {
        if !matches!(entry.call, LogCall::Generate | LogCall::Stream) {
            return;
        }
        self.request(&entry);
        self.answer(&entry);
        if self.traces {
            self.trace(&entry);
        }
    }
}

/// The model's own name: readers know it without its provider.
fn model(entry: &LogEntry) -> &str {
    entry.model.split_once('/').map_or(entry.model.as_str(), |(_, model)| model)
}
