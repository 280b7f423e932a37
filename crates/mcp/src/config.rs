//! What is known of a server before it is spoken to.

use std::path::PathBuf;
use std::time::Duration;

/// A server as the settings name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// Its name in the settings.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// How long a call may take.
    pub timeout: Duration,
    /// The only tools that are taken from it; all when absent.
    pub include: Option<Vec<String>>,
    /// Tools that are not taken from it.
    pub exclude: Vec<String>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It is a program that is started and spoken to through its standard input and output.
    Process(ServerCommand),
    /// It listens at an address.
    Http(Endpoint),
}

/// The program of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerCommand {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables it gets beside the usual ones.
    pub variables: Vec<(String, String)>,
    /// Where it runs.
    pub folder: PathBuf,
    /// Its user trusts it with whatever they may do themselves.
    pub trusted: bool,
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The address.
    pub url: String,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// How it is spoken to.
    pub form: HttpForm,
}

/// How a server at an address is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpForm {
    /// Streamable HTTP, and the older form where a server refuses it.
    #[default]
    Either,
    /// Streamable HTTP.
    Streamable,
    /// The older form: a stream of events, and an address to post to.
    Events,
}

impl ServerConfig {
    /// True for a tool of the server that is wanted.
    pub(crate) fn takes(&self, tool: &str) -> bool {
        // `read(path)` is how some name a tool with its parameters.
        let named = |entry: &String| entry.split('(').next().is_some_and(|entry| entry.trim() == tool);
        self.include.as_ref().is_none_or(|include| include.iter().any(named))
            && !self.exclude.iter().any(|entry| entry == tool)
    }
}
