//! Tools that are allowed by name, as the setting `tools.allowed` has them.
//!
//! A front end may have a flag for it; messages name the setting.

use super::RuleFile;
use super::matching::canonical_tool;
use super::parse::{PolicyError, parse};
use super::rules::{Rule, Tier};

/// Where these rules come from.
const SETTING: &str = "tools.allowed";

/// Asks about every command the forms do not name, unless a rule file has something to say about it.
const REST: &str = "[[rule]]
tool = \"run_shell_command\"
commandRegex = \"\"
decision = \"ask\"
priority = 0
modes = [\"default\", \"auto_edit\"]
reason = \"`tools.allowed` does not name it\"
";

/// Rules for `run_shell_command(git status)`, `ShellTool(echo)` and bare tool names, as rules of the user.
///
/// As soon as commands are named, only those run without asking: they then stand in for what is known
/// about harmless commands.
pub fn allowed_tools<'a>(forms: impl IntoIterator<Item = &'a str>) -> Result<Vec<Rule>, PolicyError> {
    let mut text = String::new();
    let mut names_commands = false;
    for form in forms.into_iter().map(str::trim).filter(|form| !form.is_empty()) {
        let (tool, prefix) = match form.split_once('(') {
            Some((tool, rest)) => match rest.strip_suffix(')') {
                Some(prefix) => (tool, prefix.trim_end_matches(['*', ':']).trim()),
                None => return Err(refused(form, "a parenthesis is not closed")),
            },
            None => (form, ""),
        };
        let tool = canonical_tool(tool.trim());
        if !prefix.is_empty() && tool != super::matching::SHELL {
            return Err(refused(form, "only run_shell_command takes a command in parentheses"));
        }
        // What is named is asked about first: it may reach what it plainly has to.
        let priority = if prefix.is_empty() { 300 } else { 301 };
        text.push_str(&format!("[[rule]]\ndecision = \"allow\"\npriority = {priority}\n"));
        text.push_str(&format!("tool = {}\n", toml::Value::from(tool)));
        if !prefix.is_empty() {
            names_commands = true;
            text.push_str(&format!("commandPrefix = {}\n", toml::Value::from(prefix)));
        }
    }
    if names_commands {
        text.push_str(REST);
    }
    let mut rules = parse(&RuleFile { tier: Tier::User, name: SETTING.into(), text })?.rules;
    rules.iter_mut().for_each(|rule| rule.allowance.narrow = true);
    Ok(rules)
}

fn refused(form: &str, why: &str) -> PolicyError {
    PolicyError { file: SETTING.into(), message: format!("`{form}`: {why}") }
}

#[cfg(test)]
mod tests {
    use super::allowed_tools;

    #[test]
    fn every_form_becomes_a_rule() {
        let rules = allowed_tools(["run_shell_command(wc)", "ShellTool(git log)", "read_file", " "]).unwrap();
        let about: Vec<String> =
            rules.iter().map(|rule| format!("{} {}", rule.decision, rule.about())).collect();
        assert_eq!(
            about,
            [
                "allow run_shell_command commandPrefix wc",
                "allow run_shell_command commandPrefix git log",
                "allow read_file",
                "ask run_shell_command commandRegex ",
            ]
        );
        assert_eq!(allowed_tools(["run_shell_command", "read_file"]).unwrap().len(), 2);
    }

    #[test]
    fn a_form_that_is_not_understood_is_an_error() {
        assert!(allowed_tools(["run_shell_command(wc"]).is_err());
        assert!(allowed_tools(["read_file(x)"]).is_err());
        assert!(allowed_tools(["run_shell_command('x)"]).is_err());
    }
}
