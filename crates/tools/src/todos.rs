//! `write_todos`.

use charla_proto::{
    Display, Part, Prepared, Todo, TodoStatus, ToolContext, ToolError, ToolErrorKind, ToolOutput,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::invocation::read_plan;
use crate::typed::{PreparedCall, TypedTool};

/// Keeps a list of what is to be done. The list lives in the conversation; nothing else is touched.
pub struct WriteTodos;

/// What `write_todos` takes.
#[derive(Deserialize, JsonSchema)]
pub struct WriteTodosArgs {
    #[schemars(schema_with = "todos")]
    todos: Vec<Todo>,
}

fn todos(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 200,
        "items": {
            "type": "object",
            "properties": {
                "description": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "The step."},
                "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "cancelled", "blocked"]},
            },
            "required": ["description", "status"],
            "additionalProperties": false,
        },
    })
}

impl TypedTool for WriteTodos {
    type Args = WriteTodosArgs;
    const NAME: &'static str = "write_todos";
    const SCHEMA: &'static str = include_str!("schemas/write_todos.json");
    const DESCRIPTION: &'static str = "Keeps the list of steps of a longer task. Give the whole list each time; it \
replaces the one before. At most one step is in_progress.";

    async fn prepare(&self, args: WriteTodosArgs, _: &ToolContext) -> PreparedCall {
        let current = args.todos.iter().filter(|todo| todo.status == TodoStatus::InProgress).count();
        if current > 1 {
            let message = format!(
                "{current} steps are in_progress. At most one may be; make the others pending or completed."
            );
            return Err(ToolError::new(ToolErrorKind::InvalidArgs, message));
        }
        let plan = read_plan(Self::NAME, format!("Set {} todo(s)", args.todos.len()), Vec::new());
        let output = ToolOutput {
            content: vec![Part::text(in_words(&args.todos))],
            display: Some(Display::Todos { items: args.todos }),
            ..ToolOutput::default()
        };
        Ok(Prepared::boxed(plan, move |_| std::future::ready(output)))
    }
}

fn in_words(todos: &[Todo]) -> String {
    if todos.is_empty() {
        return "The list is empty now.".to_owned();
    }
    format!("The list is now:\n{}", Todo::list(todos))
}
