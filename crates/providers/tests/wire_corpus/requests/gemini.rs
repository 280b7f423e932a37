use charla_proto::GenerateRequest;
use charla_providers::endpoint::Target;
use serde_json::Value;

use crate::meaning::Meaning;

pub fn import(_request: &Value, _target: &Target) -> Result<GenerateRequest, String> {
    Err("no reader".to_owned())
}

pub fn meaning(_request: &Value) -> Result<Meaning, String> {
    Err("no reader".to_owned())
}
