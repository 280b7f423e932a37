//! What goes wrong: failures in each vendor's own words, and the ways a connection breaks.

use charla_proto::WireKind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How a connection breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// The body ends properly, but before the wire's end.
    Eof,
    /// The connection is closed in the middle of a transfer chunk.
    Abort,
    /// The connection is reset (TCP RST).
    Reset,
    /// The connection is closed before the first byte of an answer.
    NoAnswer,
}

/// How lines of an event stream end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineEnds {
    /// `\n`
    Lf,
    /// `\r\n`
    Crlf,
    /// `\r`
    Cr,
}

impl LineEnds {
    pub(crate) fn text(self) -> &'static str {
        match self {
            LineEnds::Lf => "\n",
            LineEnds::Crlf => "\r\n",
            LineEnds::Cr => "\r",
        }
    }
}

/// What a failure is about; decides the status and the words where they are not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The request is wrong (400).
    #[default]
    BadRequest,
    /// The key is wrong (401; Gemini says 400).
    Auth,
    /// The key has no right to this (403).
    Permission,
    /// There is no such model (404; Responses says 400).
    NotFound,
    /// The request is too large (413).
    TooLarge,
    /// The conversation does not fit the window (400).
    ContextOverflow,
    /// Too many requests (429).
    RateLimit,
    /// The quota is used up (429).
    Quota,
    /// The server failed (500).
    Server,
    /// A gateway failed, and says so in HTML (502).
    BadGateway,
    /// The service is away (503).
    Unavailable,
    /// The service has too much to do (529 on Anthropic, 503 elsewhere).
    Overloaded,
}

/// A failure, before a wire puts it into its own form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Failure {
    /// What it is about.
    pub kind: FailureKind,
    /// The status, where it is not the kind's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The server's words, where they are not the vendor's own for this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The `retry-after` header: seconds or a date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<String>,
    /// The `retry-after-ms` header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Gemini's `RetryInfo.retryDelay` (`1.5s`); other wires have no such field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_info: Option<String>,
    /// A wait named in words: `Please retry in …`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_words: Option<String>,
    /// More headers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The body, in place of the vendor's form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

impl Failure {
    /// A failure of this kind, in the vendor's words.
    pub fn new(kind: FailureKind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// A refused request with this explanation.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..Self::default() }
    }

    /// Too many requests.
    pub fn rate_limit() -> Self {
        Self::new(FailureKind::RateLimit)
    }

    /// The same failure with this status.
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// The same failure in these words.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// The same failure with a `retry-after` header.
    pub fn retry_after(mut self, value: impl Into<String>) -> Self {
        self.retry_after = Some(value.into());
        self
    }

    /// The same failure with a `retry-after-ms` header.
    pub fn retry_after_ms(mut self, milliseconds: u64) -> Self {
        self.retry_after_ms = Some(milliseconds);
        self
    }

    /// The same failure with Gemini's retry delay.
    pub fn retry_info(mut self, delay: impl Into<String>) -> Self {
        self.retry_info = Some(delay.into());
        self
    }

    /// The same failure naming a wait in its words.
    pub fn retry_words(mut self, wait: impl Into<String>) -> Self {
        self.retry_words = Some(wait.into());
        self
    }

