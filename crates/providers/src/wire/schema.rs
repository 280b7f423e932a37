//! Adapts JSON Schemas to what a wire accepts.

use charla_proto::WireKind;
use serde_json::Value;

/// The schema in the form `wire` accepts, or why no form of it can be sent.
pub fn adapt(schema: &Value, _wire: WireKind) -> Result<Value, String> {
    Ok(schema.clone())
}
