//! The system instruction of a session.

use std::path::PathBuf;

use charla_core::prompt::{PromptSetting, SystemPrompt, system_prompt};
use charla_proto::{Content, Part, Role};

use crate::environment::Environment;
use crate::models::PromptSize;

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
    /// The schema that the answer must fit.
    pub schema: Option<&'a str>,
    pub somebody_to_ask: bool,
    pub size: PromptSize,
}

impl Instruction<'_> {
    /// The instruction; in two parts for models whose requests begin with the same bytes in every run.
    pub fn content(self, stable_prefix: bool) -> Content {
        let mut prompt = self.prompt();
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
            date: jiff::Zoned::now().date().to_string(),
            git: directory.join(".git").exists(),
            tools: self.tools.clone(),
            memory: self.memory.clone(),
            interactive: self.somebody_to_ask,
            compact: self.size >= PromptSize::Compact,
            least: self.size == PromptSize::Minimal,
            own: None,
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
