//! Adapts JSON Schemas to what a wire accepts.
