//! `write_todos`.

use std::sync::Arc;

use charla_proto::tool::Tool;
use charla_proto::{Args, BoxFuture, FunctionDeclaration, Invocation, ToolContext, ToolError, ToolErrorKind};
use serde::Deserialize;
use serde_json::json;

use crate::args::Schema;
use crate::invocation::{Prepared, reading, said};

/// Keeps a list of what is to be done. The list lives in the conversation; nothing else is touched.
pub struct WriteTodos {
    schema: Schema,
}

#[derive(Deserialize)]
struct Wanted {
    todos: Vec<Todo>,
}

#[derive(Deserialize)]
struct Todo {
    description: String,
    status: Status,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
    Cancelled,
    Blocked,
}

impl Default for WriteTodos {
    fn default() -> Self {
        let schema = Schema::new(
            "write_todos",
            "Keeps the list of steps of a longer task. Give the whole list each time; it replaces the one before. At most one step is in_progress.",
            json!({
                "todos": {
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
                },
            }),
            &["todos"],
        );
        Self { schema }
    }
}

impl Tool for WriteTodos {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        self.schema.declaration()
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move {
            let wanted: Wanted = self.schema.read(args)?;
            let current = wanted.todos.iter().filter(|todo| todo.status == Status::InProgress).count();
            if current > 1 {
                let message = format!(
                    "{current} steps are in_progress. At most one may be; make the others pending or completed."
                );
                return Err(ToolError::new(ToolErrorKind::InvalidArgs, message));
            }
            let plan = reading("write_todos", format!("Set {} todo(s)", wanted.todos.len()), Vec::new());
            let (words, list) = (in_words(&wanted.todos), render(&wanted.todos));
            Ok(Prepared::boxed(plan, move |_| std::future::ready(said(words, list))))
        })
    }
}

fn in_words(todos: &[Todo]) -> String {
    if todos.is_empty() {
        return "The list is empty now.".to_owned();
    }
    format!("The list is now:\n{}", render(todos))
}

fn render(todos: &[Todo]) -> String {
    let line = |(index, todo): (usize, &Todo)| {
        let mark = match todo.status {
            Status::Pending => "[ ]",
            Status::InProgress => "[>]",
            Status::Completed => "[x]",
            Status::Cancelled => "[-]",
            Status::Blocked => "[!]",
        };
        let words: Vec<&str> = todo.description.split_whitespace().collect();
        format!("{}. {mark} {}", index + 1, words.join(" "))
    };
    todos.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}
