//! Connections to servers, which sessions of one user may share.
//!
//! A session alone has connections of its own. Where many live in one process, most of what each would take is a client
//! with its certificates, buffers and idle connections, all of them the same.

use std::sync::{Arc, Mutex, PoisonError};

use charla_proto::LlmError;
use charla_providers::{Client, NetworkOptions};

/// How many clients are kept that differ in their options; the oldest goes first, and whoever has it goes on with it.
const KEPT: usize = 8;

/// Where clients come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections(Option<Arc<Mutex<Vec<Client>>>>);

impl Connections {
    /// One client for all who ask with the same options.
    pub(crate) fn shared() -> Self {
        Self(Some(Arc::default()))
    }

    /// A client with these options.
    pub(crate) fn client(&self, options: NetworkOptions) -> Result<Client, LlmError> {
        let Some(shared) = &self.0 else { return Client::new(options) };
        let mut known = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = known.iter().find(|client| *client.options() == options) {
            return Ok(client.clone());
        }
        let client = Client::new(options)?;
        if known.len() == KEPT {
            known.remove(0);
        }
        known.push(client.clone());
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn named(number: usize) -> NetworkOptions {
        NetworkOptions { user_agent: format!("agent {number}"), ..NetworkOptions::default() }
    }

    fn same(one: &Client, other: &Client) -> bool {
        std::ptr::eq(one.options(), other.options())
    }

    #[test]
    fn equal_options_have_one_client_where_it_is_shared() {
        let shared = Connections::shared();
        let first = shared.client(named(0)).unwrap();
        assert!(same(&first, &shared.clone().client(named(0)).unwrap()));
        let patient = NetworkOptions { idle_timeout: Duration::from_secs(1), ..named(0) };
        assert!(!same(&first, &shared.client(patient).unwrap()));
        let alone = Connections::default();
        assert!(!same(&alone.client(named(0)).unwrap(), &alone.client(named(0)).unwrap()));
    }

    #[test]
    fn whoever_changes_settings_often_leaves_few_clients() {
        let shared = Connections::shared();
        for number in 0..3 * KEPT {
            shared.client(named(number)).unwrap();
        }
        assert_eq!(shared.0.unwrap().lock().unwrap().len(), KEPT);
    }
}
