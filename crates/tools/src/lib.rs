//! Charla's tools.

pub mod edit;
