//! Files as the editor has them that a session works in, where it works in one.

use std::sync::Arc;

use charla_proto::{Editor, ToolError, ToolErrorKind};

use crate::paths::ResolvedPath;
use crate::text::{self, Decoded, Encoding};

/// The editor's files; nothing but the disk where there is no editor.
#[derive(Clone, Default)]
pub struct Buffers {
    editor: Option<Arc<dyn Editor>>,
}

impl Buffers {
    /// Those of this editor.
    pub fn of(editor: Option<Arc<dyn Editor>>) -> Self {
        Self { editor }
    }

    /// The text of a file that is `saved` so, with what is not saved yet. Line ends, and one at the end of the file, are the
    /// saved ones: editors have their own. Blocks.
    pub(super) fn latest(&self, place: &ResolvedPath, saved: Decoded) -> Decoded {
        let Some(editor) = self.editor.as_ref().filter(|_| saved.encoding != Encoding::Latin1) else {
            return saved;
        };
        let Some(text) = editor.read(&place.real) else { return saved };
        let text = match text::line_end(&saved.text) {
            Some(end) if text != saved.text => text::with_line_end(&text, end),
            _ => text,
        };
        let is_saved = saved.text == text || saved.text.trim_end_matches(['\r', '\n']) == text;
        if is_saved { saved } else { Decoded { text, encoding: saved.encoding } }
    }

    /// Has the editor write the file; false where there is no editor that does. Blocks.
    pub(super) fn write(&self, place: &ResolvedPath, text: &str) -> Result<bool, ToolError> {
        let written = self.editor.as_ref().and_then(|editor| editor.write(&place.real, text));
        written.map_or(Ok(false), |written| written.map(|()| true)).map_err(|why| {
            let message = format!(
                "The editor did not write {}: {why}. Read it to see what it holds.",
                place.path.display()
            );
            ToolError::new(ToolErrorKind::Io, message)
        })
    }
}
