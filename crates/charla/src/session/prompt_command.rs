//! Commands behind a `/` that stand for a prompt: those that users write, and prompts of MCP servers.

use std::path::PathBuf;

use charla_core::CancellationToken;
use charla_core::session::SessionHandle;
use charla_mcp::{ListedPrompt, ServerPrompt, Servers};
use charla_proto::text::{one_line, shell_split};
use charla_proto::{CallEnded, Content, Display, Part, Refusal};

use super::attachments::PromptDraft;
use super::init::{INIT, init_prompt};
use super::opened::OpenedSession;
use super::own_call::run_for_prompt;
use crate::custom_command::{Piece, custom_commands, is_built_in, unusable_command};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::notices::Notices;
use crate::settings::Settings;

/// A prompt whose places are filled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilledPrompt {
    /// Its words.
    pub text: String,
    /// Names of files that come along, as they would be typed.
    pub typed: String,
}

/// Who fills the places of a prompt.
#[derive(Clone, Copy)]
pub struct Filler<'a> {
    /// Whose calls its commands are.
    pub by: &'a str,
    /// They have not read the commands: those run that the rules allow unasked, and no others.
    pub unread: bool,
    /// Stops what runs.
    pub cancel: &'a CancellationToken,
}

/// Where commands that users write are found, and what holds for the files that they name.
#[derive(Clone, Copy)]
pub struct CommandPlace<'a> {
    /// The settings.
    pub settings: &'a Settings,
    /// The surroundings.
    pub environment: &'a Environment,
    /// Rules of this run beside those of the user: a file that they deny is not sent.
    pub rule_files: &'a [PathBuf],
}

/// The name of the command that a line begins with, and the words behind it.
fn split_command(line: &str) -> Option<(&str, &str)> {
    let line = line.trim().strip_prefix('/')?;
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (!name.is_empty()).then_some((name, arguments.trim()))
}

/// The prompt with its places filled, or why it cannot be. Files come along by name.
pub async fn fill(
    pieces: &[Piece],
    session: &SessionHandle,
    filler: Filler<'_>,
) -> Result<FilledPrompt, Refusal> {
    let mut filled = FilledPrompt::default();
    for piece in pieces {
        match piece {
            Piece::Text(words) => filled.text.push_str(words),
            Piece::File(path) => {
                filled.text.push_str(path);
                filled.typed.push_str(&format!("@\"{path}\" "));
            }
            Piece::Shell(line) => {
                let Filler { by, unread, cancel } = filler;
                let ended = run_for_prompt(session, line, unread, by, cancel).await;
                filled.text.push_str(&printed(&*ended.map_err(|why| about(line, why))?));
            }
        }
        if filler.cancel.is_cancelled() {
            return Err(Refusal::Nothing { why: "it was stopped".to_owned() });
        }
    }
    Ok(filled)
}

/// The refusal names the command that it is about.
fn about(line: &str, why: Refusal) -> Refusal {
    match why {
        Refusal::Failed { message } => {
            Refusal::Failed { message: format!("`{}` does not run: {message}", one_line(line)) }
        }
        other => other,
    }
}

/// What a command printed, or why it did not run.
fn printed(ended: &CallEnded) -> String {
    ended.display.as_ref().map_or_else(|| ended.response.to_text(), Display::to_text)
}

/// The prompt of a server that a command of this name is: `/prompt`, or `/server:prompt` where another has the name. A command of ours
/// is never a server's.
pub fn server_prompt(servers: &Servers, name: &str) -> Option<ServerPrompt> {
    let is_it = |one: &&ServerPrompt| {
        let short = command_name(&one.prompt.name);
        let is_short = name == short && !is_built_in(name);
        is_short || name.strip_prefix(&one.server).is_some_and(|rest| rest == format!(":{short}"))
    };
    let prompts = servers.prompts();
    prompts.iter().find(is_it).cloned()
}

/// The prompts of servers, each with the name that a command of it has: with its server's where a command of ours, or a prompt before
/// it, has the name alone.
pub fn server_prompts(servers: &Servers) -> Vec<(String, ServerPrompt)> {
    let mut named: Vec<(String, ServerPrompt)> = Vec::new();
    for one in servers.prompts() {
        let mut name = prompt_command_name(&one.server, &one.prompt.name);
        if named.iter().any(|(known, _)| *known == name) {
            name = format!("{}:{}", one.server, command_name(&one.prompt.name));
        }
        named.push((name, one));
    }
    named
}

