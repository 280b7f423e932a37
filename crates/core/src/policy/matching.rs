//! Which rules speak about which effects.

use std::path::Path;

use charla_proto::text::{join_path, shell_quote};
use charla_proto::{ApprovalMode, Effect, Plan, ToolOfServer, Word, WordKind};
use globset::GlobMatcher;

use super::Scope;
use super::commands;
use super::environment;
use super::guards::harmless_variable;
use super::restricted::Restriction;
use super::rules::{Decision, Rule, Subject};

/// The tool that runs command lines.
pub(super) const SHELL: &str = "run_shell_command";

/// Whether a rule is about an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    No,
    /// The command runs a script nobody has read, which may do what the rule is about. Counts for rules that ask or
    /// deny, unless a rule names the command.
    Hidden,
    /// It could be; the effect is not known well enough to tell. Counts for rules that ask or deny.
    Maybe,
    Yes,
}

fn yes(matches: bool) -> Match {
    if matches { Match::Yes } else { Match::No }
}

/// The name under which a tool is known here; older names of Gemini CLI are understood.
pub(super) fn canonical_tool(name: &str) -> String {
    match name {
        "ShellTool" => SHELL,
        "ReadFileTool" => "read_file",
        "ReadManyFilesTool" => "read_many_files",
        "WriteFileTool" => "write_file",
        "EditTool" => "replace",
        "LSTool" => "list_directory",
        "GlobTool" => "glob",
        "GrepTool" | "RipGrepTool" => "grep_search",
        "WebFetchTool" => "web_fetch",
        "WebSearchTool" => "google_web_search",
        "MemoryTool" => "save_memory",
        other => other,
    }
    .to_owned()
}

impl Rule {
    /// Whether the rule is about `effect` of `plan`; `None` stands for a plan that touches nothing.
    pub(super) fn matches(
        &self,
        plan: &Plan,
        effect: Option<&Effect>,
        mode: ApprovalMode,
        scope: &Scope,
    ) -> Match {
        let holds = self.holds_in(mode) && self.is_about_place(effect, scope);
        if !holds || !self.names_tool(plan) || !self.names_args(plan) {
            return Match::No;
        }
        let strict = self.decision != Decision::Allow;
        if let (Some(wanted), Some(effect @ Effect::Exec { .. })) = (&self.bounds.environment, effect)
            && !environment::is_given(wanted, effect)
        {
            return Match::No;
        }
        match (&self.subject, effect) {
            (Subject::Anything, _) => Match::Yes,
            // The variables of a command that the rule holds together with them, and of no other.
            (Subject::Command(_), Some(Effect::Env { name, .. })) if self.bounds.environment.is_some() => {
                let users = environment::users(plan, scope, name);
                let is_meant = |user: &&Effect| self.matches(plan, Some(user), mode, scope) == Match::Yes;
                yes(!users.is_empty() && users.iter().all(is_meant))
            }
            (
                Subject::Path { .. } | Subject::Command(_) | Subject::Prefix(_) | Subject::Pattern { .. },
                Some(Effect::Unclear { .. }),
            ) => {
                if strict {
                    Match::Maybe
                } else {
                    Match::No
                }
            }
            (Subject::Path { globs, .. }, Some(Effect::Read { path } | Effect::Write { path })) => {
                yes(if strict { scope.restricted_by(globs, path) } else { scope.named_by(globs, path) })
            }
            (Subject::Path { globs, patterns }, Some(Effect::Exec { words, cwd, carrier, .. })) if strict => {
                Restriction { globs, patterns, scope }.touched_by(words, cwd, *carrier)
            }
            (Subject::Path { globs, patterns }, Some(Effect::Env { name, value })) if strict => {
                Restriction { globs, patterns, scope }.touched_by_value(name, value)
            }
            (Subject::Env { names, .. }, Some(Effect::Env { name, value })) => {
                variable(names, name, value, strict)
            }
            (Subject::Host(hosts), Some(Effect::Net { host })) => {
                // A dot at the end changes nothing of where it leads.
                let plain = |host: &str| host.trim_end_matches('.').to_lowercase();
                yes(hosts.iter().any(|wanted| like(&plain(wanted), &plain(host))))
            }
            // What the words stand for was agreed to, not what they would be fed with this time.
            (Subject::Command(_), Some(Effect::Exec { words, fed: true, .. }))
                if !strict && commands::reads_input(words, true) =>
            {
                Match::No
            }
            (subject, Some(Effect::Exec { words, command, cwd, carrier, .. })) => {
                let found = about_command(subject, words, command, strict);
                let hidden = found == Match::No
                    && strict
                    && self.names_command()
                    && !carrier
                    && commands::hides_script(words, cwd, scope);
                if hidden { Match::Hidden } else { found }
            }
            // What it names may be run without being looked at.
            (_, Some(Effect::Env { name, value }))
                if strict && self.names_command() && may_be_run(name, value) =>
            {
                Match::Hidden
            }
            _ => Match::No,
        }
    }

