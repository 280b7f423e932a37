//! Media as parts of a message or of a tool's output.

use std::borrow::Cow;

use charla_proto::{Blob, FileData, Part, PartKind, part_to_string};
use serde::Serialize;

use crate::endpoint::Target;
use crate::wire::left_out;

/// One piece of a message's content.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Piece<'a> {
    InputText {
        text: Cow<'a, str>,
    },
    InputImage {
        #[serde(skip_serializing_if = "Option::is_none")]
        image_url: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_id: Option<&'a str>,
    },
    InputFile {
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_data: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_url: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_id: Option<&'a str>,
    },
    OutputText {
        text: Cow<'a, str>,
    },
    Refusal {
        refusal: &'a str,
    },
}

impl<'a> Piece<'a> {
    pub(super) fn input_text(text: impl Into<Cow<'a, str>>) -> Self {
        Piece::InputText { text: text.into() }
    }
}

/// The piece of a media part, or a note in words where the target cannot take the media.
/// `None` for parts that are no media.
pub(super) fn piece<'a>(part: &'a Part, target: &Target) -> Option<Piece<'a>> {
    let sent = match &part.kind {
        PartKind::InlineData(blob) if takes(target, &blob.mime_type) => Some(inline(blob)),
        PartKind::FileData(file) if takes(target, &file.mime_type) => by_address(file),
        PartKind::InlineData(_) | PartKind::FileData(_) => None,
        _ => return None,
    };
    let note = || match target.endpoint.quirks.no_media {
        true => left_out(part),
        false => part_to_string(part, true),
    };
    Some(sent.unwrap_or_else(|| Piece::input_text(note())))
}

/// Images of the kinds the API reads, and documents; it hears and watches nothing.
fn takes(target: &Target, mime_type: &str) -> bool {
    if target.endpoint.quirks.no_media {
        return false;
    }
    match mime_type.split_once('/') {
        Some(("image", kind)) => {
            target.model.images && matches!(kind, "png" | "jpeg" | "jpg" | "webp" | "gif" | "*")
        }
        Some(("audio" | "video", _)) => false,
        _ => true,
    }
}

fn inline(blob: &Blob) -> Piece<'_> {
    let url = format!("data:{};base64,{}", blob.mime_type, blob.data);
    if blob.mime_type.starts_with("image/") {
        return Piece::InputImage { image_url: Some(url.into()), file_id: None };
    }
    let named = blob.extra.get("displayName").and_then(|name| name.as_str());
    let filename = named.map_or_else(|| Cow::from(default_name(&blob.mime_type)), Cow::from);
    Piece::InputFile { filename: Some(filename), file_data: Some(url), file_url: None, file_id: None }
}

/// Media by address: a web address, or the id of a file at the provider (which has no scheme).
/// Addresses of other clouds cannot be read there.
fn by_address(file: &FileData) -> Option<Piece<'_>> {
    let uri = file.file_uri.as_str();
    let is_url = uri.starts_with("http://") || uri.starts_with("https://");
    if uri.is_empty() || (!is_url && uri.contains(':')) {
        return None;
    }
    let (url, file_id) = if is_url { (Some(uri), None) } else { (None, Some(uri)) };
    Some(if file.mime_type.starts_with("image/") {
        Piece::InputImage { image_url: url.map(Cow::from), file_id }
    } else {
        Piece::InputFile { filename: None, file_data: None, file_url: url, file_id }
    })
}

/// The API wants a name and judges the kind by its ending.
fn default_name(mime_type: &str) -> String {
    let ending = match mime_type.split_once('/').map_or(mime_type, |(_, kind)| kind) {
        "pdf" => "pdf",
        "json" => "json",
        "csv" => "csv",
        "html" => "html",
        "markdown" => "md",
        "vnd.openxmlformats-officedocument.wordprocessingml.document" => "docx",
        "vnd.openxmlformats-officedocument.spreadsheetml.sheet" => "xlsx",
        "vnd.openxmlformats-officedocument.presentationml.presentation" => "pptx",
        _ => "txt",
    };
    format!("document.{ending}")
}
