//! The system instruction of a session.

use std::path::PathBuf;

use charla_core::prompt::{OwnPrompt, PromptSetting, SystemPrompt, system_prompt};
use charla_proto::{Content, Part, Role};

use crate::clock;
use crate::engine;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::models::PromptSize;
use crate::settings::Settings;
use crate::skills::{ActivateSkill, Skills, about_skills};

/// What the instruction is made from.
pub(super) struct Instruction<'a> {
    pub environment: &'a Environment,
    pub roots: &'a [PathBuf],
    /// Names of the tools offered.
    pub tools: Vec<String>,
    /// Tools that nobody could approve.
    pub withheld: &'a [String],
    /// How the user allows more, in the words of the front end.
    pub how_to_allow: Option<&'a str>,
    /// What the memory files say.
    pub memory: String,
    /// The skills that can be asked for.
    pub skills: &'a Skills,
    /// The schema that the answer must fit.
    pub schema: Option<&'a str>,
    pub somebody_to_ask: bool,
    pub size: PromptSize,
    /// What the user puts into it.
    pub own: Option<OwnPrompt>,
}

/// What the user puts into the system prompt: files that the settings name, and words of this run.
pub(super) fn own_prompt(
    settings: &Settings,
    environment: &Environment,
    added: Option<&str>,
) -> Result<Option<OwnPrompt>, Failure> {
    let read = |file: &Option<String>, key: &'static str| {
        let path = file.as_ref().map(|file| environment.expand(file, &environment.directory));
        let text = path.map(|path| {
            std::fs::read_to_string(&path).map_err(|error| {
                Failure::input(format!("the system prompt in {}: {error}", path.display()))
                    .with_hint(Hint::WhoSet(key))
            })
        });
        text.transpose()
    };
    let instead = read(&settings.prompt.replace, "prompt.replace")?;
    let behind = read(&settings.prompt.append, "prompt.append")?;
    let behind: Vec<&str> = behind.as_deref().into_iter().chain(added).map(str::trim_end).collect();
    let behind = behind.join("\n\n");
    Ok(match (instead, behind.is_empty()) {
        (Some(text), true) => Some(OwnPrompt::Instead(text)),
        (Some(text), false) => Some(OwnPrompt::Instead(format!("{}\n\n{behind}", text.trim_end()))),
        (None, true) => None,
        (None, false) => Some(OwnPrompt::Added(behind)),
    })
}

impl Instruction<'_> {
    /// The instruction; in two parts for models whose requests begin with the same bytes in every run.
    pub fn content(self, stable_prefix: bool) -> Content {
        if self.size == PromptSize::Trained {
            return Content::user(engine::system(&self.environment.directory));
        }
        let mut prompt = self.prompt();
        if self.tools.iter().any(|tool| tool == ActivateSkill::NAME) {
            prompt.volatile.push_str(&about_skills(self.skills, self.size >= PromptSize::Compact));
        }
        prompt.volatile.push_str(&about_withheld(self.withheld, self.how_to_allow));
        prompt.volatile.push_str(&about_schema(self.schema));
        match stable_prefix {
            true => Content::new(Role::User, vec![Part::text(prompt.stable), Part::text(prompt.volatile)]),
            false => Content::user(prompt.whole()),
        }
    }

    fn prompt(&self) -> SystemPrompt {
        let directory = &self.environment.directory;
        system_prompt(&PromptSetting {
            cwd: directory.clone(),
            roots: self.roots.to_vec(),
            system: std::env::consts::OS.to_owned(),
            date: clock::today(),
            git: directory.join(".git").exists(),
            tools: self.tools.clone(),
            memory: self.memory.clone(),
            interactive: self.somebody_to_ask,
            compact: self.size >= PromptSize::Compact,
            own: self.own.clone(),
        })
    }
}

/// A model that is not told what it lacks would say that it cannot, and not why.
fn about_withheld(tools: &[String], how_to_allow: Option<&str>) -> String {
    if tools.is_empty() {
        return String::new();
    }
    let way = how_to_allow.map(|how| format!(", and that the user can allow it {how}")).unwrap_or_default();
    format!(
        "\n\n# Not allowed in this run\n\n{}. If the task needs one of these, say so{way}.",
        tools.join(", ")
    )
}

fn about_schema(schema: Option<&str>) -> String {
    let Some(schema) = schema else { return String::new() };
    format!(
        "\n\n# Form of the answer\n\nThe last answer is one JSON value and nothing else, no fence, no words \
         around it, valid under this JSON Schema:\n\n{schema}"
    )
}
