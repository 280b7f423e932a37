//! A scripted model server for tests, and for trying Charla without a key.
//!
//! It listens on a real loopback socket and speaks Gemini, OpenAI Chat, OpenAI Responses and Anthropic
//! Messages from one neutral [`Script`]. It is written without Charla's codecs, so that the two check each
//! other, and it refuses what the real services refuse: a conversation that passes here has its calls
//! answered, its roles in order and its proofs of thinking where they belong.
//!
//! `Postgres` is a database of a test's own.
//!
//! [`Scripted`] is a model without a server, for tests of what stands above the wires.
//!
//! ```no_run
//! use charla_proto::WireKind;
//! use charla_testkit::{Failure, Reply, Script, Server};
//!
//! let script = Script::new([
//!     Reply::from(Failure::rate_limit().retry_after_ms(20)),
//!     Reply::new().thought("easy").text("Hello!"),
//! ]);
//! let server = Server::start(script)?;
//! let base_url = server.base_url(WireKind::Gemini);
//! // … talk to it …
//! assert!(server.problems().is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```

mod answer;
mod fault;
mod http;
mod opaque;
mod other;
#[cfg(unix)]
mod postgres;
mod reading;
mod reply;
mod route;
mod script;
mod scripted;
mod send;
mod server;
mod validate;

pub use fault::{Cut, Failure, FailureKind, LineEnds};
pub use http::Headers;
#[cfg(unix)]
pub use postgres::Postgres;
pub use script::{
    Call, ChatReplay, ChatThoughts, Document, Finish, Otherwise, Reply, Rule, Script, Step, Usage, When,
};
pub use scripted::{Asked, Attempt, Method, Scripted, chunk};
pub use server::{Observer, Problem, Recorded, Server};
