//! A file that a person puts into a prompt.

use std::io::Read;
use std::path::Path;

use base64::Engine;
use charla_proto::Part;

use crate::bounded;
use crate::files::sniff;
use crate::text;

/// The largest file that is read: more media is refused by every provider.
const MOST_BYTES: u64 = 15_000_000;
/// How much of a text is sent.
const MOST_CHARS: usize = 200_000;

/// The file as parts of a prompt: text under its name, anything a model can be shown as media. Blocks on the disk; the
/// error follows the file's name.
pub fn attach(path: &Path, name: &str) -> Result<Vec<Part>, String> {
    let metadata = path.metadata().map_err(|error| format!("cannot be read: {error}"))?;
    if metadata.is_dir() {
        return Err("is a folder".to_owned());
    }
    // A pipe or a device could keep us waiting for ever.
    if !metadata.is_file() {
        return Err("is no regular file".to_owned());
    }
    if metadata.len() > MOST_BYTES {
        return Err(format!(
            "has {} bytes, more than the {} MB that can be sent",
            metadata.len(),
            MOST_BYTES / 1_000_000
        ));
    }
    let mut bytes = Vec::new();
    let read = bounded::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    read.map_err(|error| format!("cannot be read: {error}"))?;
    if let Some(mime) = sniff(&bytes) {
        let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
        return Ok(vec![Part::text(format!("\n\n[{name}, {mime}:]")), Part::inline_data(mime, data)]);
    }
    let decoded =
        text::decode(&bytes).map_err(|_| "is a binary file that no model can be shown".to_owned())?;
    Ok(vec![Part::text(framed(name, &decoded.text))])
}

/// A text between lines that name its file.
fn framed(name: &str, text: &str) -> String {
    let cut = text.char_indices().nth(MOST_CHARS).and_then(|(end, _)| text.get(..end));
    let note = cut.map(|_| format!("\n[cut: {MOST_CHARS} of {} characters are shown]", text.chars().count()));
    let (shown, note) = (cut.unwrap_or(text).trim_end_matches('\n'), note.unwrap_or_default());
    format!("\n\n--- {name} ---\n{shown}{note}\n--- end of {name} ---")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attached(bytes: &[u8]) -> Result<Vec<Part>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, bytes).unwrap();
        attach(&path, "f")
    }

    #[test]
    fn text_comes_under_its_name_and_media_as_it_is() {
        let text = attached(b"one\ntwo\n").unwrap();
        assert_eq!(text[0].as_text(), Some("\n\n--- f ---\none\ntwo\n--- end of f ---"));
        let image = attached(b"\x89PNG\r\n\x1a\n\0\0").unwrap();
        assert_eq!(image[1], Part::inline_data("image/png", "iVBORw0KGgoAAA=="));
        assert!(attached(&[0, 1, 2, 3]).unwrap_err().contains("binary"));
        assert_eq!(attach(std::env::temp_dir().as_path(), "t").unwrap_err(), "is a folder");
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let parts = attached("é".repeat(MOST_CHARS + 5).as_bytes()).unwrap();
        let text = parts[0].as_text().unwrap();
        assert!(text.contains("[cut: 200000 of 200005 characters are shown]"));
    }
}
