//! `activate_skill`: gives a model the whole of a skill.

use std::sync::Arc;

use charla_proto::text::one_line;
use charla_proto::tool::Tool;
use charla_proto::{
    Args, BoxFuture, Display, FunctionDeclaration, Invocation, Lane, Part, Plan, Prepared, Preview,
    RunContext, ToolContext, ToolError, ToolErrorKind, ToolOutput,
};
use charla_tools::{ReadFile, TypedTool};
use serde_json::{Value, json};

use super::{Skill, Skills, reading};

/// So many names are told to who asked for one that is not there.
const MOST_NAMES: usize = 50;

/// Gives a model the words of a skill and the list of its files.
pub(crate) struct ActivateSkill {
    skills: Arc<Skills>,
    declaration: Arc<FunctionDeclaration>,
}

impl ActivateSkill {
    /// Its name.
    pub(crate) const NAME: &'static str = "activate_skill";

    /// Over these skills.
    pub(crate) fn new(skills: Arc<Skills>) -> Self {
        let declaration = FunctionDeclaration {
            name: Self::NAME.to_owned(),
            description:
                "Loads a skill: instructions for a kind of task, and files that go with them. Call it before \
                the task when a skill fits."
                    .to_owned(),
            parameters_json_schema: json!({
                "type": "object",
                "properties": {"name": {"type": "string", "description": "The skill's name."}},
                "required": ["name"],
            }),
            ..FunctionDeclaration::default()
        };
        Self { skills, declaration: Arc::new(declaration) }
    }

    fn skill(&self, args: &Args) -> Result<Skill, ToolError> {
        let wrong = |message: String| ToolError::new(ToolErrorKind::InvalidArgs, message);
        let name = args.get("name").and_then(Value::as_str).map(str::trim);
        let name = name.ok_or_else(|| wrong("`name` is missing: the skill's name.".to_owned()))?;
        if let Some(skill) = self.skills.get(name) {
            return Ok(skill.clone());
        }
        let mut like = self.skills.like(name);
        let more = like.len().saturating_sub(MOST_NAMES);
        like.truncate(MOST_NAMES);
        let hint = match (like.as_slice(), more) {
            ([], _) => String::new(),
            (names, 0) => format!(" These fit the words: {}.", names.join(", ")),
            (names, more) => format!(" These fit the words: {} and {more} more.", names.join(", ")),
        };
        Err(wrong(format!("There is no skill `{}`.{hint}", one_line(name))))
    }
}

impl Tool for ActivateSkill {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.declaration
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        let prepared = self.skill(&args).map(|skill| {
            let plan = Plan {
                tool: Self::NAME.to_owned(),
                args: Args::new(),
                title: format!("Load the skill {}", skill.name),
                effects: Vec::new(),
                preview: Preview::None,
                lane: Lane::Shared,
            };
            Prepared::boxed(plan, |context| activate(skill, context))
        });
        Box::pin(std::future::ready(prepared))
    }
}

async fn activate(skill: Skill, context: RunContext) -> ToolOutput {
    let judge = context.files.of_tool(ReadFile::NAME);
    let name = skill.name.clone();
    let read = tokio::task::spawn_blocking(move || reading::activated(&skill, &judge)).await;
    match read.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(words) => ToolOutput {
            content: vec![Part::text(words)],
            display: Some(Display::text(format!("Loaded the skill {name}."))),
            ..ToolOutput::default()
        },
        Err(why) => {
            let message = format!("The skill {name} cannot be loaded: {why}.");
            ToolOutput::failed(ToolError::new(ToolErrorKind::Other, message))
        }
    }
}
