//! What a person reads before an extension is installed: everything of it that would run or be read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use charla_proto::text::{one_line, shell_quote, visible};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::manifest::Manifest;
use crate::agents::{Agent, Agents};
use crate::bounded;
use crate::collection::{Item, Owner};
use crate::skills::{self, Skills};
use crate::trust::command_files;

/// What an extension would run or have read, in lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    lines: Vec<String>,
    /// Of the bytes that a model reads, now or once asked for: their names alone do not say what is agreed to.
    read: String,
    /// The same of each file, by its path in the folder.
    texts: BTreeMap<String, String>,
}

impl Consent {
    /// What this one, in this folder, would run or have read.
    pub fn of(manifest: &Manifest, folder: &Path) -> Self {
        let mut lines = Vec::new();
        let mut list = |title: &str, items: Vec<String>| {
            if !items.is_empty() {
                lines.push(title.to_owned());
                lines.extend(items.into_iter().map(|item| format!(" * {}", one_line(&visible(&item)))));
            }
        };
        list(
            "It runs these MCP servers:",
            manifest.servers.iter().map(|(name, value)| server(name, value)).collect(),
        );
        list("It runs these hooks:", hooks(&manifest.hooks));
        let context = manifest.context_files(folder);
        let names = context.iter().filter_map(|file| file.strip_prefix(folder).ok());
        list(
            "It adds these instructions to every prompt:",
            names.map(|name| name.display().to_string()).collect(),
        );
        let owner = Owner::Extension(manifest.name.clone());
        let skills = Skills::in_folder(&folder.join("skills"), &owner);
        list(
            "It brings these skills, which a model may load:",
            skills.iter().map(|skill| format!("{}: {}", skill.name, skill.description)).collect(),
        );
        let of_agents = folder.join("agents");
        let agents = Agents::in_folder(&of_agents, &owner);
        list("It brings these agents, which a model may call:", agents.iter().map(agent).collect());
        let commands = command_files(folder);
        list("It brings these commands:", commands.clone());
        list("It takes these tools away:", manifest.excluded.clone());
        let words = skills.iter().map(|skill| skill.folder.join(skills::FILE));
        let commands = commands.iter().map(|name| folder.join(name));
        let read = context.into_iter().chain(words).chain(Agent::files_in(&of_agents)).chain(commands);
        let read: Vec<PathBuf> = read.collect();
        let texts = read.iter().map(|file| {
            let name = file.strip_prefix(folder).unwrap_or(file).display().to_string();
            (one_line(&visible(&name)), digest_of(std::iter::once(file)))
        });
        Self { lines, read: digest_of(read.iter()), texts: texts.collect() }
    }

    /// What is new in it, gone from it or says something else than in an earlier one, in lines.
    pub fn changes_since(&self, before: &Consent) -> Vec<String> {
        let (old, new) = (before.items(), self.items());
        let only = |mark: char, here: &[(&str, &str)], there: &[(&str, &str)]| -> Vec<String> {
            let items = here.iter().filter(|item| !there.contains(item));
            items.map(|(title, item)| format!(" {mark} {title} {item}")).collect()
        };
        let is_other =
            |(name, text): &(&String, &String)| before.texts.get(*name).is_some_and(|before| before != *text);
        let texts = self.texts.iter().filter(is_other).map(|(name, _)| format!(" ~ The text of {name}"));
        [only('-', &old, &new), only('+', &new, &old), texts.collect()].concat()
    }

    /// True when it says the same as an earlier one, but for places of remote servers on the hosts where they were.
    pub(super) fn is_like(&self, before: &Consent) -> bool {
        let (old, new) = (before.items(), self.items());
        let same = |((title, item), (of, was)): (&(&str, &str), &(&str, &str))| {
            let stays = remote_host(item).is_some_and(|host| remote_host(was) == Some(host));
            title == of && (item == was || stays)
        };
        self.texts == before.texts && new.len() == old.len() && new.iter().zip(&old).all(same)
    }

