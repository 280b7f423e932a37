//! A client of `charla serve`: its sessions, events and questions, in `charla-proto`'s own types.
//!
//! [`Client`] is the interface, request by request. [`RemoteSessions`] opens a server's sessions for front ends that
//! know only a session's handle: commands go over HTTP, events come over a stream that is taken up again where it was
//! cut. [`RemoteStore`] lets the library read a server's sessions as it reads files.

mod address;
mod api;
mod error;
mod events;
mod follow;
mod moving;
mod source;
mod store;

pub use address::{ServerAddress, token};
pub use api::{Account, Client, RemoteApproval};
pub use error::{ClientError, Problem};
pub use events::EventStream;
pub use moving::Moved;
pub use source::RemoteSessions;
pub use store::RemoteStore;
