//! Sessions as documents that can be given away.

use std::path::Path;

use charla_proto::Record;
use serde_json::json;

use super::error::SessionError;
use super::story::SessionStory;
use super::story_page::page;
use crate::models::Prices;

/// The form of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExportForm {
    /// To be read as text.
    #[default]
    Markdown,
    /// The journal's records in an array.
    Json,
    /// A page for a browser that needs nothing beside it.
    Html,
}

impl ExportForm {
    /// The form that a file's name asks for.
    pub fn of_file(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "md" | "markdown" => Some(Self::Markdown),
            "json" => Some(Self::Json),
            "html" | "htm" => Some(Self::Html),
            _ => None,
        }
    }

    /// The session of these records in this form.
    pub(super) fn of(self, id: &str, records: &[Record], prices: &Prices) -> Result<String, SessionError> {
        let story =
            || SessionStory::of(records, prices).ok_or_else(|| SessionError::NoBeginning(id.to_owned()));
        match self {
            Self::Markdown => Ok(story()?.to_markdown()),
            Self::Html => Ok(page(&story()?)),
            Self::Json => Ok(format!("{:#}\n", json!({ "session": id, "records": records }))),
        }
    }
}
