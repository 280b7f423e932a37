//! Makes any conversation fit to be sent.

use std::sync::Arc;

use charla_proto::Content;

use crate::endpoint::Target;

/// The contents as they can be sent to `target`.
pub fn prepare(contents: &[Arc<Content>], _target: &Target) -> Vec<Arc<Content>> {
    contents.to_vec()
}
