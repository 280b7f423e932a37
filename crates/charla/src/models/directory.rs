//! Providers as they are for this user: the catalog with the settings over it, and the user's own.

use charla_proto::WireKind;
use charla_proto::text::nearest;
use charla_providers::catalog::{self, Provider, ReferenceError};
use charla_providers::endpoint::{AuthStyle, Endpoint, ModelRow, ModelThinking, Quirks};
use charla_providers::layers::{GuidanceStyle, ParameterMap, StackOptions, TextToolsOptions, ThinkOptions};

use crate::failure::Failure;
use crate::hint::Hint;
use crate::model_pairs;
use crate::settings::{ModelFacts, ProviderSettings, Settings, ThinkingSwitch, is_local_network};

/// More bytes than any provider's longest name has; what is longer is a file that was taken for a name.
const LONGEST_REFERENCE: usize = 500;

/// A provider that can be named in `provider/model`.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its row in the catalog; `None` for the user's own.
    pub row: Option<&'static Provider>,
    /// What the settings say about it.
    pub settings: ProviderSettings,
}

/// All providers of this user.
pub struct Directory<'a> {
    settings: &'a Settings,
}

impl<'a> Directory<'a> {
    /// The catalog under these settings.
    pub fn new(settings: &'a Settings) -> Self {
        Self { settings }
    }

    /// Every provider: the catalog's in its order, then the user's own by name.
    pub fn entries(&self) -> Vec<Entry> {
        let built_in = catalog::providers().iter().map(|row| row.name.to_owned());
        let own = self.settings.providers.keys().filter(|name| catalog::provider(name).is_none()).cloned();
        built_in.chain(own).map(|name| self.entry(name)).collect()
    }

    fn entry(&self, name: String) -> Entry {
        let settings = self.settings.providers.get(&name).cloned().unwrap_or_default();
        Entry { row: catalog::provider(&name), settings, name }
    }

    /// The provider of this name.
    pub fn find(&self, name: &str) -> Result<Entry, Failure> {
        if self.knows(name) { Ok(self.entry(name.to_owned())) } else { Err(self.unknown(name)) }
    }

    fn knows(&self, name: &str) -> bool {
        catalog::provider(name).is_some() || self.settings.providers.contains_key(name)
    }

    fn unknown(&self, name: &str) -> Failure {
        let entries = self.entries();
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let hint = match nearest(name, names.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known providers: {}", names.join(", ")),
        };
        Failure::input(format!("there is no provider `{name}`")).with_hint(hint)
    }

    /// The model nearest to this name of all that are worth offering.
    fn offered(&self, name: &str) -> Option<String> {
        let entries = self.entries();
        let all: Vec<(&str, &str)> = entries
            .iter()
            .flat_map(|entry| catalog::models(&entry.name).map(move |model| (entry.name.as_str(), model)))
            .collect();
        let meant = nearest(name, all.iter().map(|(_, model)| *model))?;
        let (provider, model) = all.iter().find(|(_, model)| *model == meant)?;
        Some(format!("{provider}/{model}"))
    }

    /// Takes a model's reference apart; `None` for the model when only a provider is named.
    pub fn resolve(&self, reference: &str) -> Result<(Entry, Option<String>), Failure> {
        let reference = reference.trim().trim_end_matches('/');
        if reference.len() > LONGEST_REFERENCE || reference.contains(char::is_control) {
            return Err(Failure::input("the model's name is too long or holds control characters")
                .with_hint(Hint::NameModel));
        }
        if self.knows(reference) {
            return Ok((self.entry(reference.to_owned()), None));
        }
        let reference = model_pairs::working(reference).unwrap_or(reference);
        let failure = match catalog::resolve(reference, |name| self.knows(name)) {
            Ok((provider, model)) => return Ok((self.entry(provider), Some(model))),
            Err(ReferenceError::UnknownProvider(name)) => self.unknown(&name),
            Err(ReferenceError::Ambiguous(name)) => {
                let hint = match self.offered(&name) {
                    Some(meant) => format!("did you mean `{meant}`? Else write provider/model"),
                    None => format!("write provider/model, such as ollama/{name} or openrouter/{name}"),
                };
                Failure::input(ReferenceError::Ambiguous(name).to_string()).with_hint(hint)
            }
            Err(error) => Failure::input(error.to_string()).with_hint(Hint::NameModel),
        };
        Err(failure)
    }
}

impl Entry {
    /// Its name for people.
    pub fn title(&self) -> &str {
        self.row.map_or(&self.name, |row| row.title)
    }

