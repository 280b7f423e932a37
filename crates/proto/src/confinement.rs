//! How far a call's processes reach.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What the kernel lets the processes of a call do; a later one reaches further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confinement {
    /// What runs unasked: no writes but in a private temporary folder, no network, no secrets.
    Reading,
    /// What runs unasked where editing is free: writes in the workspace besides, but for protected places.
    Editing,
    /// What a person approved.
    Asked,
    /// Whatever the user may do: what a rule or the person opened.
    Open,
}

/// Its name in rules, records and JSON.
impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
