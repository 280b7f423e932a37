//! The interactive terminal.
//!
//! Here are its pieces without a screen: text that knows its width and what it is ([`text`]), how that looks ([`theme`]),
//! code in colours ([`highlight`]), changes ([`diff`]), Markdown that arrives in pieces ([`markdown`]), and where a person writes
//! ([`composer`]).

pub mod composer;
pub mod diff;
pub mod highlight;
pub mod markdown;
pub mod text;
pub mod theme;
