//! What answers cost, where prices are known.

use charla_core::session::Price;
use charla_proto::UsageMetadata;

use super::Directory;
use crate::settings::Settings;

/// The prices of models: list prices of the catalog.
#[derive(Clone, Debug, Default)]
pub struct Prices {
    settings: Settings,
}

impl Prices {
    /// Under these settings, which may give a model another name.
    pub fn new(settings: &Settings) -> Self {
        Self { settings: settings.clone() }
    }

    /// US dollars for this use of `provider/model`; nothing where its price is not known.
    pub fn of(&self, model: &str, usage: &UsageMetadata) -> Option<f64> {
        let (entry, id) = Directory::new(&self.settings).resolve(model).ok()?;
        let [input, output, cached] = entry.model(&id?).price?;
        Some(Price { input, output, cached }.of(usage))
    }
}