    /// It is a local server by its name, or a server of the user's own on this machine or in its private
    /// network that speaks what local servers speak. A hosted provider at another address, or a vendor's own
    /// wire, is none: behind that is a gateway to hosted models.
    pub fn is_local(&self) -> bool {
        match self.row {
            Some(row) => row.local,
            None => self.speaks_chat() && self.settings.base_url.as_deref().is_some_and(is_local_network),
        }
    }

    /// It speaks OpenAI Chat, as every server does that runs whatever model it is given.
    pub(crate) fn speaks_chat(&self) -> bool {
        self.endpoint().is_ok_and(|endpoint| endpoint.wire == WireKind::OpenaiChat)
    }

    /// It runs on the user's machine, or needs no key for another reason.
    pub(crate) fn needs_no_key(&self) -> bool {
        match self.row {
            Some(row) => row.local || self.settings.auth == Some(AuthStyle::None),
            None => self.settings.api_key.is_none(),
        }
    }

    /// Google's own credentials open it, too.
    pub(crate) fn takes_google_credentials(&self) -> bool {
        self.name == "vertex"
    }

    /// Environment variables that may hold its key.
    pub(crate) fn key_variables(&self) -> &'static [&'static str] {
        self.row.map_or(&[], |row| row.key_env)
    }

    /// The model used when only the provider is named.
    pub fn default_model(&self) -> Option<String> {
        let built_in = self.row.map(|row| row.default_model.to_owned());
        self.settings.default_model.clone().or(built_in).filter(|model| !model.is_empty())
    }

    /// Where and how to speak to it.
    pub fn endpoint(&self) -> Result<Endpoint, Failure> {
        let mut endpoint = match self.row {
            Some(row) => row.endpoint(),
            None => self.own_endpoint(),
        };
        let settings = &self.settings;
        if let Some(base_url) = &settings.base_url {
            endpoint.base_url = base_url.trim_end_matches('/').to_owned();
            if let Some(row) = self.row.filter(|row| row.base_url != endpoint.base_url) {
                endpoint.wire = row.wire_elsewhere;
            }
        }
        if let Some(wire) = settings.wire {
            endpoint.wire = wire;
        }
        if let Some(auth) = settings.auth {
            endpoint.auth = auth;
        }
        endpoint.headers = settings.headers.clone().into_iter().collect();
        endpoint.quirks = endpoint.quirks.overlaid_by(&settings.quirks);
        if endpoint.base_url.is_empty() {
            return Err(self.no_address());
        }
        Ok(endpoint)
    }

    fn own_endpoint(&self) -> Endpoint {
        let wire = self.settings.wire.unwrap_or(WireKind::OpenaiChat);
        let auth = match wire {
            WireKind::Gemini => AuthStyle::GoogApiKey,
            WireKind::Anthropic => AuthStyle::XApiKey,
            WireKind::OpenaiChat | WireKind::OpenaiResponses => AuthStyle::Bearer,
        };
        Endpoint {
            name: self.name.clone(),
            wire,
            base_url: String::new(),
            auth,
            headers: Vec::new(),
            quirks: Quirks::default(),
        }
    }

    fn no_address(&self) -> Failure {
        let name = &self.name;
        let failure = Failure::config(format!("the provider `{name}` has no address"));
        match name.as_str() {
            "vertex" => failure.with_hint("export GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"),
            _ => failure.with_hint(format!("set `providers.{name}.baseUrl`")),
        }
    }

    /// What the settings say that one of its models needs over its wire. How tools are called is for the
    /// caller to decide;
    /// `tiny` is true for a window with no room for words about them.
    pub fn layers(&self, id: &str, tiny: bool) -> StackOptions {
        let facts = self.settings.models.get(id).cloned().unwrap_or_default();
        let mut parameters = ParameterMap::new();
        for aliases in [&facts.parameters, &self.settings.parameters] {
            for (tool, names) in aliases {
                for (used, declared) in names {
                    parameters = parameters.with(tool, used, declared);
                }
            }
        }
        StackOptions {
            text: TextToolsOptions {
                style: facts.text_tools.style.unwrap_or(match tiny {
                    true => GuidanceStyle::Compact,
                    false => GuidanceStyle::Full,
                }),
                place: facts.text_tools.place.unwrap_or_default(),
                preserve_context: facts.text_tools.preserve_context.unwrap_or(true),
            },
            think: ThinkOptions {
                start: facts.think_start.unwrap_or_default(),
                switch: facts.think_switch.unwrap_or_default(),
            },
            parameters: parameters.with_usual(),
            ..StackOptions::default()
        }
    }

    /// What is known of one of its models.
    pub fn model(&self, id: &str) -> ModelRow {
        let mut row = catalog::model(&self.name, id);
        if let Some(facts) = self.settings.models.get(id) {
            apply_facts(&mut row, facts);
        }
        row
    }
}

