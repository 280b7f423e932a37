//! A chain of models as the one that a session asks.

use std::sync::Arc;

use charla_core::compress::Counter;
use charla_core::session;
use charla_proto::{ApprovalMode, ContentGenerator, GenerateRequest};
use charla_providers::layers::{LogSink, ToolMode};
use charla_providers::tokens;

use super::choice::{Choice, PromptSize};
use super::chooser::Chain;
use super::wiring;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::network;
use crate::settings::Settings;

/// The model of a session, and what is known of it.
pub struct BoundModel {
    /// `provider/model`.
    pub reference: String,
    /// Asks it, and those that take over.
    pub generator: Arc<dyn ContentGenerator>,
    /// What every request has beside the conversation.
    pub template: GenerateRequest,
    /// Dollars for a million input, output and cached tokens, of the dearest model of the chain.
    pub price: Option<[f64; 3]>,
    /// Tokens it can read and write together.
    pub window: Option<u32>,
    /// Counts the tokens that a request takes of them.
    pub count: Counter,
    /// How much it is told.
    pub prompt_size: PromptSize,
    /// It calls no tools: it is offered none.
    pub chat_only: bool,
    /// Its answers may be held to a schema by its server, and those of all that take over.
    pub takes_schema: bool,
    /// Its requests begin with the same bytes in every run, so what differs is kept apart in its system instruction.
    pub stable_prefix: bool,
}

impl BoundModel {
    /// The model as a session asks it.
    pub fn for_session(self) -> session::BoundModel {
        let price = self.price.map(|[input, output, cached]| session::Price { input, output, cached });
        // It calls a tool where a greeting was meant: no mode lets it change or run anything unasked.
        let is_tiny = self.prompt_size == PromptSize::Trained;
        session::BoundModel {
            reference: self.reference,
            generator: self.generator,
            template: self.template,
            window: self.window,
            count: self.count,
            price,
            at_most: if is_tiny { ApprovalMode::Default } else { ApprovalMode::Yolo },
        }
    }

    /// Binds a chain whose first model is ready to be asked.
    pub fn new(
        chain: Chain,
        settings: &Settings,
        environment: &Environment,
        log: Option<Arc<dyn LogSink>>,
    ) -> Result<Self, Failure> {
        let first = &chain.first;
        let prices: Vec<[f64; 3]> = chain.models().filter_map(|choice| choice.row().price).collect();
        let (reference, row, tools) = (first.reference(), first.row(), first.layers(settings)?.tools);
        let (prompt_size, stable_prefix) = (first.prompt_size(settings), first.has_stable_prefix());
        let template = wiring::request(&first.model, settings);
        let count: Counter = match first.small_model(environment) {
            Some(small) => Arc::new(move |request| small.tokens(request)),
            None => Arc::new(tokens::estimate),
        };
        let takes_schema = chain.models().all(|choice| choice.takes_schema(settings));
        keeps_limits(&chain, settings)?;
        let client = network::client(settings, environment, chain.models().any(Choice::is_encrypted))?;
        tracing::debug!(%reference, fallbacks = chain.fallbacks.len(), "asking");
        Ok(Self {
            reference,
            generator: wiring::generator(chain, settings, environment, &client, log)?,
            template,
            price: dearest(prices),
            window: row.context_window,
            count,
            prompt_size,
            chat_only: tools == ToolMode::None,
            takes_schema,
            stable_prefix,
        })
    }
}

/// The highest of these prices, each kind of token by itself: whichever model of the chain answers, a limit on cost
/// is not passed.
fn dearest(prices: Vec<[f64; 3]>) -> Option<[f64; 3]> {
    prices.into_iter().reduce(|one, other| std::array::from_fn(|kind| one[kind].max(other[kind])))
}

/// A limit on cost that cannot be kept is refused rather than passed over.
fn keeps_limits(chain: &Chain, settings: &Settings) -> Result<(), Failure> {
    if settings.limits.max_cost.is_none() {
        return Ok(());
    }
    // What runs here costs nothing.
    match chain.models().find(|choice| choice.row().price.is_none() && !choice.entry.is_local()) {
        None => Ok(()),
        Some(choice) => {
            let reference = choice.reference();
            Err(Failure::config(format!("`limits.maxCost` cannot be kept: no price is known of {reference}"))
                .with_hint("choose a model whose price is known, or set `limits.maxTokens` instead"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::choice::Access;
    use super::super::directory::Directory;
    use super::*;

    fn chain(settings: &Settings, models: &[(&str, &str)]) -> Chain {
        let choice = |(provider, model): &(&str, &str)| {
            let entry = Directory::new(settings).find(provider).unwrap();
            Choice::new(entry, (*model).to_owned(), Access::Open)
        };
        let mut choices = models.iter().map(choice);
        let first = choices.next().unwrap();
        Chain { first, fallbacks: choices.collect(), left_out: Vec::new(), note: None }
    }

    #[test]
    fn a_limit_on_cost_is_refused_where_no_price_is_known() {
        let with = |cost: Option<f64>| -> Settings {
            serde_json::from_value(json!({"limits": {"maxCost": cost}})).unwrap()
        };
        let rows: [(&[(&str, &str)], bool); 4] = [
            (&[("openai", "gpt-5")], true),
            (&[("ollama", "qwen3")], true),
            (&[("openai", "gpt-unheard-of")], false),
            (&[("openai", "gpt-5"), ("groq", "unheard-of")], false),
        ];
        for (models, kept) in rows {
            let settings = with(Some(0.5));
            let answer = keeps_limits(&chain(&settings, models), &settings);
            assert_eq!(answer.is_ok(), kept, "{models:?}");
            assert!(keeps_limits(&chain(&settings, models), &with(None)).is_ok());
        }
    }

    #[test]
    fn a_chain_is_counted_at_its_dearest_price() {
        assert_eq!(dearest(vec![[1.0, 10.0, 0.1], [2.0, 5.0, 0.2]]), Some([2.0, 10.0, 0.2]));
        assert_eq!(dearest(Vec::new()), None);
    }

    #[test]
    fn wishes_and_schemas_go_where_they_are_heard() {
        let own = json!({"own": {"baseUrl": "http://10.0.0.9/v1"}});
        let settings: Settings =
            serde_json::from_value(json!({"providers": own, "model": {"thinking": {"budget": 0}}})).unwrap();
        let rows = [
            ("qwen", "qwen3-max", true, false),
            ("vllm", "m", true, false),
            ("llamacpp", "m", true, false),
            ("own", "m", false, false),
            ("lmstudio", "m", false, false),
            ("openai", "gpt-5", true, true),
            ("anthropic", "claude-sonnet-5", true, true),
            ("gemini", "gemini-3.6-flash", true, true),
            ("gemini", "gemini-2.5-pro", true, false),
        ];
        for (provider, model, hears, takes) in rows {
            let choice = chain(&settings, &[(provider, model)]).first;
            let found = (choice.hears_thinking(&settings), choice.takes_schema(&settings));
            assert_eq!(found, (hears, takes), "{provider}/{model}");
        }
    }
}
