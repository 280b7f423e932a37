//! A server of the settings, with the user's variables in their places.

use std::fmt;
use std::time::Duration;

use charla_mcp::{Endpoint, HttpForm, Reach, ServerCommand, ServerConfig};
use charla_proto::text::one_line;

use crate::environment::Environment;
use crate::settings::{McpForm, McpServerSettings};

/// How long a call may take where nothing else is set.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Why an entry names no server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// This variable of the user's is not set; the entry is good once it is.
    Unset(String),
    /// What is written is wrong.
    Wrong(String),
}

impl From<String> for Flaw {
    fn from(why: String) -> Self {
        Flaw::Wrong(why)
    }
}

impl From<&str> for Flaw {
    fn from(why: &str) -> Self {
        Flaw::Wrong(why.to_owned())
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Unset(name) => write!(formatter, "the variable `{name}` is not set"),
            Flaw::Wrong(why) => formatter.write_str(why),
        }
    }
}

/// The server that this entry names; why it names none.
pub(super) fn config(
    name: &str,
    server: &McpServerSettings,
    environment: &Environment,
) -> Result<ServerConfig, Flaw> {
    Ok(ServerConfig {
        name: name.to_owned(),
        reach: reach(server, environment)?,
        timeout: server.timeout.map_or(TIMEOUT, Duration::from_millis),
        include: server.include_tools.clone(),
        exclude: server.exclude_tools.clone(),
    })
}

fn reach(server: &McpServerSettings, environment: &Environment) -> Result<Reach, Flaw> {
    let url = match (&server.command, &server.url, &server.http_url) {
        (Some(program), None, None) => return Ok(Reach::Process(command(program, server, environment)?)),
        (None, Some(url), None) | (None, None, Some(url)) => url,
        (None, None, None) => return Err("it has neither a `command` nor a `url`".into()),
        _ => return Err("it has more than one of `command`, `url` and `httpUrl`".into()),
    };
    let form = match (server.r#type, &server.http_url) {
        (Some(McpForm::Stdio), _) => return Err("`stdio` wants a `command`".into()),
        (Some(McpForm::Sse), _) => HttpForm::Events,
        (Some(McpForm::Http), _) | (None, Some(_)) => HttpForm::Streamable,
        (None, None) => HttpForm::Either,
    };
    let url = filled(url, environment)?;
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(format!("`{}` is no address of HTTP", one_line(&url)).into());
    }
    let header =
        |(name, value): (&String, &String)| Ok::<_, Flaw>((name.clone(), value_of(value, environment)?));
    let headers = server.headers.iter().map(header).collect::<Result<_, _>>()?;
    Ok(Reach::Http(Endpoint { url, headers, form }))
}

fn command(
    program: &str,
    server: &McpServerSettings,
    environment: &Environment,
) -> Result<ServerCommand, Flaw> {
    let here = &environment.directory;
    let folder = server.cwd.as_ref().map_or_else(|| here.clone(), |folder| environment.expand(folder, here));
    let program = filled(program, environment)?;
    // A bare name is looked for in `PATH`.
    let program = match program.contains('/') {
        true => environment.expand(&program, &folder).to_string_lossy().into_owned(),
        false => program,
    };
    let variable =
        |(name, value): (&String, &String)| Ok::<_, Flaw>((name.clone(), value_of(value, environment)?));
    Ok(ServerCommand {
        program,
        arguments: server.args.iter().map(|word| filled(word, environment)).collect::<Result<_, _>>()?,
        variables: server.env.iter().map(variable).collect::<Result<_, _>>()?,
        folder,
        trusted: server.trust == Some(true),
    })
}

/// A value of a variable or a header: `$NAME` as a whole is one of the user's, too.
fn value_of(text: &str, environment: &Environment) -> Result<String, Flaw> {
    let is_name =
        |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match text.strip_prefix('$').filter(is_name) {
        Some(name) => variable(name, None, environment),
        None => filled(text, environment),
    }
}

/// The text with `${NAME}` and `${NAME:-otherwise}` put in.
fn filled(text: &str, environment: &Environment) -> Result<String, Flaw> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inside, behind) = after.split_once('}').ok_or("a `${` is not closed")?;
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inside, None),
        };
        filled.push_str(before);
        filled.push_str(&variable(name, otherwise, environment)?);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn variable(name: &str, otherwise: Option<&str>, environment: &Environment) -> Result<String, Flaw> {
    let value = environment.variable(name).or(otherwise);
    value.map(str::to_owned).ok_or_else(|| Flaw::Unset(one_line(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Result<ServerConfig, Flaw> {
        let mut environment = Environment::of([("TOKEN", "t-1"), ("HOST", "example.org")]);
        environment.directory = "/w".into();
        environment.home = Some("/h".into());
        config("s", &serde_json::from_str(json).unwrap(), &environment)
    }

    #[test]
    fn variables_of_the_user_stand_where_they_are_named() {
        let server = of(r#"{"command": "./run", "args": ["--to", "${HOST}:1", "$TOKEN"], "cwd": "sub",
                            "env": {"A": "$TOKEN", "B": "x${NONE:-y}z", "C": "$ 5"}, "timeout": 1500}"#);
        let server = server.unwrap();
        let Reach::Process(command) = server.reach else { panic!() };
        assert_eq!(command.program, "/w/sub/./run");
        assert_eq!(command.arguments, ["--to", "example.org:1", "$TOKEN"]);
        let variables = [("A", "t-1"), ("B", "xyz"), ("C", "$ 5")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(command.variables, variables);
        assert!(!command.trusted);
        assert_eq!(server.timeout, Duration::from_millis(1500));
    }

    #[test]
    fn an_address_says_how_it_is_spoken_to() {
        let form = |json| match of(json).unwrap().reach {
            Reach::Http(endpoint) => (endpoint.form, endpoint.headers.len()),
            Reach::Process(_) => panic!("{json}"),
        };
        assert_eq!(
            form(r#"{"url": "https://${HOST}/mcp", "headers": {"A": "Bearer ${TOKEN}"}}"#),
            (HttpForm::Either, 1)
        );
        assert_eq!(form(r#"{"httpUrl": "http://h/mcp"}"#), (HttpForm::Streamable, 0));
        assert_eq!(form(r#"{"url": "http://h/mcp", "type": "sse"}"#), (HttpForm::Events, 0));
        assert_eq!(form(r#"{"url": "http://h/mcp", "type": "http"}"#), (HttpForm::Streamable, 0));
    }

    #[test]
    fn what_names_no_server_says_why() {
        let cases = [
            ("{}", "neither"),
            (r#"{"command": "a", "url": "http://h"}"#, "more than one"),
            (r#"{"url": "ftp://h"}"#, "no address"),
            (r#"{"url": "http://h", "type": "stdio"}"#, "wants a `command`"),
            (r#"{"command": "a", "env": {"A": "$NONE"}}"#, "`NONE` is not set"),
            (r#"{"command": "a", "args": ["${X"]}"#, "not closed"),
        ];
        for (json, said) in cases {
            let why = of(json).unwrap_err().to_string();
            assert!(why.contains(said), "{json}: {why}");
        }
    }
}
