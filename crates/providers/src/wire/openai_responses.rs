//! Placeholder.

use super::*;

/// The codec.
pub struct OpenaiResponses;

impl Wire for OpenaiResponses {
    fn kind(&self) -> WireKind {
        WireKind::OpenaiResponses
    }

    fn encode(
        &self,
        _: &GenerateRequest,
        _: &Target,
        _: Mode,
        _: &mut Fragments,
    ) -> Result<WireRequest, LlmError> {
        Err(LlmError::new(LlmErrorKind::NotSupported, "no codec"))
    }

    fn decoder(&self, _: &Target) -> Box<dyn EventDecoder> {
        Box::new(Decoder)
    }

    fn error(&self, _: &Target, status: u16, headers: &HeaderMap, _: &[u8]) -> LlmError {
        classify(status, Some(headers), ErrorBody::default())
    }
}

struct Decoder;

impl EventDecoder for Decoder {
    fn event(&mut self, _: Option<&str>, _: &str, _: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        Ok(())
    }

    fn document(&mut self, _: Value, _: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        Ok(())
    }

    fn end(&mut self, _: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        Ok(())
    }
}
