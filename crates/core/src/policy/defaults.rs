//! The built-in tier.

use super::RuleFile;
use super::parse::{PolicyError, parse};
use super::rules::{Rule, Tier};

/// The rules that hold when nobody says otherwise.
pub(super) fn rules() -> Result<Vec<Rule>, PolicyError> {
    parse(&RuleFile {
        tier: Tier::Default,
        name: "built-in".into(),
        text: include_str!("defaults.toml").into(),
    })
}
