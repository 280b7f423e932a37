//! The interactive terminal.
//!
//! [`app`] is a subscriber of a session like any other: it shows what the session tells and sends what a person wants.
//! It draws inline ([`screen`]): what is finished goes into the terminal's own scrollback, only the rows at the bottom
//! change. Below it are pieces without a screen: text that knows its width and what it is ([`text`]), how that looks
//! ([`theme`]), code in colours ([`highlight`]), changes ([`diff`]), Markdown that arrives in pieces ([`markdown`]), and
//! where a person writes ([`composer`]).

pub mod app;
mod card;
pub mod commands;
pub mod composer;
pub mod diff;
mod entry;
pub mod highlight;
pub mod linear;
pub mod markdown;
mod picker;
pub mod screen;
mod spent;
mod status;
pub mod terminal;
pub mod text;
pub mod theme;
mod transcript;
mod writer;

pub use app::{Ending, Launch, Look, run};