    fn holds_in(&self, mode: ApprovalMode) -> bool {
        self.bounds.modes.is_empty() || self.bounds.modes.contains(&mode)
    }

    /// True in the workspace and the folder the rule is bound to.
    fn is_about_place(&self, effect: Option<&Effect>, scope: &Scope) -> bool {
        let root = scope.roots.first();
        if self.bounds.workspace.as_ref().is_some_and(|workspace| Some(workspace) != root) {
            return false;
        }
        match (&self.bounds.cwd, effect) {
            (Some(wanted), Some(Effect::Exec { cwd, .. })) => {
                root.map_or_else(|| cwd == Path::new(wanted), |root| join_path(root, wanted) == *cwd)
            }
            _ => true,
        }
    }

    /// True when the rule is about some call of the tool in this mode.
    pub(super) fn concerns(&self, tool: &str, mode: ApprovalMode) -> bool {
        self.holds_in(mode) && self.server.is_none() && self.tools.iter().any(|pattern| like(pattern, tool))
    }

    /// True when the rule is about every call of the tools it names.
    pub(super) fn is_general(&self) -> bool {
        matches!(self.subject, Subject::Anything) && self.args.is_none()
    }

    fn names_tool(&self, plan: &Plan) -> bool {
        let called = plan.effects.iter().find_map(|effect| match effect {
            Effect::Mcp { server, tool } => Some((server.as_str(), tool.as_str())),
            _ => None,
        });
        if let Some(wanted) = &self.server
            && !called.is_some_and(|(server, _)| like(wanted, server))
        {
            return false;
        }
        let Some((server, name)) = called else {
            return self.tools.iter().any(|tool| like(tool, &plan.tool));
        };
        self.tools.iter().any(|tool| {
            let is_servers_own = self.server.is_some() && like(tool, name);
            is_servers_own
                || match self.decision {
                    Decision::Allow => is_allowance_of(tool, &plan.tool, server, name),
                    Decision::Ask | Decision::Deny => is_called(tool, &plan.tool, server, name),
                }
        })
    }

    /// How many of a command's words the rule itself says.
    pub(super) fn named_words(&self, words: &[Word]) -> usize {
        let Subject::Prefix(commands) = &self.subject else { return 0 };
        let named = commands.iter().filter(|wanted| prefix(wanted, words) == Match::Yes);
        named.map(Vec::len).max().unwrap_or_default()
    }

    fn names_args(&self, plan: &Plan) -> bool {
        let Some(pattern) = &self.args else { return true };
        serde_json::to_string(&plan.args).is_ok_and(|args| pattern.is_match(&args))
    }
}

/// True for a variable with which a program may run what nobody has looked at: `GIT_EDITOR`, `PS4`, `LD_PRELOAD`. Only the name of one
/// that is about something else, or a value that is no program, tells.
fn may_be_run(name: &str, value: &Word) -> bool {
    let plain = |value: &str| {
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
        is_number || ["true", "false", "yes", "no", "on", "off"].contains(&value)
    };
    !harmless_variable(name, false) && !value.known().is_some_and(plain)
}

