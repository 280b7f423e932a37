//! How large contents are, in characters, near enough to compare them.

use charla_proto::{Content, Part, PartKind};

/// About how many characters a content has.
pub fn size(content: &Content) -> usize {
    content.parts.iter().map(part_size).sum()
}

pub(super) fn part_size(part: &Part) -> usize {
    match &part.kind {
        PartKind::Text(text) => text.len(),
        PartKind::InlineData(blob) => blob.data.len().min(4_000),
        PartKind::FileData(_) => 200,
        PartKind::FunctionCall(call) => serde_json::to_string(&call.args).map_or(0, |text| text.len()) + 50,
        PartKind::FunctionResponse(response) => response.to_text().len() + 50,
        PartKind::Opaque(_) | PartKind::Other => 0,
    }
}
