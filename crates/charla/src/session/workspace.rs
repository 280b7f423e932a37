//! What a workspace brings, for whoever is to trust it.

use std::path::Path;

use charla_core::policy::{PolicyError, Tier};
use charla_proto::FileJudge;
use charla_proto::text::one_line;
use serde_json::Value;

use super::memory::memory_files;
use super::rules::{RulePlaces, brought_by_workspace, judge_of_files, rule_book};
use crate::collection::why_closed;
use crate::custom_command::name_of_workspaces;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::notices::Notice;
use crate::settings;
use crate::trust::{Standing, WorkspaceContent};

/// Everything a workspace brings, in lines: how it stands, what is read as instructions, what its settings would decide, its
/// rules, commands, skills and agents, what is left out and why, and last the hash of its content.
pub fn describe_workspace(
    content: &WorkspaceContent,
    standing: Standing,
    environment: &Environment,
) -> Result<Vec<String>, Failure> {
    let mut lines = vec![format!("{} {}", environment.directory.display(), standing.in_words())];
    let files = judge_of_files(environment, &[]);
    let memory = memory_files(environment, files.clone());
    for file in &memory.project_files {
        let name = file.strip_prefix(&environment.directory).unwrap_or(file);
        lines.push(format!("{} is read as instructions", name.display()));
    }
    lines.extend(memory.notices);
    lines.extend(content.left_out().iter().map(|left_out| Notice::from(left_out).text));
    if !content.is_empty() {
        lines.extend(about_settings(content, environment)?);
        lines.extend(about_rules(content, environment)?);
        lines.extend(about_commands(content));
        lines.extend(about_instructing(content, &files));
        lines.push(format!("sha256 {}", content.hash()));
    }
    // The words are the workspace's: none of them makes a line of its own.
    Ok(lines.iter().map(|line| one_line(line)).collect())
}

fn about_settings(content: &WorkspaceContent, environment: &Environment) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    if let Some(file) = content.gemini_settings() {
        let keys = settings::gemini_keys_needing_trust(&file, environment);
        lines.extend(about_file(".gemini/settings.json", keys));
    }
    if let Some((path, bytes)) = content.settings() {
        lines.extend(about_file(".charla/settings.json", settings::keys_needing_trust(&path, bytes)?));
    }
    Ok(lines)
}

fn about_file(name: &str, keys: Vec<(String, Value)>) -> impl Iterator<Item = String> {
    let count = if keys.is_empty() { "sets nothing that needs trust" } else { "sets, once trusted:" };
    let keys = keys.into_iter().map(|(key, value)| format!("  {key} = {value}"));
    std::iter::once(format!("{name} {count}")).chain(keys)
}

fn about_commands(content: &WorkspaceContent) -> impl Iterator<Item = String> {
    let paths = content.gemini_commands().chain(content.commands());
    let names = paths.filter_map(|(path, _)| name_of_workspaces(Path::new(path)));
    names.map(|name| format!("/{name} is a command, once trusted"))
}

fn about_instructing(content: &WorkspaceContent, files: &FileJudge) -> Vec<String> {
    let skills = content.skills().map(|(path, _)| about_one(&path, "a skill", files));
    let agents = content.agents().map(|(path, _)| about_one(&path, "an agent", files));
    skills.chain(agents).collect()
}

/// What a file would be, where a link on the way to it leads, and whether rules close it.
fn about_one(path: &Path, what: &str, files: &FileJudge) -> String {
    let real = path.canonicalize().ok().filter(|real| real != path);
    let leads = real.map_or(String::new(), |real| format!(" (a link to {})", real.display()));
    match why_closed(path, files) {
        Some(why) => format!("{}{leads} is left out: {why}", path.display()),
        None => format!("{}{leads} is {what}, once trusted", path.display()),
    }
}

fn about_rules(content: &WorkspaceContent, environment: &Environment) -> Result<Vec<String>, Failure> {
    let in_folder = |name: &str| match name.strip_prefix("../") {
        Some(name) => name.to_owned(),
        None => format!(".charla/{name}"),
    };
    let names = content.names().map(in_folder).filter(|name| name.contains("/policies/"));
    let mut lines: Vec<String> =
        names.map(|name| format!("{name} holds in any case: it can only ask and deny")).collect();
    if !lines.is_empty() {
        let config = |error: PolicyError| Failure::config(error.to_string());
        let places = RulePlaces::of(environment);
        // What is left out of a stranger's rules would stop every run of a trusted one's.
        brought_by_workspace(&places).into_iter().collect::<Result<Vec<_>, _>>().map_err(config)?;
        let book = rule_book(&places, std::slice::from_ref(&environment.directory), &[]).map_err(config)?;
        lines.extend(book.notices_of(Tier::Workspace).map(|notice| format!("  {notice}")));
    }
    Ok(lines)
}