/// True when a restriction means this tool of a server, by any name that it has anywhere.
fn is_called(pattern: &str, declared: &str, server: &str, name: &str) -> bool {
    let names = ToolOfServer { server, tool: name }.names(declared);
    names.iter().any(|known| like(pattern, known))
}

/// True when an allowance means this tool of a server: by the name it is declared under, which no other tool has, or by server
/// and tool. The server's part of `mcp_server_tool` ends at the first `_`, that of `server__tool` at the first `__`, so that
/// no name of one server reads like one of another.
fn is_allowance_of(pattern: &str, declared: &str, server: &str, name: &str) -> bool {
    let pair = match pattern.strip_prefix("mcp_") {
        Some(rest) => rest.split_once('_').or(rest.ends_with('*').then_some((rest, "*"))),
        None => pattern.split_once("__"),
    };
    let is_declared = pattern == declared || (!pattern.starts_with("mcp_") && like(pattern, declared));
    is_declared || pair.is_some_and(|(of, tool)| like(of, server) && like(tool, name))
}

fn about_command(subject: &Subject, words: &[Word], command: &str, strict: bool) -> Match {
    match subject {
        Subject::Command(commands) => any(commands, |wanted| exact(wanted, words, strict)),
        Subject::Prefix(commands) if strict => any(commands, |wanted| restricted(wanted, words)),
        Subject::Prefix(commands) => any(commands, |wanted| prefix(wanted, words)),
        Subject::Pattern { whole, .. } if !strict => {
            yes(text(words).is_some_and(|text| whole.is_match(&text)))
        }
        Subject::Pattern { part, .. } => match text(words) {
            Some(text) => yes(part.is_match(&text) || part.is_match(command)),
            None if part.is_match(command) => Match::Yes,
            None => Match::Maybe,
        },
        _ => Match::No,
    }
}

/// Whether a variable is one of those named, with the value that is wanted.
fn variable(names: &[(GlobMatcher, Option<String>)], name: &str, value: &Word, strict: bool) -> Match {
    let mut found = Match::No;
    for (_, wanted) in names.iter().filter(|(pattern, _)| pattern.is_match(name)) {
        match (wanted, value.known()) {
            (None, _) => return Match::Yes,
            (Some(wanted), Some(value)) if wanted == value => return Match::Yes,
            (Some(_), None) if strict => found = Match::Maybe,
            _ => {}
        }
    }
    found
}

/// `*` stands for any text.
fn like(pattern: &str, text: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == text };
    let Some(rest) = text.strip_prefix(before) else { return false };
    rest.char_indices()
        .map(|(index, _)| index)
        .chain([rest.len()])
        .any(|index| rest.get(index..).is_some_and(|rest| like(after, rest)))
}

fn any(commands: &[Vec<String>], matches: impl Fn(&[String]) -> Match) -> Match {
    commands.iter().map(|wanted| matches(wanted)).max_by_key(|found| *found as u8).unwrap_or(Match::No)
}

/// The command as a line, if all its words are known.
fn text(words: &[Word]) -> Option<String> {
    let typed: Option<Vec<String>> = words.iter().map(|word| word.known().map(shell_quote)).collect();
    typed.map(|typed| typed.join(" "))
}

fn exact(wanted: &[String], words: &[Word], strict: bool) -> Match {
    match prefix(wanted, words) {
        Match::Yes => yes(words.len() == wanted.len()),
        Match::Maybe if !strict => Match::No,
        other => other,
    }
}

/// The words of an allowance: one by one, from the first.
fn prefix(wanted: &[String], words: &[Word]) -> Match {
    for (index, wanted) in wanted.iter().enumerate() {
        match words.get(index).map(|word| (word.known(), word)) {
            Some((Some(word), _)) if word == wanted => {}
            Some((None, _)) => return Match::Maybe,
            _ => return Match::No,
        }
    }
    Match::Yes
}

