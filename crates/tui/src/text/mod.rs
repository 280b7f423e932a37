//! Text as it goes to a screen: spans that say what they are, in lines that know their width.
//!
//! What a span says was written by models, programs and files, so nothing in it can move the cursor, hide or turn the
//! direction of writing: making a span is the one place that sees to it. Colours are no matter of this module: a [`Role`]
//! says what a text is, a theme how that looks.

mod line;
mod role;
mod span;
mod width;
mod wrap;

pub use line::Line;
pub use role::{Emphasis, Role};
pub use span::Span;
pub use width::{graphemes, width};

#[cfg(test)]
mod tests;
