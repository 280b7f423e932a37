//! What a session gets from the program that runs it.

use std::sync::Arc;

use charla_proto::tool::Toolbox;
use charla_proto::{
    ApprovalMode, BoxFuture, Content, ContentGenerator, FileChange, FileConflict, GenerateRequest, OpenTurn,
    RevertedFile, UsageMetadata,
};

use crate::compress::{Counter, size};

/// A model, ready to be asked, with what is known of it.
#[derive(Clone)]
pub struct BoundModel {
    /// `provider/model`.
    pub reference: String,
    /// The generator that asks it, with all its layers.
    pub generator: Arc<dyn ContentGenerator>,
    /// What every request has beside the conversation, the instruction and the tools: name and sampling.
    pub template: GenerateRequest,
    /// Tokens it can read and write together; unknown, nothing is compressed by itself.
    pub window: Option<u32>,
    /// Counts the tokens of a request.
    pub count: Counter,
    /// What it costs, and those that take over: for the limit on cost.
    pub prices: Prices,
    /// The most it is trusted with, whatever mode somebody chose.
    pub at_most: ApprovalMode,
}

/// Dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// Input tokens that no cache held.
    pub input: f64,
    /// Output tokens, thinking included.
    pub output: f64,
    /// Input that was read from a cache.
    pub cached: f64,
}

impl Price {
    /// What these tokens cost.
    pub fn of(&self, usage: &UsageMetadata) -> f64 {
        let read = usage.cached_content_token_count.unwrap_or(0);
        let fresh = usage.prompt_token_count.unwrap_or(0).saturating_sub(read);
        let output = usage.output() as f64 * self.output;
        (fresh as f64 * self.input + read as f64 * self.cached + output) / 1e6
    }
}

/// What a model and those that take over cost, where it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    /// Each model's own, by `provider/model`.
    pub of_models: Vec<(String, Price)>,
    /// For what does not tell who was asked.
    pub otherwise: Option<Price>,
}

impl Prices {
    /// The same for whoever answers.
    pub fn of_all(price: Price) -> Self {
        Self { of_models: Vec::new(), otherwise: Some(price) }
    }

    /// What a turn has cost so far; nothing where no price is known.
    pub fn cost(&self, turn: &OpenTurn) -> Option<f64> {
        let costs = turn.spent_by.iter().filter_map(|(origin, spent)| {
            let is_it = |(model, _): &&(String, Price)| {
                let mut names = model.splitn(2, '/');
                origin.as_ref().is_some_and(|origin| {
                    names.next() == Some(&origin.provider) && names.next() == Some(&origin.model)
                })
            };
            let own = self.of_models.iter().find(is_it).map(|(_, price)| *price);
            Some(own.or(self.otherwise)?.of(spent))
        });
        costs.reduce(|sum, cost| sum + cost)
    }
}

impl BoundModel {
    /// A model of which nothing more is known than how to ask it.
    pub fn new(reference: impl Into<String>, generator: Arc<dyn ContentGenerator>) -> Self {
        let reference = reference.into();
        let name = reference.split_once('/').map_or(reference.as_str(), |(_, name)| name).to_owned();
        let template = GenerateRequest::new(name, Vec::new());
        Self {
            reference,
            generator,
            template,
            window: None,
            count: by_characters(),
            prices: Prices::default(),
            at_most: ApprovalMode::Yolo,
        }
    }
}

/// Counts tokens as a quarter of the characters: enough to compare one request with another.
pub fn by_characters() -> Counter {
    Arc::new(|request| request.contents.iter().map(|content| size(content) as u64).sum::<u64>() / 4)
}

/// What the model is given for the moment: its tools, and the instruction that goes with them.
#[derive(Clone)]
pub struct Equipment {
    /// The tools it may call.
    pub toolbox: Arc<dyn Toolbox>,
    /// The system instruction.
    pub instruction: Option<Arc<Content>>,
}

/// What tools and instruction depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Situation {
    /// `provider/model` that answers.
    pub model: String,
    /// How much is allowed without asking.
    pub mode: ApprovalMode,
    /// Somebody can be asked.
    pub somebody: bool,
}

/// A change of one file that takes an earlier one back, or brings it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevertStep {
    /// The file; `before` is what it should hold now, `after` what it shall hold.
    pub change: FileChange,
    /// Permissions for a file that comes back, where they are known.
    pub mode: Option<u32>,
}

/// Why files were not put back. Nothing was changed.
#[derive(Clone, Debug, PartialEq)]
pub enum RevertProblem {
    /// These files are not as they were left.
    Conflicts(Vec<FileConflict>),
    /// It failed, in words.
    Failed(String),
}

/// Files that were put back.
pub trait Reverted: Send {
    /// Each file, with what it held and holds.
    fn files(&self) -> Vec<RevertedFile>;

    /// Takes it back, for when it could not be recorded.
    fn withdraw(self: Box<Self>) -> Result<(), String>;
}

/// What a session gets from the program that runs it: models by name, tools and instructions for the
/// moment, files put back, rules kept. Nothing in it is global: each session may have a host of its own.
pub trait Host: Send + Sync {
    /// A model by the name somebody gave. May take long (a first use is probed); the session goes on meanwhile.
    fn bind<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<BoundModel, String>>;

    /// A model that is ready to take over from this one, to be offered to a person when it is over its limit.
    fn next_model(&self, _model: &str) -> Option<String> {
        None
    }

    /// The model that answers in this mode in place of the current one, where that depends on the mode.
    fn model_for(&self, _mode: ApprovalMode, _current: &str) -> Option<String> {
        None
    }

    /// Tools and instruction for a situation. Called whenever it or [`Self::equipment_version`] changes, and after
    /// [`Self::refresh`].
    fn equip(&self, situation: &Situation) -> Equipment;

    /// The tools that people may call themselves, whatever the model is offered.
    fn tools(&self) -> Arc<dyn Toolbox> {
        let situation = Situation { model: String::new(), mode: ApprovalMode::Default, somebody: false };
        self.equip(&situation).toolbox
    }

    /// A number that is another one when [`Self::equip`] may give other tools than before: of servers that come, go or change.
    fn equipment_version(&self) -> u64 {
        0
    }

    /// Looks at memory files and tools again, before the next [`Self::equip`].
    fn refresh<'a>(&'a self) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Puts files back: all of them or none.
    fn revert<'a>(
        &'a self,
        _steps: Vec<RevertStep>,
    ) -> BoxFuture<'a, Result<Box<dyn Reverted>, RevertProblem>> {
        let problem = RevertProblem::Failed("this program keeps no contents of files".to_owned());
        Box::pin(std::future::ready(Err(problem)))
    }

    /// Keeps rules (TOML) for every session; says where.
    fn save_rules<'a>(&'a self, _rules: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(std::future::ready(Err("this program keeps no rules".to_owned())))
    }
}

/// A host with one model and the same tools and instruction in every situation.
pub struct FixedHost {
    /// The model that answers.
    pub model: BoundModel,
    /// The tools and the instruction.
    pub equipment: Equipment,
}

impl Host for FixedHost {
    fn bind<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<BoundModel, String>> {
        let bound = match model == self.model.reference {
            true => Ok(self.model.clone()),
            false => Err(format!("there is no model `{model}` here")),
        };
        Box::pin(std::future::ready(bound))
    }

    fn equip(&self, _: &Situation) -> Equipment {
        self.equipment.clone()
    }
}
