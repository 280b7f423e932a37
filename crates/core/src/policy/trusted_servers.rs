//! Rules for MCP servers that their user trusts.

use super::RuleFile;
use super::parse::{PolicyError, parse};
use super::rules::{Rule, Tier};

/// Rules that allow every tool of these servers, as rules of the user. Plan mode keeps its word. A name with a `*`, which
/// would stand for others, has no rule.
pub fn trusted_servers<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Rule>, PolicyError> {
    let rule = |name: &str| {
        let name = toml::Value::from(name);
        let modes = "modes = [\"default\", \"auto_edit\", \"yolo\"]";
        format!("[[rule]]\nmcpName = {name}\n{modes}\ndecision = \"allow\"\npriority = 200\n")
    };
    let text = names.into_iter().filter(|name| !name.contains('*')).map(rule).collect();
    parse(&RuleFile { tier: Tier::User, name: "mcpServers.*.trust".into(), text }).map(|parsed| parsed.rules)
}
