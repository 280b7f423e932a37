//! MCP servers as other programs write them, in our form.

use serde_json::{Map, Value, json};

use super::Finding;

/// Keys that mean the same here.
const SAME: [&str; 9] =
    ["command", "args", "cwd", "url", "httpUrl", "timeout", "includeTools", "excludeTools", "description"];

/// The servers in a map of them. Secrets in it are taken with `keys`; else they become variables of the user's.
pub(super) fn servers(servers: Option<&Value>, keys: bool, findings: &mut Vec<Finding>) {
    let Some(servers) = servers.and_then(Value::as_object) else { return };
    for (name, server) in servers {
        match entry(server) {
            Ok(entry) => push(name, entry, keys, findings),
            Err(why) => {
                findings.push(Finding::Left { what: format!("MCP server {name}"), why: why.to_owned() });
            }
        }
    }
}

/// A server, with what of it may be taken.
pub(super) fn push(name: &str, mut entry: Map<String, Value>, keys: bool, findings: &mut Vec<Finding>) {
    entry.retain(|_, value| !value.is_null());
    let (referring, secrets) = without_secrets(name, &entry);
    let (entry, before) = if keys { (entry, Some(referring.into())) } else { (referring, None) };
    findings.push(Finding::Server { name: name.to_owned(), entry: entry.into(), before });
    for (field, variable) in secrets.into_iter().filter(|_| !keys) {
        findings.push(Finding::Secret { server: name.to_owned(), field, variable });
    }
}

/// The same server with variables of the user's in the place of secrets; the fields, with their variables.
fn without_secrets(name: &str, entry: &Map<String, Value>) -> (Map<String, Value>, Vec<(String, String)>) {
    let mut entry = entry.clone();
    let mut hiding = Hiding { server: name, secrets: Vec::new() };
    for place in ["env", "headers"] {
        for (field, value) in entry.get_mut(place).and_then(Value::as_object_mut).into_iter().flatten() {
            let text = value.as_str().unwrap_or_default();
            let reference = match place {
                "env" => hiding.hidden(field, text, field.clone()).map(|_| format!("${field}")),
                _ => hiding.hidden(field, text, variable_of(name, field)),
            };
            if let Some(reference) = reference {
                *value = json!(reference);
            }
        }
    }
    if let Some(words) = entry.get_mut("args").and_then(Value::as_array_mut) {
        hiding.words(words);
    }
    for place in ["url", "httpUrl"] {
        if let Some(address) = entry.get_mut(place)
            && let Some(hidden) = address.as_str().map(|text| hiding.address(text))
        {
            *address = json!(hidden);
        }
    }
    (entry, hiding.secrets)
}

/// Puts variables of the user's in the place of a server's secrets.
struct Hiding<'a> {
    server: &'a str,
    /// The fields that held one, with their variables.
    secrets: Vec<(String, String)>,
}

impl Hiding<'_> {
    /// The value of a field with a reference in it; nothing where it is no secret, or refers to a variable already.
    fn hidden(&mut self, field: &str, value: &str, variable: String) -> Option<String> {
        if !looks_secret(field) || value.is_empty() || value.contains('$') {
            return None;
        }
        let reference = format!("{}${{{variable}}}", scheme(value));
        self.secrets.push((field.to_owned(), variable));
        Some(reference)
    }

    /// Words of a command line: `--token=…`, `--token …`, `TOKEN=…`, and headers such as `Authorization: …`.
    fn words(&mut self, words: &mut [Value]) {
        let mut option: Option<String> = None;
        for word in words {
            let before = option.take();
            let Some(text) = word.as_str().map(str::to_owned) else { continue };
            let named = text.split_once('=').map(|(name, value)| (name, "=", value));
            let header = || text.split_once(": ").map(|(name, value)| (name, ": ", value));
            let hidden = match (before, named.or_else(header)) {
                (Some(option), _) if !text.starts_with('-') => {
                    let variable = variable_of(self.server, option.trim_start_matches('-'));
                    self.hidden(&option, &text, variable)
                }
                (_, Some((name, between, value))) if !name.contains(char::is_whitespace) => {
                    let variable = variable_of(self.server, name.trim_start_matches('-'));
                    self.hidden(name, value, variable).map(|hidden| format!("{name}{between}{hidden}"))
                }
                _ => None,
            };
            match hidden {
                Some(hidden) => *word = json!(hidden),
                None => option = Some(text).filter(|text| text.starts_with('-') && looks_secret(text)),
            }
        }
    }

    /// An address: the password before its host, and what its query names.
    fn address(&mut self, address: &str) -> String {
        let (rest, query) =
            address.split_once('?').map_or((address, None), |(rest, query)| (rest, Some(query)));
        let mut hidden = self.without_password(rest).unwrap_or_else(|| rest.to_owned());
        for (index, pair) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
            hidden.push(if index == 0 { '?' } else { '&' });
            let value = pair.split_once('=').and_then(|(name, value)| {
                let reference = self.hidden(name, value, variable_of(self.server, name))?;
                Some(format!("{name}={reference}"))
            });
            hidden.push_str(value.as_deref().unwrap_or(pair));
        }
        hidden
    }

    fn without_password(&mut self, address: &str) -> Option<String> {
        let (scheme, rest) = address.split_once("://")?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, host) = authority.rsplit_once('@')?;
        let (user, password) = user.split_once(':')?;
        let reference = self.hidden("password", password, variable_of(self.server, "password"))?;
        Some(format!("{scheme}://{user}:{reference}@{host}{path}"))
    }
}

