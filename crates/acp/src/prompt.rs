//! A prompt in the protocol's blocks, made a content of ours.

use std::path::PathBuf;

use charla::session::{FilledPrompt, PromptDraft};
use charla::{Environment, Notice};
use charla_proto::text::one_line;
use charla_proto::{Content, Part, Role};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::refused::{Refused, shown};

/// What an editor's user says.
pub(crate) struct Prompt {
    parts: Vec<Part>,
    /// Files that are only named.
    files: Vec<PathBuf>,
    /// Names of files as they would be typed.
    typed: String,
}

impl Prompt {
    /// What a command that a user wrote says, with files that come along.
    pub(crate) fn composed(filled: FilledPrompt) -> Self {
        Self { parts: vec![Part::text(filled.text)], files: Vec::new(), typed: filled.typed }
    }

    /// What these blocks say.
    pub(crate) fn of(blocks: &Value) -> Result<Self, Refused> {
        let blocks = blocks.as_array().filter(|blocks| !blocks.is_empty());
        let blocks = blocks.ok_or_else(|| Refused::params("`prompt` holds no blocks"))?;
        let mut prompt = Self { parts: Vec::new(), files: Vec::new(), typed: String::new() };
        for block in blocks {
            prompt.take(block)?;
        }
        Ok(prompt)
    }

    fn take(&mut self, block: &Value) -> Result<(), Refused> {
        match block.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" => self.parts.push(Part::text(needed(block, "text")?)),
            "image" => {
                let mime = needed(block, "mimeType")?;
                if !mime.starts_with("image/") {
                    return Err(Refused::params(format!("`{}` is no type of an image", shown(mime))));
                }
                self.parts.push(Part::inline_data(mime, needed(block, "data")?));
            }
            "resource" => self.embedded(block.get("resource").unwrap_or(&Value::Null))?,
            "resource_link" => {
                let uri = needed(block, "uri")?;
                let file = file(uri);
                let name = file.as_ref().map_or_else(|| uri.to_owned(), |path| path.display().to_string());
                self.parts.push(Part::text(format!("@{}", one_line(&name))));
                self.files.extend(file);
            }
            other => {
                return Err(Refused::params(format!("blocks of type `{}` are not taken", shown(other))));
            }
        }
        Ok(())
    }

    /// Something that the editor hands over whole.
    fn embedded(&mut self, resource: &Value) -> Result<(), Refused> {
        let uri = needed(resource, "uri")?;
        let name = file(uri).map_or_else(|| uri.to_owned(), |path| path.display().to_string());
        let name = one_line(&name);
        if let Some(text) = resource.get("text").and_then(Value::as_str) {
            self.parts.push(Part::text(format!("--- {name} ---\n{text}\n--- end of {name} ---")));
            return Ok(());
        }
        let data = needed(resource, "blob")?;
        let mime = resource.get("mimeType").and_then(Value::as_str).filter(|mime| !mime.is_empty());
        let mime = mime.unwrap_or("application/octet-stream");
        self.parts.push(Part::text(format!("{name}:")));
        self.parts.push(Part::inline_data(mime, data));
        Ok(())
    }

    /// The words, where there is nothing else: a command may be meant.
    pub(crate) fn words(&self) -> Option<String> {
        let words: Option<Vec<&str>> = self.parts.iter().map(Part::as_text).collect();
        words.filter(|_| self.files.is_empty()).map(|words| words.concat())
    }

    /// The content, with the files that are named and may be read here. Blocks on the disk.
    pub(crate) fn content(mut self, environment: &Environment) -> Content {
        let names = self.files.iter().map(|path| {
            let beneath = path.strip_prefix(&environment.directory).unwrap_or(path);
            format!("@\"{}\" ", beneath.display())
        });
        let typed = names.fold(self.typed.clone(), |typed, name| typed + &name);
        let draft = PromptDraft { typed: Some(typed), in_conversation: true, ..PromptDraft::default() };
        let mut notices: Vec<Notice> = Vec::new();
        if let Ok(content) = draft.content(environment, &mut notices) {
            // The first part is the words, of which there are none.
            self.parts.extend(content.parts.into_iter().skip(1));
        }
        self.parts.extend(notices.into_iter().map(|notice| Part::text(format!("[{}]", notice.text))));
        Content::new(Role::User, self.parts)
    }
}

fn needed<'a>(block: &'a Value, name: &str) -> Result<&'a str, Refused> {
    crate::refused::text(block, name)
}

/// The path in an address of a file.
fn file(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = path.split(['#', '?']).next().unwrap_or_default();
    let path = percent_decode_str(path).decode_utf8().ok()?;
    path.starts_with('/').then(|| PathBuf::from(path.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn blocks_become_parts_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a b.txt"), "alpha").unwrap();
        let uri = format!("file://{}/a%20b.txt#L1", folder.path().display());
        let prompt = Prompt::of(&json!([
            {"type": "text", "text": "look: "},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource", "resource": {"uri": "file:///x/y.rs", "text": "fn y() {}"}},
            {"type": "resource_link", "name": "a b.txt", "uri": uri},
            {"type": "resource_link", "name": "page", "uri": "https://example.org/"},
        ]));
        let prompt = prompt.unwrap();
        assert_eq!(prompt.words(), None);
        let content = prompt.content(&Environment::default().in_workspace(folder.path()));
        let text = content.text();
        for part in ["look: ", "--- /x/y.rs ---\nfn y() {}\n--- end of", "alpha", "@https://example.org/"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(content.parts[1].as_text().is_none());
    }

    #[test]
    fn what_is_no_block_is_refused() {
        for blocks in [
            json!([]),
            json!("words"),
            json!([{"type": "audio", "data": "AA", "mimeType": "audio/wav"}]),
            json!([{"type": "text"}]),
            json!([{"type": "image", "mimeType": "text/html", "data": "AA"}]),
            json!([{"type": "resource", "resource": {"uri": "x:y"}}]),
            json!([7]),
        ] {
            assert!(Prompt::of(&blocks).is_err(), "{blocks}");
        }
    }
}
