//! Images, audio, videos and documents.

use charla_proto::{Blob, FileData, Part, PartKind, part_to_string};
use serde::Serialize;

use super::*;
use crate::endpoint::DocumentStyle;

/// One item of a message's content.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Piece {
    Text {
        text: String,
    },
    ImageUrl {
        image_url: Address,
    },
    VideoUrl {
        video_url: Address,
    },
    AudioUrl {
        audio_url: Address,
    },
    InputAudio {
        input_audio: Audio,
    },
    File {
        file: File,
    },
    DocumentUrl {
        document_url: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        document_name: Option<String>,
    },
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Address {
    url: String,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Audio {
    data: String,
    format: String,
}

#[derive(Debug, Default, PartialEq, Serialize)]
pub struct File {
    #[serde(skip_serializing_if = "Option::is_none")]
    file_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_data: Option<String>,
}

/// What a medium is to this wire.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Image,
    Audio,
    Video,
    Document,
}

impl Kind {
    fn of(mime_type: &str) -> Self {
        match mime_type.split('/').next().unwrap_or_default() {
            "image" => Kind::Image,
            "audio" => Kind::Audio,
            "video" => Kind::Video,
            _ => Kind::Document,
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Kind::Image => "images",
            Kind::Audio => "audio",
            Kind::Video => "videos",
            Kind::Document => "documents",
        }
    }
}

/// The item for a media part, or a note in words where the server or the model cannot take it.
/// `None` for parts that are no media.
pub fn piece(part: &Part, target: &Target) -> Option<Piece> {
    let (kind, sent) = match &part.kind {
        PartKind::InlineData(blob) => {
            let kind = Kind::of(&blob.mime_type);
            (kind, inline(blob, kind, target.endpoint.quirks.documents))
        }
        PartKind::FileData(file) => {
            let kind = Kind::of(mime_type(file));
            (kind, by_address(file, kind, target.endpoint.quirks.documents))
        }
        _ => return None,
    };
    let blind = kind == Kind::Image && !target.model.images;
    let refused = target.endpoint.quirks.no_media || blind;
    Some(sent.filter(|_| !refused).unwrap_or_else(|| note(part, kind)))
}

fn inline(blob: &Blob, kind: Kind, style: DocumentStyle) -> Option<Piece> {
    let url = || format!("data:{};base64,{}", blob.mime_type, blob.data);
    let name = blob.extra.get("displayName").and_then(Value::as_str).map(str::to_owned);
    Some(match (kind, style) {
        (Kind::Image, _) => Piece::ImageUrl { image_url: Address { url: url() } },
        (Kind::Audio, _) => {
            let format = audio_format(&blob.mime_type).to_owned();
            Piece::InputAudio { input_audio: Audio { data: blob.data.clone(), format } }
        }
        (Kind::Video, DocumentStyle::FileUrl) => Piece::VideoUrl { video_url: Address { url: url() } },
        (Kind::Video, _) => return None,
        (Kind::Document, DocumentStyle::DocumentUrl) => {
            Piece::DocumentUrl { document_url: url(), document_name: name }
        }
        (Kind::Document, _) => {
            let filename = Some(name.unwrap_or_else(|| default_name(&blob.mime_type)));
            Piece::File { file: File { filename, file_data: Some(url()), ..File::default() } }
        }
    })
}

fn by_address(file: &FileData, kind: Kind, style: DocumentStyle) -> Option<Piece> {
    let uri = file.file_uri.clone();
    if !uri.contains("://") {
        return Some(Piece::File { file: File { file_id: Some(uri), ..File::default() } });
    }
    if !uri.starts_with("http://") && !uri.starts_with("https://") {
        return None;
    }
    let name = file.extra.get("displayName").and_then(Value::as_str).map(str::to_owned);
    match (kind, style) {
        (Kind::Image, _) => Some(Piece::ImageUrl { image_url: Address { url: uri } }),
        (Kind::Video, DocumentStyle::FileUrl) => Some(Piece::VideoUrl { video_url: Address { url: uri } }),
        (Kind::Audio, DocumentStyle::FileUrl) => Some(Piece::AudioUrl { audio_url: Address { url: uri } }),
        (Kind::Document, DocumentStyle::FileUrl) => {
            Some(Piece::File { file: File { filename: name, file_data: Some(uri), ..File::default() } })
        }
        (Kind::Document, DocumentStyle::DocumentUrl) => {
            Some(Piece::DocumentUrl { document_url: uri, document_name: name })
        }
        _ => None,
    }
}

/// Says what is not shown, so that the model does not talk as if it had seen it.
fn note(part: &Part, kind: Kind) -> Piece {
    let named = part_to_string(part, true);
    let named = named.strip_suffix(']').unwrap_or(&named);
    Piece::Text { text: format!("{named}, not shown: this model takes no {}]", kind.plural()) }
}

/// The type of a medium known by address only, by the ending of the address where it is not told.
fn mime_type(file: &FileData) -> &str {
    if !file.mime_type.is_empty() {
        return &file.mime_type;
    }
    let path = file.file_uri.split(['?', '#']).next().unwrap_or_default();
    let ending = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "bmp" => "image/*",
        "mp4" | "mov" | "webm" | "mkv" | "avi" => "video/*",
        "mp3" | "wav" | "flac" | "ogg" | "m4a" => "audio/*",
        _ => "application/octet-stream",
    }
}

fn audio_format(mime_type: &str) -> &str {
    let subtype = mime_type.split('/').nth(1).unwrap_or_default();
    match subtype.split(';').next().unwrap_or_default() {
        "mpeg" | "mp3" => "mp3",
        "wav" | "x-wav" | "wave" | "vnd.wave" => "wav",
        "mp4" | "x-m4a" => "m4a",
        other => other,
    }
}

fn default_name(mime_type: &str) -> String {
    let subtype = mime_type.split('/').nth(1).unwrap_or_default();
    let ending = match subtype.split(';').next().unwrap_or_default() {
        "plain" | "" => "txt",
        "markdown" => "md",
        other => other,
    };
    format!("document.{ending}")
}

/// A medium of an answer: carried in a `data:` address, or behind one.
pub fn from_url(url: &str) -> Option<Part> {
    let Some(data) = url.strip_prefix("data:") else {
        let file = FileData { file_uri: url.to_owned(), ..FileData::default() };
        return Some(Part::new(PartKind::FileData(Box::new(file))));
    };
    let (head, data) = data.split_once(',')?;
    let mime_type = head.strip_suffix(";base64")?;
    Some(Part::inline_data(mime_type, data))
}
