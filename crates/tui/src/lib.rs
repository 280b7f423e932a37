//! The interactive terminal.
//!
//! Here are its pieces without a screen: text that knows its width and what it is ([`text`]), how that looks ([`theme`]),
//! and Markdown that arrives in pieces ([`markdown`]).

pub mod markdown;
pub mod text;
pub mod theme;