/// The words of a restriction. A command that is not known may start any other it names, as an argument or in
/// a script it is handed.
fn restricted(wanted: &[String], words: &[Word]) -> Match {
    let direct = loose(wanted, words);
    // Under another name it may be the very same.
    let both_git =
        commands::base_name(words) == Some("git") && wanted.first().is_some_and(|name| base(name) == "git");
    if direct == Match::No && both_git && commands::may_run_any(words) {
        return Match::Maybe;
    }
    let known = commands::base_name(words).and_then(commands::operands_of).is_some();
    if direct != Match::No || known {
        return direct;
    }
    let named =
        (1..words.len()).filter_map(|from| words.get(from..)).any(|rest| loose(wanted, rest) == Match::Yes);
    let scripted = words.windows(2).any(|pair| match pair {
        [option, script] => {
            (takes_script(&option.text) || script.text.contains(char::is_whitespace))
                && mentions(&script.text, wanted)
        }
        _ => false,
    });
    if named || scripted { Match::Maybe } else { Match::No }
}

fn takes_script(option: &str) -> bool {
    matches!(option, "-c" | "-e" | "-r" | "--command" | "--eval" | "--exec" | "-exec")
}

fn mentions(script: &str, wanted: &[String]) -> bool {
    let name = |text: &str| wanted.first().is_some_and(|wanted| text.eq_ignore_ascii_case(wanted));
    script.split(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).any(name)
}

/// The command by its name however it is spelled, then the rest in order, with options and their values between
/// them, and short options in any grouping.
fn loose(wanted: &[String], words: &[Word]) -> Match {
    let (Some(name), Some(first)) = (wanted.first(), words.first()) else { return Match::No };
    match first.known() {
        None => return Match::Maybe,
        // Some file systems do not tell upper from lower case.
        Some(word) if base(word) == base(name) => {}
        Some(_) => return Match::No,
    }
    let mut at = 1;
    for wanted in wanted.iter().skip(1) {
        let found = match short_options(wanted) {
            Some(letters) => has_letters(letters, words),
            None => next_word(wanted, words, &mut at),
        };
        if found != Match::Yes {
            return found;
        }
    }
    Match::Yes
}

/// The last part of a path, in lower case.
fn base(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_lowercase()
}

/// Finds `wanted` from `at` on, stepping over options with at most one value each.
fn next_word(wanted: &str, words: &[Word], at: &mut usize) -> Match {
    let mut value_may_follow = false;
    while let Some(word) = words.get(*at) {
        *at += 1;
        match word.known() {
            None => return Match::Maybe,
            Some(text) if text == wanted => return Match::Yes,
            Some(text) if text.starts_with('-') => value_may_follow = true,
            Some(_) if value_may_follow => value_may_follow = false,
            Some(_) => return Match::No,
        }
    }
    Match::No
}

fn short_options(word: &str) -> Option<&str> {
    word.strip_prefix('-').filter(|letters| {
        !letters.is_empty() && letters.len() <= 4 && letters.chars().all(|c| c.is_ascii_alphabetic())
    })
}

/// True when the letters are given in any grouping and case, or as the long options they usually stand for.
fn has_letters(letters: &str, words: &[Word]) -> Match {
    let mut given: String = words.iter().skip(1).filter_map(Word::known).filter_map(short_options).collect();
    for word in words.iter().skip(1).filter_map(Word::known).filter(|word| word.len() > 3) {
        let long = ["--recursive", "--force", "--delete", "--yes", "--global"];
        given
            .extend(long.iter().filter(|long| long.starts_with(word)).filter_map(|long| long.chars().nth(2)));
    }
    let given = given.to_lowercase();
    if letters.to_lowercase().chars().all(|letter| given.contains(letter)) {
        return Match::Yes;
    }
    let unknown = |word: &Word| matches!(word.kind, WordKind::Single | WordKind::Unknown);
    if words.iter().any(unknown) { Match::Maybe } else { Match::No }
}
