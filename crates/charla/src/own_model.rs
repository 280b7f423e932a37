//! A model that the embedding program brings itself.

use std::fmt;
use std::sync::Arc;

use charla_core::session::Price;
use charla_proto::ContentGenerator;

/// A model that is no provider's: anything that answers like one.
///
/// Sessions ask it as they ask any other, by its name: with retries, limits and a log. It is told everything, and
/// calls tools by [`charla_proto::FunctionCall`] parts. [`crate::Charla::with_model`] takes it in.
#[derive(Clone)]
pub struct OwnModel {
    /// `provider/model`, the name in settings and in the journal.
    pub reference: String,
    /// Answers.
    pub generator: Arc<dyn ContentGenerator>,
    /// Tokens it can read and write together; unknown, conversations are not compressed by themselves.
    pub window: Option<u32>,
    /// What it costs, for the limit on cost.
    pub price: Option<Price>,
}

impl OwnModel {
    /// A model of this name whose window and price are not known.
    pub fn new(reference: impl Into<String>, generator: Arc<dyn ContentGenerator>) -> Self {
        Self { reference: reference.into(), generator, window: None, price: None }
    }
}

impl fmt::Debug for OwnModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnModel").field("reference", &self.reference).finish_non_exhaustive()
    }
}

/// The same name for the same generator.
impl PartialEq for OwnModel {
    fn eq(&self, other: &Self) -> bool {
        self.reference == other.reference && Arc::ptr_eq(&self.generator, &other.generator)
    }
}
