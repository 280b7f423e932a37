//! The program's own models, bound for a session.

use std::sync::Arc;

use charla_core::session::Prices;
use charla_providers::layers::{EstimatedUsage, Layered, Link, LogSink, Logging, Redactor, Resilient};
use charla_providers::tokens;

use super::bound::BoundModel;
use super::choice::PromptSize;
use super::wiring;
use crate::failure::Failure;
use crate::network::retry_policy;
use crate::own_model::OwnModel;
use crate::settings::Settings;

/// The one that these settings ask for: by its name, or the first where they name none.
pub(crate) fn chosen(settings: &Settings) -> Option<&OwnModel> {
    let models = &settings.brought.models;
    match &settings.model.name {
        Some(name) => models.iter().find(|model| model.reference == *name),
        None => models.first(),
    }
}

/// Binds it for a session.
pub(crate) fn bind(
    own: &OwnModel,
    settings: &Settings,
    log: Option<Arc<dyn LogSink>>,
) -> Result<BoundModel, Failure> {
    let reference = own.reference.clone();
    if settings.limits.max_cost.is_some() && own.price.is_none() {
        let text = format!("`limits.maxCost` cannot be kept: no price is known of {reference}");
        return Err(
            Failure::config(text).with_hint("give the model a price, or set `limits.maxTokens` instead")
        );
    }
    let model = reference.split_once('/').map_or(reference.as_str(), |(_, model)| model).to_owned();
    let mut generator = own.generator.clone();
    if settings.limits.max_tokens.is_some() || settings.limits.max_cost.is_some() {
        generator = Arc::new(Layered::over(generator, EstimatedUsage));
    }
    let template = wiring::request(&model, settings);
    let link = Link { reference: reference.clone(), model, generator };
    let resilient = Arc::new(Resilient::new(vec![link], retry_policy(settings)));
    Ok(BoundModel {
        generator: Logging::over(resilient, &reference, log, Arc::new(Redactor::new([]))),
        reference,
        template,
        prices: own.price.map(Prices::of_all).unwrap_or_default(),
        window: own.window,
        count: Arc::new(tokens::estimate),
        prompt_size: PromptSize::Full,
        chat_only: false,
        takes_schema: false,
        stable_prefix: false,
    })
}
