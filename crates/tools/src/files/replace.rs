//! `replace`.

use std::sync::Arc;

use charla_proto::tool::Tool;
use charla_proto::{
    Args, BoxFuture, FunctionDeclaration, Invocation, ToolContext, ToolError, ToolErrorKind, ToolOutput,
};
use serde::Deserialize;
use serde_json::json;

use super::change::{Current, Workbench, encode, stale};
use super::target::{self, Begun, Target, Texts};
use super::write_file::refuse_omission;
use crate::args::Schema;
use crate::edit::{self, Edit, Edited, Found};
use crate::paths::{missing, printable};
use crate::text::Encoding;
use crate::truncate;

/// How much of a diff the model is shown; the person is shown all of it.
const MOST_DIFF: usize = 10_000;

/// Replaces a part of a file.
pub struct Replace {
    schema: Schema,
    bench: Arc<Workbench>,
}

#[derive(Deserialize)]
struct Wanted {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    allow_multiple: bool,
}

impl Replace {
    /// The tool, working on `bench`.
    pub fn new(bench: Arc<Workbench>) -> Self {
        let schema = Schema::new(
            "replace",
            "Replaces text in a file. old_string must be the exact text as it stands in the file, blanks and line breaks included, with enough lines around it to be there only once. Both strings are literal: nothing is escaped. Read the file first.",
            json!({
                "file_path": {"type": "string", "minLength": 1, "description": "The file: an absolute path, or one relative to the working folder."},
                "instruction": {"type": "string", "description": "What the change is for, in a sentence."},
                "old_string": {"type": "string", "description": "The text to replace. Empty to create a new file."},
                "new_string": {"type": "string", "description": "The text to put in its place, complete."},
                "allow_multiple": {"type": "boolean", "description": "Replace every occurrence. Default: false, then there must be exactly one."},
            }),
            &["file_path", "old_string", "new_string"],
        );
        Self { schema, bench }
    }
}

impl Tool for Replace {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        self.schema.declaration()
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        let tool = (&self.schema, &self.bench);
        target::prepare(tool, args, cx, Replacement::begin, Replacement::run, Replacement::texts)
    }
}

struct Replacement {
    target: Target,
    wanted: Wanted,
}

impl Replacement {
    fn begin(wanted: Wanted, cx: &ToolContext, bench: Arc<Workbench>) -> Begun<Self> {
        let target = Target::find(&wanted.file_path, cx, bench)?;
        refuse_omission(&wanted.new_string, &wanted.old_string)?;
        let replacement = Self { target, wanted };
        let target = &replacement.target;
        let edited = replacement.edit(target.then.as_ref())?;
        encode(&edited.text, encoding(target.then.as_ref()), &target.place.path)?;
        let plan = target.plan("replace", "Edit", &edited.text, cx);
        Ok((plan, replacement))
    }

    /// What the file would hold.
    fn edit(&self, current: Option<&Current>) -> Result<Edited, ToolError> {
        let Wanted { old_string: old, new_string: new, allow_multiple: all, .. } = &self.wanted;
        let text = current.map(|current| current.decoded.text.as_str());
        match text {
            None if old.is_empty() => Ok(Edited { text: new.clone(), places: 1, how: Found::Exactly }),
            None => Err(missing(&self.target.place.path)),
            Some("") if old.is_empty() => Ok(Edited { text: new.clone(), places: 1, how: Found::Exactly }),
            Some(text) => edit::replace(text, Edit { old, new, all: *all }).map_err(|error| {
                ToolError::new(kind(&error), format!("{}: {error}.", self.target.place.path.display()))
            }),
        }
    }

    /// The whole text that is there, and the one that shall be.
    fn texts(&self, content: &str) -> Texts {
        let then = self.target.then.as_ref().map_or("", |then| then.decoded.text.as_str());
        vec![("old_string", then.to_owned()), ("new_string", content.to_owned())]
    }

    fn run(&self) -> Result<ToolOutput, ToolError> {
        let now = self.target.now()?;
        let now = now.as_ref();
        let edited = self.edit_again(now)?;
        let bytes = encode(&edited.text, encoding(now), &self.target.place.path)?;
        self.target.write(now, (&edited.text, &bytes), |diff| self.in_words(now.is_some(), &edited, diff))
    }

    /// The edit in the file as it is now. Where somebody else has changed it, only an exact match counts:
    /// a near one was approved for another text.
    fn edit_again(&self, now: Option<&Current>) -> Result<Edited, ToolError> {
        let expected = self.target.is_expected(now);
        match self.edit(now) {
            Ok(edited) if expected || (edited.how == Found::Exactly && self.target.then.is_some()) => {
                Ok(edited)
            }
            Err(error) if expected => Err(error),
            Ok(_) | Err(_) => Err(stale(&self.target.place.path)),
        }
    }

    fn in_words(&self, existed: bool, edited: &Edited, diff: &str) -> String {
        let name = printable(&self.target.place.path);
        if !existed {
            return format!("Created {name}.");
        }
        let places = match edited.places {
            1 => "1 place".to_owned(),
            places => format!("{places} places"),
        };
        let diff = truncate::middle(diff, MOST_DIFF).unwrap_or_else(|| diff.to_owned());
        match edited.how {
            Found::Exactly => format!("Changed {places} in {name}."),
            Found::ByLine => format!(
                "Changed {places} in {name}. old_string was there with other blanks or quotes, and was replaced:\n{diff}"
            ),
            Found::Nearly => format!(
                "Changed {places} in {name}. old_string was not there exactly; the only text near to it was replaced. Check that this is what you meant:\n{diff}"
            ),
        }
    }
}

fn encoding(current: Option<&Current>) -> Encoding {
    current.map(|current| current.decoded.encoding).unwrap_or_default()
}

fn kind(error: &edit::EditError) -> ToolErrorKind {
    match error {
        edit::EditError::Empty | edit::EditError::Same => ToolErrorKind::InvalidArgs,
        edit::EditError::NotFound { .. } => ToolErrorKind::NoMatch,
        edit::EditError::Ambiguous { .. } => ToolErrorKind::AmbiguousMatch,
    }
}
