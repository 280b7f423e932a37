//! The documents say what is so: the map in `ARCHITECTURE.md`, the journal's records and the session's protocol
//! are compared with the sources they describe.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its sources must fail")]

mod architecture;
mod journal;
mod markdown;
mod modules;
mod protocol;
mod source;
mod wording;
