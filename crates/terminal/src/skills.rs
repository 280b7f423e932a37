//! Skills and agents, in words and as JSON.

use std::fmt::Display;

use charla::agents::{Agent, Agents};
use charla::skills::{Skill, Skills};
use charla::{Failure, Notice, Notices};
use charla_proto::text::{one_line, printable};
use serde_json::{Value, json};

use crate::printer::Printer;

const NO_SKILLS: &str = "there are no skills; one is a folder with a SKILL.md, in ~/.charla/skills";
const NO_AGENTS: &str = "there are no agents; one is a Markdown file in ~/.charla/agents";

/// Prints the skills, by name; what is left out goes to the side.
pub fn print(skills: &Skills, as_json: bool, printer: &mut Printer) -> Result<(), Failure> {
    skills.left_out().iter().for_each(|left_out| Notices::warning(printer, &Notice::from(left_out)));
    if as_json {
        let all: Value = skills.iter().map(row).collect();
        return printer.result(&format!("{all:#}\n"));
    }
    printed(&in_words(skills), skills.is_empty(), printer)
}

/// The skills, a line each with whose it is; what one would be where there is none.
pub fn in_words(skills: &Skills) -> Vec<String> {
    let row = |skill: &Skill| listed(&skill.name, &skill.owner, &skill.description);
    or_none(skills.iter().map(row).collect(), NO_SKILLS)
}

/// Prints the agents, by name; what is left out goes to the side.
pub fn print_agents(agents: &Agents, as_json: bool, printer: &mut Printer) -> Result<(), Failure> {
    agents.left_out().iter().for_each(|left_out| Notices::warning(printer, &Notice::from(left_out)));
    if as_json {
        let all: Value = agents.iter().map(agent_row).collect();
        return printer.result(&format!("{all:#}\n"));
    }
    printed(&agents_in_words(agents), agents.is_empty(), printer)
}

/// The agents, a line each with whose it is; what one would be where there is none.
pub fn agents_in_words(agents: &Agents) -> Vec<String> {
    let row = |agent: &Agent| listed(&agent.name, &agent.owner, &agent.description);
    or_none(agents.iter().map(row).collect(), NO_AGENTS)
}

fn listed(name: &str, owner: &impl Display, about: &str) -> String {
    one_line(&format!("{name}  ({owner})  {about}"))
}

fn or_none(rows: Vec<String>, none: &str) -> Vec<String> {
    if rows.is_empty() { vec![none.to_owned()] } else { rows }
}

/// That there is nothing is said at the side.
fn printed(rows: &[String], is_none: bool, printer: &mut Printer) -> Result<(), Failure> {
    for row in rows {
        match is_none {
            true => printer.note(row),
            false => printer.words(&format!("{row}\n"))?,
        }
    }
    Ok(())
}

fn agent_row(agent: &Agent) -> Value {
    json!({
        "name": agent.name,
        "description": agent.description,
        "owner": agent.owner.to_string(),
        "tools": agent.tools,
        "model": agent.model,
        "maxTurns": agent.steps,
        "timeoutSeconds": agent.timeout.as_secs(),
    })
}

fn row(skill: &Skill) -> Value {
    json!({
        "name": skill.name,
        "description": skill.description,
        "owner": skill.owner.to_string(),
        "folder": printable(&skill.folder),
    })
}
