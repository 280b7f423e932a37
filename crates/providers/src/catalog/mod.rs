//! What is known in advance: providers and models as rows, and how a name finds its row.

mod models;
mod providers;

use charla_proto::WireKind;

use crate::endpoint::{AuthStyle, Endpoint, ModelRow, ModelThinking, Quirks};

/// A provider known by name.
#[derive(Clone, Copy, Debug)]
pub struct Provider {
    /// Its name in `provider/model`.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The wire it speaks.
    pub wire: WireKind,
    /// The wire to speak when the user points it at another server: most servers that imitate OpenAI
    /// know Chat Completions only.
    pub wire_elsewhere: WireKind,
    /// Where it is; empty where that depends on the account.
    pub base_url: &'static str,
    /// How the key is sent.
    pub auth: AuthStyle,
    /// Environment variables that may hold the key, best first.
    pub key_env: &'static [&'static str],
    /// Environment variables that may move it elsewhere.
    pub base_url_env: &'static [&'static str],
    /// What a base URL from such a variable lacks, because the vendor's own tools add it.
    pub base_url_suffix: &'static str,
    /// It runs on the user's machine and needs no key.
    pub local: bool,
    /// Where a person gets a key, or the program.
    pub key_page: &'static str,
    /// The model used when none is named; empty means: whatever the server has loaded.
    pub default_model: &'static str,
    quirks: fn() -> Quirks,
}

impl Provider {
    /// What it does differently from its wire.
    pub fn quirks(&self) -> Quirks {
        (self.quirks)()
    }

    /// Its endpoint, at its own address.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint {
            name: self.name.to_owned(),
            wire: self.wire,
            base_url: self.base_url.to_owned(),
            auth: self.auth,
            headers: Vec::new(),
            quirks: self.quirks(),
        }
    }
}

/// All providers known by name, in the order in which a key is looked for.
pub fn providers() -> &'static [Provider] {
    providers::PROVIDERS
}

/// The provider of this name.
pub fn provider(name: &str) -> Option<&'static Provider> {
    providers().iter().find(|provider| provider.name == name)
}

/// The Vertex AI base URL of a project and location.
pub fn vertex_base_url(project: &str, location: &str) -> String {
    let host = match location {
        "global" => "aiplatform.googleapis.com".to_owned(),
        _ => format!("{location}-aiplatform.googleapis.com"),
    };
    format!("https://{host}/v1/projects/{project}/locations/{location}/publishers/google")
}

/// What is known of a model. A model without a row gets one that promises nothing.
///
/// Rows are found by the longest matching beginning of the name, after a vendor's prefix
/// (`anthropic/claude-…` on a reseller is still that model).
pub fn model(provider: &str, id: &str) -> ModelRow {
    let name = id.strip_prefix("models/").unwrap_or(id);
    let bare = name.rsplit('/').next().unwrap_or(name);
    let found = models::MODELS
        .iter()
        .filter(|facts| facts.matches(provider, bare))
        .max_by_key(|facts| (facts.name.len(), !facts.provider.is_empty()));
    match found {
        Some(facts) => facts.row(provider, id),
        None => ModelRow { id: id.to_owned(), images: !is_local(provider), ..ModelRow::default() },
    }
}

fn is_local(name: &str) -> bool {
    provider(name).is_some_and(|provider| provider.local)
}

/// Model names worth offering for a provider.
pub fn models(provider: &str) -> impl Iterator<Item = &'static str> {
    models::MODELS
        .iter()
        .filter(move |facts| facts.provider == provider && facts.offered)
        .map(|facts| facts.name)
}

/// One line of the model table.
#[derive(Debug)]
struct ModelFacts {
    /// The provider it is native to; empty for models many servers carry.
    provider: &'static str,
    /// The beginning of its name.
    name: &'static str,
    window: u32,
    max_output: u32,
    thinking: ModelThinking,
    images: bool,
    no_sampling: bool,
    media_in_function_response: bool,
    /// Dollars for a million tokens: input, output, cached input.
    price: Option<[f64; 3]>,
    /// Shown to people.
    offered: bool,
}

impl ModelFacts {
    fn matches(&self, provider: &str, id: &str) -> bool {
        // Limits hold wherever a hosted model runs; what a local server loaded under the name, nobody knows.
        id.starts_with(self.name)
            && (self.provider.is_empty() || self.provider == provider || !is_local(provider))
    }

    fn row(&self, provider: &str, id: &str) -> ModelRow {
        // A list price holds at the maker; resellers have their own.
        let at_maker = self.provider == provider || (self.provider == "gemini" && provider == "vertex");
        ModelRow {
            id: id.to_owned(),
            context_window: Some(self.window),
            max_output: Some(self.max_output),
            no_sampling: self.no_sampling,
            thinking: self.thinking,
            images: self.images,
            media_in_function_response: self.media_in_function_response,
            price: self.price.filter(|_| at_maker),
        }
    }
}

