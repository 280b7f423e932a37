//! The crate from the outside, in one binary: linking is what tests wait for.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::string_slice,
    reason = "a test may end where it stands"
)]

mod any_to_any;
mod conversation;
mod dialects;
mod endings;
mod endless;
mod local_servers;
mod media;
mod names;
mod surrogates;
mod text_tools;
mod thoughts;
mod token_estimate;
