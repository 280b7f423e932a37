//! `charla acp`, driven by the official library of another language and by clients that misbehave.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

mod asking;
mod editing;
mod editor;
mod hostile;
mod opening;
#[path = "../cli/place.rs"]
#[expect(dead_code, reason = "shared with the other tests of the binary, which need more of it")]
mod place;
mod screens;
mod talking;
