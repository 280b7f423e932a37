//! Charla's client for MCP servers.
//!
//! Servers are started in the background and looked after: nobody waits for one that is not needed, one that dies is
//! started again, and its tools keep their names. What a server says is untrusted: it is bounded, marked, and never
//! decides about approval. Processes and connections are handed in ([`Launch`], [`Http`]).
//!
//! The protocol is spoken here directly: the part of it that a client needs is small, and the official SDK would make
//! the program over a megabyte larger.

mod attendance;
mod call;
mod client;
mod completions;
mod config;
mod elicitation;
mod file_uri;
mod find;
mod form;
mod listing;
mod message;
mod naming;
mod ports;
mod prompts;
mod resources;
mod result;
mod sampling;
mod server;
mod servers;
mod tool;
mod transport;

pub use client::RequestError;
pub use completions::BegunArgument;
pub use config::{Endpoint, HttpForm, Reach, ServerCommand, ServerConfig};
pub use listing::{ListedPrompt, ListedTool, Listing, PromptArgument};
pub use message::RpcError;
pub use naming::{declared_name, server_prefix, tool_name};
pub use ports::{Http, HttpAnswer, HttpBody, HttpEvent, HttpMethod, HttpRequest, Launch, Pipes};
pub use prompts::ServerPrompt;
pub use resources::ListedResource;
pub use server::{Remember, State, Surroundings, Withhold};
pub use servers::{Health, Offer, Planned, Servers};

/// The names of Charla's own tools about servers.
pub const OWN_TOOLS: [&str; 3] = [find::NAME, resources::LIST, resources::READ];

#[cfg(test)]
mod tests;
