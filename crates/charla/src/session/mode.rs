//! How much the models of a chain are trusted with.

use charla_proto::ApprovalMode;

use crate::engine;
use crate::hint::Hint;
use crate::models::Chain;
use crate::notices::{Notice, Notices};
use crate::settings::Settings;

/// Says what becomes of the wanted mode with this chain. The built-in model calls a tool where a greeting was
/// meant, so no mode lets it change or run anything unasked: rules that name what they allow still do. As a
/// fallback it is left out of a session whose mode was meant for another model.
pub(super) fn tell_mode(settings: &Settings, chain: &mut Chain, notices: &mut dyn Notices) {
    let mode = settings.tools.approval_mode.unwrap_or_default();
    if !matches!(mode, ApprovalMode::AutoEdit | ApprovalMode::Yolo) {
        return;
    }
    if chain.first.is_built_in() {
        let text = format!("the built-in model is too small for {mode}: changes and commands still ask");
        return notices.warning(&Notice::with_hint(text, Hint::AllowTools));
    }
    let before = chain.fallbacks.len();
    chain.fallbacks.retain(|choice| !choice.is_built_in());
    if chain.fallbacks.len() < before {
        let provider = engine::PROVIDER;
        let text = format!("fallback {provider} is left out: the built-in model is too small for {mode}");
        notices.warning(&text.into());
    }
}
