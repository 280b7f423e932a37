//! `write_file`.

use std::sync::Arc;

use charla_proto::tool::Tool;
use charla_proto::{
    Args, BoxFuture, FunctionDeclaration, Invocation, ToolContext, ToolError, ToolErrorKind, ToolOutput,
};
use serde::Deserialize;
use serde_json::json;

use super::change::{Current, Workbench, encode, stale};
use super::omission;
use super::target::{self, Begun, Target, Texts};
use crate::args::Schema;
use crate::invocation::said;
use crate::paths::{Place, printable};
use crate::text::{self, Encoding};

/// Writes a whole file.
pub struct WriteFile {
    schema: Schema,
    bench: Arc<Workbench>,
}

#[derive(Deserialize)]
struct Wanted {
    file_path: String,
    content: String,
}

impl WriteFile {
    /// The tool, working on `bench`.
    pub fn new(bench: Arc<Workbench>) -> Self {
        let schema = Schema::new(
            "write_file",
            "Writes a file: creates it, with its folders, or replaces all it holds. Give the complete content; nothing may be left out. An existing file keeps its encoding and line ends. To change a part of a file use replace.",
            json!({
                "file_path": {"type": "string", "minLength": 1, "description": "The file: an absolute path, or one relative to the working folder."},
                "content": {"type": "string", "description": "Everything the file shall hold."},
            }),
            &["file_path", "content"],
        );
        Self { schema, bench }
    }
}

impl Tool for WriteFile {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        self.schema.declaration()
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        target::prepare((&self.schema, &self.bench), args, cx, Write::begin, Write::run, Write::texts)
    }
}

struct Write {
    target: Target,
    content: String,
}

impl Write {
    fn begin(wanted: Wanted, cx: &ToolContext, bench: Arc<Workbench>) -> Begun<Self> {
        let target = Target::find(&wanted.file_path, cx, bench)?;
        let then = target.then.as_ref();
        refuse_omission(&wanted.content, then.map_or("", |then| then.decoded.text.as_str()))?;
        let (after, _) = compose(&wanted.content, then, &target.place)?;
        let plan = target.plan("write_file", "Overwrite", &after, cx);
        Ok((plan, Self { target, content: wanted.content }))
    }

    fn texts(&self, content: &str) -> Texts {
        vec![("content", content.to_owned())]
    }

    fn run(&self) -> Result<ToolOutput, ToolError> {
        let place = &self.target.place;
        let now = self.target.now()?;
        let now = now.as_ref();
        if !self.target.is_expected(now) {
            return Err(stale(&place.path));
        }
        let (after, bytes) = compose(&self.content, now, place)?;
        let name = printable(&place.path);
        if now.is_some_and(|now| now.bytes == bytes) {
            return Ok(said(
                format!("{name} already has exactly this content."),
                format!("No change of {name}"),
            ));
        }
        let did = if now.is_some() { "Overwrote" } else { "Created" };
        self.target.write(now, (&after, &bytes), |_| format!("{did} {name}."))
    }
}

/// The new text and its bytes, encoded and with line ends like what is there.
fn compose(content: &str, current: Option<&Current>, place: &Place) -> Result<(String, Vec<u8>), ToolError> {
    let Some(current) = current else {
        return Ok((content.to_owned(), encode(content, Encoding::Utf8, &place.path)?));
    };
    // Models sometimes give the mark as a character; the encoding has it already.
    let content = match current.decoded.encoding {
        Encoding::Utf8 | Encoding::Latin1 => content,
        _ => content.strip_prefix('\u{FEFF}').unwrap_or(content),
    };
    let text = match text::line_end(&current.decoded.text) {
        Some(end) => text::with_line_end(content, end),
        None => content.to_owned(),
    };
    let encoding = match current.decoded.encoding {
        // Nothing of the old text stays, so nothing forbids to leave an encoding that lacks characters.
        Encoding::Latin1 if text::encode(&text, Encoding::Latin1).is_err() => Encoding::Utf8,
        encoding => encoding,
    };
    let bytes = encode(&text, encoding, &place.path)?;
    Ok((text, bytes))
}

/// Refuses content that stands for more than it says.
pub(super) fn refuse_omission(text: &str, before: &str) -> Result<(), ToolError> {
    let Some(line) = omission::placeholder(text, before) else { return Ok(()) };
    let message = format!(
        "Nothing was written: the line `{line}` stands for text that was left out and would be written as it is. Give the complete text, or use replace for the part that changes."
    );
    Err(ToolError::new(ToolErrorKind::Omission, message))
}
