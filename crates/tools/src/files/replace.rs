//! `replace`.

use std::sync::Arc;

use charla_proto::tool::Tool;
use charla_proto::{
    Args, BoxFuture, Effect, FunctionDeclaration, Invocation, Plan, ToolContext, ToolError, ToolOutput,
};
use serde::Deserialize;
use serde_json::json;

use super::change::{self, Current, Workbench, encode, look, preview, stale};
use super::write_file::refuse_omission;
use crate::args::Schema;
use crate::edit::{self, Edit, Edited, Found};
use crate::invocation::{Prepared, change, changing, check, failure, said};
use crate::paths::{Place, missing, printable};
use crate::text::Encoding;

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
        Box::pin(async move {
            let wanted: Wanted = self.schema.read(args)?;
            let (context, bench) = (cx.clone(), self.bench.clone());
            let (plan, replacement) = check(move || Replacement::prepare(wanted, &context, bench)).await?;
            Ok(Prepared::boxed(plan, move |_| change(move || replacement.run())))
        })
    }
}

struct Replacement {
    place: Place,
    wanted: Wanted,
    then: Option<Current>,
    bench: Arc<Workbench>,
}

impl Replacement {
    fn prepare(wanted: Wanted, cx: &ToolContext, bench: Arc<Workbench>) -> Result<(Plan, Self), ToolError> {
        let place = Place::resolve(&wanted.file_path, cx)?;
        refuse_omission(&wanted.new_string, &wanted.old_string)?;
        let replacement = Self { then: look(&place)?, place, wanted, bench };
        let edited = replacement.edit(replacement.then.as_ref())?;
        let then = replacement.then.as_ref();
        encode(&edited.text, encoding(then), &replacement.place.path)?;
        let verb = if then.is_some() { "Edit" } else { "Create" };
        let plan = changing(
            "replace",
            format!("{verb} {}", replacement.place.title(cx)),
            vec![Effect::Write { path: replacement.place.real.clone() }],
            preview(&replacement.place, then.map(|then| then.decoded.text.as_str()), &edited.text),
        );
        Ok((plan, replacement))
    }

    /// What the file would hold.
    fn edit(&self, current: Option<&Current>) -> Result<Edited, ToolError> {
        let Wanted { old_string: old, new_string: new, allow_multiple: all, .. } = &self.wanted;
        let text = current.map(|current| current.decoded.text.as_str());
        match text {
            None if old.is_empty() => Ok(Edited { text: new.clone(), places: 1, how: Found::Exactly }),
            None => Err(missing(&self.place.path)),
            Some("") if old.is_empty() => Ok(Edited { text: new.clone(), places: 1, how: Found::Exactly }),
            Some(text) => edit::replace(text, Edit { old, new, all: *all })
                .map_err(|error| failure(kind(&error), format!("{}: {error}.", self.place.path.display()))),
        }
    }

    fn run(&self) -> Result<ToolOutput, ToolError> {
        self.place.again()?;
        let now = look(&self.place)?;
        let edited = self.edit_again(now.as_ref())?;
        let bytes = encode(&edited.text, encoding(now.as_ref()), &self.place.path)?;
        let changed = self.bench.write(&self.place, now.as_ref().map(|now| now.bytes.as_slice()), &bytes)?;
        let diff =
            change::diff(&self.place.path, now.as_ref().map(|now| now.decoded.text.as_str()), &edited.text);
        let mut output = said(self.in_words(now.is_some(), &edited, &diff), diff);
        output.changes.push(changed);
        Ok(output)
    }

    /// The edit in the file as it is now. Where somebody else has changed it, only an exact match counts:
    /// a near one was approved for another text.
    fn edit_again(&self, now: Option<&Current>) -> Result<Edited, ToolError> {
        let expected = self.bench.is_expected(&self.place, self.then.as_ref(), now);
        match self.edit(now) {
            Ok(edited) if expected || (edited.how == Found::Exactly && self.then.is_some()) => Ok(edited),
            Err(error) if expected => Err(error),
            Ok(_) | Err(_) => Err(stale(&self.place.path)),
        }
    }

    fn in_words(&self, existed: bool, edited: &Edited, diff: &str) -> String {
        let name = printable(&self.place.path);
        if !existed {
            return format!("Created {name}.");
        }
        let places = match edited.places {
            1 => "1 place".to_owned(),
            places => format!("{places} places"),
        };
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

fn kind(error: &edit::EditError) -> &'static str {
    match error {
        edit::EditError::Empty | edit::EditError::Same => "invalid_args",
        edit::EditError::NotFound { .. } => "edit_not_found",
        edit::EditError::Ambiguous { .. } => "edit_ambiguous",
    }
}
