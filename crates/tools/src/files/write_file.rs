//! `write_file`.

use std::sync::Arc;

use charla_proto::tool::Tool;
use charla_proto::{
    Args, BoxFuture, Effect, FunctionDeclaration, Invocation, Plan, ToolContext, ToolError, ToolOutput,
};
use serde::Deserialize;
use serde_json::json;

use super::change::{self, Current, Workbench, encode, look, preview, stale};
use super::omission;
use crate::args::Schema;
use crate::invocation::{Prepared, change, changing, check, failure, said};
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
        Box::pin(async move {
            let wanted: Wanted = self.schema.read(args)?;
            let (context, bench) = (cx.clone(), self.bench.clone());
            let (plan, write) = check(move || Write::prepare(wanted, &context, bench)).await?;
            Ok(Prepared::boxed(plan, move |_| change(move || write.run())))
        })
    }
}

struct Write {
    place: Place,
    content: String,
    then: Option<Current>,
    bench: Arc<Workbench>,
}

impl Write {
    fn prepare(wanted: Wanted, cx: &ToolContext, bench: Arc<Workbench>) -> Result<(Plan, Self), ToolError> {
        let place = Place::resolve(&wanted.file_path, cx)?;
        let then = look(&place)?;
        let before = then.as_ref().map(|then| then.decoded.text.as_str());
        refuse_omission(&wanted.content, before.unwrap_or_default())?;
        let (after, _) = compose(&wanted.content, then.as_ref(), &place)?;
        let verb = if then.is_some() { "Overwrite" } else { "Create" };
        let plan = changing(
            "write_file",
            format!("{verb} {}", place.title(cx)),
            vec![Effect::Write { path: place.real.clone() }],
            preview(&place, before, &after),
        );
        Ok((plan, Self { place, content: wanted.content, then, bench }))
    }

    fn run(&self) -> Result<ToolOutput, ToolError> {
        self.place.again()?;
        let now = look(&self.place)?;
        if !self.bench.is_expected(&self.place, self.then.as_ref(), now.as_ref()) {
            return Err(stale(&self.place.path));
        }
        let (after, bytes) = compose(&self.content, now.as_ref(), &self.place)?;
        let name = printable(&self.place.path);
        let before = now.as_ref().map(|now| now.bytes.as_slice());
        if before == Some(bytes.as_slice()) {
            return Ok(said(
                format!("{name} already has exactly this content."),
                format!("No change of {name}"),
            ));
        }
        let changed = self.bench.write(&self.place, before, &bytes)?;
        let before = now.as_ref().map(|now| now.decoded.text.as_str());
        let done = match before {
            Some(_) => format!("Overwrote {name}."),
            None => format!("Created {name}."),
        };
        let mut output = said(done, change::diff(&self.place.path, before, &after));
        output.changes.push(changed);
        Ok(output)
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
    Err(failure("omission", message))
}
