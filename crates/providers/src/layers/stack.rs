//! Puts the layers that one model needs over its generator.

use std::sync::Arc;

use charla_proto::ContentGenerator;
use serde::{Deserialize, Serialize};

use super::{NamedParameters, ParameterMap, TextTools, TextToolsOptions, ThinkFilter, ThinkOptions};
use crate::endpoint::Quirks;

/// How a model calls tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolMode {
    /// By its wire's own function calls.
    Native,
    /// In its text.
    Text,
    /// By what is known: in its text where the server refuses tools, else by its wire.
    #[default]
    Auto,
}

impl ToolMode {
    /// The mode with `Auto` decided: by what a probe found (`native` tells whether function calls work), else by the
    /// server's known peculiarities.
    pub fn decide(self, quirks: &Quirks, native: Option<bool>) -> ToolMode {
        match (self, native) {
            (ToolMode::Auto, Some(true)) => ToolMode::Native,
            (ToolMode::Auto, Some(false)) => ToolMode::Text,
            (ToolMode::Auto, None) if quirks.no_tools => ToolMode::Text,
            (ToolMode::Auto, None) => ToolMode::Native,
            (decided, _) => decided,
        }
    }
}

/// What one model needs over its generator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StackOptions {
    /// How it calls tools; `Auto` counts as native here, see [`ToolMode::decide`].
    pub tools: ToolMode,
    /// How it is spoken to about tools in text.
    pub text: TextToolsOptions,
    /// How its thoughts are found.
    pub think: ThinkOptions,
    /// Other names it uses for parameters, in native calls and in text.
    pub parameters: ParameterMap,
}

/// The generator with its layers: thoughts are taken out of the text before calls are looked for in it, and
/// calls have their parameters renamed wherever they come from.
///
/// Goes below [`super::Resilient`], one stack for each link of the chain, so that an answer that holds nothing but thoughts
/// is tried again and each model has its own mode.
pub fn stack(generator: Arc<dyn ContentGenerator>, options: StackOptions) -> Arc<dyn ContentGenerator> {
    let filtered: Arc<dyn ContentGenerator> = Arc::new(ThinkFilter::over(generator, options.think));
    let calling = match options.tools {
        ToolMode::Native | ToolMode::Auto => filtered,
        ToolMode::Text => Arc::new(TextTools::over(filtered, options.text)),
    };
    if options.parameters.is_empty() {
        return calling;
    }
    Arc::new(NamedParameters::over(calling, options.parameters))
}