/// What a server's prompt is called behind a `/`.
fn command_name(prompt: &str) -> String {
    prompt.split_whitespace().collect::<Vec<_>>().join("-")
}

/// What a server's prompt is said by: with its server's name where a command of ours has its own.
pub fn prompt_command_name(server: &str, prompt: &str) -> String {
    let short = command_name(prompt);
    if is_built_in(&short) { format!("{server}:{short}") } else { short }
}

/// The words of a server's prompt for what was typed behind its name; why there are none.
pub async fn expand_server_prompt(
    servers: &Servers,
    prompt: &ServerPrompt,
    typed: &str,
) -> Result<FilledPrompt, Refusal> {
    let failed = |message: String| Refusal::Failed { message };
    let arguments = arguments(&prompt.prompt, typed).map_err(failed)?;
    let text = servers.expand(&prompt.server, &prompt.prompt.name, &arguments).await.map_err(failed)?;
    Ok(FilledPrompt { text, typed: String::new() })
}

/// What a prompt is filled with: `--name=value`, or words in the order of its arguments, the last of which takes the rest.
fn arguments(prompt: &ListedPrompt, typed: &str) -> Result<Vec<(String, String)>, String> {
    let words = shell_split(typed).ok_or("a quotation mark is open in what is typed behind it")?;
    let (mut named, mut rest) = (Vec::new(), Vec::new());
    for word in words {
        let given = word.strip_prefix("--").and_then(|word| word.split_once('='));
        match given.filter(|(name, _)| is_argument_name(name)) {
            Some((name, value)) if prompt.arguments.iter().any(|known| known.name == name) => {
                named.push((name.to_owned(), value.to_owned()));
            }
            Some((name, _)) => return Err(unknown_argument(prompt, name)),
            None => rest.push(word),
        }
    }
    let is_open = |name: &str| named.iter().all(|(given, _)| given != name);
    let open: Vec<&str> =
        prompt.arguments.iter().map(|known| known.name.as_str()).filter(|name| is_open(name)).collect();
    let mut rest = rest.into_iter();
    let mut placed = Vec::new();
    for (at, name) in open.iter().enumerate() {
        let value = match at + 1 == open.len() {
            true => rest.by_ref().collect::<Vec<_>>().join(" "),
            false => rest.next().unwrap_or_default(),
        };
        if !value.is_empty() {
            placed.push(((*name).to_owned(), value));
        }
    }
    named.extend(placed);
    let missing = |known: &&charla_mcp::PromptArgument| {
        known.required && named.iter().all(|(name, _)| *name != known.name)
    };
    match prompt.arguments.iter().find(missing) {
        Some(missing) => {
            let (prompt, name) = (command_name(&prompt.name), &missing.name);
            Err(format!("`{name}` is missing: /{prompt} --{name}=…"))
        }
        None => Ok(named),
    }
}

/// True for what may name an argument: other words behind `--` are values.
fn is_argument_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
}

fn unknown_argument(prompt: &ListedPrompt, name: &str) -> String {
    let known: Vec<String> = prompt.arguments.iter().map(|known| format!("--{}=…", known.name)).collect();
    let command = command_name(&prompt.name);
    match known.is_empty() {
        true => format!("there is no `{name}`: /{command} takes nothing"),
        false => format!("there is no `{name}`: /{command} takes {}", known.join(" ")),
    }
}

impl OpenedSession {
    /// Puts into a prompt what its words stand for: where `typed` is a command that a user wrote, or a prompt of an MCP server, that
    /// with its places filled; then the resources that are named in it. Other words stay as they are.
    pub async fn fill_prompt(
        &self,
        typed: &str,
        content: &mut Content,
        place: CommandPlace<'_>,
        filler: Filler<'_>,
        notices: &mut dyn Notices,
    ) -> Result<(), Failure> {
        self.expand_command(typed, content, place, filler, notices).await?;
        self.attach_resources(typed, content, notices).await;
        Ok(())
    }

