//! The forms of `--allowed-tools`.

use super::RuleFile;
use super::matching::canonical_tool;
use super::parse::{PolicyError, parse};
use super::rules::{Rule, Tier};

/// Rules for `run_shell_command(git status)`, `ShellTool(echo)` and bare tool names, as rules of the user.
pub fn allowed_tools<'a>(forms: impl IntoIterator<Item = &'a str>) -> Result<Vec<Rule>, PolicyError> {
    let mut text = String::new();
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
        text.push_str("[[rule]]\ndecision = \"allow\"\npriority = 300\n");
        text.push_str(&format!("tool = {}\n", toml::Value::from(tool)));
        if !prefix.is_empty() {
            text.push_str(&format!("commandPrefix = {}\n", toml::Value::from(prefix)));
        }
    }
    parse(&RuleFile { tier: Tier::User, name: "--allowed-tools".into(), text })
}

fn refused(form: &str, why: &str) -> PolicyError {
    PolicyError { file: "--allowed-tools".into(), message: format!("`{form}`: {why}") }
}

#[cfg(test)]
mod tests {
    use super::allowed_tools;

    #[test]
    fn every_form_becomes_a_rule() {
        let rules = allowed_tools(["run_shell_command(wc)", "ShellTool(git log)", "read_file", " "]).unwrap();
        let about: Vec<String> = rules.iter().map(|rule| rule.about()).collect();
        assert_eq!(
            about,
            ["run_shell_command commandPrefix wc", "run_shell_command commandPrefix git log", "read_file"]
        );
    }

    #[test]
    fn a_form_that_is_not_understood_is_an_error() {
        assert!(allowed_tools(["run_shell_command(wc"]).is_err());
        assert!(allowed_tools(["read_file(x)"]).is_err());
        assert!(allowed_tools(["run_shell_command('x)"]).is_err());
    }
}
