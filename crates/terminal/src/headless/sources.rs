//! The sources that an answer rests on: those that the model names, and those that a search found for it.

use charla_proto::Citation;
use charla_proto::text::one_line;
use serde_json::{Value, json};

use crate::printer::Printer;

/// So many are told at the end of an answer.
const MOST: usize = 20;

/// Sources as they were named.
#[derive(Default)]
pub(super) struct Sources {
    named: Vec<Citation>,
    /// How many of them no failed attempt can take back.
    kept: usize,
}

impl Sources {
    /// One more, unless it is known.
    pub(super) fn add(&mut self, citation: &Citation) {
        if !self.named.contains(citation) {
            self.named.push(citation.clone());
        }
    }

    /// What was named stays, whatever comes of further attempts.
    pub(super) fn keep(&mut self) {
        self.kept = self.named.len();
    }

    /// An attempt is void, and what it named.
    pub(super) fn withdraw(&mut self) {
        self.named.truncate(self.kept);
    }

    /// In a document, where there are any.
    pub(super) fn put_into(&self, document: &mut Value) {
        if let (false, Some(fields)) = (self.named.is_empty(), document.as_object_mut()) {
            fields.insert("citations".to_owned(), json!(self.named));
        }
    }

    /// For a person, a line each.
    pub(super) fn tell(&self, printer: &mut Printer) {
        for citation in self.named.iter().take(MOST) {
            let words = [citation.title.as_deref(), citation.uri.as_deref()].map(Option::unwrap_or_default);
            printer.note(&format!("source: {}", one_line(words.join(" ").trim())));
        }
        if self.named.len() > MOST {
            printer.note(&format!("and {} more sources", self.named.len() - MOST));
        }
    }
}
