//! `charla serve`: sessions over HTTP, against the real binary.

mod access;
mod agents;
mod attaching;
mod audit;
mod browser;
pub(crate) mod client;
mod deployment;
mod hostile;
mod interface;
mod leaving;
mod limits;
mod matrix;
mod moving;
mod nodes;
mod oidc;
mod outputs;
mod ownership;
mod problems;
mod questions;
mod schema;
mod sessions;
mod shelf;
mod slow;
mod team;
mod tls;
mod usage;
mod users;

use charla_testkit::{Reply, Server};
use serde_json::json;

use crate::place::Place;

/// A place whose models are this server's.
fn place(server: &Server) -> Place {
    Place::with_server(server).variable("TERM", "dumb").variable("NO_COLOR", "1")
}

fn write(name: &str) -> Reply {
    Reply::new().call("write_file", json!({"file_path": name, "content": "Hello.\n"}))
}
