//! Skills and agents, in words and as JSON.

use charla::agents::{Agent, Agents};
use charla::skills::{Skill, Skills};
use charla::{Failure, Notice, Notices};
use charla_proto::text::{one_line, printable};
use serde_json::{Value, json};

use crate::printer::Printer;

/// Prints the skills, by name; what is left out goes to the side.
pub fn print(skills: &Skills, as_json: bool, printer: &mut Printer) -> Result<(), Failure> {
    skills.left_out().iter().for_each(|left_out| Notices::warning(printer, &Notice::from(left_out)));
    if as_json {
        let all: Value = skills.iter().map(row).collect();
        return printer.result(&format!("{all:#}\n"));
    }
    for skill in skills.iter() {
        let line = format!("{}  ({})  {}", skill.name, skill.owner, skill.description);
        printer.words(&format!("{}\n", one_line(&line)))?;
    }
    if skills.is_empty() {
        printer.note("there are no skills; one is a folder with a SKILL.md, in ~/.charla/skills");
    }
    Ok(())
}

/// Prints the agents, by name; what is left out goes to the side.
pub fn print_agents(agents: &Agents, as_json: bool, printer: &mut Printer) -> Result<(), Failure> {
    agents.left_out().iter().for_each(|left_out| Notices::warning(printer, &Notice::from(left_out)));
    if as_json {
        let all: Value = agents.iter().map(agent_row).collect();
        return printer.result(&format!("{all:#}\n"));
    }
    for agent in agents.iter() {
        let line = format!("{}  ({})  {}", agent.name, agent.owner, agent.description);
        printer.words(&format!("{}\n", one_line(&line)))?;
    }
    if agents.is_empty() {
        printer.note("there are no agents; one is a Markdown file in ~/.charla/agents");
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
