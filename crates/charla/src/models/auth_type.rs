//! The way somebody logs in to Google's models, where only one is allowed.

use super::directory::Directory;
use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::settings::Settings;

/// Refuses a run that would log in to Google's models in another way than must be.
pub(crate) fn check(settings: &Settings, environment: &Environment) -> Result<(), Failure> {
    let security = &settings.security;
    let (Some(enforced), true) = (&security.enforced_auth, asks_google(settings)) else { return Ok(()) };
    let current = security.selected_auth.as_deref().or_else(|| of_environment(environment));
    match current {
        Some(current) if current != enforced => Err(Failure::new(
            FailureKind::AuthType,
            format!("the enforced authentication type is '{enforced}', but the current type is '{current}'"),
        )
        .with_hint("log in the way that is enforced, or ask who has set `security.auth.enforcedType`")),
        _ => Ok(()),
    }
}

/// Where another provider is named, how somebody logs in to Google does not matter.
fn asks_google(settings: &Settings) -> bool {
    let Some(name) = &settings.model.name else { return true };
    let provider = Directory::new(settings).resolve(name).map(|(entry, _)| entry.name);
    provider.is_ok_and(|provider| ["gemini", "vertex"].contains(&provider.as_str()))
}

/// The way that the environment tells of, as Gemini CLI reads it.
fn of_environment(environment: &Environment) -> Option<&'static str> {
    let rows = [
        ("GOOGLE_GENAI_USE_GCA", Some("true"), "oauth-personal"),
        ("GOOGLE_GENAI_USE_VERTEXAI", Some("true"), "vertex-ai"),
        ("GEMINI_API_KEY", None, "gemini-api-key"),
    ];
    let is_set = |name, wanted: Option<&str>| {
        environment.variable(name).is_some_and(|value| wanted.is_none_or(|wanted| wanted == value))
    };
    rows.into_iter().find(|(name, wanted, _)| is_set(name, *wanted)).map(|(.., kind)| kind)
}
