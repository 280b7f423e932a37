//! `replace`.

use std::sync::Arc;

use charla_proto::text::printable;
use charla_proto::{ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::{Current, Workbench, changed_meanwhile, encode};
use super::target::{self, FileEdit, Target};
use super::write_file::refuse_omission;
use crate::edit::{self, Edit, Edited, MatchKind};
use crate::paths::missing;
use crate::text::Encoding;
use crate::truncate;
use crate::typed::{PreparedCall, TypedTool};

/// How much of a diff the model is shown; the person is shown all of it.
const MOST_DIFF: usize = 10_000;

/// Replaces a part of a file.
pub struct Replace {
    bench: Arc<Workbench>,
}

/// What `replace` takes.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReplaceArgs {
    /// The file: an absolute path, or one relative to the working folder.
    #[schemars(length(min = 1))]
    file_path: String,
    /// What the change is for, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    instruction: Option<String>,
    /// The text to replace. Empty to create a new file.
    old_string: String,
    /// The text to put in its place, complete.
    new_string: String,
    /// Replace every occurrence. Default: false, then there must be exactly one.
    #[serde(default)]
    allow_multiple: bool,
}

impl Replace {
    /// The tool, working on `bench`.
    pub fn new(bench: Arc<Workbench>) -> Self {
        Self { bench }
    }
}

impl TypedTool for Replace {
    type Args = ReplaceArgs;
    const NAME: &'static str = "replace";
    const SCHEMA: &'static str = include_str!("../schemas/replace.json");
    const DESCRIPTION: &'static str = "Replaces text in a file. old_string must be the exact text as it stands in \
the file, blanks and line breaks included, with enough lines around it to be there only once. Both strings are \
literal: nothing is escaped. Read the file first.";

    async fn prepare(&self, args: ReplaceArgs, cx: &ToolContext) -> PreparedCall {
        target::prepare::<Replacement>(args.file_path.clone(), args, cx, self.bench.clone()).await
    }
}

struct Replacement {
    target: Target,
    args: ReplaceArgs,
}

impl FileEdit for Replacement {
    type Args = ReplaceArgs;
    const TOOL: &'static str = Replace::NAME;
    const VERB: &'static str = "Edit";

    fn new(target: Target, args: ReplaceArgs) -> Self {
        Self { target, args }
    }

    fn target(&self) -> &Target {
        &self.target
    }

    fn after(&self, current: Option<&Current>) -> Result<(String, Vec<u8>), ToolError> {
        refuse_omission(&self.args.new_string, &self.args.old_string)?;
        let edited = self.edit(current)?;
        let bytes = encode(&edited.text, encoding(current), &self.target.path.path)?;
        Ok((edited.text, bytes))
    }

    fn run(&self) -> Result<ToolOutput, ToolError> {
        let now = self.target.now()?;
        let now = now.as_ref();
        let edited = self.edit_again(now)?;
        let bytes = encode(&edited.text, encoding(now), &self.target.path.path)?;
        self.target.write(now, (&edited.text, &bytes), |diff| self.in_words(now.is_some(), &edited, diff))
    }

    /// The whole text that is there gives way to the one that shall be.
    fn args_for_content(&self, content: &str) -> ReplaceArgs {
        let then = self.target.then.as_ref().map_or("", |then| then.decoded.text.as_str());
        let (old_string, new_string) = (then.to_owned(), content.to_owned());
        ReplaceArgs { old_string, new_string, ..self.args.clone() }
    }
}

impl Replacement {
    /// What the file would hold.
    fn edit(&self, current: Option<&Current>) -> Result<Edited, ToolError> {
        let ReplaceArgs { old_string: old, new_string: new, allow_multiple: all, .. } = &self.args;
        let text = current.map(|current| current.decoded.text.as_str());
        match text {
            None if old.is_empty() => Ok(Edited { text: new.clone(), places: 1, how: MatchKind::Exactly }),
            None => Err(missing(&self.target.path.path)),
            Some("") if old.is_empty() => {
                Ok(Edited { text: new.clone(), places: 1, how: MatchKind::Exactly })
            }
            Some(text) => edit::replace(text, Edit { old, new, all: *all }).map_err(|error| {
                ToolError::new(kind(&error), format!("{}: {error}.", self.target.path.path.display()))
            }),
        }
    }

    /// The edit in the file as it is now. Where somebody else has changed it, only an exact match counts:
    /// a near one was approved for another text.
    fn edit_again(&self, now: Option<&Current>) -> Result<Edited, ToolError> {
        let expected = self.target.is_expected(now);
        match self.edit(now) {
            Ok(edited) if expected || (edited.how == MatchKind::Exactly && self.target.then.is_some()) => {
                Ok(edited)
            }
            Err(error) if expected => Err(error),
            Ok(_) | Err(_) => Err(changed_meanwhile(&self.target.path.path)),
        }
    }

    fn in_words(&self, existed: bool, edited: &Edited, diff: &str) -> String {
        let name = printable(&self.target.path.path);
        if !existed {
            return format!("Created {name}.");
        }
        let places = match edited.places {
            1 => "1 place".to_owned(),
            places => format!("{places} places"),
        };
        let diff = truncate::middle(diff, MOST_DIFF).unwrap_or_else(|| diff.to_owned());
        match edited.how {
            MatchKind::Exactly => format!("Changed {places} in {name}."),
            MatchKind::ByLine => format!(
                "Changed {places} in {name}. old_string was there with other blanks or quotes, and was replaced:\n{diff}"
            ),
            MatchKind::Nearly => format!(
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
