//! Real children that try things, in every confinement.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

mod arrivals;
mod bounds;
mod closed;
mod effects;
mod ground;
mod places;
mod repositories;
