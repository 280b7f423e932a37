//! Files of a workspace that tell a model what to do once it asks for them: skills and agents, ours and those that other
//! programs have.

use std::path::Path;

/// Where skills lie in a workspace, and agents.
const SKILLS: [&str; 4] = [".charla/skills", ".agents/skills", ".gemini/skills", ".claude/skills"];
const AGENTS: [&str; 3] = [".charla/agents", ".gemini/agents", ".claude/agents"];
/// So many of each a folder may have.
const MOST: usize = 500;

/// The files of skills, by their paths in the workspace.
pub(super) fn skill_files(workspace: &Path) -> Vec<String> {
    files(workspace, &SKILLS, |name| Some(format!("{name}/SKILL.md")))
}

/// The files of agents, by their paths in the workspace.
pub(super) fn agent_files(workspace: &Path) -> Vec<String> {
    files(workspace, &AGENTS, |name| name.ends_with(".md").then(|| name.to_owned()))
}

pub(super) fn is_skill(name: &str) -> bool {
    SKILLS.iter().any(|folder| name.starts_with(folder))
}

pub(super) fn is_agent(name: &str) -> bool {
    AGENTS.iter().any(|folder| name.starts_with(folder))
}

fn files(workspace: &Path, folders: &[&str], file: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut found = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(workspace.join(folder)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| file(entry.file_name().to_str()?));
        let names = names.map(|name| format!("{folder}/{name}"));
        let mut names: Vec<String> = names.filter(|name| workspace.join(name).is_file()).collect();
        names.sort();
        names.truncate(MOST);
        found.append(&mut names);
    }
    found
}
