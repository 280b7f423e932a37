//! What the process exits with, by the kind of failure.

use charla::FailureKind;
use charla_proto::{LlmErrorKind, exit};

/// The exit code of a run that ended in this kind of failure.
pub fn code(kind: FailureKind) -> i32 {
    match kind {
        FailureKind::Input => exit::INPUT,
        FailureKind::Config => exit::CONFIG,
        FailureKind::Auth => exit::AUTH,
        FailureKind::Untrusted => exit::UNTRUSTED,
        FailureKind::Limit => exit::TURN_LIMIT,
        FailureKind::Cancelled => exit::CANCELLED,
        FailureKind::Conflict | FailureKind::System => exit::OTHER,
        FailureKind::Model(kind) => match kind {
            LlmErrorKind::Auth | LlmErrorKind::Permission => exit::AUTH,
            LlmErrorKind::NotFound | LlmErrorKind::ContextOverflow => exit::INPUT,
            LlmErrorKind::Config => exit::CONFIG,
            LlmErrorKind::Cancelled => exit::CANCELLED,
            LlmErrorKind::OutputSchema => exit::OUTPUT_SCHEMA,
            _ => exit::OTHER,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_key_exits_with_the_auth_code() {
        assert_eq!(code(FailureKind::Model(LlmErrorKind::Auth)), exit::AUTH);
        assert_eq!(code(FailureKind::Auth), exit::AUTH);
        assert_eq!(code(FailureKind::Model(LlmErrorKind::RateLimit)), exit::OTHER);
    }
}
