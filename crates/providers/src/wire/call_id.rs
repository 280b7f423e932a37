//! What a call is called on a wire.

use charla_proto::{FunctionCall, FunctionResponse, OWN_CALL_ID};

/// The names of a call: the server's, if it has given one that can be sent back, and our own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallId<'a> {
    given: Option<&'a str>,
    own: Option<&'a str>,
}

impl<'a> CallId<'a> {
    /// The one that is sent: the server's, where it fits the wire. Nothing for a call without a name.
    pub(crate) fn sent(self, fits: impl FnOnce(&str) -> bool) -> Option<&'a str> {
        self.given.filter(|given| fits(given)).or(self.own)
    }

    /// The server's own, for wires that match calls without one.
    pub(crate) fn given(self) -> Option<&'a str> {
        self.sent(|_| true).filter(|id| !id.starts_with(OWN_CALL_ID))
    }
}

impl<'a> From<&'a FunctionCall> for CallId<'a> {
    fn from(call: &'a FunctionCall) -> Self {
        Self { given: named(&call.given_id), own: named(&call.id) }
    }
}

impl<'a> From<&'a FunctionResponse> for CallId<'a> {
    fn from(response: &'a FunctionResponse) -> Self {
        Self { given: named(&response.given_id), own: named(&response.id) }
    }
}

fn named(id: &Option<String>) -> Option<&str> {
    id.as_deref().filter(|id| !id.is_empty())
}
