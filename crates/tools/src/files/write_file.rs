//! `write_file`.

use std::sync::Arc;

use charla_proto::text::printable;
use charla_proto::{ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::{Current, Workbench, changed_meanwhile, encode};
use super::omission;
use super::target::{self, FileEdit, Target};
use crate::invocation::text_output;
use crate::paths::ResolvedPath;
use crate::text::{self, Encoding};
use crate::typed::{PreparedCall, TypedTool};

/// Writes a whole file.
pub struct WriteFile {
    bench: Arc<Workbench>,
}

/// What `write_file` takes.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct WriteFileArgs {
    /// The file: an absolute path, or one relative to the working folder.
    #[schemars(length(min = 1))]
    file_path: String,
    /// Everything the file shall hold.
    content: String,
}

impl WriteFile {
    /// The tool, working on `bench`.
    pub fn new(bench: Arc<Workbench>) -> Self {
        Self { bench }
    }
}

impl TypedTool for WriteFile {
    type Args = WriteFileArgs;
    const NAME: &'static str = "write_file";
    const SCHEMA: &'static str = include_str!("../schemas/write_file.json");
    const DESCRIPTION: &'static str = "Writes a file: creates it, with its folders, or replaces all it holds. Give \
the complete content; nothing may be left out. An existing file keeps its encoding and line ends. To change a part of \
a file use replace.";

    async fn prepare(&self, args: WriteFileArgs, cx: &ToolContext) -> PreparedCall {
        target::prepare::<Overwrite>(args.file_path.clone(), args, cx, self.bench.clone()).await
    }
}

struct Overwrite {
    target: Target,
    args: WriteFileArgs,
}

impl FileEdit for Overwrite {
    type Args = WriteFileArgs;
    const TOOL: &'static str = WriteFile::NAME;
    const VERB: &'static str = "Overwrite";

    fn new(target: Target, args: WriteFileArgs) -> Self {
        Self { target, args }
    }

    fn target(&self) -> &Target {
        &self.target
    }

    fn after(&self, current: Option<&Current>) -> Result<(String, Vec<u8>), ToolError> {
        refuse_omission(&self.args.content, current.map_or("", |current| current.decoded.text.as_str()))?;
        compose(&self.args.content, current, &self.target.path)
    }

    fn run(&self) -> Result<ToolOutput, ToolError> {
        let path = &self.target.path;
        let now = self.target.now()?;
        let now = now.as_ref();
        if !self.target.is_expected(now) {
            return Err(changed_meanwhile(&path.path));
        }
        let (after, bytes) = compose(&self.args.content, now, path)?;
        let name = printable(&path.path);
        if now.is_some_and(|now| now.bytes == bytes) {
            return Ok(text_output(
                format!("{name} already has exactly this content."),
                format!("No change of {name}"),
            ));
        }
        let did = if now.is_some() { "Overwrote" } else { "Created" };
        self.target.write(now, (&after, &bytes), |_| format!("{did} {name}."))
    }

    fn args_for_content(&self, content: &str) -> WriteFileArgs {
        WriteFileArgs { content: content.to_owned(), ..self.args.clone() }
    }
}

/// The new text and its bytes, encoded and with line ends like what is there.
fn compose(
    content: &str,
    current: Option<&Current>,
    path: &ResolvedPath,
) -> Result<(String, Vec<u8>), ToolError> {
    let Some(current) = current else {
        return Ok((content.to_owned(), encode(content, Encoding::Utf8, &path.path)?));
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
    let bytes = encode(&text, encoding, &path.path)?;
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
