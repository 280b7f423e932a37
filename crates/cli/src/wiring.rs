//! Where settings meet the libraries.

use crate::settings::{Layers, Source};

/// The values that hold when nobody sets them.
pub fn put_defaults(layers: &mut Layers) {
    let seconds: [(&[&str], f64); 3] = [
        (&["network", "connectTimeoutSeconds"], 10.0),
        (&["network", "firstByteTimeoutSeconds"], 300.0),
        (&["network", "idleTimeoutSeconds"], 120.0),
    ];
    for (path, value) in seconds {
        layers.put_value(path, value, Source::BuiltIn);
    }
}
