//! Rules for MCP servers that their user trusts.

use super::RuleFile;
use super::parse::{PolicyError, parse};
use super::rules::{Rule, Tier};

/// Rules that allow every tool whose name begins with one of these, as rules of the user. Plan mode keeps its word.
pub fn trusted_servers<'a>(prefixes: impl IntoIterator<Item = &'a str>) -> Result<Vec<Rule>, PolicyError> {
    let rule = |prefix: &str| {
        let tool = toml::Value::from(format!("{prefix}*"));
        let modes = "modes = [\"default\", \"auto_edit\", \"yolo\"]";
        format!("[[rule]]\ntool = {tool}\n{modes}\ndecision = \"allow\"\npriority = 200\n")
    };
    let text = prefixes.into_iter().map(rule).collect();
    parse(&RuleFile { tier: Tier::User, name: "mcpServers.*.trust".into(), text })
}