    async fn expand_command(
        &self,
        typed: &str,
        content: &mut Content,
        CommandPlace { settings, environment, rule_files }: CommandPlace<'_>,
        filler: Filler<'_>,
        notices: &mut dyn Notices,
    ) -> Result<(), Failure> {
        let Some((name, arguments)) = split_command(typed) else { return Ok(()) };
        let custom = custom_commands(environment, &settings.brought, notices)?;
        let filled = match custom.iter().find(|command| command.name == name) {
            Some(command) => {
                let filled = fill(&command.expand(arguments), &self.handle, filler).await;
                Some(filled.map_err(|why| not_said(name, &why).with_hint(Hint::AllowCommands)))
            }
            None if name == INIT => {
                Some(Ok(FilledPrompt { text: init_prompt(arguments), ..FilledPrompt::default() }))
            }
            None => {
                let filled = self.of_server(name, arguments).await;
                filled.map(|filled| filled.map_err(|why| not_said(name, &why)))
            }
        };
        let Some(filled) = filled else {
            return unusable_command(name, environment, &settings.brought)?.map_or(Ok(()), Err);
        };
        let filled = filled?;
        let said = content.parts.first().and_then(Part::as_text).unwrap_or_default();
        let piped = said.strip_suffix(typed).unwrap_or_default().trim_end().to_owned();
        let FilledPrompt { text: words, typed: files } = filled;
        let rule_files = rule_files.to_vec();
        let draft = PromptDraft { words, typed: Some(files), piped, rule_files, ..PromptDraft::default() };
        let mut with = draft.content(environment, notices)?;
        with.parts.extend(content.parts.drain(..).skip(1));
        *content = with;
        Ok(())
    }

    async fn of_server(&self, name: &str, arguments: &str) -> Option<Result<FilledPrompt, Refusal>> {
        let servers = self.servers()?;
        // What prompts there are is known once the servers have started.
        servers.settled().await;
        let prompt = server_prompt(servers, name)?;
        Some(expand_server_prompt(servers, &prompt, arguments).await)
    }
}

fn not_said(name: &str, why: &Refusal) -> Failure {
    Failure::input(format!("/{} is not said: {why}", one_line(name)))
}

#[cfg(test)]
mod tests {
    use charla_mcp::PromptArgument;

    use super::*;

    fn prompt() -> ListedPrompt {
        let argument = |name: &str, required| PromptArgument { name: name.to_owned(), required };
        ListedPrompt {
            name: "greet all".to_owned(),
            description: String::new(),
            arguments: vec![argument("who", true), argument("how", false)],
        }
    }

    #[test]
    fn arguments_go_by_name_or_by_place() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let rows: [(&str, &[(String, String)]); 5] = [
            ("Ann", &[pair("who", "Ann")]),
            ("'Ann B' very warmly", &[pair("who", "Ann B"), pair("how", "very warmly")]),
            ("--how=\"at length\" Ann", &[pair("how", "at length"), pair("who", "Ann")]),
            ("--who=Ann '--a b=c'", &[pair("who", "Ann"), pair("how", "--a b=c")]),
            ("--how=x --who=y", &[pair("how", "x"), pair("who", "y")]),
        ];
        for (typed, expected) in rows {
            assert_eq!(arguments(&prompt(), typed).unwrap(), expected, "{typed}");
        }
    }

    #[test]
    fn what_cannot_be_filled_is_told() {
        assert!(arguments(&prompt(), "").unwrap_err().contains("/greet-all --who=…"));
        assert!(arguments(&prompt(), "'open").unwrap_err().contains("quotation mark"));
        let unknown = arguments(&prompt(), "--who=Ann --when=now").unwrap_err();
        assert_eq!(unknown, "there is no `when`: /greet-all takes --who=… --how=…");
    }

    #[test]
    fn a_command_has_a_name() {
        assert_eq!(split_command(" /git:commit  a b "), Some(("git:commit", "a b")));
        assert_eq!(split_command("/x"), Some(("x", "")));
        assert_eq!(split_command("/ x"), None);
        assert_eq!(split_command("see /x"), None);
    }
}
