//! Parts as text.

use crate::{Part, PartKind};

/// A part as text. Plain: only words. `verbose` also names what is not words: media with type and
/// size, calls, responses, thoughts.
pub fn part_to_string(part: &Part, verbose: bool) -> String {
    match &part.kind {
        PartKind::Text(text) if part.thought => {
            if verbose {
                format!("[Thought: {text}]")
            } else {
                String::new()
            }
        }
        PartKind::Text(text) => text.clone(),
        _ if !verbose => String::new(),
        PartKind::InlineData(blob) => {
            let bytes = blob.data.trim_end_matches('=').len() * 3 / 4;
            format!("[{}: {}, {}]", media_name(&blob.mime_type), blob.mime_type, size(bytes))
        }
        PartKind::FileData(file) => format!("[File: {}]", file.file_uri),
        PartKind::FunctionCall(call) => format!("[Function Call: {}]", call.name),
        PartKind::FunctionResponse(response) => format!("[Function Response: {}]", response.name),
        PartKind::Opaque(_) => "[Opaque data]".to_owned(),
        PartKind::Other => "[Unknown part]".to_owned(),
    }
}

/// What a thought is about: the words between the first pair of `**`, as thinking models mark them.
pub fn thought_subject(thought: &str) -> Option<&str> {
    let (_, rest) = thought.split_once("**")?;
    let (subject, _) = rest.split_once("**")?;
    Some(subject.trim()).filter(|subject| !subject.is_empty() && !subject.contains('\n'))
}

fn media_name(mime_type: &str) -> &'static str {
    match mime_type.split('/').next().unwrap_or_default() {
        "image" => "Image",
        "audio" => "Audio",
        "video" => "Video",
        _ => "Document",
    }
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KB", bytes.div_ceil(1024)),
        _ => format!("{:.1} MB", bytes as f64 / 1_048_576.0),
    }
}