    /// The same failure with one more header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same failure with this body, whatever the wire.
    pub fn body(mut self, body: impl Into<String>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// The status on this wire.
    pub fn status_on(&self, wire: WireKind) -> u16 {
        self.status.unwrap_or(match self.kind {
            FailureKind::BadRequest | FailureKind::ContextOverflow => 400,
            FailureKind::Auth if wire == WireKind::Gemini => 400,
            FailureKind::Auth => 401,
            FailureKind::Permission => 403,
            FailureKind::NotFound if wire == WireKind::OpenaiResponses => 400,
            FailureKind::NotFound => 404,
            FailureKind::TooLarge => 413,
            FailureKind::RateLimit | FailureKind::Quota => 429,
            FailureKind::Server => 500,
            FailureKind::BadGateway => 502,
            FailureKind::Overloaded if wire == WireKind::Anthropic => 529,
            FailureKind::Unavailable | FailureKind::Overloaded => 503,
        })
    }

    /// The headers beside content type and length.
    pub(crate) fn all_headers(&self, wire: WireKind) -> Vec<(String, String)> {
        let mut headers = self.headers.clone();
        if let Some(value) = &self.retry_after {
            headers.push(("retry-after".to_owned(), value.clone()));
        }
        if let Some(value) = self.retry_after_ms {
            headers.push(("retry-after-ms".to_owned(), value.to_string()));
        }
        if wire == WireKind::Anthropic {
            headers.push(("request-id".to_owned(), "req_testkit".to_owned()));
        } else if wire != WireKind::Gemini {
            headers.push(("x-request-id".to_owned(), "req_testkit".to_owned()));
        }
        headers
    }

    /// The body and its content type.
    pub(crate) fn document(&self, wire: WireKind, model: &str) -> (String, &'static str) {
        match (&self.body, self.kind) {
            (Some(body), _) if body.trim_start().starts_with('<') => (body.clone(), "text/html"),
            (Some(body), _) => (body.clone(), "application/json"),
            (None, FailureKind::BadGateway) => (
                "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>".to_owned(),
                "text/html",
            ),
            (None, _) => (self.value(wire, model).to_string(), "application/json"),
        }
    }

    /// The error document of this wire.
    pub(crate) fn value(&self, wire: WireKind, model: &str) -> Value {
        let mut message = self.message.clone().unwrap_or_else(|| self.words(wire, model));
        if let Some(wait) = &self.retry_words {
            message.push_str(&format!(" Please retry in {wait}."));
        }
        match wire {
            WireKind::Gemini => self.gemini(&message),
            WireKind::OpenaiChat | WireKind::OpenaiResponses => self.openai(&message),
            WireKind::Anthropic => json!({
                "type": "error",
                "error": {"type": self.anthropic_type(), "message": message},
                "request_id": "req_testkit",
            }),
        }
    }

    fn gemini(&self, message: &str) -> Value {
        let code = self.status_on(WireKind::Gemini);
        let mut details = Vec::new();
        if self.kind == FailureKind::Auth {
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
                "metadata": {"service": "generativelanguage.googleapis.com"},
            }));
        }
        if self.kind == FailureKind::Quota {
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
            }));
        }
        if let Some(delay) = &self.retry_info {
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": delay,
            }));
        }
        let mut error = json!({"code": code, "message": message, "status": google_status(code)});
        if !details.is_empty() {
            error["details"] = Value::Array(details);
        }
        json!({"error": error})
    }

    fn openai(&self, message: &str) -> Value {
        let (kind, code) = match self.kind {
            FailureKind::BadRequest | FailureKind::TooLarge => ("invalid_request_error", None),
            FailureKind::Auth => ("invalid_request_error", Some("invalid_api_key")),
            FailureKind::Permission => ("invalid_request_error", Some("forbidden")),
            FailureKind::NotFound => ("invalid_request_error", Some("model_not_found")),
            FailureKind::ContextOverflow => ("invalid_request_error", Some("context_length_exceeded")),
            FailureKind::RateLimit => ("requests", Some("rate_limit_exceeded")),
            FailureKind::Quota => ("insufficient_quota", Some("insufficient_quota")),
            FailureKind::Server | FailureKind::BadGateway => ("server_error", None),
            FailureKind::Unavailable => ("server_error", Some("service_unavailable")),
            FailureKind::Overloaded => ("server_error", Some("server_overloaded")),
        };
        json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
    }

    fn anthropic_type(&self) -> &'static str {
        match self.kind {
            FailureKind::BadRequest | FailureKind::ContextOverflow => "invalid_request_error",
            FailureKind::Auth => "authentication_error",
            FailureKind::Permission => "permission_error",
            FailureKind::NotFound => "not_found_error",
            FailureKind::TooLarge => "request_too_large",
            FailureKind::RateLimit | FailureKind::Quota => "rate_limit_error",
            FailureKind::Overloaded => "overloaded_error",
            FailureKind::Server | FailureKind::BadGateway | FailureKind::Unavailable => "api_error",
        }
    }

    /// The phrases by which clients know the vendors' failures; no more of their wording than that takes.
    fn words(&self, wire: WireKind, model: &str) -> String {
        let google = wire == WireKind::Gemini;
        let anthropic = wire == WireKind::Anthropic;
        match self.kind {
            FailureKind::BadRequest => "Invalid request.".to_owned(),
            FailureKind::Auth if google => "API key not valid. Please pass a valid API key.".to_owned(),
            FailureKind::Auth if anthropic => "invalid x-api-key".to_owned(),
            FailureKind::Auth => "Incorrect API key provided.".to_owned(),
            FailureKind::Permission => format!("The caller has no permission to use {model}."),
            FailureKind::NotFound if google => {
                format!("models/{model} is not found for API version v1beta, or is not supported.")
            }
            FailureKind::NotFound if anthropic => format!("model: {model}"),
            FailureKind::NotFound => format!("The model `{model}` does not exist."),
            FailureKind::TooLarge => "Request exceeds the maximum size".to_owned(),
            FailureKind::ContextOverflow if google => {
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
                    .to_owned()
            }
            FailureKind::ContextOverflow if anthropic => {
                "prompt is too long: 210000 tokens > 200000 maximum".to_owned()
            }
            FailureKind::ContextOverflow if wire == WireKind::OpenaiResponses => {
                "Your input exceeds the context window of this model.".to_owned()
            }
            FailureKind::ContextOverflow => {
                "This model's maximum context length is 128000 tokens, but the messages have 130000."
                    .to_owned()
            }
            FailureKind::RateLimit if google => "Resource exhausted. Please try again later.".to_owned(),
            FailureKind::RateLimit => format!("Rate limit reached for {model}."),
            FailureKind::Quota => {
                "You exceeded your current quota, please check your plan and billing details.".to_owned()
            }
            FailureKind::Server | FailureKind::BadGateway => "Internal error encountered.".to_owned(),
            FailureKind::Unavailable => "The service is currently unavailable.".to_owned(),
            FailureKind::Overloaded if anthropic => "Overloaded".to_owned(),
            FailureKind::Overloaded => "The model is overloaded. Please try again later.".to_owned(),
        }
    }
}

fn google_status(code: u16) -> &'static str {
    match code {
        400 | 413 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    }
}
