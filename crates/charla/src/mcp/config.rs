//! A server of the settings, with the user's variables in their places.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use charla_mcp::{Endpoint, HttpForm, Reach, ServerCommand, ServerConfig};
use charla_proto::text::one_line;

use super::ground::Ground;
use crate::environment::Environment;
use crate::settings::{McpForm, McpServerSettings};

/// How long a call may take where nothing else is set.
const TIMEOUT: Duration = Duration::from_secs(600);
/// With it, Python takes no modules from the folder it is started in.
const SAFE_PATH: &str = "PYTHONSAFEPATH";

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
    ground: &Ground,
    environment: &Environment,
) -> Result<ServerConfig, Flaw> {
    let entry = Entry { server, ground, environment };
    Ok(ServerConfig {
        name: name.to_owned(),
        reach: entry.reach()?,
        timeout: server.timeout.map_or(TIMEOUT, Duration::from_millis),
        include: server.include_tools.clone(),
        exclude: server.exclude_tools.clone(),
    })
}

/// An entry of the settings where it stands.
struct Entry<'a> {
    server: &'a McpServerSettings,
    ground: &'a Ground,
    environment: &'a Environment,
}

impl Entry<'_> {
    fn reach(&self) -> Result<Reach, Flaw> {
        let server = self.server;
        let url = match (&server.command, &server.url, &server.http_url) {
            (Some(program), None, None) => return Ok(Reach::Process(self.command(program)?)),
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
        let url = self.filled(url)?;
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(format!("`{}` is no address of HTTP", one_line(&url)).into());
        }
        let header = |(name, value): (&String, &String)| Ok::<_, Flaw>((name.clone(), self.value_of(value)?));
        let headers = server.headers.iter().map(header).collect::<Result<_, _>>()?;
        Ok(Reach::Http(Endpoint { url, headers, form }))
    }

    fn command(&self, program: &str) -> Result<ServerCommand, Flaw> {
        let (server, ground) = (self.server, self.ground);
        let folder = match &server.cwd {
            Some(folder) => self.environment.expand(&self.filled(folder)?, ground.base(self.environment)),
            None => ground.folder(self.environment),
        };
        let program = self.program(program, &folder)?;
        let variable =
            |(name, value): (&String, &String)| Ok::<_, Flaw>((name.clone(), self.value_of(value)?));
        let mut variables: Vec<_> = server.env.iter().map(variable).collect::<Result<_, _>>()?;
        // A script's own folder, which the variable would close, too, is no other's to write.
        let is_module = server.args.iter().any(|word| word == "-m");
        if server.cwd.is_none() && !ground.is_workspace() && is_module && !server.env.contains_key(SAFE_PATH)
        {
            variables.push((SAFE_PATH.to_owned(), "1".to_owned()));
        }
        Ok(ServerCommand {
            program,
            arguments: server.args.iter().map(|word| self.filled(word)).collect::<Result<_, _>>()?,
            variables,
            folder,
            trusted: server.trust == Some(true),
        })
    }

    /// The program. A bare name is looked for in `PATH`.
    fn program(&self, program: &str, folder: &Path) -> Result<String, Flaw> {
        let program = self.filled(program)?;
        if !program.contains('/') {
            return Ok(program);
        }
        let path = self.environment.expand(&program, folder);
        if self.server.cwd.is_none() && !self.ground.is_workspace() && path.starts_with(folder) {
            let program = one_line(&program);
            return Err(format!(
                "`{program}` begins nowhere; write the whole path, or give it a `cwd`, where `.` is the workspace"
            )
            .into());
        }
        Ok(path.to_string_lossy().into_owned())
    }

    /// A value of a variable or a header: `$NAME` as a whole is one of the user's, too.
    fn value_of(&self, text: &str) -> Result<String, Flaw> {
        let is_name =
            |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match text.strip_prefix('$').filter(is_name) {
            Some(name) => self.variable(name, None),
            None => self.filled(text),
        }
    }

    /// The text with `${NAME}` and `${NAME:-otherwise}` put in. What is put in is not looked at again.
    fn filled(&self, text: &str) -> Result<String, Flaw> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (inside, behind) = after.split_once('}').ok_or("a `${` is not closed")?;
            let (name, otherwise) = match inside.split_once(":-") {
                Some((name, otherwise)) => (name, Some(otherwise)),
                None => (inside, None),
            };
            filled.push_str(before);
            filled.push_str(&self.variable(name, otherwise)?);
            rest = behind;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn variable(&self, name: &str, otherwise: Option<&str>) -> Result<String, Flaw> {
        if let Some(place) = self.ground.place(name, self.environment) {
            return Ok(place);
        }
        let value = self.environment.variable(name).or(otherwise);
        value.map(str::to_owned).ok_or_else(|| Flaw::Unset(one_line(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Result<ServerConfig, Flaw> {
        on(&Ground::User, json)
    }

    fn on(ground: &Ground, json: &str) -> Result<ServerConfig, Flaw> {
        let mut environment = Environment::of([("TOKEN", "t-1"), ("HOST", "example.org")]);
        environment.directory = "/w/${TOKEN}".into();
        environment.home = Some("/h".into());
        config("s", &serde_json::from_str(json).unwrap(), ground, &environment)
    }

    fn command(ground: &Ground, json: &str) -> ServerCommand {
        match on(ground, json).unwrap().reach {
            Reach::Process(command) => command,
            Reach::Http(_) => panic!("{json}"),
        }
    }

    #[test]
    fn only_a_server_of_the_workspace_starts_there_unasked() {
        let extension = Ground::Extension("/e".into());
        let apart = Path::new("/h/.charla/cache/apart");
        let module = r#"{"command": "python3", "args": ["-m", "x"]}"#;
        let safe = vec![(SAFE_PATH.to_owned(), "1".to_owned())];
        for ground in [&Ground::User, &extension] {
            let command = command(ground, module);
            assert_eq!((command.folder.as_path(), &command.variables), (apart, &safe));
            let why = on(ground, r#"{"command": "./run"}"#).unwrap_err().to_string();
            assert!(why.contains("begins nowhere"), "{why}");
        }
        let command_of = |ground, json| command(ground, json);
        let own = command_of(&Ground::Workspace, module);
        assert_eq!((own.folder.to_str(), own.variables.len()), (Some("/w/${TOKEN}"), 0));
        let chosen = r#"{"command": "python3", "args": ["-m", "x"], "cwd": "."}"#;
        assert_eq!(command_of(&Ground::User, chosen).folder, Path::new("/w/${TOKEN}/."));
        assert_eq!(command_of(&extension, chosen).folder, Path::new("/e/."));
        assert!(command_of(&Ground::User, chosen).variables.is_empty());
        // A script finds what lies beside it.
        let script = r#"{"command": "python3", "args": ["/x/server.py"]}"#;
        assert!(command_of(&Ground::User, script).variables.is_empty());
    }

    #[test]
    fn places_of_an_extension_are_put_in_as_they_are() {
        let entry = r#"{"command": "${extensionPath}${/}run", "args": ["${workspacePath}"],
                        "env": {"W": "${workspacePath}/x", "T": "$TOKEN"}, "cwd": "${extensionPath}"}"#;
        let command = command(&Ground::Extension("/e/${TOKEN}".into()), entry);
        assert_eq!(
            (command.program.as_str(), command.folder.to_str()),
            ("/e/${TOKEN}/run", Some("/e/${TOKEN}"))
        );
        assert_eq!(command.arguments, ["/w/${TOKEN}"]);
        let variables = [("T", "t-1"), ("W", "/w/${TOKEN}/x")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(command.variables, variables);
        assert!(on(&Ground::User, entry).unwrap_err().to_string().contains("`extensionPath` is not set"));
    }

    #[test]
    fn variables_of_the_user_stand_where_they_are_named() {
        let server = of(r#"{"command": "./run", "args": ["--to", "${HOST}:1", "$TOKEN"], "cwd": "sub",
                            "env": {"A": "$TOKEN", "B": "x${NONE:-y}z", "C": "$ 5"}, "timeout": 1500}"#);
        let server = server.unwrap();
        let Reach::Process(command) = server.reach else { panic!() };
        assert_eq!(command.program, "/w/${TOKEN}/sub/./run");
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