    /// Each item below the title that it stands under.
    fn items(&self) -> Vec<(&str, &str)> {
        let mut title = "";
        let mut items = Vec::new();
        for line in &self.lines {
            match line.strip_prefix(" * ") {
                Some(item) => items.push((title, item)),
                None => title = line,
            }
        }
        items
    }

    /// The lines, for a person.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The same for what says the same.
    pub(super) fn hash(&self) -> String {
        let mut digest = Sha256::new();
        self.lines.iter().chain([&self.read]).for_each(|line| add(&mut digest, line.as_bytes()));
        format!("{:x}", digest.finalize())
    }
}

/// The same for files of the same bytes in the same order.
fn digest_of<'a>(files: impl Iterator<Item = &'a PathBuf>) -> String {
    let mut digest = Sha256::new();
    files.for_each(|file| add(&mut digest, &bounded::read(file).unwrap_or_default()));
    format!("{:x}", digest.finalize())
}

/// With its length before it, so that no two texts run into one another.
fn add(digest: &mut Sha256, bytes: &[u8]) {
    digest.update((bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}

/// An agent with the model that it sends the conversation's data to, and the tools that it wants.
fn agent(agent: &Agent) -> String {
    let mut line = format!("{}: {}", agent.name, agent.description);
    if let Some(model) = &agent.model {
        line.push_str(&format!("; model {model}"));
    }
    match &agent.tools {
        Some(tools) => line.push_str(&format!("; tools {}", tools.join(", "))),
        None => line.push_str("; all tools"),
    }
    line
}

/// A server with its whole command line or address, and what it is given of the environment.
fn server(name: &str, settings: &Value) -> String {
    let text = |key: &str| settings.get(key).and_then(Value::as_str);
    let mut line = match text("httpUrl").or_else(|| text("url")) {
        Some(address) => format!("{name} (remote): {address}"),
        None => {
            let arguments = settings.get("args").and_then(Value::as_array).into_iter().flatten();
            let words: Vec<String> = arguments.map(|word| shell_quote(&as_text(word))).collect();
            let command = text("command").unwrap_or_default();
            format!("{name} (local): {}", [vec![command.to_owned()], words].concat().join(" "))
        }
    };
    for key in ["env", "headers", "cwd"] {
        if let Some(value) = settings.get(key) {
            line.push_str(&format!("; {key} {value}"));
        }
    }
    line
}

/// What stays of the line of a remote server that goes to another place of its host: its name, the scheme, the host, and what it
/// is given. Nothing where the host is not plain to see.
fn remote_host(item: &str) -> Option<[&str; 4]> {
    let (name, rest) = item.split_once(" (remote): ")?;
    let (address, given) = rest.split_once(';').unwrap_or((rest, ""));
    let (scheme, place) = address.split_once("://")?;
    let authority = place.split(['/', '?', '#']).next()?;
    let host = authority.split(':').next().filter(|host| !host.is_empty())?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ".-:".contains(letter);
    // A program by the name of a server has blanks in its line.
    let is_plain = authority.chars().all(is_plain) && !address.contains(char::is_whitespace);
    is_plain.then_some([name, scheme, host, given])
}

/// Each hook with its whole command.
fn hooks(events: &Map<String, Value>) -> Vec<String> {
    let mut lines = Vec::new();
    for (event, groups) in events {
        for group in groups.as_array().into_iter().flatten() {
            let matcher = group.get("matcher").and_then(Value::as_str);
            let matcher = matcher.map(|matcher| format!(" ({matcher})")).unwrap_or_default();
            for hook in group.get("hooks").and_then(Value::as_array).into_iter().flatten() {
                let command = hook.get("command").map_or_else(|| hook.to_string(), as_text);
                lines.push(format!("{event}{matcher}: {command}"));
            }
        }
    }
    lines
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
