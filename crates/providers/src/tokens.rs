//! How many tokens a request has, where the provider does not say.

use charla_proto::GenerateRequest;

/// An estimate of the request's tokens.
pub fn estimate(request: &GenerateRequest) -> u64 {
    let bytes: usize = request.contents.iter().map(|content| content.text().len()).sum();
    (bytes as u64).div_ceil(4)
}