fn apply_facts(row: &mut ModelRow, facts: &ModelFacts) {
    row.context_window = facts.context_window.or(row.context_window);
    row.max_output = facts.max_output.or(row.max_output);
    row.images = facts.images.unwrap_or(row.images);
    row.no_sampling = facts.no_sampling.unwrap_or(row.no_sampling);
    row.thinking = match facts.thinking {
        None => row.thinking,
        Some(ThinkingSwitch::None) => ModelThinking::None,
        Some(ThinkingSwitch::Budget) => ModelThinking::Budget,
        Some(ThinkingSwitch::Levels) => ModelThinking::Levels,
        Some(ThinkingSwitch::Adaptive) => ModelThinking::Adaptive,
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::failure::FailureKind;

    fn settings(value: serde_json::Value) -> Settings {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn names_lead_to_a_provider_and_a_model() {
        let settings = settings(json!({"providers": {"own": {"baseUrl": "http://host/v1"}}}));
        let directory = Directory::new(&settings);
        let resolved = |reference: &str| {
            let (entry, model) = directory.resolve(reference).unwrap();
            (entry.name, model)
        };
        assert_eq!(resolved("gemini-2.5-pro"), ("gemini".into(), Some("gemini-2.5-pro".into())));
        assert_eq!(resolved("own/a/b:c"), ("own".into(), Some("a/b:c".into())));
        assert_eq!(resolved("anthropic"), ("anthropic".into(), None));
        assert_eq!(resolved("ollama/"), ("ollama".into(), None));
    }

    #[test]
    fn an_unknown_provider_is_an_input_error_with_the_nearest_name() {
        let settings = Settings::default();
        let directory = Directory::new(&settings);
        let failure = directory.resolve("antropic/claude").unwrap_err();
        assert_eq!(failure.kind, FailureKind::Input);
        assert_eq!(failure.hint, Some("did you mean `anthropic`?".into()));
        let failure = directory.resolve("llama3").unwrap_err();
        assert_eq!(failure.kind, FailureKind::Input);
        let hint = "write provider/model, such as ollama/llama3 or openrouter/llama3";
        assert_eq!(failure.hint, Some(hint.into()));
        let failure = directory.resolve("gpt5").unwrap_err();
        let meant = failure.hint.unwrap().to_string();
        assert!(meant.starts_with("did you mean `openai/gpt-5"), "{meant}");
    }

    #[test]
    fn a_moved_provider_speaks_the_wire_that_imitators_know() {
        let moved = settings(json!({"providers": {"openai": {"baseUrl": "http://localhost:1/v1/"}}}));
        let endpoint = Directory::new(&moved).find("openai").unwrap().endpoint().unwrap();
        assert_eq!(
            (endpoint.wire, endpoint.base_url.as_str()),
            (WireKind::OpenaiChat, "http://localhost:1/v1")
        );
        let named = json!({"providers": {"openai": {"baseUrl": "http://localhost:1/v1", "wire": "openai-responses"}}});
        let named = settings(named);
        let endpoint = Directory::new(&named).find("openai").unwrap().endpoint().unwrap();
        assert_eq!(endpoint.wire, WireKind::OpenaiResponses);
    }

    #[test]
    fn settings_change_single_quirks_and_facts_of_a_built_in_provider() {
        let settings = settings(json!({"providers": {"deepseek": {
            "quirks": {"noMedia": false},
            "models": {"deepseek-chat": {"contextWindow": 9, "thinking": "levels"}},
        }}}));
        let entry = Directory::new(&settings).find("deepseek").unwrap();
        let quirks = entry.endpoint().unwrap().quirks;
        assert!(!quirks.no_media);
        assert_eq!(quirks.thinking_style, entry.row.unwrap().quirks().thinking_style);
        let row = entry.model("deepseek-chat");
        assert_eq!((row.context_window, row.thinking), (Some(9), ModelThinking::Levels));
        assert!(row.max_output.is_some());
    }

    #[test]
    fn a_server_of_ones_own_needs_an_address() {
        let settings = settings(json!({"providers": {"own": {"wire": "anthropic"}}}));
        let entry = Directory::new(&settings).find("own").unwrap();
        let failure = entry.endpoint().unwrap_err();
        assert_eq!(failure.kind, FailureKind::Config);
        assert_eq!(failure.hint, Some("set `providers.own.baseUrl`".into()));
    }
}
