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
use crate::engine;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
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
    /// What it costs, and those that take over.
    pub prices: session::Prices,
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
    pub(crate) fn for_session(self) -> session::BoundModel {
        let is_tiny = self.prompt_size == PromptSize::Trained;
        session::BoundModel {
            reference: self.reference,
            generator: self.generator,
            template: self.template,
            window: self.window,
            count: self.count,
            prices: self.prices,
            at_most: if is_tiny { engine::MODE } else { ApprovalMode::Yolo },
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
        let prices = prices(&chain);
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
            prices,
            window: row.context_window,
            count,
            prompt_size,
            chat_only: tools == ToolMode::None,
            takes_schema,
            stable_prefix,
        })
    }
}

/// The price of each model of a chain. What does not tell who was asked, such as a summary, counts at the highest of
/// them, each kind of token by itself: whoever it was, a limit on cost is not passed.
fn prices(chain: &Chain) -> session::Prices {
    let priced = |choice: &Choice| {
        let [input, output, cached] =
            choice.row().price.or_else(|| choice.entry.is_local().then_some([0.0; 3]))?;
        Some((choice.reference(), session::Price { input, output, cached }))
    };
    let of_models: Vec<(String, session::Price)> = chain.models().filter_map(priced).collect();
    let dearest = |one: session::Price, other: session::Price| session::Price {
        input: one.input.max(other.input),
        output: one.output.max(other.output),
        cached: one.cached.max(other.cached),
    };
    let otherwise = of_models.iter().map(|(_, price)| *price).reduce(dearest);
    session::Prices { of_models, otherwise }
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
            Err(Failure::config(format!(
                "the limit on cost cannot be kept: no price is known of {reference}"
            ))
            .with_hint(Hint::LimitTokens))
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
    fn each_model_of_a_chain_has_its_own_price_and_what_is_not_told_the_highest() {
        let settings = Settings::default();
        let chain =
            chain(&settings, &[("ollama", "qwen3"), ("openai", "gpt-5"), ("anthropic", "claude-sonnet-4-5")]);
        let prices = prices(&chain);
        let own: Vec<(&str, f64)> =
            prices.of_models.iter().map(|(model, price)| (model.as_str(), price.output)).collect();
        assert_eq!(
            own,
            [("ollama/qwen3", 0.0), ("openai/gpt-5", 10.0), ("anthropic/claude-sonnet-4-5", 15.0)]
        );
        assert_eq!(prices.otherwise.map(|price| (price.input, price.output)), Some((3.0, 15.0)));
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
