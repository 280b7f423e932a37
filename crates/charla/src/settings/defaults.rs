//! The values that hold when nobody sets them.

use charla_core::compress::Compression;
use charla_providers::NetworkOptions;
use charla_providers::layers::RetryPolicy;
use serde_json::Value;

use super::merge::{Layers, Source};

/// How often a model may be asked in one turn when nobody says: enough for long work, an end for a runaway.
const MAX_TURNS: u32 = 500;

/// Puts them below everything else.
pub(super) fn put(layers: &mut Layers) {
    let network = NetworkOptions::default();
    let retry = RetryPolicy::default();
    let compression = Compression::default();
    let values: [(&[&str], Value); 11] = [
        (&["network", "connectTimeoutSeconds"], network.connect_timeout.as_secs().into()),
        (&["network", "idleTimeoutSeconds"], network.idle_timeout.as_secs().into()),
        (&["retry", "maxAttempts"], retry.max_attempts.into()),
        (&["retry", "initialDelaySeconds"], retry.initial_delay.as_secs_f64().into()),
        (&["retry", "maxDelaySeconds"], retry.max_delay.as_secs().into()),
        (&["output", "format"], "text".into()),
        (&["output", "thoughts"], false.into()),
        (&["limits", "maxTurns"], MAX_TURNS.into()),
        (&["compression", "automatic"], compression.automatic.into()),
        (&["compression", "threshold"], compression.threshold.into()),
        (&["compression", "keep"], compression.keep.into()),
    ];
    for (path, value) in values {
        layers.put_value(path, value, Source::BuiltIn);
    }
}
