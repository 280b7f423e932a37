//! What somebody says must be something that a model can be sent: a conversation that has it once has it in every request.

use super::{Content, Part, PartKind};
use crate::text::one_line;

impl Content {
    /// Why this cannot be said to a model, in words; nothing where it can. Kept in a conversation, it would make providers refuse whatever
    /// is said from then on.
    pub fn prompt_problem(&self) -> Option<String> {
        let is_something = |part: &Part| match &part.kind {
            PartKind::Text(text) => !text.trim().is_empty(),
            PartKind::Other => false,
            _ => true,
        };
        if !self.parts.iter().any(is_something) {
            return Some("the prompt is empty".to_owned());
        }
        self.parts.iter().find_map(|part| match &part.kind {
            PartKind::InlineData(blob) if !is_media_type(&blob.mime_type) => {
                Some(format!("`{}` is no media type", one_line(&blob.mime_type)))
            }
            PartKind::InlineData(blob) if !blob.is_encoded() => {
                Some(format!("the data of type {} is no Base64", one_line(&blob.mime_type)))
            }
            PartKind::FileData(file) if !file.mime_type.is_empty() && !is_media_type(&file.mime_type) => {
                Some(format!("`{}` is no media type", one_line(&file.mime_type)))
            }
            PartKind::FileData(file) if !is_address(&file.file_uri) => {
                Some(format!("`{}` is no address of a file", one_line(&file.file_uri)))
            }
            _ => None,
        })
    }
}

/// Whether this is a type and a subtype, perhaps with parameters: printable characters in one line.
fn is_media_type(text: &str) -> bool {
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(is_token);
    essence.trim_end_matches(' ').split_once('/').is_some_and(|(kind, sub)| is_name(kind) && is_name(sub))
        && parameters.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Whether this may be an address: something in one line.
fn is_address(text: &str) -> bool {
    !text.trim().is_empty() && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::FileData;

    fn problem(parts: Vec<Part>) -> Option<String> {
        Content { parts, ..Content::default() }.prompt_problem()
    }

    fn file(mime_type: &str, uri: &str) -> Part {
        let file =
            FileData { mime_type: mime_type.to_owned(), file_uri: uri.to_owned(), ..FileData::default() };
        Part::new(PartKind::FileData(Box::new(file)))
    }

    #[test]
    fn words_and_media_can_be_said_and_nothing_cannot() {
        let image = || Part::inline_data("image/png", "AAAA");
        for parts in [
            vec![Part::text("hi")],
            vec![Part::text(""), image()],
            vec![file("", "https://x.example/a b.png")],
            vec![file("image/png", "gs://bucket/a.png")],
            vec![Part::inline_data("text/plain; charset=utf-8", "AAAA")],
            vec![Part::inline_data("application/vnd.api+json", "AAAA")],
        ] {
            assert_eq!(problem(parts.clone()), None, "{parts:?}");
        }
        for parts in [vec![], vec![Part::text("")], vec![Part::text(" \n\t"), Part::default()]] {
            assert_eq!(problem(parts.clone()).as_deref(), Some("the prompt is empty"), "{parts:?}");
        }
    }

    #[test]
    fn media_have_a_type_in_one_line_and_their_data_is_base64() {
        for kind in
            ["", "png", "image/", "/png", "image/png\r\nx: y", "image/png; a\nb", "image png", "image/pñg"]
        {
            for part in [Part::inline_data(kind, "AAAA"), file(kind, "https://x.example/a")] {
                let is_left_out = kind.is_empty() && matches!(part.kind, PartKind::FileData(_));
                let told = problem(vec![part, Part::text("look")]);
                assert_eq!(told.is_none(), is_left_out, "{kind:?}: {told:?}");
                assert!(told.is_none_or(|told| !told.contains(['\r', '\n'])), "{kind:?}");
            }
        }
        assert!(
            problem(vec![Part::inline_data("image/png", "!")]).is_some_and(|told| told.contains("Base64"))
        );
        for uri in ["", " ", "https://x.example/\r\na"] {
            assert!(problem(vec![file("", uri)]).is_some(), "{uri:?}");
        }
    }
}
