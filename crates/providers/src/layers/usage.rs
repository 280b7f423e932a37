//! Counts what servers do not count: a limit on tokens must hold with them, too.

use charla_proto::{GenerateRequest, GenerateResponse, UsageMetadata};

use super::{Layer, Reader};
use crate::tokens;

/// The layer that gives an answer an estimate of what it used, where its server tells nothing.
pub struct EstimatedUsage;

impl Layer for EstimatedUsage {
    fn incoming(&self, request: &GenerateRequest) -> Option<Box<dyn Reader>> {
        Some(Box::new(Estimate { prompt: tokens::estimate(request), said: 0, told: false }))
    }
}

struct Estimate {
    prompt: u64,
    /// Tokens that came.
    said: u64,
    /// The server counts.
    told: bool,
}

impl Reader for Estimate {
    fn read(&mut self, chunk: GenerateResponse) -> GenerateResponse {
        self.told |= chunk.usage_metadata.is_some();
        if !self.told {
            let contents = chunk.candidates.iter().filter_map(|candidate| candidate.content.clone());
            let said = GenerateRequest::new("", contents.map(Into::into).collect());
            self.said = self.said.saturating_add(tokens::estimate(&said));
        }
        chunk
    }

    fn reset(&mut self) {
        (self.said, self.told) = (0, false);
    }

    fn finish(&mut self) -> Option<GenerateResponse> {
        let usage = UsageMetadata {
            prompt_token_count: Some(self.prompt),
            candidates_token_count: Some(self.said),
            ..UsageMetadata::default()
        };
        let usage_metadata = Some(usage).filter(|_| !self.told);
        usage_metadata.is_some().then(|| GenerateResponse { usage_metadata, ..GenerateResponse::default() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use charla_proto::{Candidate, Content};

    use super::*;

    fn chunk(text: &str, usage_metadata: Option<UsageMetadata>) -> GenerateResponse {
        let candidates = vec![Candidate { content: Some(Content::model(text)), ..Candidate::default() }];
        GenerateResponse { candidates, usage_metadata, ..GenerateResponse::default() }
    }

    #[test]
    fn an_answer_without_figures_gets_an_estimate_and_one_with_figures_none() {
        let request = GenerateRequest::new("m", vec![Arc::new(Content::user("word ".repeat(400)))]);
        let mut reader = EstimatedUsage.incoming(&request).unwrap();
        (0..100).for_each(|_| _ = reader.read(chunk("some words ", None)));
        let usage = reader.finish().unwrap().usage_metadata.unwrap();
        assert!((300..800).contains(&usage.prompt_token_count.unwrap()), "{usage:?}");
        assert!((100..2000).contains(&usage.candidates_token_count.unwrap()), "{usage:?}");

        let mut reader = EstimatedUsage.incoming(&request).unwrap();
        reader.read(chunk("some words", None));
        reader.read(chunk("", Some(UsageMetadata::default())));
        assert_eq!(reader.finish(), None);
    }
}
