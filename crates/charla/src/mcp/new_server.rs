//! A server as somebody types it, made an entry of the settings.

use serde_json::{Map, Value, json};

use crate::failure::Failure;

/// What somebody says of a server that is to be added.
#[derive(Clone, Debug, Default)]
pub struct NewServer {
    /// The program to start, or the address of the server.
    pub target: String,
    /// `stdio`, `http` or `sse`; by the target when absent.
    pub transport: Option<String>,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// The folder that the program starts in.
    pub cwd: Option<String>,
    /// Variables for the program, `NAME=VALUE` each.
    pub variables: Vec<String>,
    /// Headers of every request, `NAME:VALUE` each.
    pub headers: Vec<String>,
    /// Milliseconds that a call may take.
    pub timeout: Option<u64>,
    /// Its tools run without asking, and its program without confinement.
    pub trust: bool,
    /// The only tools taken from it.
    pub include: Vec<String>,
    /// Tools that are not taken from it.
    pub exclude: Vec<String>,
}

impl NewServer {
    /// The entry of the settings, without what says nothing.
    pub fn entry(&self) -> Result<Value, Failure> {
        let is_url = self.target.starts_with("http://") || self.target.starts_with("https://");
        let (place, form) = match self.transport.as_deref() {
            Some("http") => ("httpUrl", None),
            Some("sse") => ("url", Some("sse")),
            None if is_url => ("url", None),
            _ => ("command", None),
        };
        let fields = [
            (place, json!(self.target)),
            ("type", json!(form)),
            ("args", json!(self.arguments)),
            ("cwd", json!(self.cwd)),
            ("env", pairs(&self.variables, '=')?),
            ("headers", pairs(&self.headers, ':')?),
            ("timeout", json!(self.timeout)),
            ("trust", json!(self.trust.then_some(true))),
            ("includeTools", json!(self.include)),
            ("excludeTools", json!(self.exclude)),
        ];
        let said = fields.into_iter().filter(|(_, value)| says_something(value));
        Ok(said.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into())
    }
}

fn pairs(pairs: &[String], by: char) -> Result<Value, Failure> {
    let pair = |text: &String| {
        let wrong = || Failure::input(format!("`{text}` is no name and value with `{by}` between them"));
        let (name, value) = text.split_once(by).ok_or_else(wrong)?;
        Ok((name.trim().to_owned(), Value::from(value.trim())))
    };
    pairs.iter().map(pair).collect::<Result<Map<String, Value>, Failure>>().map(Value::Object)
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_in_the_entry_and_nothing_else() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let program = NewServer {
            target: "npx".to_owned(),
            arguments: words(&["-y", "x"]),
            cwd: Some(".".to_owned()),
            variables: words(&["A=b=c"]),
            trust: true,
            ..NewServer::default()
        };
        let entry =
            json!({"command": "npx", "args": ["-y", "x"], "cwd": ".", "env": {"A": "b=c"}, "trust": true});
        assert_eq!(program.entry().unwrap(), entry);
        let at = |transport: Option<&str>| NewServer {
            target: "https://h/mcp".to_owned(),
            transport: transport.map(str::to_owned),
            headers: words(&["X-A: b:c"]),
            ..NewServer::default()
        };
        let headers = json!({"X-A": "b:c"});
        assert_eq!(at(None).entry().unwrap(), json!({"url": "https://h/mcp", "headers": headers}));
        assert_eq!(
            at(Some("http")).entry().unwrap(),
            json!({"httpUrl": "https://h/mcp", "headers": headers})
        );
        let sse = json!({"url": "https://h/mcp", "type": "sse", "headers": headers});
        assert_eq!(at(Some("sse")).entry().unwrap(), sse);
        assert!(NewServer { variables: words(&["A"]), ..program }.entry().is_err());
    }
}
