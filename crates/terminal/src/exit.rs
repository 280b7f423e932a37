//! What the process exits with, by the kind of failure.

use charla::FailureKind;
use charla_proto::LlmErrorKind;

/// All went well.
pub const OK: i32 = 0;
/// Something that has no code of its own.
const OTHER: i32 = 1;
/// No key, a wrong key, or no right to the model.
const AUTH: i32 = 41;
/// The prompt or an argument cannot be used.
const INPUT: i32 = 42;
/// Commands cannot be confined here, and must be.
const SANDBOX: i32 = 44;
/// Settings cannot be used.
const CONFIG: i32 = 52;
/// A limit on turns was reached.
const TURN_LIMIT: i32 = 53;
/// The workspace is not trusted.
const UNTRUSTED: i32 = 55;
/// The answer does not fit the schema.
const OUTPUT_SCHEMA: i32 = 56;
/// Nobody read standard output to the turn's end, as after SIGPIPE.
pub const ABANDONED: i32 = 141;
/// The user cancelled.
pub const CANCELLED: i32 = 130;

/// The exit code of a run that ended in this kind of failure.
pub fn code(kind: FailureKind) -> i32 {
    match kind {
        FailureKind::Input => INPUT,
        FailureKind::Sandbox => SANDBOX,
        FailureKind::Config => CONFIG,
        FailureKind::Auth | FailureKind::AuthType => AUTH,
        FailureKind::Untrusted => UNTRUSTED,
        FailureKind::Limit => TURN_LIMIT,
        FailureKind::Cancelled => CANCELLED,
        FailureKind::Conflict | FailureKind::System => OTHER,
        FailureKind::Model(kind) => match kind {
            LlmErrorKind::Auth | LlmErrorKind::Permission => AUTH,
            LlmErrorKind::NotFound | LlmErrorKind::ContextOverflow => INPUT,
            LlmErrorKind::Config => CONFIG,
            LlmErrorKind::Cancelled => CANCELLED,
            LlmErrorKind::OutputSchema => OUTPUT_SCHEMA,
            _ => OTHER,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_key_exits_with_the_auth_code() {
        assert_eq!(code(FailureKind::Model(LlmErrorKind::Auth)), AUTH);
        assert_eq!(code(FailureKind::Auth), AUTH);
        assert_eq!(code(FailureKind::Model(LlmErrorKind::RateLimit)), OTHER);
        assert_eq!(code(FailureKind::Sandbox), 44);
    }
}