/// Why a model's name leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// Nothing was named.
    #[error("the model's name is empty")]
    Empty,
    /// `provider/` without a model.
    #[error("`{0}/` names a provider but no model")]
    NoModel(String),
    /// The part before the slash is no provider.
    #[error("there is no provider `{0}`")]
    UnknownProvider(String),
    /// A bare name that does not tell its provider.
    #[error("`{0}` does not say which provider serves it")]
    Ambiguous(String),
}

/// A model's reference taken apart: the provider's name and the model's.
///
/// `provider/model` is what it is; bare `gemini-…`, `gpt-…`, `claude-…` and their kin find their maker.
/// `is_provider` says which names are providers, the user's own included. The model part may hold
/// slashes and colons itself (`openrouter/google/gemma-3`, `ollama/qwen3:4b`).
pub fn resolve(
    reference: &str,
    is_provider: impl Fn(&str) -> bool,
) -> Result<(String, String), ReferenceError> {
    let reference = reference.trim();
    if reference.is_empty() {
        return Err(ReferenceError::Empty);
    }
    if let Some((provider, model)) = reference.split_once('/')
        && is_provider(provider)
    {
        if model.is_empty() {
            return Err(ReferenceError::NoModel(provider.to_owned()));
        }
        return Ok((provider.to_owned(), model.to_owned()));
    }
    let maker = models::MAKERS.iter().find(|(start, _)| reference.starts_with(start));
    // Open weights carry their maker's prefix but are served by anybody.
    let maker = maker.filter(|_| !reference.starts_with("gpt-oss"));
    if let Some((_, provider)) = maker {
        return Ok(((*provider).to_owned(), reference.to_owned()));
    }
    match reference.split_once('/') {
        Some((provider, _)) => Err(ReferenceError::UnknownProvider(provider.to_owned())),
        None => Err(ReferenceError::Ambiguous(reference.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(reference: &str) -> Result<(String, String), ReferenceError> {
        resolve(reference, |name| provider(name).is_some())
    }

    fn pair(provider: &str, model: &str) -> Result<(String, String), ReferenceError> {
        Ok((provider.to_owned(), model.to_owned()))
    }

    #[test]
    fn references_name_a_provider_or_let_the_model_tell_it() {
        assert_eq!(resolved("ollama/qwen3:4b"), pair("ollama", "qwen3:4b"));
        assert_eq!(resolved("openrouter/google/gemma-3-27b-it"), pair("openrouter", "google/gemma-3-27b-it"));
        assert_eq!(resolved("gemini-2.5-pro"), pair("gemini", "gemini-2.5-pro"));
        assert_eq!(resolved("gpt-5"), pair("openai", "gpt-5"));
        assert_eq!(resolved("o4-mini"), pair("openai", "o4-mini"));
        assert_eq!(resolved("claude-sonnet-5"), pair("anthropic", "claude-sonnet-5"));
        assert_eq!(resolved("models/gemini-2.5-pro"), pair("gemini", "models/gemini-2.5-pro"));
        assert_eq!(resolved("llama3"), Err(ReferenceError::Ambiguous("llama3".to_owned())));
        assert_eq!(resolved("opneai/gpt-5"), Err(ReferenceError::UnknownProvider("opneai".to_owned())));
        assert_eq!(resolved("openai/"), Err(ReferenceError::NoModel("openai".to_owned())));
        assert_eq!(resolved("  "), Err(ReferenceError::Empty));
    }

    #[test]
    fn the_longest_beginning_of_a_name_gives_the_row() {
        assert_eq!(model("openai", "gpt-4o-mini-2024-07-18").price, Some([0.15, 0.6, 0.075]));
        assert_eq!(model("openai", "gpt-4o-2024-08-06").price, Some([2.5, 10.0, 1.25]));
        assert_eq!(model("gemini", "models/gemini-2.5-pro").context_window, Some(1_048_576));
        let resold = model("openrouter", "anthropic/claude-sonnet-5");
        assert_eq!((resold.context_window, resold.price), (Some(1_000_000), None));
        let unknown = model("ollama", "my-own");
        assert_eq!((unknown.id.as_str(), unknown.context_window), ("my-own", None));
    }

    #[test]
    fn a_local_server_promises_no_vendor_limits() {
        // `gpt-…` on a local server is whatever was loaded under that name.
        assert_eq!(model("llamacpp", "gpt-4o").context_window, None);
    }

    #[test]
    fn every_provider_is_complete_and_its_default_model_has_a_row() {
        for provider in providers() {
            assert!(
                provider.base_url.is_empty() || provider.base_url.starts_with("http"),
                "{}",
                provider.name
            );
            assert!(!provider.base_url.ends_with('/'), "{}", provider.name);
            assert!(provider.local || !provider.key_env.is_empty(), "{}", provider.name);
            let row = model(provider.name, provider.default_model);
            assert!(provider.default_model.is_empty() || row.context_window.is_some(), "{}", provider.name);
        }
    }
}
