//! The interactive terminal.
//!
//! Here are its pieces without a screen: text that knows its width and what it is ([`text`]), how that looks ([`theme`]),
//! code in colours ([`highlight`]), changes ([`diff`]), Markdown that arrives in pieces ([`markdown`]), where a person
//! writes ([`composer`]), and commands that users write ([`custom`]).

pub mod composer;
pub mod custom;
pub mod diff;
pub mod highlight;
pub mod markdown;
pub mod text;
pub mod theme;
