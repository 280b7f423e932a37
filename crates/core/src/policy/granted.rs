//! What an "always" allows, in words.

use charla_proto::Grant;
use charla_proto::text::{one_line, shell_quote};

use super::parse::parse;
use super::rules::{Rule, Subject};
use super::{RuleFile, Tier};

/// What a grant allows: the commands, files, hosts or tools that are no longer asked about.
pub fn grant_in_words(grant: &Grant) -> String {
    let words = match grant {
        Grant::Tool { tool } => format!("the tool {tool}"),
        Grant::Server { server } => format!("every tool of the server {server}"),
        Grant::Rules { rules } => {
            let file = RuleFile { tier: Tier::User, name: String::new(), text: rules.clone() };
            match parse(&file) {
                Ok(parsed) => parsed.rules.iter().map(allowed).collect::<Vec<_>>().join(" and "),
                // Rules that are not understood allow nothing.
                Err(_) => "nothing: its rules are not understood".to_owned(),
            }
        }
    };
    one_line(&words)
}

/// What one rule allows, which an "always" made.
fn allowed(rule: &Rule) -> String {
    let tool = rule.tools.join(", ");
    let server = rule.server.as_ref().map(|server| format!(" of the server {server}")).unwrap_or_default();
    match &rule.subject {
        Subject::Command(commands) => {
            format!("`{}{}`{}", variables(rule), in_line(commands), folder(rule))
        }
        Subject::Prefix(commands) => format!("what begins with `{}`{}", in_line(commands), folder(rule)),
        Subject::Pattern { part, .. } => format!("commands like {part}{}", folder(rule)),
        Subject::Path { patterns, .. } => {
            let paths: Vec<String> = patterns.iter().map(|pattern| unescaped(pattern)).collect();
            format!("{tool} with {}", paths.join(", "))
        }
        Subject::Env { patterns, .. } => {
            let names: Vec<String> = patterns.iter().map(|pattern| unescaped(pattern)).collect();
            format!("commands with {}", names.join(", "))
        }
        Subject::Host(hosts) => format!("{tool} with {}", hosts.join(", ")),
        Subject::Anything => format!("the tool {tool}{server}"),
    }
}

fn in_line(commands: &[Vec<String>]) -> String {
    let line = |words: &Vec<String>| words.iter().map(|word| shell_quote(word)).collect::<Vec<_>>().join(" ");
    commands.iter().map(line).collect::<Vec<_>>().join("` or `")
}

/// The variables that go with the command.
fn variables(rule: &Rule) -> String {
    let given = rule.bounds.environment.iter().flatten();
    given.map(|(name, value)| format!("{name}={} ", shell_quote(value))).collect()
}

fn folder(rule: &Rule) -> String {
    match rule.bounds.cwd.as_deref() {
        None => String::new(),
        Some(".") => " in this folder".to_owned(),
        Some(folder) => format!(" in {folder}"),
    }
}

/// A pattern as it was before its special characters were put into brackets.
fn unescaped(pattern: &str) -> String {
    let mut text = String::new();
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        let mut ahead = rest.clone();
        match (c, ahead.next(), ahead.next()) {
            ('[', Some(escaped), Some(']')) => {
                text.push(escaped);
                rest = ahead;
            }
            _ => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rules: &str) -> String {
        grant_in_words(&Grant::Rules { rules: rules.to_owned() })
    }

    #[test]
    fn a_grant_is_told_by_what_is_no_longer_asked_about() {
        let command = "[[rule]]\ntool = \"run_shell_command\"\ncommand = \"cargo test 'a b'\"\ncwd = \".\"\nworkspace = \"/w\"\ndecision = \"allow\"\n";
        assert_eq!(told(command), "`cargo test 'a b'` in this folder");
        let bound = command.replace("cwd", "environment = [\"A=1\", \"B=x y\"]\ncwd");
        assert_eq!(told(&bound), "`A=1 B='x y' cargo test 'a b'` in this folder");
        let path = "[[rule]]\ntool = \"write_file\"\npath = \"/w/[[]id[]].tsx\"\ndecision = \"allow\"\n";
        assert_eq!(told(path), "write_file with /w/[id].tsx");
        assert_eq!(
            told(&format!("{}{path}", command.replace("cwd = \".\"", "cwd = \"sub\""))),
            "`cargo test 'a b'` in sub and write_file with /w/[id].tsx"
        );
        let host = "[[rule]]\ntool = \"web_fetch\"\nhost = \"example.org\"\ndecision = \"allow\"\n";
        assert_eq!(told(host), "web_fetch with example.org");
        let server = "[[rule]]\ntool = \"s__t\"\nmcpName = \"s\"\ndecision = \"allow\"\n";
        assert_eq!(told(server), "the tool s__t of the server s");
        assert_eq!(told("no rules"), "nothing: its rules are not understood");
        assert_eq!(
            grant_in_words(&Grant::Tool { tool: "write\u{1b}[2J".to_owned() }),
            format!("the tool {}", one_line("write\u{1b}[2J"))
        );
    }
}
