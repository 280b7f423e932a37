//! OTLP's JSON: spans and figures as collectors read them.

use serde_json::{Value, json};
use uuid::Uuid;

/// What something says of itself, by name. A name stands once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Attributes(Vec<(String, Value)>);

impl Attributes {
    /// Says this; what was said under the name before is forgotten.
    pub(super) fn put(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name, value)),
        }
    }

    /// Says this where there is something to say.
    pub(super) fn put_some(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    /// The same with this.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.put(name, value);
        self
    }

    /// What is said under a name.
    #[cfg(test)]
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find_map(|(known, value)| (known == name).then_some(value))
    }

    /// One text for equal attributes, however they came together.
    pub(super) fn key(&self) -> String {
        let mut parts: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        parts.sort();
        parts.join("\n")
    }

    fn json(&self) -> Value {
        self.0.iter().map(|(key, value)| json!({ "key": key, "value": any_value(value) })).collect()
    }
}

/// A value of any kind, which says of what kind it is.
fn any_value(value: &Value) -> Value {
    match value {
        Value::Bool(truth) => json!({ "boolValue": truth }),
        Value::Number(number) if number.is_f64() => json!({ "doubleValue": number }),
        // Numbers of 64 bits are texts.
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::Array(values) => {
            let values: Vec<Value> = values.iter().map(any_value).collect();
            json!({ "arrayValue": { "values": values } })
        }
        Value::String(text) => json!({ "stringValue": text }),
        other => json!({ "stringValue": other.to_string() }),
    }
}

/// What a trace is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceId(u128);

/// What a span is known by in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpanId(u64);

impl TraceId {
    pub(super) fn new() -> Self {
        Self(Uuid::new_v4().as_u128())
    }
}

impl SpanId {
    pub(super) fn new() -> Self {
        let (_, low) = Uuid::new_v4().as_u64_pair();
        Self(low)
    }
}

/// The span that others belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceParent {
    pub trace: TraceId,
    pub span: SpanId,
}

impl TraceParent {
    /// From the form of the W3C: `00-TRACE-SPAN-FLAGS`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('-').skip(1);
        let (trace, span) = (parts.next()?, parts.next()?);
        if trace.len() != 32 || span.len() != 16 {
            return None;
        }
        let trace = u128::from_str_radix(trace, 16).ok().filter(|trace| *trace != 0)?;
        let span = u64::from_str_radix(span, 16).ok().filter(|span| *span != 0)?;
        Some(Self { trace: TraceId(trace), span: SpanId(span) })
    }
}

/// Something that took its time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    pub trace: TraceId,
    pub id: SpanId,
    pub parent: Option<SpanId>,
    pub name: String,
    /// A request to somebody else.
    pub is_client: bool,
    /// Milliseconds since 1970.
    pub start: u64,
    /// The same.
    pub end: u64,
    pub attributes: Attributes,
    /// It failed, and why, where that may be told.
    pub failed: Option<String>,
}

impl Span {
    fn json(&self) -> Value {
        let mut span = json!({
            "traceId": format!("{:032x}", self.trace.0),
            "spanId": format!("{:016x}", self.id.0),
            "name": self.name,
            "kind": if self.is_client { 3 } else { 1 },
            "startTimeUnixNano": nanoseconds(self.start),
            "endTimeUnixNano": nanoseconds(self.end.max(self.start)),
            "attributes": self.attributes.json(),
            "flags": 1,
        });
        if let Some(parent) = self.parent {
            span["parentSpanId"] = format!("{:016x}", parent.0).into();
        }
        if let Some(why) = &self.failed {
            span["status"] = json!({ "code": 2, "message": why });
        }
        span
    }
}

/// Milliseconds as collectors want them.
pub(super) fn nanoseconds(milliseconds: u64) -> String {
    milliseconds.saturating_mul(1_000_000).to_string()
}

/// Spans in the form of a request.
pub(super) fn traces(resource: &Attributes, spans: &[Span]) -> Value {
    let spans: Vec<Value> = spans.iter().map(Span::json).collect();
    let scope = json!({ "scope": scope(), "spans": spans });
    json!({ "resourceSpans": [{ "resource": { "attributes": resource.json() }, "scopeSpans": [scope] }] })
}

/// Figures in the form of a request.
pub(super) fn metrics(resource: &Attributes, metrics: Vec<Value>) -> Value {
    let scope = json!({ "scope": scope(), "metrics": metrics });
    json!({ "resourceMetrics": [{ "resource": { "attributes": resource.json() }, "scopeMetrics": [scope] }] })
}

/// What points of a series are known by.
pub(super) fn point_attributes(attributes: &Attributes) -> Value {
    attributes.json()
}

fn scope() -> Value {
    json!({ "name": "charla", "version": env!("CARGO_PKG_VERSION") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_as_collectors_read_it() {
        let parent = TraceParent::read("00-0af7651916cd43dd8448eb211c80319c-00ad6b7169203331-01").unwrap();
        let span = Span {
            trace: parent.trace,
            id: SpanId(7),
            parent: Some(parent.span),
            name: "chat m".to_owned(),
            is_client: true,
            start: 1_700_000_000_123,
            end: 1_700_000_000_120,
            attributes: Attributes::default()
                .with("n", 5)
                .with("s", 0.5)
                .with("l", vec!["stop"])
                .with("n", 6),
            failed: Some("timeout".to_owned()),
        };
        let resource = Attributes::default().with("service.name", "x");
        let sent = traces(&resource, &[span]);
        let span = &sent["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(span["traceId"], "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(
            (&span["spanId"], &span["parentSpanId"]),
            (&json!("0000000000000007"), &json!("00ad6b7169203331"))
        );
        // Clocks that are set back make no span end before it begins.
        assert_eq!(span["endTimeUnixNano"], "1700000000123000000");
        let list = json!({"arrayValue": {"values": [{"stringValue": "stop"}]}});
        let attributes = json!([
            {"key": "n", "value": {"intValue": "6"}},
            {"key": "s", "value": {"doubleValue": 0.5}},
            {"key": "l", "value": list},
        ]);
        assert_eq!((&span["attributes"], &span["kind"]), (&attributes, &json!(3)));
        assert_eq!(span["status"], json!({"code": 2, "message": "timeout"}));
    }

    #[test]
    fn what_is_no_parent_is_none() {
        for text in ["", "00-0-0-0", "00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-ü-ü-ü"]
        {
            assert_eq!(TraceParent::read(text), None, "{text}");
        }
    }
}