/// The variable for a header, an option or a part of the address of a server: `DOCS_AUTHORIZATION`.
fn variable_of(server: &str, header: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = format!("{server}_{header}").chars().map(plain).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// What stands before the secret in a header's value.
fn scheme(value: &str) -> &str {
    ["Bearer ", "Basic ", "Token "].into_iter().find(|scheme| value.starts_with(scheme)).unwrap_or_default()
}

fn entry(server: &Value) -> Result<Map<String, Value>, &'static str> {
    let server = server.as_object().ok_or("it is no object")?;
    if server.get("disabled") == Some(&json!(true)) || server.get("enabled") == Some(&json!(false)) {
        return Err("it is switched off");
    }
    let mut entry: Map<String, Value> =
        SAME.into_iter().filter_map(|key| Some((key.to_owned(), server.get(key)?.clone()))).collect();
    entry.shift_remove("description");
    for place in ["env", "headers"] {
        let fields = server.get(place).and_then(Value::as_object).filter(|fields| !fields.is_empty());
        if let Some(fields) = fields {
            let texts = fields.iter().filter(|(_, value)| value.is_string());
            let texts: Map<String, Value> =
                texts.map(|(name, value)| (name.clone(), value.clone())).collect();
            entry.insert(place.to_owned(), texts.into());
        }
    }
    match server.get("type").and_then(Value::as_str) {
        Some("sse") => drop(entry.insert("type".to_owned(), json!("sse"))),
        Some("http" | "streamable-http" | "streamableHttp") => {
            if let Some(url) = entry.shift_remove("url") {
                entry.insert("httpUrl".to_owned(), url);
            }
        }
        _ => {}
    }
    match ["command", "url", "httpUrl"].iter().any(|place| entry.contains_key(*place)) {
        true => Ok(entry),
        false => Err("it has neither a command nor an address"),
    }
}

/// True for a name of what nobody else should know.
fn looks_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CREDENTIAL", "COOKIE"].iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_words_and_addresses_become_variables() {
        for (entry, hidden, variables) in [
            (
                json!({"args": ["--api-key", "s3"]}),
                json!({"args": ["--api-key", "${S_API_KEY}"]}),
                "S_API_KEY",
            ),
            (json!({"args": ["--token=s3", "x"]}), json!({"args": ["--token=${S_TOKEN}", "x"]}), "S_TOKEN"),
            (
                json!({"args": ["-e", "GH_TOKEN=s3", "-e", "GH_TOKEN"]}),
                json!({"args": ["-e", "GH_TOKEN=${S_GH_TOKEN}", "-e", "GH_TOKEN"]}),
                "S_GH_TOKEN",
            ),
            (
                json!({"args": ["--header", "Authorization: Bearer s3"]}),
                json!({"args": ["--header", "Authorization: Bearer ${S_AUTHORIZATION}"]}),
                "S_AUTHORIZATION",
            ),
            (
                json!({"url": "https://me:s3@h/p?x=1&api_key=s3"}),
                json!({"url": "https://me:${S_PASSWORD}@h/p?x=1&api_key=${S_API_KEY}"}),
                "S_PASSWORD S_API_KEY",
            ),
            (json!({"env": {"A_TOKEN": "s3"}}), json!({"env": {"A_TOKEN": "$A_TOKEN"}}), "A_TOKEN"),
        ] {
            let (made, secrets) = without_secrets("s", entry.as_object().unwrap());
            assert_eq!(Value::from(made), hidden, "{entry}");
            let names: Vec<&str> = secrets.iter().map(|(_, variable)| variable.as_str()).collect();
            assert_eq!(names.join(" "), variables, "{entry}");
        }
        for plain in [
            json!({"args": ["-y", "--token", "--verbose", "path/to/it", "a=b", "--key=$KEY", 7]}),
            json!({"url": "https://h/p?x=1", "httpUrl": "http://user@h"}),
        ] {
            assert_eq!(
                without_secrets("s", plain.as_object().unwrap()).0,
                *plain.as_object().unwrap(),
                "{plain}"
            );
        }
    }
}
