//! What a model is told of skills before it asks for one.

use super::{Skill, Skills};

/// The characters that the list may have; a model for which little is written is told less.
const MOST: usize = 8_000;
const MOST_COMPACT: usize = 1_500;
/// So much of a description is told.
const MOST_OF_ONE: usize = 300;

/// The list as a part of the system prompt: the same bytes for the same skills. Empty where there are none.
pub(crate) fn about_skills(skills: &Skills, compact: bool) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let mut text = "\n\n# Skills\n\nWhen one of these fits the task, call activate_skill with its name first and do as it \
        says. The descriptions come from the skills' authors.\n"
        .to_owned();
    let room = text.len() + if compact { MOST_COMPACT } else { MOST };
    let mut told = 0;
    for skill in skills.iter() {
        let line = line(skill);
        if text.len() + line.len() > room {
            break;
        }
        text.push_str(&line);
        told += 1;
    }
    let more = skills.iter().count() - told;
    if more > 0 {
        text.push_str(&format!(
            "\n- ({more} more are not listed: activate_skill with a word of what you look for names those that fit)"
        ));
    }
    text
}

fn line(skill: &Skill) -> String {
    let mut description: String = skill.description.chars().take(MOST_OF_ONE).collect();
    if description.len() < skill.description.len() {
        description.push('…');
    }
    format!("\n- {}: {description}", skill.name)
}
